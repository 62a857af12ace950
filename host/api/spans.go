package api

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/authzhost/authz/sdk/authz"
)

// beginOperation starts the span of an operation whose request is traced; nil
// starts none.
func beginOperation(ctx context.Context, op string) (context.Context, trace.Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, nil
	}
	return parent.TracerProvider().Tracer("github.com/authzhost/authz/host/api").Start(ctx, "operation."+op)
}

// endOperation tells the class of an error, never its text: that may name users
// and scopes, which are nothing for a trace.
func endOperation(span trace.Span, err error) {
	if span == nil {
		return
	}
	if err != nil {
		class := "Error"
		var typed authz.Error
		if errors.As(err, &typed) {
			class = typed.ErrorName()
		}
		span.SetStatus(codes.Error, class)
	}
	span.End()
}
