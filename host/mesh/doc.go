// Package mesh lets the applications of one organization share people, roles and
// vocabulary over one database. Each application keeps a partition of its own; a
// registry in the partition __mesh says who belongs together and who may reach whom.
//
// A Connection reads and writes the registry, judges whether an application may start
// under it, and opens peers: applications of this process over a neighbour's partition,
// which run the neighbour's rules. Nothing here names two partitions in one storage
// operation: reaching a neighbour is opening another store.
//
// What a neighbour's rows mean for a check is decided in host/application; this package
// only says which rows and which log take part.
//
// The rules of all of it are the chapter mesh of the specification (spec: mesh §1–§12).
package mesh
