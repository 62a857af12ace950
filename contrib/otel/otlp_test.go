package authzotel_test

import (
	"context"
	"net"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"

	"github.com/authzhost/authz/sdk/plugin/otlp"
)

type receiver struct {
	collectorpb.UnimplementedTraceServiceServer
	got chan *collectorpb.ExportTraceServiceRequest
}

func (r *receiver) Export(_ context.Context, q *collectorpb.ExportTraceServiceRequest) (*collectorpb.ExportTraceServiceResponse, error) {
	r.got <- q
	return &collectorpb.ExportTraceServiceResponse{PartialSuccess: &collectorpb.ExportTracePartialSuccess{RejectedSpans: 1, ErrorMessage: "one too many"}}, nil
}

// TestTheHostsExporterSpeaksToTheGeneratedService stands here because the service
// brings dependencies that the main module does not want.
func TestTheHostsExporterSpeaksToTheGeneratedService(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, r := grpc.NewServer(), &receiver{got: make(chan *collectorpb.ExportTraceServiceRequest, 1)}
	collectorpb.RegisterTraceServiceServer(server, r)
	go func() { _ = server.Serve(listener) }() // ends with Stop
	defer server.Stop()
	spans, err := otlp.New(otlp.Options{Endpoint: listener.Addr().String(), Insecure: true, Service: "authz",
		OnError: func(err error) { t.Error(err) }}, sdktrace.AlwaysSample())
	if err != nil {
		t.Fatal(err)
	}
	_, span := spans.Tracer("t").Start(t.Context(), "work")
	span.End()
	if err := spans.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	q := <-r.got
	if len(q.ResourceSpans) != 1 || q.ResourceSpans[0].ScopeSpans[0].Spans[0].Name != "work" {
		t.Errorf("received %v", q)
	}
	told := otlp.Options{Endpoint: "c:4317", Insecure: true, Service: "p"}
	env := told.Environment()
	if read, ok := otlp.FromEnvironment(func(name string) string { return env[name] }, "other", "v"); !ok || read.Endpoint != told.Endpoint || !read.Insecure || read.Service != "p" {
		t.Errorf("a plugin reads %+v, %v", read, ok)
	}
	if _, ok := otlp.FromEnvironment(func(string) string { return "" }, "s", ""); ok {
		t.Error("a plugin exports without having been told where")
	}
}
