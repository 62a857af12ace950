package mesh

import (
	"cmp"
	"context"
	"slices"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// ReadAccess supplies a principal from every partition that takes part. The
// organization is read first: what changes meanwhile is seen late, never in part, and
// both logs tell of it. Owners of imports are read beside both (spec: mesh §7).
func (m *Member) ReadAccess(ctx context.Context, q storage.AccessQuery) (storage.Access, error) {
	if q.UserID == "" && q.Subjects == nil {
		return m.Store.ReadAccess(ctx, q) // nobody is asked about
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lent := m.imports.begin(ctx, q)
	read, err := m.read(ctx, q)
	if err != nil {
		return storage.Access{}, err
	}
	return lent(read)
}

func (m *Member) read(ctx context.Context, q storage.AccessQuery) (storage.Access, error) {
	org, err := m.org(ctx)
	if err != nil {
		return storage.Access{}, err
	}
	if org == nil {
		return m.Store.ReadAccess(ctx, q)
	}
	asked := q
	asked.Scope = ""
	read, err := org.ReadAccess(ctx, asked)
	if err != nil {
		return storage.Access{}, err
	}
	if q.Expand {
		q.Subjects, q.Expand = read.Closure, false
	}
	own, err := m.Store.ReadAccess(ctx, q)
	if err != nil {
		return storage.Access{}, err
	}
	roles, err := rolesBeside(ctx, org, read.Roles, own.Grants)
	if err != nil {
		return storage.Access{}, err
	}
	read.Roles, read.Parents = roles, own.Parents
	read.Grants = atHome(read.Grants, own.Grants, scopeOfGrant, func(g authz.Grant) string { return g.ID })
	read.Revokes = atHome(read.Revokes, own.Revokes, scopeOfRevoke, func(r authz.Revoke) string { return r.ID })
	return read, nil
}

// atHome are the organization's global rows and the own partition's others, by id.
func atHome[Row any](org, own []Row, scope func(Row) string, id func(Row) string) []Row {
	rows := make([]Row, 0, len(org)+len(own))
	for _, row := range org {
		if scope(row) == authz.Global {
			rows = append(rows, row)
		}
	}
	for _, row := range own {
		if scope(row) != authz.Global {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b Row) int { return cmp.Compare(id(a), id(b)) })
	return rows
}

// rolesBeside are the organization's roles that its own rows name, and those that
// grants of another partition name.
func rolesBeside(ctx context.Context, org storage.Store, known []authz.Role, grants []authz.Grant) ([]authz.Role, error) {
	have := make(map[string]bool, len(known))
	for _, r := range known {
		have[r.ID] = true
	}
	var missing []string
	for _, g := range grants {
		if g.Scope != authz.Global && g.RoleID != "" && !have[g.RoleID] {
			have[g.RoleID] = true
			missing = append(missing, g.RoleID)
		}
	}
	if len(missing) == 0 {
		return known, nil
	}
	roles := slices.Clone(known)
	if org.Info().Capabilities.Has(storage.CapBatchRoles) {
		found, err := org.GetRoles(ctx, missing)
		return append(roles, found...), err
	}
	for _, id := range missing {
		role, found, err := org.GetRole(ctx, id)
		if err != nil {
			return nil, err
		}
		if found {
			roles = append(roles, role)
		}
	}
	return roles, nil
}
