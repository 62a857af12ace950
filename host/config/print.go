package config

import (
	"maps"
	"reflect"
	"time"

	"go.yaml.in/yaml/v3"
)

// Redacted is the effective configuration as a tree of plain values, defaults
// included. Secrets are shown as the references that they came from, any other
// text that may be one as [redacted].
func (c *Config) Redacted() map[string]any {
	out, _ := shown(c.tree()).(map[string]any)
	return out
}

func shown(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = shown(e)
		}
		return out
	case map[string]Secret:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = e.shown()
		}
		return out
	case Secret:
		return v.shown()
	case []Secret:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = e.shown()
		}
		return out
	case Settings:
		out := v.shown()
		if out == nil {
			out = map[string]any{}
		}
		return out
	case []string:
		return toAny(v)
	case time.Duration:
		return v.String()
	}
	return v
}

// MarshalYAML is Redacted with the keys in the order of Keys.
func (c *Config) MarshalYAML() (any, error) { return ordered(schema(), c.Redacted()) }

func ordered(s *section, v any) (*yaml.Node, error) {
	node := &yaml.Node{}
	members, isMap := v.(map[string]any)
	if s == nil || s.key != nil || !isMap {
		return node, node.Encode(v)
	}
	node.Kind = yaml.MappingNode
	add := func(name string, next *section) error {
		value, ok := members[name]
		if !ok {
			return nil
		}
		child, err := ordered(next, value)
		if err != nil {
			return err
		}
		key := &yaml.Node{}
		if err := key.Encode(name); err != nil {
			return err
		}
		node.Content = append(node.Content, key, child)
		return nil
	}
	for _, name := range s.order {
		if err := add(name, s.members[name]); err != nil {
			return nil, err
		}
	}
	for _, name := range sortedKeys(members) {
		if _, fixed := s.members[name]; !fixed {
			if err := add(name, s.each); err != nil {
				return nil, err
			}
		}
	}
	return node, nil
}

// Changes are the keys in which two configurations differ, sorted. Reload are
// those that a running host takes over, Restart all others.
type Changes struct {
	Reload  []string
	Restart []string
}

// Diff compares c, which is running, with next; secrets by their values.
// Switching TLS on or off needs a restart, other files do not; so does the first
// secret of an application, which had no provider API without one.
func (c *Config) Diff(next *Config) Changes {
	var out Changes
	walk(schema(), nil, c.tree(), next.tree(), func(path []string, key *Key) {
		reload := key != nil && key.Reload
		if path[0] == "tls" && (c.TLS.Cert == "") != (next.TLS.Cert == "") {
			reload = false
		}
		if path[0] == "applications" && len(path) == 4 && path[2] == "provider" && !c.Applications[path[1]].Provider.Opened() {
			reload = false
		}
		if reload && path[0] == "service" && !c.Service.TakesOver(next.Service, path[1]) {
			reload = false
		}
		if reload {
			out.Reload = append(out.Reload, join(path))
		} else {
			out.Restart = append(out.Restart, join(path))
		}
	})
	return out
}

// walk visits every key, or section that only one side has, that differs.
func walk(s *section, path []string, a, b any, differs func([]string, *Key)) {
	ma, aMap := a.(map[string]any)
	mb, bMap := b.(map[string]any)
	if s == nil || s.key != nil || !aMap || !bMap {
		if !reflect.DeepEqual(a, b) {
			var key *Key
			if s != nil {
				key = s.key
			}
			differs(path, key)
		}
		return
	}
	names := map[string]any{}
	maps.Copy(names, ma)
	maps.Copy(names, mb)
	for _, name := range sortedKeys(names) {
		walk(s.find([]string{name}), append(path[:len(path):len(path)], name), ma[name], mb[name], differs)
	}
}
