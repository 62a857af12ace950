// Package compare holds engines against each other on one world: that all of them
// give the answers of the plain definition, and only then how fast, in how much
// memory and with how many allocations they give them.
//
// Nothing that disagrees is ever timed, and no line is dropped in silence: an
// engine that cannot be measured stays in the report with its reason.
package compare
