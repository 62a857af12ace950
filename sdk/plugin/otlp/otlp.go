package otlp

import (
	"context"
	"crypto/tls"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/authzhost/authz/sdk/plugin/otlp/upload"
)

// The variables that a host sets for its plugins.
const (
	EnvEndpoint = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT" // a URL
	EnvInsecure = "OTEL_EXPORTER_OTLP_TRACES_INSECURE"
	EnvService  = "OTEL_SERVICE_NAME"
	EnvSampler  = "OTEL_TRACES_SAMPLER"
)

// Options says where spans go. Endpoint is required.
type Options struct {
	Endpoint string // host:port of the collector
	Insecure bool   // plaintext; else TLS by the system's roots
	Service  string // service.name
	Version  string // service.version, "" says none

	// OnError hears of an upload that failed, once until one succeeds. nil hears
	// none.
	OnError func(error)
}

// New starts exporting. It does not wait for the collector: spans that cannot be
// delivered are dropped, and nothing is ever held up. Spans are recorded only in
// traces that somebody else has decided to keep, or when asked for by
// AlwaysSample. Shutdown flushes and ends it.
func New(o Options, sampler sdktrace.Sampler) (*sdktrace.TracerProvider, error) {
	var roots *tls.Config // nil: plaintext
	if !o.Insecure {
		roots = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	to, err := upload.OverGRPC(o.Endpoint, roots, nil)
	if err != nil {
		return nil, err
	}
	exporter, err := otlptrace.New(context.Background(), &client{to: to, onError: o.OnError})
	if err != nil {
		return nil, errors.Join(err, to.Close())
	}
	about := []attribute.KeyValue{attribute.String("service.name", o.Service)}
	if o.Version != "" {
		about = append(about, attribute.String("service.version", o.Version))
	}
	about = append(about, attribute.Int("process.pid", os.Getpid()))
	return sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithSampler(sampler),
		sdktrace.WithResource(resource.NewSchemaless(about...))), nil
}

// client uploads over gRPC. It keeps failures to itself: what it returned would go
// to the error handler that the whole process shares.
type client struct {
	to      upload.Uploader
	onError func(error)
	failing atomic.Bool
}

func (*client) Start(context.Context) error { return nil }

func (c *client) Stop(context.Context) error { return c.to.Close() }

// UploadTraces sends spans. What the collector says of those that it refused is
// nothing anybody could act on.
func (c *client) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	_, err := c.to.Upload(ctx, upload.Traces, &tracepb.TracesData{ResourceSpans: spans})
	if told := c.failing.Swap(err != nil); err != nil && !told && c.onError != nil {
		c.onError(err)
	}
	return nil
}

// Environment tells a plugin to export as the options say. A plugin records only
// what belongs to a trace of its host's.
func (o Options) Environment() map[string]string {
	scheme := "https://"
	if o.Insecure {
		scheme = "http://"
	}
	return map[string]string{
		EnvEndpoint: scheme + o.Endpoint, EnvInsecure: strconv.FormatBool(o.Insecure),
		EnvService: o.Service, EnvSampler: "parentbased_always_off",
	}
}

// FromEnvironment reads what Environment told, service being the name unless one
// was given. ok is false when nothing was told.
func FromEnvironment(getenv func(string) string, service, version string) (o Options, ok bool) {
	scheme, endpoint, found := strings.Cut(getenv(EnvEndpoint), "://")
	if !found {
		endpoint, scheme = scheme, "https"
	}
	endpoint = strings.TrimRight(endpoint, "/")
	if endpoint == "" {
		return Options{}, false
	}
	o = Options{Endpoint: endpoint, Insecure: scheme == "http", Service: service, Version: version}
	if said, err := strconv.ParseBool(getenv(EnvInsecure)); err == nil && !found {
		o.Insecure = said // a URL's scheme comes first
	}
	if name := getenv(EnvService); name != "" {
		o.Service = name
	}
	return o, true
}
