// Package otlp exports the spans of a process, host or plugin, to an
// OpenTelemetry collector over OTLP/gRPC, and names the environment variables by
// which a host tells its plugins where that is: those of the OpenTelemetry
// specification, so that plugins in any language understand them.
//
// It lives beside the plugin wire because it speaks gRPC, which few rooms may. It
// uses the messages of OTLP and not the published exporter: that one brings an
// HTTP gateway along, which no vendor of a driver should have to link.
package otlp
