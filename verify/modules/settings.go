package modules

import (
	"encoding/json"
	"os"
	"path"
	"strings"
)

// maxSettingsBytes bounds a tsconfig.json or package.json.
const maxSettingsBytes = 4 << 20

// settings are what a tsconfig.json says about modules.
type settings struct {
	base  string // "" without baseUrl
	paths []pathRule
}

// pathRule maps specifiers to paths; "*" stands for anything.
type pathRule struct {
	pattern string
	targets []string
}

// settingsOf are those of the nearest tsconfig.json or jsconfig.json at or above a
// directory, then those further up: a monorepo's root may say what its parts do not.
func (r *Resolver) settingsOf(dir string) []*settings {
	var all []*settings
	for at := dir; ; at = path.Dir(at) {
		s, known := r.configs[at]
		if !known {
			for _, name := range []string{"tsconfig.json", "jsconfig.json"} {
				if s = r.readSettings(path.Join(at, name), 0); s != nil {
					break
				}
			}
			r.configs[at] = s
		}
		if s != nil {
			all = append(all, s)
		}
		if at == "." || at == "/" || at == ".." || strings.HasSuffix(at, "/..") {
			return all
		}
	}
}

type settingsFile struct {
	Extends         json.RawMessage `json:"extends"`
	CompilerOptions struct {
		BaseURL string              `json:"baseUrl"`
		Paths   map[string][]string `json:"paths"`
	} `json:"compilerOptions"`
	References []struct {
		Path string `json:"path"`
	} `json:"references"`
}

// readSettings reads a file and those that it extends; without paths of its own, those
// that it refers to.
func (r *Resolver) readSettings(file string, depth int) *settings {
	if depth > 8 || !r.isFile(file) {
		return nil
	}
	var f settingsFile
	if readJSON(file, &f) != nil {
		return nil
	}
	dir := path.Dir(file)
	s := &settings{}
	if f.CompilerOptions.BaseURL != "" {
		s.base = path.Join(dir, f.CompilerOptions.BaseURL)
	}
	for pattern, targets := range f.CompilerOptions.Paths {
		rule := pathRule{pattern: pattern}
		for _, t := range targets {
			from := dir
			if s.base != "" {
				from = s.base
			}
			rule.targets = append(rule.targets, path.Join(from, strings.ReplaceAll(t, "${configDir}", ".")))
		}
		s.paths = append(s.paths, rule)
	}
	for _, base := range extended(f.Extends) {
		if !strings.HasPrefix(base, ".") {
			continue // of a package: it cannot know the project's paths
		}
		file := path.Join(dir, base)
		if path.Ext(file) != ".json" {
			file += ".json"
		}
		s.add(r.readSettings(file, depth+1))
	}
	if len(s.paths) == 0 {
		for _, ref := range f.References {
			file := path.Join(dir, ref.Path)
			if path.Ext(file) != ".json" {
				file = path.Join(file, "tsconfig.json")
			}
			if path.Dir(file) == dir {
				s.add(r.readSettings(file, depth+1))
			}
		}
	}
	return s
}

// add takes from another file what this one does not say itself.
func (s *settings) add(base *settings) {
	if base == nil {
		return
	}
	if s.base == "" {
		s.base = base.base
	}
	if len(s.paths) == 0 {
		s.paths = base.paths
	}
}

func extended(raw json.RawMessage) []string {
	var one string
	if json.Unmarshal(raw, &one) == nil && one != "" {
		return []string{one}
	}
	var many []string
	_ = json.Unmarshal(raw, &many) // neither: it extends nothing
	return many
}

// byPaths finds what the paths of a tsconfig.json say, the longest pattern first.
func (r *Resolver) byPaths(s *settings, specifier string) string {
	var best *pathRule
	var rest string
	for i := range s.paths {
		before, after, star := strings.Cut(s.paths[i].pattern, "*")
		switch {
		case !star && before == specifier:
			return r.first(s.paths[i].targets, "")
		case !star, len(specifier) < len(before)+len(after), !strings.HasPrefix(specifier, before), !strings.HasSuffix(specifier, after):
		case best == nil || len(before) > strings.Index(best.pattern, "*"):
			best, rest = &s.paths[i], specifier[len(before):len(specifier)-len(after)]
		}
	}
	if best != nil {
		if file := r.first(best.targets, rest); file != "" {
			return file
		}
	}
	if s.base != "" {
		return r.probe(path.Join(s.base, specifier))
	}
	return ""
}

func (r *Resolver) first(targets []string, rest string) string {
	for _, t := range targets {
		if file := r.probe(path.Clean(strings.Replace(t, "*", rest, 1))); file != "" {
			return file
		}
	}
	return ""
}

// readJSON reads JSON that may hold comments and commas before closing brackets, as
// tsconfig.json does.
func readJSON(file string, into any) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if info.Size() > maxSettingsBytes {
		return os.ErrInvalid
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return json.Unmarshal(plain(raw), into)
}

// plain is JSON without its comments and without commas that nothing follows.
func plain(raw []byte) []byte {
	raw = []byte(strings.TrimPrefix(string(raw), "\ufeff"))
	out := make([]byte, 0, len(raw))
	comma := -1 // where a comma stands that nothing has followed
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch {
		case c == '"':
			end := i + 1
			for end < len(raw) && raw[end] != '"' {
				if raw[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end, len(raw)-1)
			out = append(out, raw[i:end+1]...)
			i, comma = end, -1
		case c == '/' && i+1 < len(raw) && raw[i+1] == '/':
			for i < len(raw) && raw[i] != '\n' {
				i++
			}
		case c == '/' && i+1 < len(raw) && raw[i+1] == '*':
			for i += 2; i+1 < len(raw) && (raw[i] != '*' || raw[i+1] != '/'); i++ {
			}
			i++
		default:
			switch {
			case c == ',':
				comma = len(out)
			case (c == '}' || c == ']') && comma >= 0:
				out[comma], comma = ' ', -1
			case c > ' ':
				comma = -1
			}
			out = append(out, c)
		}
	}
	return out
}
