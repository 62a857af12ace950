// Package registry keeps the published catalogs of an org (spec: hosted-api §12):
// who may publish which namespace, in which order, every version with its
// document as it was sent, what was tombstoned and revived, and what roles,
// grants and imports still name although it is gone.
//
// It touches account data, and asks linked applications for drift alone. It never
// writes to an application, repairs nothing by reading it, and drops no version.
package registry
