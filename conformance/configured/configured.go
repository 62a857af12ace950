package configured

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/authzhost/authz/conformance/runner"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/plugin"
)

// Configurer is a backend that can start its plugin with any configuration; I is
// what the plugin serves.
type Configurer[I any] interface {
	// Settings are what the plugin declares, Config what it is proved with.
	Settings() []plugin.Setting
	Config() map[string]any

	// Configure starts the plugin with another configuration than Config, the rest
	// of the backend as it is. The backend ends what it started.
	Configure(ctx context.Context, config map[string]any) (I, error)

	// Output is all that the backend's processes have written and logged so far.
	Output() string
}

// mark stands in configurations that must be refused: a refusal names a setting
// and never repeats what it was given.
const mark = "mark7f3d9c21"

// Unknown expects that a setting which the plugin does not declare is refused by
// name, with the declared one that was probably meant.
func Unknown[I any](ctx context.Context, r *runner.Record, c Configurer[I]) {
	var names []string
	longest := "colour"
	for _, s := range c.Settings() {
		names = append(names, s.Name)
		if len(s.Name) > len(longest) || longest == "colour" {
			longest = s.Name
		}
	}
	misspelt := longest + "x"
	config := with(c.Config(), misspelt, mark)
	refused(ctx, r, c, config, "the unknown setting "+misspelt, &plugin.ConfigError{Field: misspelt, Suggestion: spell.Nearest(misspelt, names)})
}

// WrongType expects that a value of another type than a setting has is refused,
// with the setting's name.
func WrongType[I any](ctx context.Context, r *runner.Record, c Configurer[I]) {
	if len(c.Settings()) == 0 {
		r.Skip("the plugin has no settings")
	}
	for _, s := range c.Settings() {
		var wrong any = mark // for an integer, a boolean, a duration, a list
		if s.Type == plugin.TypeString {
			wrong = []any{mark}
		}
		refused(ctx, r, c, with(c.Config(), s.Name, wrong), fmt.Sprintf("no %s for the setting %s", s.Type, s.Name), &plugin.ConfigError{Field: s.Name})
	}
}

// Missing expects that a required setting which is not given is refused by name.
func Missing[I any](ctx context.Context, r *runner.Record, c Configurer[I]) {
	tried := false
	for _, s := range c.Settings() {
		if !s.Required {
			continue
		}
		tried = true
		config := maps.Clone(c.Config())
		delete(config, s.Name)
		refused(ctx, r, c, config, "no setting "+s.Name, &plugin.ConfigError{Field: s.Name})
	}
	if !tried {
		r.Skip("the plugin requires no setting")
	}
}

func with(config map[string]any, name string, value any) map[string]any {
	changed := maps.Clone(config)
	if changed == nil {
		changed = map[string]any{}
	}
	changed[name] = value
	return changed
}

// refused tries a configuration and expects want's setting and suggestion.
func refused[I any](ctx context.Context, r *runner.Record, c Configurer[I], config map[string]any, what string, want *plugin.ConfigError) {
	_, err := c.Configure(ctx, config)
	r.Step("configure with %s → %v", what, err)
	expected := fmt.Sprintf("a configuration with %s refused as a *plugin.ConfigError of the setting %q", what, want.Field)
	var got *plugin.ConfigError
	switch {
	case err == nil:
		r.Want(expected, "it is accepted")
	case !errors.As(err, &got):
		r.Want(expected, "%T: %v", err, err)
	case got.Field != want.Field:
		r.Want(expected, "the setting %q: %v", got.Field, err)
	case want.Suggestion != "" && got.Suggestion != want.Suggestion:
		r.Want(expected+fmt.Sprintf(", suggesting %q", want.Suggestion), "suggesting %q: %v", got.Suggestion, err)
	case strings.Contains(err.Error(), mark):
		r.Want("a refusal that does not repeat the value", "%v", err)
	}
}
