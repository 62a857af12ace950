package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"
)

// settings is a plugin's configuration with its placeholders.
type settings struct {
	inline bool
	values map[string]any
}

// The placeholders of a configuration. Either of the first two makes the backend of
// a case fresh.
const (
	placeDir    = "{dir}"
	placeCase   = "{case}"
	placePort   = "{port}"   // a free port of the loopback address
	placeTarget = "{target}" // a relay to --target
)

// parseSettings reads a file of YAML or JSON, or the text itself when it is not
// the name of a file.
func parseSettings(given string) (settings, error) {
	s := settings{values: map[string]any{}}
	if strings.TrimSpace(given) == "" {
		return s, nil
	}
	text, err := os.ReadFile(given)
	switch {
	case err == nil:
	case strings.ContainsAny(given, "{:\n") && !strings.HasSuffix(given, ".yaml") && !strings.HasSuffix(given, ".json"):
		s.inline, text = true, []byte(given)
	case errors.Is(err, os.ErrNotExist):
		return s, usageError{fmt.Errorf("--config: there is no file %s, and it is no YAML or JSON object either", given)}
	default:
		return s, usageError{fmt.Errorf("--config: %w", err)}
	}
	if err := yaml.Unmarshal(text, &s.values); err != nil {
		// The parser's text may quote the configuration, secrets included.
		return s, usageError{errors.New("--config is no YAML or JSON object of settings")}
	}
	return s, nil
}

// fresh reports whether every case has a backend of its own.
func (s settings) fresh() bool {
	return s.holds(placeDir) || s.holds(placeCase)
}

// holds reports whether a placeholder stands in the configuration.
func (s settings) holds(placeholder string) bool {
	found := false
	replaced(s.values, func(text string) string {
		found = found || strings.Contains(text, placeholder)
		return text
	})
	return found
}

// replaced copies a value with its texts replaced.
func replaced(v any, replace func(string) string) any {
	switch v := v.(type) {
	case string:
		return replace(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = replaced(v[i], replace)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key := range v {
			out[key] = replaced(v[key], replace)
		}
		return out
	}
	return v
}
