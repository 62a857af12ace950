// Package authzotel is an observer over an OpenTelemetry meter: each check that a
// client observed becomes measurements of five counters (authz.checks and, for
// the rows that decided, authz.grant.matched, authz.grant.sole_match,
// authz.revoke.matched and authz.role.matched).
//
// It asks of OpenTelemetry only to create counters and to add to them. Where the
// measurements go, and how many series are kept, is the meter provider's to say
// (sdk/metric.WithCardinalityLimit). It never blocks.
package authzotel
