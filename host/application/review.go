package application

import (
	"context"
	"iter"
	"slices"

	"github.com/authzhost/authz/internal/compiled"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/storage"
)

// ValidateGrantableAt says why the pattern cannot be granted at the scope, nil
// when it can. The arguments are well-formed.
func (a *Application) ValidateGrantableAt(pattern, scope string) *authz.Issue {
	return a.catalog.ValidateGrantableAt(pattern, scope)
}

// ValidateKnownPattern says why no grant or role may name the pattern, nil when
// they may. The argument is well-formed.
func (a *Application) ValidateKnownPattern(pattern string) *authz.Issue {
	return a.catalog.ValidateKnownPattern(pattern)
}

// ValidateScopeType says that the scope's type is none of the catalog's, nil when it
// is, or when there is nothing to compare it with.
func (a *Application) ValidateScopeType(scope string) *authz.Issue {
	if !a.catalog.LacksTypeOf(scope) {
		return nil
	}
	return &authz.Issue{Severity: authz.SeverityError, Path: scope, Code: catalog.CodeUnknownScopeType, Message: a.catalog.UnknownScopeType(scope).Message}
}

// ListSodViolations yields the users who break the separation of duties, judged
// by their rows also when they are inactive. It asks about the users given, in
// their order; nil means every stored user and every user that a grant names,
// ascending. Who has access only through an organization or everyone must be
// given.
func (a *Application) ListSodViolations(ctx context.Context, userIDs *[]string) iter.Seq2[access.Violations, error] {
	if userIDs == nil && a.duties.Empty() {
		userIDs = new([]string) // there is nothing to break
	}
	return reviewing(ctx, a, "listSodViolations", userIDs, func(data *authz.SubjectAccess, now int64) (access.Violations, bool) {
		found := a.duties.Violations(data, now)
		return access.Violations{UserID: *data.UserID, Violations: found}, len(found) > 0
	})
}

// ExportEntitlements yields what each user's rows confer, and by what; a user
// with nothing too. The users are those of ListSodViolations.
func (a *Application) ExportEntitlements(ctx context.Context, userIDs *[]string) iter.Seq2[access.UserEntitlements, error] {
	return reviewing(ctx, a, "exportEntitlements", userIDs, func(data *authz.SubjectAccess, now int64) (access.UserEntitlements, bool) {
		return compiled.Entitlements(a.vocabulary, data, now), true
	})
}

// reviewing reads the rows of one user after the other, each at one instant, and
// yields what judge makes of them.
func reviewing[Record any](ctx context.Context, a *Application, op string, userIDs *[]string,
	judge func(data *authz.SubjectAccess, now int64) (record Record, wanted bool)) iter.Seq2[Record, error] {
	var s shape
	if userIDs != nil {
		given := slices.Clone(*userIDs)
		userIDs = &given
		s.ids("userIds", given)
	}
	return listed(a, op, s.err, func() iter.Seq2[Record, error] {
		return func(yield func(Record, error) bool) {
			var none Record
			for id, err := range a.reviewed(ctx, userIDs) {
				if err != nil {
					yield(none, err)
					return
				}
				now := a.clock()
				data, err := a.rowsOf(ctx, a.store, authz.UserPrincipal(id), now)
				if err != nil {
					yield(none, err)
					return
				}
				if record, wanted := judge(&data, now); wanted && !yield(record, nil) {
					return
				}
			}
		}
	})
}

// reviewed yields the ids given, or the default candidates. Of these only the ids
// that grants name are held in memory: grants do not come in the order of users.
func (a *Application) reviewed(ctx context.Context, given *[]string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if given != nil {
			for _, id := range *given {
				if !yield(id, nil) {
					return
				}
			}
			return
		}
		named, err := a.usersNamedByGrants(ctx)
		if err != nil {
			yield("", err)
			return
		}
		for user, err := range a.store.ListUsers(ctx, storage.UserFilter{}, storage.Page{}) {
			if err != nil {
				yield("", err)
				return
			}
			for len(named) > 0 && named[0] < user.UserID {
				if !yield(named[0], nil) {
					return
				}
				named = named[1:]
			}
			if len(named) > 0 && named[0] == user.UserID {
				named = named[1:]
			}
			if !yield(user.UserID, nil) {
				return
			}
		}
		for _, id := range named {
			if !yield(id, nil) {
				return
			}
		}
	}
}

// usersNamedByGrants lists the ids of "user:" subjects, ascending; rows that have
// expired count.
func (a *Application) usersNamedByGrants(ctx context.Context) ([]string, error) {
	seen := map[string]bool{}
	ids := []string{}
	for g, err := range a.store.ListGrants(ctx, storage.GrantFilter{}, storage.Page{}) {
		if err != nil {
			return nil, err
		}
		if kind, id, _ := authz.ParseSubject(g.Subject); kind == authz.SubjectUser && !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}
