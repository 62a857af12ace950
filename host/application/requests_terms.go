package application

import (
	"context"
	"slices"
	"strings"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// askable judges what a request proposes and returns on which terms it may be
// asked for (spec: application §12.2, steps 2 to 6). A role that it names is held
// in existence until the commit ends.
func (d *draft) askable(ctx context.Context, in provider.RequestInput, scope string) (authz.Requestable, error) {
	if err := checkScope(scope); err != nil {
		return authz.Requestable{}, err
	}
	if (in.RoleID == "") == (in.Pattern == "") {
		return authz.Requestable{}, authz.Validation("a request proposes exactly one of roleId / pattern")
	}
	if in.Pattern != "" {
		return d.app.askablePattern(in.Pattern, scope)
	}
	role, found, err := d.app.store.GetRole(ctx, in.RoleID)
	switch {
	case err != nil:
		return authz.Requestable{}, err
	case !found:
		return authz.Requestable{}, authz.Rejected(authz.CodeNotFound, "role not found")
	case role.Requestable == nil:
		return authz.Requestable{}, authz.Validation("role %s is not requestable", spell.Quote(role.Name))
	case !d.app.grantableAt(role, scope):
		return authz.Requestable{}, authz.Validation("role %s has no pattern grantable at %s", spell.Quote(role.Name), spell.Echo(scope))
	}
	d.require(storage.RequireRole{ID: role.ID})
	return *role.Requestable, nil
}

func (a *Application) askablePattern(pattern, scope string) (authz.Requestable, error) {
	refused := func(err error) (authz.Requestable, error) { return authz.Requestable{}, err }
	if err := a.checkPattern(pattern); err != nil {
		return refused(err)
	}
	if issue := a.catalog.ValidateGrantableAt(pattern, scope); issue != nil {
		return refused(authz.Validation("%s", issue.Message))
	}
	if scope == authz.Global {
		return refused(authz.Validation("pattern requests need a scope whose type declares requestability; " +
			"global access is requested through requestable roles"))
	}
	scopeType := authz.ScopeType(scope)
	t, declared := a.catalog.ScopeType(scopeType)
	if !declared || t.Requestable == nil {
		return refused(authz.Validation("scope type %s is not requestable", spell.Quote(scopeType)))
	}
	asked := t.Requestable
	if pattern == authz.Global {
		return refused(authz.Validation(`a request cannot propose the unbounded global pattern "*" — it confers every key grantable ` +
			"at the scope; request the patterns that are needed, or a role that names them"))
	}
	if asked.Patterns != nil && !slices.ContainsFunc(asked.Patterns, func(ceiling string) bool { return authz.Contains(ceiling, pattern) }) {
		return refused(authz.Validation("pattern %s is outside what this scope type makes requestable (%s)",
			spell.Quote(pattern), spell.QuoteList(asked.Patterns)))
	}
	return authz.Requestable{Prompts: asked.Prompts, MaxDurationMs: asked.MaxDurationMs, RequireExpiry: asked.RequireExpiry,
		Stages: asked.Stages}, nil
}

// checkAnswers names everything that is wrong with the answers at once. An answer of
// "" does not meet a required prompt, and is no option of a select; answers without a
// prompt are the requester's own affair.
func checkAnswers(prompts []authz.Prompt, answers map[string]string) error {
	var problems []string
	for _, p := range prompts {
		answer, given := answers[p.ID]
		switch {
		case answer == "" && (p.Required == nil || *p.Required):
			problems = append(problems, "missing answer for "+spell.Quote(p.ID))
		case given && p.Kind == catalog.PromptSelect && !slices.Contains(p.Options, answer):
			problems = append(problems, "answer for "+spell.Quote(p.ID)+" is not one of the declared options")
		}
	}
	if len(problems) > 0 {
		return authz.Validation("%s", strings.Join(problems, "; "))
	}
	return nil
}

// proposedExpiry is the expiry of the proposed grant: the requester's, or the
// longest allowed where there is a limit.
func proposedExpiry(asked authz.Requestable, proposed authz.Expiry, now int64) (authz.Expiry, error) {
	if err := checkExpiryShape("proposedExpiresAt", proposed); err != nil {
		return proposed, err
	}
	limit := asked.MaxDurationMs
	switch at, set := proposed.At(); {
	case set && at <= now:
		return proposed, authz.Validation("proposed expiry is already in the past")
	case !set && asked.RequireExpiry:
		return proposed, authz.Validation("this access must be time-bound: propose an expiry")
	case !set && limit > 0:
		return authz.ExpiresAt(min(now+limit, authz.MaxInstant)), nil
	case set && limit > 0 && at-now > limit:
		return proposed, authz.Validation("proposed duration exceeds the maximum (%d ms)", limit)
	}
	return proposed, nil
}
