package conformance_test

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func grantLists(list func(s *store, ctx context.Context, f storage.GrantFilter, p storage.Page) iter.Seq2[authz.Grant, error]) func(*store) {
	return func(s *store) {
		s.listGrants = func(ctx context.Context, f storage.GrantFilter, p storage.Page) iter.Seq2[authz.Grant, error] {
			return list(s, ctx, f, p)
		}
	}
}

// moment is what lies between two statements of a database.
const moment = 300 * time.Microsecond

var readMutants = []mutant{
	{name: "an empty list of subjects selects all", kind: "filter", cases: "B05", store: grantLists(func(s *store, ctx context.Context, f storage.GrantFilter, p storage.Page) iter.Seq2[authz.Grant, error] {
		if len(f.Subjects) == 0 {
			f.Subjects = nil
		}
		return s.Store.ListGrants(ctx, f, p)
	})},
	{name: "subjects win over subject", kind: "filter", cases: "B04 B08", store: grantLists(func(s *store, ctx context.Context, f storage.GrantFilter, p storage.Page) iter.Seq2[authz.Grant, error] {
		if f.Subjects != nil {
			f.Subject = nil
		}
		return s.Store.ListGrants(ctx, f, p)
	})},
	{name: "an empty roleId selects grants without a role", kind: "filter", cases: "B07", store: grantLists(func(s *store, ctx context.Context, f storage.GrantFilter, p storage.Page) iter.Seq2[authz.Grant, error] {
		if f.RoleID != nil && *f.RoleID == "" {
			f.RoleID = nil
			return only(s.Store.ListGrants(ctx, f, p), func(_ int, g *authz.Grant) bool { return g.RoleID == "" })
		}
		return s.Store.ListGrants(ctx, f, p)
	})},
	{name: "the count ignores the scope", kind: "filter", cases: "B08", store: func(s *store) {
		s.countGrants = func(ctx context.Context, f storage.GrantFilter) (int64, error) {
			f.Scope = nil
			return s.Store.CountGrants(ctx, f)
		}
	}},
	{name: "a scope matches by prefix", kind: "filter", cases: "B12 B13", store: grantLists(func(s *store, ctx context.Context, f storage.GrantFilter, p storage.Page) iter.Seq2[authz.Grant, error] {
		scope := f.Scope
		f.Scope = nil
		return only(s.Store.ListGrants(ctx, f, p), func(_ int, g *authz.Grant) bool { return scope == nil || strings.HasPrefix(g.Scope, *scope) })
	})},
	{name: "subjects are compared without case", kind: "filter", cases: "B12 B13", store: grantLists(func(s *store, ctx context.Context, f storage.GrantFilter, p storage.Page) iter.Seq2[authz.Grant, error] {
		subject := f.Subject
		f.Subject = nil
		return only(s.Store.ListGrants(ctx, f, p), func(_ int, g *authz.Grant) bool { return subject == nil || strings.EqualFold(g.Subject, *subject) })
	})},
	{name: "a list ends with its first chunk", kind: "list", cases: "B14 B15", store: grantLists(func(s *store, ctx context.Context, f storage.GrantFilter, p storage.Page) iter.Seq2[authz.Grant, error] {
		return only(s.Store.ListGrants(ctx, f, p), func(i int, _ *authz.Grant) bool { return i < 1000 })
	})},
	{name: "the last row of a chunk comes twice", kind: "list", cases: "B14", store: grantLists(func(s *store, ctx context.Context, f storage.GrantFilter, p storage.Page) iter.Seq2[authz.Grant, error] {
		rows, err := collected(s.Store.ListGrants(ctx, f, p))
		if len(rows) > 1000 {
			rows = slices.Insert(rows, 1000, rows[999])
		}
		return listOf(rows, err)
	})},
	{name: "a limit of whole chunks is none", kind: "list", cases: "B14c", store: grantLists(func(s *store, ctx context.Context, f storage.GrantFilter, p storage.Page) iter.Seq2[authz.Grant, error] {
		if p.Limit%1000 == 0 {
			p.Limit = 0
		}
		return s.Store.ListGrants(ctx, f, p)
	})},
	{name: "a list descends", kind: "wrong order", cases: "B03 B14", store: grantLists(func(s *store, ctx context.Context, f storage.GrantFilter, p storage.Page) iter.Seq2[authz.Grant, error] {
		rows, err := collected(s.Store.ListGrants(ctx, f, p))
		slices.Reverse(rows)
		return listOf(rows, err)
	})},
	{name: "expired grants are left out", kind: "list", cases: "B16", store: grantLists(func(s *store, ctx context.Context, f storage.GrantFilter, p storage.Page) iter.Seq2[authz.Grant, error] {
		return only(s.Store.ListGrants(ctx, f, p), func(_ int, g *authz.Grant) bool {
			at, expires := g.ExpiresAt.At()
			return !expires || at > time.Now().UnixMilli()
		})
	})},
	{name: "a user's revokes at * are dropped", kind: "filter", cases: "B21", store: func(s *store) {
		s.listRevokes = func(ctx context.Context, f storage.RevokeFilter, p storage.Page) iter.Seq2[authz.Revoke, error] {
			return only(s.Store.ListRevokes(ctx, f, p), func(_ int, r *authz.Revoke) bool { return f.UserID == nil || r.Scope != "*" })
		}
	}},
	{name: "getRoles answers a repeated id twice", kind: "read", cases: "B28", store: func(s *store) {
		s.getRoles = func(ctx context.Context, ids []string) ([]authz.Role, error) {
			var out []authz.Role
			for _, id := range ids {
				if r, found, err := s.Store.GetRole(ctx, id); err != nil {
					return nil, err
				} else if found {
					out = append(out, r)
				}
			}
			return out, nil
		}
	}},
	{name: "readAccess answers all roles", kind: "read", cases: "B17", store: func(s *store) {
		s.readAccess = func(ctx context.Context, q storage.AccessQuery) (storage.Access, error) {
			a, err := s.Store.ReadAccess(ctx, q)
			if err == nil {
				a.Roles, err = collected(s.Store.ListRoles(ctx, storage.Page{}))
			}
			return a, err
		}
	}},
	{name: "readAccess reads the head after the rows", kind: "two instants", cases: "B85 E17", store: func(s *store) {
		s.readAccess = func(ctx context.Context, q storage.AccessQuery) (a storage.Access, err error) {
			if a, err = s.Store.ReadAccess(ctx, q); err == nil {
				time.Sleep(moment)
				a.Head, err = s.Store.Head(ctx)
			}
			return a, err
		}
	}},
	{name: "readAccess reads the revokes after the grants", kind: "two instants", cases: "B19", store: func(s *store) {
		s.readAccess = func(ctx context.Context, q storage.AccessQuery) (a storage.Access, err error) {
			if a, err = s.Store.ReadAccess(ctx, q); err == nil {
				time.Sleep(moment)
				a.Revokes, err = collected(s.Store.ListRevokes(ctx, storage.RevokeFilter{UserID: &q.UserID}, storage.Page{}))
			}
			return a, err
		}
	}},
	{name: "readAccess answers the parents of one level", kind: "read", cases: "B20b B20c", store: func(s *store) {
		s.readAccess = func(ctx context.Context, q storage.AccessQuery) (storage.Access, error) {
			a, err := s.Store.ReadAccess(ctx, q)
			if err == nil && q.Scope != "" {
				a.Parents, err = s.Store.GetScopeParents(ctx, []string{q.Scope})
			}
			return a, err
		}
	}},
	{name: "readAccess cuts the ancestors at the bound", kind: "read", cases: "B20b", store: func(s *store) {
		s.readAccess = func(ctx context.Context, q storage.AccessQuery) (storage.Access, error) {
			a, err := s.Store.ReadAccess(ctx, q)
			if err == nil && q.Scope != "" && a.Parents == nil {
				a.Parents, err = s.Store.GetScopeParents(ctx, []string{q.Scope})
			}
			return a, err
		}
	}},
	{name: "readAccess reads the ancestors after the rows", kind: "two instants", cases: "B20c", store: func(s *store) {
		s.readAccess = func(ctx context.Context, q storage.AccessQuery) (a storage.Access, err error) {
			if a, err = s.Store.ReadAccess(ctx, q); err == nil && q.Scope != "" {
				time.Sleep(moment)
				var later storage.Access
				later, err = s.Store.ReadAccess(ctx, storage.AccessQuery{Scope: q.Scope})
				a.Parents = later.Parents
			}
			return a, err
		}
	}},
	{name: "readAccess takes the first 1000 subjects", kind: "read", cases: "B18", store: func(s *store) {
		s.readAccess = func(ctx context.Context, q storage.AccessQuery) (storage.Access, error) {
			q.Subjects = q.Subjects[:min(1000, len(q.Subjects))]
			return s.Store.ReadAccess(ctx, q)
		}
	}},
	{name: "readAccess takes the first 1000 revokes", kind: "read", cases: "B18", store: accessOf(func(a *storage.Access) { a.Revokes = a.Revokes[:min(1000, len(a.Revokes))] })},
	{name: "readAccess takes the first 20 roles", kind: "read", cases: "B18", store: accessOf(func(a *storage.Access) { a.Roles = a.Roles[:min(20, len(a.Roles))] })},
	{name: "getRoles takes the first 1000 ids", kind: "read", cases: "B18", store: func(s *store) {
		s.getRoles = func(ctx context.Context, ids []string) ([]authz.Role, error) {
			return s.Store.GetRoles(ctx, ids[:min(1000, len(ids))])
		}
	}},
	{name: "parents of the first 20 scopes are answered", kind: "read", cases: "B49", store: func(s *store) {
		s.scopeParents = func(ctx context.Context, scopes []string) (map[string][]string, error) {
			if len(scopes) <= 1000 {
				scopes = scopes[:min(20, len(scopes))]
			}
			return s.Store.GetScopeParents(ctx, scopes)
		}
	}},
	{name: "expand stops at the first manager", kind: "read", cases: "B20", store: func(s *store) {
		s.readAccess = func(ctx context.Context, q storage.AccessQuery) (storage.Access, error) {
			a, err := s.Store.ReadAccess(ctx, q)
			a.ManagerChain = a.ManagerChain[:min(1, len(a.ManagerChain))]
			return a, err
		}
	}},
	{name: "requests are listed by id", kind: "wrong order", cases: "B41", store: func(s *store) {
		s.listRequests = func(ctx context.Context, f storage.RequestFilter, p storage.RequestPage) iter.Seq2[authz.Request, error] {
			rows, err := collected(s.Store.ListRequests(ctx, f, p))
			slices.SortFunc(rows, func(a, b authz.Request) int { return strings.Compare(a.ID, b.ID) })
			return listOf(rows, err)
		}
	}},
	{name: "audit lists the first limit entries", kind: "wrong order", cases: "B51", store: auditLists(func(f *storage.AuditFilter) {
		if f.Cursor == nil && f.Limit != nil {
			f.Cursor = &authz.AuditCursor{At: -authz.MaxInstant}
		}
	})},
	{name: "an audit limit of 0 means all", kind: "filter", cases: "B52", store: auditLists(func(f *storage.AuditFilter) {
		if f.Limit != nil && *f.Limit == 0 {
			f.Limit = nil
		}
	})},
	{name: "an audit limit of whole chunks is none", kind: "list", cases: "B14c", store: auditLists(func(f *storage.AuditFilter) {
		if f.Cursor != nil && f.Limit != nil && *f.Limit > 0 && *f.Limit%1000 == 0 {
			f.Limit = nil
		}
	})},
	{name: "an audit walk passes over ties", kind: "list", cases: "B53", store: auditLists(func(f *storage.AuditFilter) {
		if f.Cursor != nil && f.Cursor.ID != "" {
			f.Cursor = &authz.AuditCursor{At: f.Cursor.At, ID: "\U0010FFFF"}
		}
	})},
	{name: "an audit window includes its end", kind: "filter", cases: "B54", store: auditLists(func(f *storage.AuditFilter) {
		if f.To != nil {
			to := *f.To + 1
			f.To = &to
		}
	})},
	{name: "an absent requestable comes back empty", kind: "absence", cases: "B02", store: func(s *store) {
		s.getRole = func(ctx context.Context, id string) (authz.Role, bool, error) {
			r, found, err := s.Store.GetRole(ctx, id)
			if found && r.Requestable == nil {
				r.Requestable = &authz.Requestable{}
			}
			return r, found, err
		}
	}},
	{name: "an absent row is an empty record", kind: "absence", cases: "B33 I04", store: func(s *store) {
		s.getUser = func(ctx context.Context, id string) (authz.User, bool, error) {
			u, _, err := s.Store.GetUser(ctx, id)
			return u, err == nil, err
		}
	}},
	{name: "memberships come back sorted", kind: "wrong order", cases: "B35", store: func(s *store) {
		s.getUser = func(ctx context.Context, id string) (authz.User, bool, error) {
			u, found, err := s.Store.GetUser(ctx, id)
			slices.Sort(u.GroupIDs)
			return u, found, err
		}
	}},
	{name: "hasManager is ignored", kind: "filter", cases: "B39", store: func(s *store) {
		s.listUsers = func(ctx context.Context, f storage.UserFilter, p storage.Page) iter.Seq2[authz.User, error] {
			f.HasManager = nil
			return s.Store.ListUsers(ctx, f, p)
		}
	}},
	{name: "a recorded root reads as never recorded", kind: "absence", cases: "B49", store: func(s *store) {
		s.scopeParents = func(ctx context.Context, scopes []string) (map[string][]string, error) {
			parents, err := s.Store.GetScopeParents(ctx, scopes)
			for scope, list := range parents {
				if len(list) == 0 {
					delete(parents, scope)
				}
			}
			return parents, err
		}
	}},
	{name: "the instant of a publication is lost", kind: "read", cases: "B46", store: func(s *store) {
		s.getVersion = func(ctx context.Context, version int64) (storage.CatalogVersion, bool, error) {
			v, found, err := s.Store.GetCatalogVersion(ctx, version)
			v.PublishedAt = 0
			return v, found, err
		}
	}},
	{name: "reads ignore their context", kind: "context", cases: "S12", store: func(s *store) {
		s.getGrant = func(ctx context.Context, id string) (authz.Grant, bool, error) {
			return s.Store.GetGrant(context.WithoutCancel(ctx), id)
		}
	}},
	{name: "answers share memory with the store", kind: "aliasing", cases: "S01", store: func(s *store) {
		kept := map[string]authz.Role{}
		s.getRole = func(ctx context.Context, id string) (authz.Role, bool, error) {
			if r, found := kept[id]; found {
				return r, true, nil
			}
			r, found, err := s.Store.GetRole(ctx, id)
			if found {
				kept[id] = r
			}
			return r, found, err
		}
	}},
}

func accessOf(alter func(*storage.Access)) func(*store) {
	return func(s *store) {
		s.readAccess = func(ctx context.Context, q storage.AccessQuery) (storage.Access, error) {
			a, err := s.Store.ReadAccess(ctx, q)
			alter(&a)
			return a, err
		}
	}
}

func auditLists(alter func(*storage.AuditFilter)) func(*store) {
	return func(s *store) {
		s.listAudit = func(ctx context.Context, f storage.AuditFilter) iter.Seq2[authz.AuditEntry, error] {
			alter(&f)
			return s.Store.ListAudit(ctx, f)
		}
	}
}
