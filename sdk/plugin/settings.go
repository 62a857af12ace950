package plugin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/authzhost/authz/internal/spell"
)

// SettingType says what a setting holds, and as which Go type Configure gets it.
type SettingType string

// The types of setting. In a configuration file a duration is a text such as
// "1500ms" or "10s".
const (
	TypeString   SettingType = "string"   // string
	TypeInteger  SettingType = "integer"  // int64
	TypeBoolean  SettingType = "boolean"  // bool
	TypeDuration SettingType = "duration" // time.Duration
	TypeStrings  SettingType = "strings"  // []string
)

var settingTypes = []SettingType{TypeString, TypeInteger, TypeBoolean, TypeDuration, TypeStrings}

// Setting is one member of a plugin's configuration. The SDK checks a
// configuration against its settings before the plugin sees it.
type Setting struct {
	Name        string
	Type        SettingType
	Required    bool
	Default     any  // of the Go type of Type; nil: absent unless configured
	Secret      bool // never printed, by the host either
	Description string
}

// ConfigError is a configuration that a plugin refuses. Field is the setting at
// fault, "" when it is none in particular; Suggestion the known setting that an
// unknown one probably meant. It never repeats a value.
type ConfigError struct {
	Field      string
	Message    string
	Suggestion string
}

func (e *ConfigError) Error() string {
	if e.Field == "" {
		return e.Message
	}
	text := "setting " + spell.Quote(e.Field) + ": " + e.Message
	if e.Suggestion != "" {
		text += "; did you mean " + spell.Quote(e.Suggestion) + "?"
	}
	return text
}

// settings checks a configuration and gives its members their Go types.
// Defaults are filled in; what is neither given nor defaulted is missing.
func settings(schema []Setting, document []byte) (map[string]any, error) {
	var given map[string]any
	dec := json.NewDecoder(bytes.NewReader(document))
	dec.UseNumber()
	if err := dec.Decode(&given); err != nil {
		return nil, &ConfigError{Message: "the configuration is no object"}
	}
	names := make([]string, len(schema))
	for i, s := range schema {
		names[i] = s.Name
	}
	unknown := ""
	for name := range given {
		if !slices.Contains(names, name) && (unknown == "" || name < unknown) {
			unknown = name
		}
	}
	if unknown != "" {
		return nil, &ConfigError{Field: unknown, Message: "unknown", Suggestion: spell.Nearest(unknown, names)}
	}
	out := map[string]any{}
	for _, s := range schema {
		value, present := given[s.Name]
		switch {
		case present && value != nil:
			typed, ok := typedSetting(s.Type, value)
			if !ok {
				return nil, &ConfigError{Field: s.Name, Message: "must be " + s.Type.article()}
			}
			out[s.Name] = typed
		case s.Required:
			return nil, &ConfigError{Field: s.Name, Message: "is required"}
		case s.Default != nil:
			out[s.Name] = s.Default
		}
	}
	return out, nil
}

func (t SettingType) article() string {
	switch t {
	case TypeInteger:
		return "an integer"
	case TypeDuration:
		return `a duration such as "1500ms" or "10s"`
	case TypeStrings:
		return "a list of strings"
	}
	return "a " + string(t)
}

func typedSetting(t SettingType, value any) (any, bool) {
	switch t {
	case TypeString:
		s, ok := value.(string)
		return s, ok
	case TypeBoolean:
		b, ok := value.(bool)
		return b, ok
	case TypeInteger:
		n, ok := value.(json.Number)
		if !ok {
			return nil, false
		}
		i, err := n.Int64()
		return i, err == nil
	case TypeDuration:
		s, ok := value.(string)
		if !ok {
			return nil, false
		}
		d, err := time.ParseDuration(s)
		return d, err == nil
	case TypeStrings:
		list, ok := value.([]any)
		if !ok {
			return nil, false
		}
		out := make([]string, len(list))
		for i, v := range list {
			if out[i], ok = v.(string); !ok {
				return nil, false
			}
		}
		return out, true
	}
	return nil, false
}

// checkSchema refuses a plugin whose own settings make no sense.
func checkSchema(schema []Setting) error {
	seen := map[string]bool{}
	for _, s := range schema {
		ok := s.Default == nil
		switch s.Default.(type) {
		case string:
			ok = s.Type == TypeString
		case int64:
			ok = s.Type == TypeInteger
		case bool:
			ok = s.Type == TypeBoolean
		case time.Duration:
			ok = s.Type == TypeDuration
		case []string:
			ok = s.Type == TypeStrings
		}
		switch {
		case s.Name == "" || seen[s.Name]:
			return fmt.Errorf("setting %q: names must be unique and not empty", s.Name)
		case !slices.Contains(settingTypes, s.Type):
			return fmt.Errorf("setting %q: %q is no type of setting", s.Name, s.Type)
		case !ok:
			return fmt.Errorf("setting %q: a default of type %T is no %s", s.Name, s.Default, s.Type)
		case s.Required && s.Default != nil:
			return fmt.Errorf("setting %q: a required setting has no default", s.Name)
		}
		seen[s.Name] = true
	}
	return nil
}
