package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/authzhost/authz/internal/spell"
)

// section checks one section of the merged tree against the schema and returns
// it typed, with defaults. What is wrong is noted and left out.
func (l *loader) section(s *section, path []string, given map[string]any) map[string]any {
	out := map[string]any{}
	given = l.renamed(s, path, given)
	for _, name := range sortedKeys(given) {
		p := append(slices.Clone(path), name)
		raw := given[name]
		next := s.members[name]
		if next == nil {
			if next = s.each; next != nil && !validName(name) {
				l.problem(p, "a name holds 1 to 63 of a-z 0-9 _ - and begins with a letter or digit")
				continue
			}
		}
		switch {
		case next == nil:
			l.noteUnknown(p, raw)
		case next.key == nil && raw != nil:
			if _, ok := raw.(map[string]any); !ok {
				hint := ""
				if near := spell.Nearest(name, s.order); near != "" && near != name {
					hint = "; did you mean " + join(append(slices.Clone(path), near)) + "?"
				}
				l.problem(p, "must be a mapping of keys, not %s%s%s", kindOf(raw), l.from(p), hint)
			}
		case raw == nil: // "key:" with nothing behind it is as good as absent
		case next.key != nil:
			if v, ok := l.value(*next.key, p, raw); ok {
				out[name] = v
			}
		}
	}
	for _, name := range s.order {
		next := s.members[name]
		p := append(slices.Clone(path), name)
		if next.key == nil {
			sub, present := given[name].(map[string]any)
			if next.off && !present {
				continue
			}
			out[name] = l.section(next, p, sub)
			continue
		}
		if given[name] != nil {
			continue
		}
		if next.key.Required {
			l.problem(p, "is required")
		} else if next.key.Default != "" {
			if v, ok := l.value(*next.key, p, text(next.key.Default)); ok {
				out[name] = v
			}
		}
	}
	if s.each != nil && s.each.key == nil {
		for _, name := range sortedKeys(given) {
			if _, fixed := s.members[name]; fixed || !validName(name) {
				continue
			}
			sub, ok := given[name].(map[string]any)
			if ok || given[name] == nil {
				out[name] = l.section(s.each, append(slices.Clone(path), name), sub)
			}
		}
	}
	return out
}

// renamed is a section whose keys have the names of now. The values of before are
// whole milliseconds.
func (l *loader) renamed(s *section, path []string, given map[string]any) map[string]any {
	for _, older := range sortedKeys(s.older) {
		raw, there := given[older]
		if !there {
			continue
		}
		p, name := append(slices.Clone(path), older), s.older[older]
		given = maps.Clone(given)
		delete(given, older)
		if raw == nil { // "key:" with nothing behind it is as good as absent
			continue
		}
		if given[name] != nil {
			l.problem(p, "is the older name of %s: give one of the two", name)
			continue
		}
		ms, ok := asInteger(raw)
		if s, isText := raw.(string); isText && l.origin(p).text {
			ms, ok = asInteger(text(s))
		}
		if !ok {
			l.problem(p, "must be a whole number of milliseconds, not %s%s; write %s with its unit instead", kindOf(raw), l.from(p), name)
			continue
		}
		if name == "group_topology_ttl" {
			ms = max(ms, 0) // less than 0 was none as well
		}
		if k := s.members[name].key; ms < k.Min || ms > k.Max {
			l.problem(p, "must be from %d to %d, not %d", k.Min, k.Max, ms)
			continue
		}
		d := time.Duration(ms) * time.Millisecond
		given[name] = d
		l.outdated = append(l.outdated, Problem{Path: join(p), Line: l.lines.find(p), Message: fmt.Sprintf("is an older name, read until 1.0: write %s: %s%s", name, written(d), l.from(p))})
	}
	return given
}

// noteUnknown notes every unknown leaf, so that a variable that a reference
// names can be told from a slip.
func (l *loader) noteUnknown(path []string, raw any) {
	o := l.origin(path)
	if sub, ok := raw.(map[string]any); ok && o.text && len(sub) > 0 {
		for _, name := range sortedKeys(sub) {
			l.noteUnknown(append(slices.Clone(path), name), sub[name])
		}
		return
	}
	l.unknown = append(l.unknown, unknownKey{path: path, variable: o.vars[strings.Join(path, delim)]})
}

