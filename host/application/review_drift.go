package application

import (
	"context"
	"encoding/base64"
	"encoding/json"

	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// driftPlace is where a page of a drift report ended: behind a grant of all, or in what
// is told of a role, behind one of its grants and before one of its patterns.
type driftPlace struct {
	Since   int64  `json:"s"`
	To      int64  `json:"t"` // the head of the first page
	Roles   bool   `json:"r,omitempty"`
	Role    string `json:"o,omitempty"`
	Grant   string `json:"g,omitempty"`
	Pattern int    `json:"p,omitempty"`
}

func driftPlaceOf(q provider.DriftQuery) (at driftPlace, err error) {
	if q.After == "" {
		return at, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(q.After)
	if err != nil || json.Unmarshal(text, &at) != nil || at.Since != q.SinceVersion || at.To < 1 || at.Pattern < 0 {
		return at, errForeignPlace()
	}
	var s shape // a caller may have made the place
	s.text("after", at.Role, maxCursor)
	s.text("after", at.Grant, maxCursor)
	return at, s.err
}

func (at driftPlace) cursor() (string, error) {
	text, err := json.Marshal(at)
	return base64.RawURLEncoding.EncodeToString(text), err
}

const (
	maxDriftRows  = 10_000 // grants and roles that a page looks at
	driftGrantIDs = 200    // grants that are read for a finding of a role
)

// driftWalk goes through the rows that may reach further by a drift, from a place on.
type driftWalk struct {
	a        *Application
	drift    access.Drift
	place    driftPlace
	now      int64
	examined int
}

// each hands out findings until take has enough, or enough was looked at, and reports
// whether there may be more behind the place.
func (w *driftWalk) each(ctx context.Context, take func(access.DriftFinding) (bool, error)) (more bool, err error) {
	if len(w.drift.GainedKeys) == 0 {
		return false, nil
	}
	if !w.place.Roles {
		for g, err := range w.a.store.ListGrants(ctx, storage.GrantFilter{}, storage.Page{After: w.place.Grant}) {
			if err != nil || w.examined >= maxDriftRows {
				return true, err
			}
			w.examined++
			if gained := w.drift.GainedBy(g.Pattern); len(gained) > 0 && !g.ExpiresAt.Expired(w.now) {
				ok, err := take(access.DriftFinding{Via: access.DriftVia{Kind: access.DriftViaGrant, Grant: &g}, Pattern: g.Pattern, GainedKeys: gained})
				if err != nil || !ok {
					return true, err
				}
			}
			w.place.Grant = g.ID
		}
		w.place.Roles, w.place.Grant = true, ""
	}
	if w.place.Role != "" { // of which a part was told
		role, found, err := w.a.store.GetRole(ctx, w.place.Role)
		if err != nil {
			return true, err
		}
		if found {
			if more, err := w.ofRole(ctx, role, take); err != nil || more {
				return true, err
			}
		}
	}
	for role, err := range w.a.store.ListRoles(ctx, storage.Page{After: w.place.Role}) {
		if err != nil || w.examined >= maxDriftRows {
			return true, err
		}
		w.examined++
		w.place.Role, w.place.Grant, w.place.Pattern = role.ID, "", 0
		if more, err := w.ofRole(ctx, role, take); err != nil || more {
			return true, err
		}
	}
	return false, nil
}

// ofRole hands out the findings of one role, for some of its grants after the other.
func (w *driftWalk) ofRole(ctx context.Context, role authz.Role, take func(access.DriftFinding) (bool, error)) (more bool, err error) {
	gained := make([][]string, len(role.Patterns))
	reaches := false
	for i, p := range role.Patterns {
		gained[i] = w.drift.GainedBy(p)
		reaches = reaches || len(gained[i]) > 0
	}
	for reaches {
		if w.examined >= maxDriftRows {
			return true, nil
		}
		var ids []string
		last, n := "", 0
		for g, err := range w.a.store.ListGrants(ctx, storage.GrantFilter{RoleID: &role.ID}, storage.Page{After: w.place.Grant, Limit: driftGrantIDs}) {
			if err != nil {
				return true, err
			}
			if last, n = g.ID, n+1; g.Pattern == "" && !g.ExpiresAt.Expired(w.now) {
				ids = append(ids, g.ID)
			}
		}
		w.examined += n
		for i := w.place.Pattern; i < len(role.Patterns) && len(ids) > 0; i++ {
			if len(gained[i]) == 0 {
				continue
			}
			via := access.DriftVia{Kind: access.DriftViaRole, Role: &role, GrantIDs: ids}
			ok, err := take(access.DriftFinding{Via: via, Pattern: role.Patterns[i], GainedKeys: gained[i]})
			if err != nil || !ok {
				return true, err
			}
			w.place.Pattern = i + 1
		}
		if n < driftGrantIDs {
			return false, nil
		}
		w.place.Grant, w.place.Pattern = last, 0
	}
	return false, nil
}
