// Package retention keeps append-only copies of applications' audit logs
// (spec: hosted-api §15): it ingests them page by page from a cursor, tells when
// an application says something else than before or when its hash chain is
// broken, and reads them back filtered, by pages or as a stream.
//
// It touches account data, and asks applications for their audit log alone. What is
// retained is never changed, pruned or evaluated.
package retention
