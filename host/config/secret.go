package config

import (
	"encoding/json"
	"fmt"
	"log/slog"
)

const redacted = "[redacted]"

// Secret is a value that prints as [redacted] everywhere. The zero value is no
// secret.
type Secret struct {
	value     string
	reference string
}

// NewSecret wraps a value. The reference says where it came from ("env:NAME",
// "file:/path"), "" when it was given as it is.
func NewSecret(value, reference string) Secret {
	return Secret{value: value, reference: reference}
}

// Reveal returns the value, for the one place that needs it.
func (s Secret) Reveal() string { return s.value }

// Reference says where the value came from; it may be shown.
func (s Secret) Reference() string { return s.reference }

func (s Secret) String() string               { return redacted }
func (s Secret) Format(f fmt.State, _ rune)   { _, _ = f.Write([]byte(redacted)) }
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(redacted) }
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }
func (s Secret) MarshalYAML() (any, error)    { return redacted, nil }
func (s Secret) LogValue() slog.Value         { return slog.StringValue(redacted) }

// shown is what a printed configuration says: the reference where there is one.
func (s Secret) shown() string {
	if s.reference != "" {
		return s.reference
	}
	return redacted
}

// Settings is what a plugin is configured with: a free-form tree of JSON values.
// Only the plugin knows which of its settings are secret, so printing shows
// references as references, numbers and booleans as they are, and any other
// text as [redacted].
type Settings struct {
	tree map[string]any // its strings are Secrets
}

// NewSettings wraps settings given as they are.
func NewSettings(values map[string]any) Settings {
	tree, _ := mapStrings(values, func(s string) any { return Secret{value: s} }).(map[string]any)
	return Settings{tree: tree}
}

// Reveal returns a copy with every reference resolved, for the plugin.
func (s Settings) Reveal() map[string]any {
	out, _ := mapSecrets(s.tree, Secret.Reveal).(map[string]any)
	if out == nil {
		out = map[string]any{}
	}
	return out
}

func (s Settings) shown() map[string]any {
	out, _ := mapSecrets(s.tree, Secret.shown).(map[string]any)
	return out
}

func (s Settings) Format(f fmt.State, _ rune)   { _, _ = fmt.Fprint(f, s.shown()) }
func (s Settings) MarshalJSON() ([]byte, error) { return json.Marshal(s.shown()) }
func (s Settings) MarshalYAML() (any, error)    { return s.shown(), nil }
func (s Settings) LogValue() slog.Value         { return slog.AnyValue(s.shown()) }

// mapStrings copies a tree of JSON values and replaces its strings.
func mapStrings(v any, replace func(string) any) any {
	switch v := v.(type) {
	case string:
		return replace(v)
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = mapStrings(e, replace)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = mapStrings(e, replace)
		}
		return out
	}
	return v
}

func mapSecrets(v any, text func(Secret) string) any {
	switch v := v.(type) {
	case Secret:
		return text(v)
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = mapSecrets(e, text)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = mapSecrets(e, text)
		}
		return out
	}
	return v
}
