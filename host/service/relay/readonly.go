package relay

import (
	"context"

	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// Moving is a way to an org root that is being moved: what is read is the root's, and
// every write is org_root_moving. Two of the same way are equal.
func Moving(to Linked) Linked { return moving{provider.Calls{Invoker: noWrites{to}}, to} }

// ErrMoving refuses a write of an org root that is being moved.
func ErrMoving() *fault.Error {
	return fault.Cloud("org_root_moving", "the org root is being moved; its data is read meanwhile and not written: try again when application.operation has ended")
}

type moving struct {
	provider.Calls
	to Linked
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
	return ErrMoving()
}

type noWrites struct{ to Linked }

func (n noWrites) Invoke(ctx context.Context, op *provider.Operation, in, out any) error {
	if op.Kind == provider.Write {
		return ErrMoving()
	}
	return op.Do(ctx, n.to, in, out)
}

func (n noWrites) Rows(ctx context.Context, op *provider.Operation, in any, row func(any) error) error {
	return op.Each(ctx, n.to, in, row)
}
