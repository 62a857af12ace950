// Package meshcases is the suite `mesh` of conformance: what the applications of a mesh
// may rely on, over the storage driver that is proved. A case opens the processes of
// several members on one fresh database, lets them act through package mesh, and
// judges what each of them sees (spec: storage §12.5).
//
// It proves two things at once: that package mesh keeps its rules, and that a driver
// gives them what they stand on: partitions, records with conditions, sections and
// events across processes. The cases run in go test and over the binary of a plugin
// (authz-conformance); no program that serves anything imports them.
package meshcases
