// Package relational is what the drivers over relational databases share: the
// tables of SchemaVersion (docs/storage.md), and how each entity lies in its
// columns.
//
// It does no I/O and knows no dialect: statements, transactions and locks are each
// driver's own. It imports only the sdk.
package relational
