// Package authzprometheus is an observer that is a Prometheus collector: the
// instruments of the OpenTelemetry adapter with "_" for "." and the suffix
// "_total" (authz_checks_total, authz_grant_matched_total,
// authz_grant_sole_match_total, authz_revoke_matched_total,
// authz_role_matched_total).
//
// Series live as long as the process, so each counter holds at most so many of
// them; what it refuses is counted in authz_dropped_total, never hidden. It does
// no I/O and never blocks.
package authzprometheus
