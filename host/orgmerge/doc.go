// Package orgmerge merges the organizations of several applications into one: the
// people, groups, roles and global rows of org snapshots. It finds where they
// contradict each other, applies what an administrator decided about that, and
// answers one snapshot. It is pure: no I/O, no clock, nothing random, so that a call
// that another process takes up again computes the same (spec: merge §1–§5).
//
// It knows neither partitions nor applications. Who moves an organization exports
// and applies the snapshots, and names what cannot be renamed.
package orgmerge
