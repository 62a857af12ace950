// Package prometheus is the metrics sink for Prometheus: the windows that hosts
// close become counters, which a server scrapes here, or which are written to one
// that accepts remote-write (version 1), or both.
//
// The counters are those of sdk/metrics/prometheus with the labels application and
// instance, as far as a window tells: whether a check was implied, fresh or on a
// snapshot, and whether a grant's sole match was at a gate, is not in one. They are
// estimates, so they are no whole numbers under sampling.
//
// Totals are kept by plugins/internal/totals; with a state directory they survive a
// kill, and the sink recognises a window that is sent again. The package never
// listens beyond this machine unless it was told so, and never puts a credential, or
// what the other side answered, into an error or a log.
package prometheus