// from names the variable that a value came from.
func (l *loader) from(path []string) string {
	if v := l.origin(path).vars[strings.Join(path, delim)]; v != "" {
		return " (from the environment variable " + v + ")"
	}
	return ""
}

// text marks a value that is written as text whatever its type: from the
// environment, or a default.
type text string

// value checks and converts one value. Messages never show what may be secret.
func (l *loader) value(k Key, path []string, raw any) (any, bool) {
	bad := func(format string, args ...any) (any, bool) {
		l.problem(path, "%s%s", fmt.Sprintf(format, args...), l.from(path))
		return nil, false
	}
	o := l.origin(path)
	if s, ok := raw.(string); ok && o.text {
		raw = text(s)
	}
	switch k.Type {
	case TypeText, TypeAddress, TypePath, TypeProgram, TypeChoice, TypeReference, TypeURL, typeNetwork:
		s, ok := asText(raw)
		if !ok {
			return bad("must be text, not %s", kindOf(raw))
		}
		if strings.ContainsRune(s, 0) {
			return bad("holds a NUL character")
		}
		return l.textual(k, path, s, o, bad)
	case TypeInteger:
		n, ok := asInteger(raw)
		if !ok {
			return bad("must be a whole number, not %s", kindOf(raw))
		}
		if n < k.Min || n > k.Max {
			return bad("must be from %d to %d, not %d", k.Min, k.Max, n)
		}
		return n, true
	case TypeBoolean:
		switch v := raw.(type) {
		case bool:
			return v, true
		case text:
			if v == "true" || v == "false" {
				return v == "true", true
			}
		}
		return bad("must be true or false, not %s", kindOf(raw))
	case TypeFraction:
		f, ok := asFraction(raw)
		if !ok || !(f >= 0 && f <= 1) { // NaN is neither
			return bad("must be a number from 0 to 1")
		}
		return f, true
	case TypeDuration:
		if d, ok := raw.(time.Duration); ok {
			raw = d.String()
		}
		s, ok := asText(raw)
		if !ok {
			return bad("must be a duration with its unit, such as 20s or 1m30s, not %s", kindOf(raw))
		}
		d, ok := asDuration(s)
		if !ok {
			return bad("must be a duration with its unit, such as 20s or 1m30s, not %s", spell.Quote(s))
		}
		least, most := time.Duration(k.Min)*time.Millisecond, time.Duration(k.Max)*time.Millisecond
		if most == 0 {
			most = 24 * time.Hour
		}
		if d < least || d > most {
			return bad("must be from %s to %s, not %s", written(least), written(most), written(d))
		}
		if k.Older != "" && d%time.Millisecond != 0 {
			return bad("must be whole milliseconds, not %s", d)
		}
		return d, true
	case TypePaths, TypeReferences, TypeTexts, TypeNetworks:
		return l.list(k, path, raw, o, bad)
	case TypeTextMap:
		return l.textMap(path, raw, bad)
	case TypeSettings:
		tree, ok := raw.(map[string]any)
		if !ok {
			return bad("must be a mapping of keys, not %s", kindOf(raw))
		}
		if len(tree) == 0 {
			return Settings{}, true
		}
		settings, _ := l.settings(path, tree).(map[string]any)
		return Settings{tree: settings}, true
	}
	return bad("has a type that this version cannot read")
}

type refuse func(format string, args ...any) (any, bool)

