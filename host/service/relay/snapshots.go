package relay

import (
	"context"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// ExportOrgSnapshot reads the application's organization as a whole.
func (a *application) ExportOrgSnapshot(ctx context.Context) (s provider.OrgSnapshot, err error) {
	err = a.snapshots(ctx, "exportOrgSnapshot", func(ctx context.Context, to OrgSnapshots) (err error) {
		s, err = to.ExportOrgSnapshot(ctx)
		return err
	})
	return s, err
}

// ApplyOrgSnapshot replaces it.
func (a *application) ApplyOrgSnapshot(ctx context.Context, in provider.ApplyOrgSnapshotInput) error {
	return a.snapshots(ctx, "applyOrgSnapshot", func(ctx context.Context, to OrgSnapshots) error { return to.ApplyOrgSnapshot(ctx, in) })
}

func (a *application) snapshots(ctx context.Context, op string, fn func(context.Context, OrgSnapshots) error) error {
	return a.ask(ctx, op, func(ctx context.Context, to Backend) error {
		whole, ok := to.(OrgSnapshots)
		if !ok {
			return authz.Rejected(authz.CodeUnsupported, "the application's organization cannot be read or replaced as a whole")
		}
		return fn(ctx, whole)
	}, nil)
}
