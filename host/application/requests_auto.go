package application

import (
	"context"
	"errors"
	"slices"

	"github.com/authzhost/authz/internal/compiled"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

const autoDenied = "auto-denied: the final auto stage's predicate was not met and no later stage can decide"

// runAuto decides the auto stages from the current one on, by what the requester
// is and holds at this moment. An unmet stage that has another behind it abstains
// and leaves no decision.
func (d *draft) runAuto(ctx context.Context, row *authz.Request) error {
	var requester *authz.SubjectAccess
	for row.State == authz.RequestPending {
		stage := currentStage(*row)
		if stage.Kind != authz.StageAuto {
			return nil
		}
		if requester == nil {
			data, err := d.app.rowsOf(ctx, d.app.judged, authz.UserPrincipal(row.RequesterUserID), d.now)
			if err != nil {
				return err
			}
			requester = &data
		}
		met, err := d.app.meets(ctx, requester, stage.Predicate, d.now)
		if err != nil {
			return err
		}
		last := atLastStage(*row)
		switch {
		case met && last:
			d.decided(row, authz.DecidedByAuto, authz.DecisionApproved, "")
			d.end(row, authz.RequestApproved)
		case met:
			d.decided(row, authz.DecidedByAuto, authz.DecisionApproved, "")
			row.StageIndex++
		case last:
			d.decided(row, authz.DecidedByAuto, authz.DecisionDenied, autoDenied)
			d.end(row, authz.RequestDenied)
		default:
			row.StageIndex++
		}
	}
	return nil
}

func (a *Application) meets(ctx context.Context, requester *authz.SubjectAccess, p *authz.Predicate, now int64) (bool, error) {
	if p == nil {
		return false, nil
	}
	member := func(subject string) (bool, error) { return slices.Contains(requester.Closure, subject), nil }
	switch p.Type {
	case authz.PredicateInGroup:
		return member(authz.SubjectOf(authz.SubjectGroup, p.GroupID))
	case authz.PredicateInOrg:
		return member(authz.SubjectOf(authz.SubjectOrg, p.OrgID))
	case authz.PredicateMemberOf:
		return member(p.Subject)
	case authz.PredicateHoldsPattern:
		return a.holdsAny(ctx, requester, p.Pattern, now)
	}
	return false, nil
}

// holdsAny is the visibility question canAny over rows at hand. Like there, every
// chain is looked at: the answer must not depend on which could be resolved.
func (a *Application) holdsAny(ctx context.Context, data *authz.SubjectAccess, pattern string, now int64) (bool, error) {
	if len(a.catalog.KeysMatching(pattern)) == 0 && len(a.catalog.OpaqueRegions(pattern)) == 0 {
		return false, nil
	}
	rows := compiled.Compile(a.vocabulary, data, now)
	if !rows.Active() {
		return false, nil
	}
	chains := a.chains(ctx)
	for i := range data.Grants {
		if _, err := chains(data.Grants[i].Scope); err != nil {
			return false, err
		}
	}
	return rows.Visible(pattern, now, chains)
}

// chains resolves each scope once for one write, whose failure changed nothing.
func (a *Application) chains(ctx context.Context) compiled.Chains {
	resolved := map[string]*compiled.Chain{authz.Global: compiled.GlobalChain}
	return func(scope string) (*compiled.Chain, error) {
		if chain, ok := resolved[scope]; ok {
			return chain, nil
		}
		ancestors, err := a.resolve(ctx, a.judgedBy, scope)
		var refusal *authz.WriteRejectedError
		switch {
		case errors.As(err, &refusal):
			return nil, err
		case err != nil:
			return nil, &authz.UnavailableError{Message: "the ancestry of " + spell.Quote(scope) + " could not be resolved",
				Outcome: authz.OutcomeNotApplied, Cause: err}
		}
		chain := compiled.NewChain(scope, ancestors)
		resolved[scope] = chain
		return chain, nil
	}
}
