package service

import (
	"context"
	"slices"

	"github.com/authzhost/authz/host/service/cloud"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/sdk/authz"
)

// conferred is what a row would give: patterns of account vocabulary at a scope.
type conferred struct {
	patterns []string
	scope    string
}

// missing is a key that a caller lacks.
type missing struct {
	Key   string `json:"key"`
	Scope string `json:"scope"`
}

// holdsAll is escalation_refused unless the caller holds every key that the rows
// would confer, at their scopes.
func (a *Access) holdsAll(ctx context.Context, rows []conferred) error {
	lacking := []missing{}
	for _, row := range rows {
		for _, pattern := range row.patterns {
			for _, key := range cloud.Catalog().KeysMatching(pattern) {
				m := missing{key, row.scope}
				if !cloud.Catalog().AppliesAt(key, row.scope) || slices.Contains(lacking, m) {
					continue
				}
				allowed, err := a.Can(ctx, key, row.scope)
				if err != nil {
					return err
				}
				if !allowed {
					lacking = append(lacking, m)
				}
			}
		}
	}
	if len(lacking) == 0 {
		return nil
	}
	return fault.Cloud("escalation_refused", "nobody gives what they do not hold").With("missing", lacking)
}

// holdsService judges who comes to know a secret of a machine subject: it acts by
// the subject's account rows.
func (s *Service) holdsService(ctx context.Context, a *Access, id string) error {
	data, err := s.rows(ctx, a.Org.ID, authz.ServicePrincipal(id), nil, a.fresh)
	if err != nil {
		return err
	}
	patterns := map[string][]string{}
	for _, role := range data.Roles {
		patterns[role.ID] = role.Patterns
	}
	var rows []conferred
	for _, g := range data.Grants {
		if g.ExpiresAt.Expired(s.Clock()) {
			continue
		}
		row := conferred{[]string{g.Pattern}, g.Scope}
		if g.Pattern == "" {
			row.patterns = patterns[g.RoleID]
		}
		rows = append(rows, row)
	}
	return a.holdsAll(ctx, rows)
}
