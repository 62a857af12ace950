package application

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// maxPlanDecisions bounds the work of one plan.
const maxPlanDecisions = 200_000

// Plan implements provider.Planner: it compares what the principals whom a change
// concerns hold now with what they would hold.
func (a *Application) Plan(ctx context.Context, in provider.Supposing) (provider.Impact, error) {
	const op = "plan"
	s, err := a.suppose(ctx, in)
	if err != nil {
		return provider.Impact{}, a.readFailed(op, err)
	}
	c := comparison{supposed: s, ctx: ctx, people: map[string]bool{}, chains: map[string]access.Chain{}, impact: provider.Impact{Changes: []provider.Effect{}}}
	if err := c.run(); err != nil {
		return provider.Impact{}, a.readFailed(op, err)
	}
	return c.impact, nil
}

// comparison is one plan at work.
type comparison struct {
	*supposed
	ctx       context.Context
	people    map[string]bool // subjects that are compared
	chains    map[string]access.Chain
	decisions int
	impact    provider.Impact
}

// errBound ends a plan that has met a bound.
var errBound = errors.New("a bound of the plan is met")

func (c *comparison) run() error {
	err := c.findPeople()
	if err != nil && !errors.Is(err, errBound) {
		return err
	}
	for _, subject := range slices.Sorted(maps.Keys(c.people)) {
		if err := c.compare(subject); errors.Is(err, errBound) {
			c.impact.More = true
			break
		} else if err != nil {
			return err
		}
		c.impact.Checked++
	}
	c.impact.More = c.impact.More || err != nil
	slices.Sort(c.impact.Unknown)
	slices.Sort(c.impact.Unresolved)
	return nil
}

// compare decides what a principal holds now and would hold, wherever a row of theirs
// lies.
func (c *comparison) compare(subject string) error {
	kind, id, _ := authz.ParseSubject(subject)
	p := authz.Principal{}
	switch kind {
	case authz.SubjectService:
		p = authz.ServicePrincipal(id)
	case authz.SubjectUser:
		p = authz.UserPrincipal(id)
	}
	now, err := (&supposed{a: c.a, now: c.now, parents: c.were}).access(c.ctx, p)
	if err != nil {
		return err
	}
	then, err := c.access(c.ctx, p)
	if err != nil {
		return err
	}
	scopes, err := c.known(scopesOf(&now, &then))
	if err != nil {
		return err
	}
	for _, key := range c.keys(&now, &then) {
		at, err := c.at(key, scopes)
		if err != nil {
			return err
		}
		for _, scope := range at {
			if c.decisions++; c.decisions > maxPlanDecisions {
				return errBound
			}
			chain, err := c.chain(scope)
			if err != nil {
				return err
			}
			before, err := access.Decide(c.a.catalog, &now, key, chain, c.now, c.chain)
			if err != nil {
				return err
			}
			after, err := access.Decide(c.a.catalog, &then, key, chain, c.now, c.chain)
			if err != nil {
				return err
			}
			if before == after {
				continue
			}
			if len(c.impact.Changes) == provider.MaxPlanChanges {
				return errBound
			}
			c.impact.Changes = append(c.impact.Changes, provider.Effect{Subject: subject, Key: key, Scope: scope, Allowed: after})
		}
	}
	return nil
}

// chain is the chain of a scope of which all but those that nobody knows are asked.
func (c *comparison) chain(scope string) (access.Chain, error) {
	if chain, asked := c.chains[scope]; asked {
		return chain, nil
	}
	ancestors, err := c.a.ResolveAncestors(c.ctx, scope)
	if err == nil {
		c.chains[scope] = access.NewChain(scope, ancestors)
	}
	return c.chains[scope], err
}

// known are the scopes whose chains are known; the others are noted. An outage is an
// error.
func (c *comparison) known(scopes []string) (known []string, err error) {
	for _, scope := range scopes {
		chain, err := c.chain(scope)
		if refused := new(authz.WriteRejectedError); errors.As(err, &refused) {
			c.chains[scope], chain, err = access.Chain{}, nil, nil // it lies nowhere
			c.impact.Unresolved = append(c.impact.Unresolved, scope)
		}
		if err != nil {
			return nil, err
		}
		if len(chain) > 0 {
			known = append(known, scope)
		}
	}
	return known, nil
}

// scopesOf are the scopes of the rows of both.
func scopesOf(now, then *authz.SubjectAccess) []string {
	scopes := []string{authz.Global}
	for _, rows := range []*authz.SubjectAccess{now, then} {
		for i := range rows.Grants {
			scopes = append(scopes, rows.Grants[i].Scope)
		}
		for i := range rows.Revokes {
			scopes = append(scopes, rows.Revokes[i].Scope)
		}
	}
	slices.Sort(scopes)
	return slices.Compact(scopes)
}

// keys are those that a row which differs may decide.
func (c *comparison) keys(now, then *authz.SubjectAccess) []string {
	patterns := map[string]bool{}
	changedPatterns(now, then, patterns)
	changedPatterns(then, now, patterns)
	var keys []string
	for p := range patterns {
		keys = append(keys, c.a.catalog.KeysMatching(p)...)
		if _, declared := c.a.catalog.Leaf(p); !declared && authz.IsKey(p) && c.a.catalog.HasKey(p) {
			keys = append(keys, p)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// changedPatterns adds the patterns of the rows of a that b has not, or has with other
// patterns.
func changedPatterns(a, b *authz.SubjectAccess, patterns map[string]bool) {
	type row struct {
		id, pattern, scope string
		until              int64
	}
	has := map[row]bool{}
	of := func(rows *authz.SubjectAccess, tell func(row)) {
		roles := map[string][]string{}
		for i := range rows.Roles {
			roles[rows.Roles[i].ID] = rows.Roles[i].Patterns
		}
		for i := range rows.Grants {
			g := &rows.Grants[i]
			own := roles[g.RoleID]
			if g.Pattern != "" {
				own = []string{g.Pattern}
			}
			until, _ := g.ExpiresAt.At()
			for _, p := range own {
				tell(row{g.ID, p, g.Scope, until})
			}
		}
		for i := range rows.Revokes {
			r := &rows.Revokes[i]
			tell(row{r.ID, r.Pattern, r.Scope, 0})
		}
	}
	of(b, func(r row) { has[r] = true })
	of(a, func(r row) {
		if !has[r] {
			patterns[r.pattern] = true
		}
	})
}

// at are the scopes at which a key is compared: those of rows, and what lies above them
// where rows below answer above.
func (c *comparison) at(key string, scopes []string) ([]string, error) {
	leaf, declared := c.a.catalog.Leaf(key)
	if !declared || !leaf.ImpliedOnAncestors {
		return scopes, nil
	}
	var at []string
	for _, scope := range scopes {
		at = append(at, c.chains[scope]...)
	}
	slices.Sort(at)
	return c.known(slices.Compact(at))
}
