// Package outbound is what sinks share to reach another system: TLS by an
// authority of the operator's choice, headers from settings, and the loop that sends
// totals at an interval, repeats what failed, and sends once more at the end.
//
// It knows no protocol and no system, reads no environment, and puts no header, no
// credential and no answer of the other side into an error.
package outbound
