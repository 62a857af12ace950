// Package pluginv1 is the wire between host and plugins, version 1: the .proto
// files beside this one and the code generated from them (`make proto`). Only
// sdk/plugin and tests of the wire import it; nobody edits the .pb.go files.
package pluginv1
