package relay

import (
	"context"

	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// Moving is a way to an org root that is being moved: what is read is the root's, and
// every write is org_root_moving. application is the one with which it is moved. Two of
// the same way are equal.
func Moving(to Linked, application string) Linked {
	return moving{provider.Calls{Invoker: noWrites{to, application}}, to, application}
}

// ErrMoving refuses a write of an org root that is being moved.
func ErrMoving(application string) *fault.Error {
	return fault.Cloud("org_root_moving", "the org root is being moved with %s; its data is read meanwhile and not written: try again when application.operation has ended", application).
		With("application", application)
}

type moving struct {
	provider.Calls
	to          Linked
	application string
}

func (m moving) Confirm(ctx context.Context) error               { return m.to.Confirm(ctx) }
func (m moving) Ping(ctx context.Context) (provider.Ping, error) { return m.to.Ping(ctx) }
func (m moving) EventLog() provider.EventLog                     { return m.to.EventLog() }

func (m moving) OnInvalidate(listener func(authz.Event)) (unsubscribe func()) {
	return m.to.OnInvalidate(listener)
}

func (m moving) ExportOrgSnapshot(ctx context.Context) (provider.OrgSnapshot, error) {
	return m.to.ExportOrgSnapshot(ctx)
}

func (m moving) ApplyOrgSnapshot(context.Context, provider.ApplyOrgSnapshotInput) error {
	return ErrMoving(m.application)
}

type noWrites struct {
	to          Linked
	application string
}

func (n noWrites) Invoke(ctx context.Context, op *provider.Operation, in, out any) error {
	if op.Kind == provider.Write {
		return ErrMoving(n.application)
	}
	return op.Do(ctx, n.to, in, out)
}

func (n noWrites) Rows(ctx context.Context, op *provider.Operation, in any, row func(any) error) error {
	return op.Each(ctx, n.to, in, row)
}
