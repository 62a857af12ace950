package application

import (
	"context"
	"iter"
	"slices"

	"github.com/authzhost/authz/internal/compiled"
	"github.com/authzhost/authz/internal/lists"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/provider"
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
	return reviewing(ctx, a, "listSodViolations", userIDs, a.violations)
}

func (a *Application) violations(data *authz.SubjectAccess, now int64) (of access.Violations, any bool) {
	found := a.duties.Violations(data, now)
	return access.Violations{UserID: *data.UserID, Violations: found}, len(found) > 0
}

// ExportEntitlements yields what each user's rows confer, and by what; a user
// with nothing too. The users are those of ListSodViolations.
func (a *Application) ExportEntitlements(ctx context.Context, userIDs *[]string) iter.Seq2[access.UserEntitlements, error] {
	return reviewing(ctx, a, "exportEntitlements", userIDs, a.entitlements)
}

func (a *Application) entitlements(data *authz.SubjectAccess, now int64) (access.UserEntitlements, bool) {
	return compiled.Entitlements(a.vocabulary, data, now), true
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
			for r, err := range a.reviewed(ctx, userIDs, "", 0) {
				if err != nil {
					yield(none, err)
					return
				}
				if !r.candidate {
					continue
				}
				if record, wanted := judge(&r.data, r.now); wanted && !yield(record, nil) {
					return
				}
			}
		}
	})
}

// reviewee is a user with their rows at an instant.
type reviewee struct {
	id        string
	candidate bool // the report is about them
	data      authz.SubjectAccess
	now       int64
}

// reviewed yields the users given, or those whom rows name and who follow one. Of these the
// report is about every stored user and every user that a grant names. They are read so
// many at once, 0 is for a list that is read to its end.
func (a *Application) reviewed(ctx context.Context, given *[]string, after string, atOnce int) iter.Seq2[reviewee, error] {
	return func(yield func(reviewee, error) bool) {
		tell := func(id string, candidate bool) (more bool) {
			r := reviewee{id: id, candidate: candidate, now: a.clock()}
			var err error
			r.data, err = a.rowsOf(ctx, a.store, authz.UserPrincipal(id), r.now)
			if err == nil && !candidate {
				r.candidate, err = a.namedByGrant(ctx, &r.data)
			}
			if err != nil {
				yield(reviewee{}, err)
				return false
			}
			return yield(r, nil)
		}
		if given != nil {
			for _, id := range *given {
				if !tell(id, true) {
					return
				}
			}
			return
		}
		for {
			n := 0
			for u, err := range lists.Limited(a.namedUsers(ctx, provider.UserQuery{Paging: provider.Paging{After: after, Limit: atOnce}}), atOnce) {
				if err != nil {
					yield(reviewee{}, err)
					return
				}
				n, after = n+1, u.UserID
				if !tell(u.UserID, u.Stored) {
					return
				}
			}
			if n == 0 || n < atOnce || atOnce == 0 {
				return
			}
		}
	}
}

// namedByGrant tells that a grant names the user itself; one that has expired counts.
func (a *Application) namedByGrant(ctx context.Context, data *authz.SubjectAccess) (bool, error) {
	own := authz.UserPrincipal(*data.UserID).Subject()
	if slices.ContainsFunc(data.Grants, func(g authz.Grant) bool { return g.Subject == own }) {
		return true, nil
	}
	for _, err := range a.store.ListGrants(ctx, storage.GrantFilter{Subject: &own}, storage.Page{Limit: 1}) {
		return err == nil, err
	}
	return false, nil
}
