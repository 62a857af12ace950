// Package anchor keeps the heads of audit logs in a file beside the database, a line
// each, so that a log which was cut off or written anew shows (audit.anchor).
//
// It reads logs through what its Log functions tell and writes no log. The file is only
// ever appended to.
package anchor
