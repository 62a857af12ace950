package hostedroot

import (
	"context"
	"errors"

	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/relay"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// Link asks a hosted root as a linked application is asked: its errors are *fault.Error.
type Link struct {
	provider.Calls
	root *Root
}

var _ relay.Linked = (*Link)(nil)

// Root is what the link leads to.
func (l *Link) Root() *Root { return l.root }

// Confirm has nobody to ask.
func (l *Link) Confirm(context.Context) error { return nil }

// Ping answers for the root.
func (l *Link) Ping(ctx context.Context) (provider.Ping, error) {
	orgRoot, err := l.root.StoredOrgRoot(ctx)
	return provider.Ping{API: provider.APIVersion, OrgRoot: orgRoot, HasEventLog: true}, failed(err)
}

// OnInvalidate hears what this host writes there.
func (l *Link) OnInvalidate(listener func(authz.Event)) (unsubscribe func()) {
	return l.root.OnInvalidate(listener)
}

// ExportOrgSnapshot and ApplyOrgSnapshot are no way to a hosted root: package federation
// moves it.
func (l *Link) ExportOrgSnapshot(context.Context) (provider.OrgSnapshot, error) {
	return provider.OrgSnapshot{}, notHere()
}

func (l *Link) ApplyOrgSnapshot(context.Context, provider.ApplyOrgSnapshotInput) error {
	return notHere()
}

func notHere() error {
	return fault.Rejected(authz.CodeUnsupported, "a hosted org root is moved by federation alone")
}

// Invoke carries an operation out.
func (l *Link) Invoke(ctx context.Context, op *provider.Operation, in, out any) error {
	return failed(op.Do(ctx, l.root.Application, in, out))
}

// Rows hands rows on as they are read.
func (l *Link) Rows(ctx context.Context, op *provider.Operation, in any, row func(any) error) error {
	var stopped error
	err := op.Each(ctx, l.root.Application, in, func(r any) error {
		stopped = row(r)
		return stopped
	})
	if stopped != nil {
		return stopped
	}
	return failed(err)
}

// failed names the errors of an application of this process.
func failed(err error) error {
	if err == nil {
		return nil
	}
	if refused := relay.Refusal(err); refused != nil {
		return refused
	}
	var down *authz.UnavailableError
	if errors.As(err, &down) {
		e := fault.Storage(err)
		if down.Outcome != "" {
			e.With("outcome", string(down.Outcome))
		}
		return e
	}
	return fault.Storage(err)
}
