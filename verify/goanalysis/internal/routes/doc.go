// Package routes follows how a Go program puts its handlers behind routers
// (spec: verifier §12.7): which function serves which route, and whether a gate
// stands before it.
//
// Collect reads one type-checked package. It answers with Facts: routes, and how
// routers are bound to one another. A router that a function is given, or that it
// returns, is a slot that other packages bind, so that registration and handler may
// live apart. Facts are plain values under names, because packages are judged one
// by one. Resolve puts the facts of several packages together.
//
// What is not known counts as not gated: a gate under a condition gates nothing
// outside of it, a router that is served in two ways is as open as the wider one.
package routes
