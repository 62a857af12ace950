// Package federation moves the organization of linked applications to the hosted service
// and back, and keeps the members' read models fresh (spec: federation).
//
// A move is a record in account data with the step that it has reached. Whichever host
// comes by takes it on from there, in one exclusive section, until it has ended: done or
// undone. At every instant at most one side writes the organization. What cannot be known
// leaves both sides unwritten until it can.
package federation
