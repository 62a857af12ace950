package host

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/metrics"
)

// ApplicationOptions is what only a program that embeds a host can give one of its
// configured applications. Zero members leave everything as it is configured.
type ApplicationOptions struct {
	// Ancestry resolves the ancestors of scopes. The application's ancestry.kind must
	// be none then.
	Ancestry application.Ancestry

	// Conditions are predicates of keys that the catalog declares requiresCondition, by
	// key: what the operation check of the host's APIs asks, the final AND of an answer
	// that the rows allow. A key without one is a MissingConditionError there. Checks in
	// process bring their own (client.Gate).
	Conditions map[string]Condition

	// Observers hear of the application's checks, beside what is configured.
	Observers []metrics.Observer
}

// Condition is the application's predicate of one key. It is asked at most once a
// check, only narrows the answer, and its error is the check's.
type Condition func(ctx context.Context, p authz.Principal, scope string) (bool, error)

// checkSupplied refuses what is given to an application that is not there, or that
// could not take effect.
func (o Options) checkSupplied(cfg *config.Config, catalogs map[string]*catalog.Catalog) error {
	for _, name := range sorted(o.Applications) {
		configured, ok := cfg.Applications[name]
		if !ok {
			return fmt.Errorf("Options.Applications names %s, which is not configured%s", spell.Quote(name), didYouMean(name, sorted(cfg.Applications)))
		}
		given := o.Applications[name]
		if given.Ancestry != nil && configured.Ancestry.Kind != config.AncestryNone {
			return fmt.Errorf("application %q: Options.Applications gives it an ancestry, and ancestry.kind is %s: set it to none, or give no ancestry", name, configured.Ancestry.Kind)
		}
		for _, key := range sorted(given.Conditions) {
			leaf, ok := catalogs[name].Leaf(key)
			if !ok {
				return fmt.Errorf("application %q: Options.Applications has a condition of %w", name, catalogs[name].UnknownPermission(key, authz.ExpectedKey))
			}
			if !leaf.RequiresCondition || given.Conditions[key] == nil {
				return fmt.Errorf("application %q: Options.Applications has a condition of %s, which needs one: nobody would ask it", name, spell.Quote(key))
			}
		}
	}
	return nil
}

func didYouMean(name string, known []string) string {
	if near := spell.Nearest(name, known); near != "" {
		return "; did you mean " + near + "?"
	}
	return ": there is " + strings.Join(known, ", ")
}

// ask answers the operation check by a client of the application's.
func (a *served) ask(ctx context.Context, c *client.Client, p authz.Principal, keys []string, scope string, fresh bool) (bool, error) {
	g := client.Gate{Keys: keys, Scope: scope, Fresh: fresh}
	conditional := func(key string) bool { return a.supplied.Conditions[key] != nil }
	if len(a.supplied.Conditions) == 0 || !slices.ContainsFunc(keys, conditional) {
		return c.Check(ctx, p, g)
	}
	if len(keys) == 1 {
		return c.Check(ctx, p, a.conditioned(g, p))
	}
	// Each key has a condition of its own, so that each is a gate of its own. First all
	// are verified: a mistake is told also beside a key that allows.
	all := g
	if !slices.ContainsFunc(keys, func(key string) bool {
		leaf, ok := a.options.Catalog.Leaf(key)
		return ok && leaf.RequiresCondition && !conditional(key)
	}) {
		all.Condition = func(context.Context) (bool, error) { return true, nil }
	}
	if may, err := c.Unobserved().Check(ctx, p, all); err != nil || !may {
		return false, err
	}
	for _, key := range keys {
		g.Keys = []string{key}
		if allowed, err := c.Check(ctx, p, a.conditioned(g, p)); err != nil || allowed {
			return allowed, err
		}
	}
	return false, nil
}

// conditioned is a gate of one key with the condition that the program gave for it.
func (a *served) conditioned(g client.Gate, p authz.Principal) client.Gate {
	if asked := a.supplied.Conditions[g.Keys[0]]; asked != nil {
		scope := g.Scope
		g.Condition = func(ctx context.Context) (bool, error) { return asked(ctx, p, scope) }
	}
	return g
}
