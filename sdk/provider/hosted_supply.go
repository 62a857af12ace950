package provider

import (
	"context"
	"encoding/json"

	"github.com/authzhost/authz/sdk/authz"
)

// What evaluation needs of a provider, and what the provider says of itself.

// Ping is what the far side says of itself.
type Ping struct {
	API         int    `json:"api"`
	Application string `json:"application"`
	OrgRoot     bool   `json:"orgRoot"`
	HasEpoch    bool   `json:"hasEpoch"`
	AuditOptIn  bool   `json:"auditOptIn"`
}

// Ping asks the far side which application it serves.
func (h *Hosted) Ping(ctx context.Context) (p Ping, err error) {
	return whole[Ping](ctx, h, "ping", nil)
}

func (h *Hosted) Capabilities(ctx context.Context) (Capabilities, error) {
	return whole[Capabilities](ctx, h, "capabilities", nil)
}

// whole is an operation whose answer is the object itself.
func whole[T any](ctx context.Context, h *Hosted, op string, p params) (v T, err error) {
	if err := sendable(p); err != nil {
		return v, err
	}
	err = h.Call(ctx, op, p, &v)
	return v, err
}

func (h *Hosted) GetSubjectAccess(ctx context.Context, p authz.Principal) (access authz.SubjectAccess, err error) {
	if err := p.Validate(); err != nil {
		return access, err
	}
	m, err := h.members(ctx, "getSubjectAccess", params{"principal": p})
	if err != nil {
		return access, err
	}
	// A member that is missing must not read as nothing held, or as active.
	for _, name := range []string{"closure", "grants", "revokes", "roles", "managerChain", "unresolvedRoleIds", "active"} {
		if raw, ok := m.fields[name]; !ok || isNull(raw) {
			return access, m.unusable(name)
		}
	}
	if _, ok := m.fields["userId"]; !ok {
		return access, m.unusable("userId")
	}
	for name, into := range map[string]any{"userId": &access.UserID, "closure": &access.Closure, "grants": &access.Grants,
		"revokes": &access.Revokes, "roles": &access.Roles, "managerChain": &access.ManagerChain,
		"unresolvedRoleIds": &access.UnresolvedRoleIDs, "active": &access.Active} {
		if json.Unmarshal(m.fields[name], into) != nil {
			return authz.SubjectAccess{}, m.unusable(name)
		}
	}
	return access, nil
}

func (h *Hosted) ResolveAncestors(ctx context.Context, scope string) ([]string, error) {
	return field[[]string](ctx, h, "resolveAncestors", params{"scope": scope}, "ancestors")
}

// Epoch reads the event log of the far side.
func (h *Hosted) Epoch() Epoch { return hostedEpoch{h} }

type hostedEpoch struct{ h *Hosted }

func (e hostedEpoch) Head(ctx context.Context) (head EpochHead, err error) {
	m, err := e.h.members(ctx, "epoch.head", nil)
	if err != nil {
		return head, err
	}
	if head.Seq, err = member[int64](m, "seq"); err != nil {
		return head, err
	}
	if head.Identity, err = present[string](m, "identity"); err == nil {
		head.Log, err = present[string](m, "log")
	}
	return head, err
}

func (e hostedEpoch) Since(ctx context.Context, after authz.Position, limit int) (page EpochPage, err error) {
	p := params{"seq": after.Seq}
	if after.Identity != "" {
		p["identity"] = after.Identity
	}
	if limit > 0 {
		p["limit"] = limit
	}
	m, err := e.h.members(ctx, "epoch.since", p)
	if err != nil {
		return page, err
	}
	page.Gap, page.Reset = string(m.fields["gap"]) == "true", string(m.fields["reset"]) == "true"
	if page.Gap || page.Reset {
		return page, nil
	}
	if page.UpTo.Seq, err = member[int64](m, "upTo"); err != nil {
		return page, err
	}
	if page.UpTo.Identity, err = present[string](m, "identity"); err == nil {
		page.Events, err = member[[]authz.Event](m, "events")
	}
	return page, err
}

// present reads a member that may be absent, which is zero.
func present[T any](m answered, name string) (v T, err error) {
	if _, there := m.fields[name]; there {
		v, err = member[T](m, name)
	}
	return v, err
}
