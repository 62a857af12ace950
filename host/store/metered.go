package store

import (
	"context"
	"iter"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/authzhost/authz/sdk/authz"
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

// metered is a store of a driver whose every call is timed and, in a trace that
// is kept, a span. Repeated calls are therefore seen one by one. Watch is none: it
// lasts as long as the store.
type metered struct {
	storage.Store
	store *Store
}

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

func (m *metered) end(call string, span trace.Span, took time.Duration, err error) {
	outcome := outcomeName(err)
	if m.store.opts.Observe != nil {
		m.store.opts.Observe(call, outcome, took)
	}
	if span == nil {
		return
	}
	span.SetAttributes(attribute.String("authz.application", m.store.opts.Application), attribute.String("authz.outcome", outcome))
	if err != nil {
		span.SetStatus(codes.Error, outcome)
	}
	span.End()
}

func measure[T any](ctx context.Context, m *metered, call string, do func(context.Context) (T, error)) (T, error) {
	ctx, span := begin(ctx, call)
	began := time.Now()
	v, err := do(ctx)
	m.end(call, span, time.Since(began), err)
	return v, err
}

func measureOne[K, T any](ctx context.Context, m *metered, call string, key K, do func(context.Context, K) (T, bool, error)) (T, bool, error) {
	one, err := measure(ctx, m, call, func(ctx context.Context) (maybe[T], error) {
		row, found, err := do(ctx, key)
		return maybe[T]{row, found}, err
	})
	return one.row, one.found, err
}

// measureRows times a list without what its consumer does between two rows.
func measureRows[T any](ctx context.Context, m *metered, call string, do func(context.Context) iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		ctx, span := begin(ctx, call)
		var took time.Duration
		var failed error
		began := time.Now()
		defer func() { m.end(call, span, took, failed) }()
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

func (m *metered) GetGrant(ctx context.Context, id string) (authz.Grant, bool, error) {
	return measureOne(ctx, m, "GetGrant", id, m.Store.GetGrant)
}

func (m *metered) ListGrants(ctx context.Context, f storage.GrantFilter, p storage.Page) iter.Seq2[authz.Grant, error] {
	return measureRows(ctx, m, "ListGrants", func(ctx context.Context) iter.Seq2[authz.Grant, error] { return m.Store.ListGrants(ctx, f, p) })
}

func (m *metered) CountGrants(ctx context.Context, f storage.GrantFilter) (int64, error) {
	return measure(ctx, m, "CountGrants", func(ctx context.Context) (int64, error) { return m.Store.CountGrants(ctx, f) })
}

func (m *metered) GetRevoke(ctx context.Context, id string) (authz.Revoke, bool, error) {
	return measureOne(ctx, m, "GetRevoke", id, m.Store.GetRevoke)
}

func (m *metered) ListRevokes(ctx context.Context, f storage.RevokeFilter, p storage.Page) iter.Seq2[authz.Revoke, error] {
	return measureRows(ctx, m, "ListRevokes", func(ctx context.Context) iter.Seq2[authz.Revoke, error] { return m.Store.ListRevokes(ctx, f, p) })
}

func (m *metered) GetRole(ctx context.Context, id string) (authz.Role, bool, error) {
	return measureOne(ctx, m, "GetRole", id, m.Store.GetRole)
}

func (m *metered) ListRoles(ctx context.Context, p storage.Page) iter.Seq2[authz.Role, error] {
	return measureRows(ctx, m, "ListRoles", func(ctx context.Context) iter.Seq2[authz.Role, error] { return m.Store.ListRoles(ctx, p) })
}

func (m *metered) GetRoles(ctx context.Context, ids []string) ([]authz.Role, error) {
	return measure(ctx, m, "GetRoles", func(ctx context.Context) ([]authz.Role, error) { return m.Store.GetRoles(ctx, ids) })
}

func (m *metered) GetGroup(ctx context.Context, id string) (authz.Group, bool, error) {
	return measureOne(ctx, m, "GetGroup", id, m.Store.GetGroup)
}

func (m *metered) ListGroups(ctx context.Context, p storage.Page) iter.Seq2[authz.Group, error] {
	return measureRows(ctx, m, "ListGroups", func(ctx context.Context) iter.Seq2[authz.Group, error] { return m.Store.ListGroups(ctx, p) })
}

func (m *metered) GetUser(ctx context.Context, userID string) (authz.User, bool, error) {
	return measureOne(ctx, m, "GetUser", userID, m.Store.GetUser)
}

func (m *metered) ListUsers(ctx context.Context, f storage.UserFilter, p storage.Page) iter.Seq2[authz.User, error] {
	return measureRows(ctx, m, "ListUsers", func(ctx context.Context) iter.Seq2[authz.User, error] { return m.Store.ListUsers(ctx, f, p) })
}

func (m *metered) ListUsersInGroup(ctx context.Context, groupID string, p storage.Page) iter.Seq2[string, error] {
	return measureRows(ctx, m, "ListUsersInGroup", func(ctx context.Context) iter.Seq2[string, error] { return m.Store.ListUsersInGroup(ctx, groupID, p) })
}

func (m *metered) GetRequest(ctx context.Context, id string) (authz.Request, bool, error) {
	return measureOne(ctx, m, "GetRequest", id, m.Store.GetRequest)
}

func (m *metered) ListRequests(ctx context.Context, f storage.RequestFilter, p storage.RequestPage) iter.Seq2[authz.Request, error] {
	return measureRows(ctx, m, "ListRequests", func(ctx context.Context) iter.Seq2[authz.Request, error] { return m.Store.ListRequests(ctx, f, p) })
}
