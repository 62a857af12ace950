package processes

import (
	"errors"
	"maps"
	"slices"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/plugin"
)

// RightToken is the secret that the plugins in memory are given.
const RightToken = "s3cret-token"

// Schema is what the plugins in memory declare.
var Schema = []plugin.Setting{
	{Name: "address", Type: plugin.TypeString, Required: true},
	{Name: "token", Type: plugin.TypeString, Secret: true},
	{Name: "page", Type: plugin.TypeInteger},
	{Name: "attributes", Type: plugin.TypeStrings},
}

// Configuration is that of a backend's plugins.
type Configuration struct {
	Judge func(config map[string]any) error // nil is Check
}

// Settings are Schema.
func (Configuration) Settings() []plugin.Setting { return Schema }

// Config is what the plugins are proved with.
func (Configuration) Config() map[string]any {
	return map[string]any{"address": "memory", "token": RightToken}
}

// Token judges a configuration and is the token that it gives.
func (c Configuration) Token(config map[string]any) (string, error) {
	judge := c.Judge
	if judge == nil {
		judge = Check
	}
	token, _ := config["token"].(string)
	return token, judge(config)
}

// Check refuses a configuration that Schema does not allow. Only texts, integers and
// lists are known.
func Check(config map[string]any) error {
	var names []string
	for _, s := range Schema {
		names = append(names, s.Name)
	}
	for name := range config {
		if !slices.Contains(names, name) {
			return &plugin.ConfigError{Field: name, Message: "unknown", Suggestion: spell.Nearest(name, names)}
		}
	}
	for _, s := range Schema {
		value, given := config[s.Name]
		if !given {
			if s.Required {
				return &plugin.ConfigError{Field: s.Name, Message: "is required"}
			}
			continue
		}
		ok := false
		switch value.(type) {
		case string:
			ok = s.Type == plugin.TypeString
		case int:
			ok = s.Type == plugin.TypeInteger
		case []any:
			ok = s.Type == plugin.TypeStrings
		}
		if !ok {
			return &plugin.ConfigError{Field: s.Name, Message: "has the wrong type"}
		}
	}
	return nil
}

// Tolerating is Check without one kind of refusal, which it names by its message.
func Tolerating(message string) func(config map[string]any) error {
	return func(config map[string]any) error {
		config = maps.Clone(config)
		for {
			err := Check(config)
			var refused *plugin.ConfigError
			if !errors.As(err, &refused) || refused.Message != message {
				return err
			}
			delete(config, refused.Field)
			if refused.Message == "is required" {
				return nil
			}
		}
	}
}
