package config

import (
	"maps"
	"reflect"
	"strings"
)

// tree is the configuration by key, the way Keys nests it; its leaves are Go
// values, secrets among them.
func (c *Config) tree() map[string]any { return sectionTree(reflect.ValueOf(*c)) }

// sectionTree names the fields of a section by their koanf tags. It leaves out nil
// pointers, and empty values where the tag says omitempty.
func sectionTree(section reflect.Value) map[string]any {
	out := map[string]any{}
	for field, v := range section.Fields() {
		name, option, _ := strings.Cut(field.Tag.Get("koanf"), ",")
		switch {
		case option == "remain":
			maps.Copy(out, valueTree(v).(map[string]any))
		case name == "-", v.Kind() == reflect.Pointer && v.IsNil(), option == "omitempty" && empty(v):
		default:
			out[name] = valueTree(v)
		}
	}
	return out
}

func valueTree(v reflect.Value) any {
	switch leaf := v.Interface().(type) {
	case Secret, Settings, map[string]Secret:
		return leaf
	}
	switch v.Kind() {
	case reflect.Pointer:
		return valueTree(v.Elem())
	case reflect.Struct:
		return sectionTree(v)
	case reflect.Map: // its names are the operator's
		out := make(map[string]any, v.Len())
		for name, member := range v.Seq2() {
			out[name.String()] = valueTree(member)
		}
		return out
	}
	return v.Interface()
}

func empty(v reflect.Value) bool {
	return v.IsZero() || (v.Kind() == reflect.Map || v.Kind() == reflect.Slice) && v.Len() == 0
}
