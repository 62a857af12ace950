// Package telemetry holds what a host tells of itself: the instruments behind
// /metrics, the access log, and where spans go. Other rooms hand it facts; it
// decides nothing. No request waits for metrics or spans; a request waits for the
// access log only while the log cannot be written and 64 KiB of lines wait.
//
// Labels are bounded: names from the configuration, operations of the manifest,
// statuses, error codes. Nothing that a caller chose becomes one, apart from the
// permissions and scope types of counted checks, which are capped.
package telemetry