func (l *loader) textual(k Key, path []string, s string, o layer, bad refuse) (any, bool) {
	switch k.Type {
	case TypeAddress:
		if s == "" && k.Path != "listen" {
			return s, true // off
		}
		if why := addressProblem(s); why != "" {
			return bad("must be an address host:port, such as %s: %s", k.Default, why)
		}
	case TypeChoice:
		if !slices.Contains(k.Values, s) {
			message := "must be one of " + strings.Join(k.Values, ", ") + ", not " + spell.Quote(s)
			if near := spell.Nearest(s, k.Values); near != "" {
				message += "; did you mean " + near + "?"
			}
			return bad("%s", message)
		}
	case TypePath, TypeProgram:
		if s == "" {
			if k.Required {
				return bad("must not be empty")
			}
			return s, true
		}
		if k.Type == TypePath || strings.ContainsRune(s, '/') {
			return absolute(o.base, s), true
		}
		if !validName(s) {
			return bad("is neither a plugin's name (a-z 0-9 _ -) nor a path: %s", spell.Quote(s))
		}
	case TypeReference:
		secret, why := l.resolve(path, s, o.base)
		if why == "" && secret.reference == "" {
			why = "must be a reference, env:NAME or file:PATH: a secret does not belong in the configuration itself. Put it into a file of mode 0600 and write file: and its path here"
		}
		if why == "" {
			secret.value = strings.TrimSpace(secret.value)
			why = secretProblem(secret.value)
		}
		if why != "" {
			return bad("%s", why)
		}
		return secret, true
	case TypeURL:
		if s == "" && !k.Required {
			return s, true
		}
		if why := urlProblem(s); why != "" {
			return bad("%s", why)
		}
	case typeNetwork:
		network, ok := parseNetwork(s)
		if !ok {
			return bad("must be a network, such as 10.0.0.0/8, or an address: %s is neither", spell.Quote(s))
		}
		return network.String(), true
	case TypeText:
		if s == "" && k.Required {
			return bad("must not be empty")
		}
	}
	return s, true
}

// elements are the types of what lists hold.
var elements = map[Type]Type{TypePaths: TypePath, TypeReferences: TypeReference, TypeTexts: TypeText, TypeNetworks: typeNetwork}

// list reads lists. As text they are separated by commas.
func (l *loader) list(k Key, path []string, raw any, o layer, bad refuse) (any, bool) {
	var members []any
	switch v := raw.(type) {
	case text:
		for one := range strings.SplitSeq(string(v), ",") {
			members = append(members, strings.TrimSpace(one))
		}
	case []any:
		members = v
	case []string:
		for _, one := range v {
			members = append(members, one)
		}
	default:
		return bad("must be a list, not %s", kindOf(raw))
	}
	element := Key{Path: k.Path, Type: elements[k.Type], Required: true}
	if k.Type == TypeReferences && len(members) == 0 {
		return bad("must not be an empty list: leave it out instead")
	}
	texts, secrets, whole := []string{}, []Secret{}, true
	for i, one := range members {
		v, ok := l.value(element, append(slices.Clone(path), index(i)), one)
		switch v := v.(type) {
		case string:
			texts = append(texts, v)
		case Secret:
			secrets = append(secrets, v)
		}
		whole = whole && ok
	}
	if k.Type == TypeReferences {
		return secrets, whole
	}
	if len(texts) == 0 && k.Type != TypePaths {
		return []string(nil), whole
	}
	return texts, whole
}

func asText(raw any) (string, bool) {
	switch v := raw.(type) {
	case string:
		return v, true
	case text:
		return string(v), true
	}
	return "", false
}

func asInteger(raw any) (int64, bool) {
	switch v := raw.(type) {
	case int:
		return int64(v), true
	case int64:
		return v, true
	case text:
		n, err := strconv.ParseInt(string(v), 10, 64)
		return n, err == nil
	}
	return 0, false
}

// asDuration reads what Go writes, and whole days.
func asDuration(s string) (time.Duration, bool) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err == nil
	}
	d, err := time.ParseDuration(s)
	return d, err == nil
}

// written is a duration as people write it: 24h, not 24h0m0s.
func written(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func asFraction(raw any) (float64, bool) {
	switch v := raw.(type) {
	case float64:
		return v, true
	case text:
		f, err := strconv.ParseFloat(string(v), 64)
		return f, err == nil
	}
	n, ok := asInteger(raw)
	return float64(n), ok
}

func kindOf(raw any) string {
	switch raw.(type) {
	case nil:
		return "nothing"
	case string, text:
		return "text"
	case bool:
		return "true or false"
	case int, int64, uint64, json.Number:
		return "a number"
	case float64:
		return "a fraction"
	case []any, []string:
		return "a list"
	case map[string]any:
		return "a mapping"
	case time.Time:
		return "a date"
	}
	return "something else"
}
