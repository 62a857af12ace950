package lookup

import (
	"cmp"
	"slices"

	"github.com/authzhost/authz/internal/lists"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// exceptRevoked tells the users from whom a revoke takes what everyone holds, each at
// the first of their revokes.
func (s *subjectList) exceptRevoked(after place) error {
	if len(s.shared[authz.Everyone]) == 0 {
		return nil
	}
	scopes := slices.Sorted(slices.Values(s.chain))
	if s.implied {
		scopes = []string{""} // a revoke anywhere may take what is implied
	}
	for _, scope := range scopes {
		if scope < after.At {
			continue
		}
		page := storage.Page{}
		if scope == after.At && len(after.Path) > 0 {
			page.After = after.Path[0]
		}
		if err := s.exceptAt(scope, page); err != nil || s.extent.cut {
			return err
		}
	}
	return nil
}

func (s *subjectList) exceptAt(scope string, page storage.Page) error {
	f := storage.RevokeFilter{Scope: &scope}
	if scope == "" {
		f.Scope = nil
	}
	for some, err := range lists.Pieces(s.Store.ListRevokes(s.ctx, f, page), s.extent.batch) {
		if err != nil || s.extent.over() {
			return err
		}
		last := some[len(some)-1].ID
		s.extent.examined += len(some)
		some = slices.DeleteFunc(some, func(r authz.Revoke) bool { return !s.suppresses(&r) })
		users := make([]string, len(some))
		for i, r := range some {
			users[i] = r.UserID
		}
		slices.Sort(users)
		verdicts, err := s.judge(slices.Compact(users), nil)
		if err != nil {
			return err
		}
		for _, r := range some {
			v := verdicts[r.UserID]
			told := !v.ok && v.holder.Except == provider.ExceptRevoked && s.firstRevoke(v.revokes) == r.ID
			if !s.decided(place{At: scope, Path: []string{r.ID}}, told, v.holder) {
				return nil
			}
		}
		s.decided(place{At: scope, Path: []string{last}}, false, provider.Holder{})
	}
	return nil
}

// firstRevoke is the id of the revoke that the list comes to first.
func (s *subjectList) firstRevoke(revokes []authz.Revoke) string {
	first := slices.MinFunc(revokes, func(a, b authz.Revoke) int {
		if s.implied {
			return cmp.Compare(a.ID, b.ID)
		}
		return cmp.Or(cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.ID, b.ID))
	})
	return first.ID
}

// exceptInactive tells the users who are inactive where everyone holds the key.
func (s *subjectList) exceptInactive(after place) error {
	if len(s.shared[authz.Everyone]) == 0 {
		return nil
	}
	active := false
	for u, err := range s.Store.ListUsers(s.ctx, storage.UserFilter{Active: &active}, storage.Page{After: after.At}) {
		if err != nil {
			return err
		}
		h := provider.Holder{Subject: authz.UserPrincipal(u.UserID).Subject(), Except: provider.ExceptInactive}
		if !s.decided(place{At: u.UserID}, true, h) {
			break
		}
	}
	return nil
}
