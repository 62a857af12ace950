// Package lookup answers lists of who may, where, and what: whole, in pages, with memory
// that does not grow with the list (spec: lookups §1). Each row that it tells is what the
// definition of a check answers for that row (sdk/access).
//
// Scopes are walked downwards, depth first, and people group by group, so that a page
// goes on where the one before ended without any of it being kept. A row that is reached
// by several ways is told where the first of them ends: which that is follows from the
// row itself.
//
// The work of a page is bounded too: it ends where it looked at enough, full or not.
package lookup
