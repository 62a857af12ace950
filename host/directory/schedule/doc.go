// Package schedule reads when something is due: cron expressions of five fields, in
// UTC unless they name a time zone.
//
// It computes instants and nothing else: it has no clock, no timers and starts no
// work.
package schedule
