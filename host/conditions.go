package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/authzhost/authz/host/condition"
	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

// LoadConditions compiles the conditions of every application that names a file of them,
// of those whose catalog could be built.
func LoadConditions(cfg *config.Config, catalogs map[string]*catalog.Catalog) (map[string]*condition.Set, error) {
	sets := map[string]*condition.Set{}
	var faults []error
	for _, name := range sorted(cfg.Applications) {
		path := cfg.Applications[name].Conditions
		if path == "" || catalogs[name] == nil {
			continue
		}
		set, err := condition.Load(path, catalogs[name])
		if err != nil {
			faults = append(faults, fmt.Errorf("conditions of application %q: %w", name, err))
			continue
		}
		sets[name] = set
	}
	return sets, errors.Join(faults...)
}

// configure adds the conditions of a configuration to those that a program gave.
func (o *ApplicationOptions) configure(application string, set *condition.Set) error {
	if set == nil {
		return nil
	}
	if o.Conditions == nil {
		o.Conditions = map[string]Condition{}
	}
	for _, key := range set.Keys() {
		if o.Conditions[key] != nil {
			return fmt.Errorf("application %q: the key %s has a condition in the configuration and one in Options.Applications: leave one of them out", application, spell.Quote(key))
		}
		o.Conditions[key] = func(ctx context.Context, p authz.Principal, scope string) (bool, error) {
			return set.Holds(ctx, key, p, scope)
		}
	}
	return nil
}

// WithContext serves the parameter context of the operation check.
func (a *Application) WithContext(ctx context.Context, raw json.RawMessage) (context.Context, error) {
	if a.conditions == nil {
		return nil, authz.Validation("context is for conditions, and this application has none configured: leave it out")
	}
	in, err := a.conditions.Read(raw)
	if err != nil {
		return nil, err
	}
	return condition.With(ctx, in), nil
}
