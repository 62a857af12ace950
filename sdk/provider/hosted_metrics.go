package provider

import (
	"context"
	"errors"

	"github.com/authzhost/authz/sdk/metrics"
)

func (h *Hosted) ReportMetrics(ctx context.Context, b metrics.Batch) error {
	return h.post(ctx, "reportMetrics", params{"batch": b})
}

func (h *Hosted) GetGrantUsage(ctx context.Context, q UsageQuery) ([]RowUsage, error) {
	return usage[RowUsage](ctx, h, "getGrantUsage", q)
}

func (h *Hosted) GetRevokeUsage(ctx context.Context, q UsageQuery) ([]RowUsage, error) {
	return usage[RowUsage](ctx, h, "getRevokeUsage", q)
}

func (h *Hosted) GetRoleUsage(ctx context.Context, q UsageQuery) ([]RowUsage, error) {
	return usage[RowUsage](ctx, h, "getRoleUsage", q)
}

func (h *Hosted) GetPermissionUsage(ctx context.Context, q UsageQuery) ([]PermissionUsage, error) {
	return usage[PermissionUsage](ctx, h, "getPermissionUsage", q)
}

func (h *Hosted) GetScopeTypeUsage(ctx context.Context, q UsageQuery) ([]PermissionUsage, error) {
	return usage[PermissionUsage](ctx, h, "getScopeTypeUsage", q)
}

func usage[T any](ctx context.Context, h *Hosted, op string, q UsageQuery) ([]T, error) {
	return field[[]T](ctx, h, op, params{"query": q}, "usage")
}

// ExportOrgSnapshot reads the organization as a whole.
func (h *Hosted) ExportOrgSnapshot(ctx context.Context) (OrgSnapshot, error) {
	m, err := h.named(ctx, "exportOrgSnapshot", "org.exportSnapshot", nil)
	if err != nil {
		return OrgSnapshot{}, err
	}
	return member[OrgSnapshot](m, "snapshot")
}

// named posts an operation that some applications know by an older name only. One
// that does not know the name has done nothing.
func (h *Hosted) named(ctx context.Context, op, older string, p params) (answered, error) {
	m, err := h.members(ctx, op, p)
	if !isUnknownOp(err) {
		return m, err
	}
	if again, olderErr := h.members(ctx, older, p); !isUnknownOp(olderErr) {
		return again, olderErr
	}
	return m, err
}

func isUnknownOp(err error) bool {
	e := new(TransportError)
	return errors.As(err, &e) && e.Code == UnknownOp
}

// ApplyOrgSnapshot replaces it.
func (h *Hosted) ApplyOrgSnapshot(ctx context.Context, in ApplyOrgSnapshotInput) error {
	p := params{"snapshot": in.Snapshot, "source": in.Source}
	if in.Authority != nil {
		p["authority"] = *in.Authority
	}
	for name, v := range map[string]*int64{"expectHead": in.ExpectHead, "position": in.Position} {
		if v != nil {
			p[name] = *v
		}
	}
	if in.ExpectIdentity != "" {
		p["expectIdentity"] = in.ExpectIdentity
	}
	m, err := h.named(ctx, "applyOrgSnapshot", "org.applySnapshot", p)
	if err != nil {
		return err
	}
	if done, err := member[bool](m, "applied"); err != nil || !done {
		return m.unusable("applied")
	}
	return nil
}
