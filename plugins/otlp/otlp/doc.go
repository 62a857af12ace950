// Package otlp is the metrics sink that sends what hosts count to an OpenTelemetry
// collector, over OTLP by gRPC or HTTP: sums named as the adapter for OpenTelemetry
// names them, with the attributes application and instance, as far as a window
// tells. Whether a check was implied, fresh or on a snapshot, and whether a grant's
// sole match was at a gate, is not in one.
//
// Cumulative sums are totals (plugins/internal/totals) sent at an interval, so that
// an export that failed loses nothing; with a state directory they survive a kill,
// and the sink recognises a window that is sent again. Delta sums are one export for
// each window, answered when the collector has answered; nothing is kept.
//
// It uses the messages of OTLP and not the published exporters, which bring an HTTP
// gateway along; sdk/plugin/otlp/upload sends them. It never puts a header, or what
// the collector said, into an error or a log.
package otlp
