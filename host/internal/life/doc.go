// Package life carries which life of a partition's content an operation reads and judges:
// the incarnation that was there when it began. What commits for it sends it to that
// content and to no other, however often, and however long after.
//
// It holds one value of a context, and asks nobody.
package life
