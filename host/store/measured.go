package store

import (
	"context"
	"iter"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/authzhost/authz/sdk/storage"
)

// OutcomeOK is the outcome of a call that succeeded.
const OutcomeOK = "ok"

// outcomeName is a storage code, of which there are few: it becomes a label.
func outcomeName(err error) string {
	if err == nil {
		return OutcomeOK
	}
	if code := storage.CodeOf(err); code != "" {
		return string(code)
	}
	return "error"
}

// Every call of a driver is timed and, in a trace that is kept, a span. Repeated calls are
// therefore seen one by one. Watch is none: it lasts as long as the store.

// begin starts a span where a trace is kept; the tracer is the parent's, so that
// nothing needs to be configured here.
func begin(ctx context.Context, call string) (context.Context, trace.Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, nil
	}
	return parent.TracerProvider().Tracer("github.com/authzhost/authz/host/store").
		Start(ctx, "storage."+call, trace.WithSpanKind(trace.SpanKindClient))
}

func (s *Store) measured(call string, span trace.Span, took time.Duration, err error) {
	outcome := outcomeName(err)
	if s.opts.Observe != nil {
		s.opts.Observe(call, outcome, took)
	}
	if span == nil {
		return
	}
	span.SetAttributes(attribute.String("authz.application", s.opts.Application), attribute.String("authz.outcome", outcome))
	if err != nil {
		span.SetStatus(codes.Error, outcome)
	}
	span.End()
}

func measure[T any](ctx context.Context, s *Store, call string, do func(context.Context) (T, error)) (T, error) {
	ctx, span := begin(ctx, call)
	began := time.Now()
	v, err := do(ctx)
	s.measured(call, span, time.Since(began), err)
	return v, err
}

// measureRows times a list without what its consumer does between two rows.
func measureRows[T any](ctx context.Context, s *Store, call string, do func(context.Context) iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		ctx, span := begin(ctx, call)
		var took time.Duration
		var failed error
		began := time.Now()
		defer func() { s.measured(call, span, took, failed) }()
		for row, err := range do(ctx) {
			took += time.Since(began)
			if err != nil {
				failed = err
			}
			if !yield(row, err) {
				return
			}
			began = time.Now()
		}
		took += time.Since(began)
	}
}
