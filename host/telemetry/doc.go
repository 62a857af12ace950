// Package telemetry holds what a host tells of itself: the instruments behind
// /metrics, the access log, and where spans go. Other rooms hand it facts; it
// decides nothing, and no request, check or call ever waits for it.
//
// Labels are bounded: names from the configuration, operations of the manifest,
// statuses, error codes. Nothing that a caller chose becomes one, apart from the
// permissions and scope types of counted checks, which are capped.
package telemetry
