package lookup

import (
	"cmp"
	"slices"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// exceptRevoked tells the users from whom a revoke takes what everyone holds, each at
// the first of their revokes.
func (s *subjectList) exceptRevoked(after place, to tell) (more bool, err error) {
	if len(s.shared[authz.Everyone]) == 0 {
		return true, nil
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
		if more, err = s.exceptAt(scope, page, to); err != nil || !more {
			return false, err
		}
	}
	return true, nil
}

func (s *subjectList) exceptAt(scope string, page storage.Page, to tell) (more bool, err error) {
	f := storage.RevokeFilter{Scope: &scope}
	if scope == "" {
		f.Scope = nil
	}
	for some, err := range chunks(s.Store.ListRevokes(s.ctx, f, page)) {
		if err != nil {
			return false, err
		}
		some = slices.DeleteFunc(some, func(r authz.Revoke) bool { return !s.suppresses(&r) })
		users := make([]string, len(some))
		for i, r := range some {
			users[i] = r.UserID
		}
		slices.Sort(users)
		verdicts, err := s.judge(slices.Compact(users))
		if err != nil {
			return false, err
		}
		for _, r := range some {
			v := verdicts[r.UserID]
			if v.ok || v.holder.Except != provider.ExceptRevoked || s.firstRevoke(v.revokes) != r.ID {
				continue
			}
			if more, err := to(v.holder, place{At: scope, Path: []string{r.ID}}); err != nil || !more {
				return false, err
			}
		}
	}
	return true, nil
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
func (s *subjectList) exceptInactive(after place, to tell) (more bool, err error) {
	if len(s.shared[authz.Everyone]) == 0 {
		return true, nil
	}
	active := false
	for u, err := range s.Store.ListUsers(s.ctx, storage.UserFilter{Active: &active}, storage.Page{After: after.At}) {
		if err != nil {
			return false, err
		}
		h := provider.Holder{Subject: authz.UserPrincipal(u.UserID).Subject(), Except: provider.ExceptInactive}
		if more, err := to(h, place{At: u.UserID}); err != nil || !more {
			return false, err
		}
	}
	return true, nil
}
