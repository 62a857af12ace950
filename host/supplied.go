package host

import (
	"cmp"
	"context"
	"fmt"
	"maps"
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

	// Observers hear of the application's checks, beside what is configured; of the share
	// that ops.check_sample says while ops_listen is on.
	Observers []metrics.Observer
}

// Condition is the application's predicate of one key, at a scope that is never "". It is
// asked at most once for each key of a check, only narrows the answer, and its error is the
// check's.
type Condition func(ctx context.Context, p authz.Principal, scope string) (bool, error)

// own is a copy that the program does not change any more.
func (o ApplicationOptions) own() ApplicationOptions {
	o.Conditions, o.Observers = maps.Clone(o.Conditions), slices.Clone(o.Observers)
	return o
}

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
			if !leaf.RequiresCondition {
				return fmt.Errorf("application %q: Options.Applications has a condition of %s, which the catalog does not declare requiresCondition: nobody would ask it", name, spell.Quote(key))
			}
			if given.Conditions[key] == nil {
				return fmt.Errorf("application %q: the condition of %s in Options.Applications is nil", name, spell.Quote(key))
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

// answer answers the operation check by a client of the application's.
func (a *Application) answer(ctx context.Context, c *client.Client, p authz.Principal, keys []string, scope string, fresh bool) (bool, error) {
	g := client.Gate{Keys: keys, Scope: cmp.Or(scope, authz.Global), Fresh: fresh}
	given := func(key string) bool { return a.supplied.Conditions[key] != nil }
	if len(a.supplied.Conditions) == 0 || !slices.ContainsFunc(keys, given) {
		return c.Check(ctx, p, g)
	}
	if others := slices.DeleteFunc(slices.Clone(keys), given); slices.ContainsFunc(others, a.needsCondition) {
		g.Keys = others
		return c.Check(ctx, p, g) // which tells of what is missing
	}
	// One check, of which the keys' own conditions are the condition: it is asked once the
	// rows allow some key, and then judges key by key.
	if len(keys) == 1 {
		g.Condition = a.condition(p, keys[0], g.Scope)
	} else {
		list := g
		g.Condition = func(ctx context.Context) (bool, error) { return a.anyOf(ctx, c.Unobserved(), p, list) }
	}
	return c.Check(ctx, p, g)
}

func (a *Application) needsCondition(key string) bool {
	leaf, ok := a.Catalog().Leaf(key)
	return ok && leaf.RequiresCondition
}

// anyOf judges each key of a gate by its rows, which were just read, and its own condition.
func (a *served) anyOf(ctx context.Context, c *client.Client, p authz.Principal, g client.Gate) (bool, error) {
	judged := map[string]bool{}
	for _, key := range g.Keys {
		if judged[key] {
			continue
		}
		judged[key] = true
		one := client.Gate{Keys: []string{key}, Scope: g.Scope, Condition: a.condition(p, key, g.Scope)}
		if allowed, err := c.Check(ctx, p, one); err != nil || allowed {
			return allowed, err
		}
	}
	return false, nil
}

// condition is what the program gave for a key, nil where it gave none.
func (a *served) condition(p authz.Principal, key, scope string) func(context.Context) (bool, error) {
	asked := a.supplied.Conditions[key]
	if asked == nil {
		return nil
	}
	return func(ctx context.Context) (bool, error) { return asked(ctx, p, scope) }
}
