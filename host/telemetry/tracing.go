package telemetry

import (
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/authzhost/authz/sdk/plugin/otlp"
)

// ServiceName is the host's in every span.
const ServiceName = "authz"

// StartTracing exports the spans of this process. Which request is traced is
// decided where it arrives; whatever is begun in one is recorded.
func StartTracing(endpoint string, plaintext bool, version string, onError func(error)) (*sdktrace.TracerProvider, error) {
	return otlp.New(otlp.Options{Endpoint: endpoint, Insecure: plaintext, Service: ServiceName, Version: version, OnError: onError}, sdktrace.AlwaysSample())
}

// PluginEnvironment tells a plugin to export where the host does.
func PluginEnvironment(endpoint string, plaintext bool, plugin string) map[string]string {
	return otlp.Options{Endpoint: endpoint, Insecure: plaintext, Service: ServiceName + ".plugin." + plugin}.Environment()
}
