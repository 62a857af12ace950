package memory

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func (s *store) GetGrant(ctx context.Context, id string) (authz.Grant, bool, error) {
	return get(ctx, s, func(st *state) *tree[*authz.Grant] { return &st.grants.byID }, &authz.Grant{ID: id}, copyGrant, id)
}

func (s *store) ListGrants(ctx context.Context, f storage.GrantFilter, p storage.Page) iter.Seq2[authz.Grant, error] {
	ranges := grantRanges(f)
	read := func(st *state, after string, n int) []*authz.Grant { return st.grants.chunk(ranges, after, n) }
	return stream(ctx, s, []any{f, p}, p.After, p.Limit, read, func(g *authz.Grant) string { return g.ID }, copyGrant)
}

func (s *store) CountGrants(ctx context.Context, f storage.GrantFilter) (int64, error) {
	if err := s.usable(ctx, f); err != nil {
		return 0, err
	}
	return s.now().grants.count(f), nil
}

// grantRanges splits a filter into disjoint ones that name one subject at most.
func grantRanges(f storage.GrantFilter) []storage.GrantFilter {
	subjects := f.Subjects
	f.Subjects = nil
	switch {
	case subjects == nil:
		return []storage.GrantFilter{f}
	case f.Subject != nil:
		if !slices.Contains(subjects, *f.Subject) {
			return nil
		}
		return []storage.GrantFilter{f}
	}
	var ranges []storage.GrantFilter
	for _, subject := range distinct(subjects) {
		f.Subject = &subject
		ranges = append(ranges, f)
	}
	return ranges
}

// candidates yields by id a stretch of one index that holds every match.
func (r *grantRows) candidates(f storage.GrantFilter, after string) iter.Seq[*authz.Grant] {
	switch probe := (&authz.Grant{ID: after}); {
	case f.Subject != nil:
		probe.Subject = *f.Subject
		return while(r.bySubject.after(probe), func(g *authz.Grant) bool { return g.Subject == *f.Subject })
	case f.RoleID != nil:
		probe.RoleID = *f.RoleID
		return while(r.byRole.after(probe), func(g *authz.Grant) bool { return g.RoleID == *f.RoleID })
	case f.Scope != nil:
		probe.Scope = *f.Scope
		return while(r.byScope.after(probe), func(g *authz.Grant) bool { return g.Scope == *f.Scope })
	default:
		return r.byID.after(probe)
	}
}

func matchesGrant(f storage.GrantFilter, g *authz.Grant) bool {
	return selects(f.RoleID, g.RoleID) && (f.RoleID == nil || g.RoleID != "") && selects(f.Scope, g.Scope)
}

// chunk returns the first n grants above an id that the disjoint ranges hold.
// Once n are known, no range is read past the last of them.
func (r *grantRows) chunk(ranges []storage.GrantFilter, after string, n int) []*authz.Grant {
	var rows []*authz.Grant
	last := ""
	for _, f := range ranges {
		taken := 0
		for g := range r.candidates(f, after) {
			if last != "" && g.ID > last || taken == n {
				break
			}
			if matchesGrant(f, g) {
				rows = append(rows, g)
				taken++
			}
		}
		if len(rows)/2 >= n {
			slices.SortFunc(rows, byGrantID)
			rows, last = rows[:n], rows[n-1].ID
		}
	}
	slices.SortFunc(rows, byGrantID)
	return rows[:min(n, len(rows))]
}

func byGrantID(a, b *authz.Grant) int { return strings.Compare(a.ID, b.ID) }

func (r *grantRows) count(f storage.GrantFilter) (n int64) {
	if f.Subject == nil && f.Subjects == nil && f.Scope == nil && f.RoleID == nil {
		return int64(r.byID.len)
	}
	for _, one := range grantRanges(f) {
		for g := range r.candidates(one, "") {
			if matchesGrant(one, g) {
				n++
			}
		}
	}
	return n
}
