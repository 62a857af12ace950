// Package imported reduces what the owner of a namespace grants there to what an
// application imports of it, so that rows of another member of the mesh take part in
// the application's checks and reach nothing else.
//
// New makes the Keys that one catalog imports of one Owner, once. Keys.Add is asked
// for every closure: it takes what the owner supplies of a principal in its own
// partition, and appends what remains to what the application supplies of the same
// principal. A row that takes part is written out for that principal alone. Its id says
// whose row it is: "mesh:<partition>:<id>".
//
// The package is pure: it reads no store, no registry and no clock. Which member owns
// a namespace, and whether its partition may be read, is settled before
// (spec: mesh §6.1, §6.2).
package imported
