package plugin

import (
	"context"
	"os"
	"path"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/authzhost/authz/sdk/plugin/otlp"
)

// A trace crosses as W3C Trace Context in the metadata of a call: a plugin that
// does not know it ignores it, and one that does must never need it.
//
// The interceptors are written out instead of taken from otelgrpc because they
// run in every call between host and plugin and must cost nothing in the calls,
// nearly all, that belong to no trace which is kept.
var traceContext propagation.TraceContext

// carrier is metadata as a propagator writes and reads it.
type carrier metadata.MD

func (c carrier) Get(key string) string {
	if values := metadata.MD(c).Get(key); len(values) > 0 {
		return values[0]
	}
	return ""
}

func (c carrier) Set(key, value string) { metadata.MD(c).Set(key, value) }

func (c carrier) Keys() []string {
	keys := make([]string, 0, len(c))
	for key := range c {
		keys = append(keys, key)
	}
	return keys
}

// outgoing puts the trace of a call that is kept into its metadata.
func outgoing(ctx context.Context) context.Context {
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return ctx
	}
	md, ok := metadata.FromOutgoingContext(ctx) // a copy
	if !ok {
		md = metadata.MD{}
	}
	traceContext.Inject(ctx, carrier(md))
	return metadata.NewOutgoingContext(ctx, md)
}

// dialTracing has the host's calls carry their trace.
func dialTracing() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, o ...grpc.CallOption) error {
			return invoke(outgoing(ctx), method, request, reply, conn, o...)
		}),
		grpc.WithChainStreamInterceptor(func(ctx context.Context, d *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, o ...grpc.CallOption) (grpc.ClientStream, error) {
			return open(outgoing(ctx), d, conn, method, o...)
		}),
	}
}

// tracing is the plugin's end: calls of a trace that is kept become spans of it.
type tracing struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

// startTracing is nil unless the environment says where spans go. A collector
// that is not there is no reason to refuse the host's calls.
func startTracing(p Plugin, log hclog.Logger) *tracing {
	o, ok := otlp.FromEnvironment(os.Getenv, BinaryPrefix+p.Name, p.Version)
	if !ok {
		return nil
	}
	o.OnError = func(err error) { log.Warn("spans could not be exported and were dropped", "error", err) }
	provider, err := otlp.New(o, sdktrace.ParentBased(sdktrace.NeverSample()))
	if err != nil {
		log.Warn("spans are not exported", "error", err)
		return nil
	}
	return &tracing{provider, provider.Tracer("github.com/authzhost/authz/sdk/plugin")}
}

// flushTime is for the last spans, within the host's patience with a stop.
const flushTime = time.Second

func (t *tracing) stop() {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	_ = t.provider.Shutdown(ctx) // spans are worth no error
}

// join begins the span of a call whose trace is kept; nil begins none.
func (t *tracing) join(ctx context.Context, method string) (context.Context, trace.Span) {
	md, ok := metadata.FromIncomingContext(ctx)
	if t == nil || !ok || len(md.Get("traceparent")) == 0 {
		return ctx, nil
	}
	ctx = traceContext.Extract(ctx, carrier(md))
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return ctx, nil
	}
	return t.tracer.Start(ctx, "plugin."+path.Base(method), trace.WithSpanKind(trace.SpanKindServer))
}

func leave(span trace.Span, err error) {
	if span == nil {
		return
	}
	if err != nil {
		span.SetStatus(codes.Error, status.Code(err).String())
	}
	span.End()
}

// serverOptions is nothing when spans go nowhere.
func (t *tracing) serverOptions() []grpc.ServerOption {
	if t == nil {
		return nil
	}
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(func(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
			ctx, span := t.join(ctx, info.FullMethod)
			reply, err := handle(ctx, request)
			leave(span, err)
			return reply, err
		}),
		grpc.ChainStreamInterceptor(func(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
			ctx, span := t.join(stream.Context(), info.FullMethod)
			if span == nil {
				return handle(server, stream)
			}
			err := handle(server, &tracedStream{stream, ctx})
			leave(span, err)
			return err
		}),
	}
}

// tracedStream is a stream whose context holds its span.
type tracedStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s *tracedStream) Context() context.Context { return s.ctx }
