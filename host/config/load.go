package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"golang.org/x/sys/unix"
)

// loader collects problems while one configuration is read.
type loader struct {
	source   Source
	environ  map[string]string
	workDir  string
	schema   *section
	layers   []layer // file, environment, overrides
	lines    Lines
	problems []Problem
	exposed  []exposure

	// referenced are the variables that references name: no keys, whatever
	// their prefix.
	referenced map[string]bool
	unknown    []unknownKey
	outdated   []Problem
}

type unknownKey struct {
	path     []string
	variable string
}

// Load reads and checks a configuration. Every error is an *Error; beside one stands
// what could be read, for those who go on looking for faults, or nil.
func Load(src Source) (*Config, error) {
	l := &loader{source: src, schema: schema(), environ: map[string]string{}, referenced: map[string]bool{}}
	for _, pair := range src.Environ {
		if name, value, ok := strings.Cut(pair, "="); ok {
			l.environ[name] = value
		}
	}
	cfg := l.load()
	for _, u := range l.unknown {
		if u.variable == "" || !l.referenced[u.variable] {
			l.reportUnknown(u)
		}
	}
	if len(l.problems) > 0 {
		sortProblems(l.problems)
		return cfg, &Error{File: src.Path, Problems: l.problems}
	}
	return cfg, nil
}

func (l *loader) load() *Config {
	var err error
	if l.workDir, err = os.Getwd(); err != nil {
		l.problem(nil, "the working directory cannot be found: %v", err)
		return nil
	}
	file := layer{base: l.workDir}
	if l.source.Path != "" {
		doc, ok := l.readFile(l.source.Path)
		if !ok {
			return nil
		}
		l.lines = doc.lines
		file.tree, file.base = doc.tree, filepath.Dir(absolute(l.workDir, l.source.Path))
	}
	l.layers = []layer{file, l.environment(l.source.Environ), l.overrides(l.source.Overrides)}
	merged, err := merge(l.layers)
	if err != nil {
		l.problem(nil, "the sources cannot be merged: %v", err)
		return nil
	}
	values := l.section(l.schema, nil, merged)
	l.shortForms(values)

	cfg := &Config{}
	dec, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{Result: cfg, TagName: "koanf", ErrorUnused: true})
	if err == nil {
		err = dec.Decode(values)
	}
	if err != nil {
		// The schema admitted what the structure cannot hold: a defect here.
		l.problem(nil, "cannot be taken over: %v", err)
		return nil
	}
	cfg.Outdated = l.outdated
	cfg.Dir, cfg.File, cfg.Lines = file.base, l.source.Path, l.lines
	l.derive(cfg)
	l.check(cfg)
	l.settle(cfg)
	return cfg
}

// problem notes what is wrong with the key at path.
func (l *loader) problem(path []string, format string, args ...any) {
	l.problems = append(l.problems, Problem{Path: join(path), Line: l.lines.find(path), Message: fmt.Sprintf(format, args...)})
}

// Lines are the lines of a file on which its keys stand.
type Lines map[string]int

// find finds the path, or the innermost section around it, in the file.
func (l Lines) find(path []string) int {
	for n := len(path); n > 0; n-- {
		if line, ok := l[strings.Join(path[:n], delim)]; ok {
			return line
		}
	}
	return 0
}

// Problem is what is wrong with the key at path, found after the configuration was
// read.
func (c *Config) Problem(path []string, format string, args ...any) Problem {
	return Problem{Path: join(path), Line: c.Lines.find(path), Message: fmt.Sprintf(format, args...)}
}

// Refuse is the error of problems that were found after the configuration was read,
// beside those of the error that Load gave, if any.
func (c *Config) Refuse(loaded error, found ...Problem) error {
	var bad *Error
	if errors.As(loaded, &bad) {
		found = append(slices.Clone(bad.Problems), found...)
	}
	if len(found) == 0 {
		return nil
	}
	sortProblems(found)
	return &Error{File: c.File, Problems: found}
}

func (l *loader) reportUnknown(u unknownKey) {
	message := "unknown key"
	if u.variable != "" {
		message += " (from the environment variable " + u.variable + ")"
	}
	if near := l.schema.suggest(u.path); near != "" {
		message += "; did you mean " + near + "?"
	}
	line := 0
	if u.variable == "" {
		line = l.lines.find(u.path)
	}
	l.problems = append(l.problems, Problem{Path: join(u.path), Line: line, Message: message})
}

// shortForms turns provider.secret into secrets of one.
func (l *loader) shortForms(values map[string]any) {
	apps, _ := values["applications"].(map[string]any)
	for _, name := range sortedKeys(apps) {
		provider, _ := apps[name].(map[string]any)["provider"].(map[string]any)
		secret, ok := provider["secret"]
		if !ok {
			continue
		}
		delete(provider, "secret")
		if _, both := provider["secrets"]; both {
			l.problem([]string{"applications", name, "provider", "secret"}, "is short for secrets with one member: give one of the two")
			continue
		}
		provider["secrets"] = []Secret{secret.(Secret)}
	}
}

// derive fills in the defaults that depend on the machine or on other keys.
func (l *loader) derive(cfg *Config) {
	if cfg.RunDir == "" {
		cfg.RunDir = defaultRunDir(l.environ["XDG_RUNTIME_DIR"])
	}
	if cfg.Socket == "" {
		cfg.Socket = filepath.Join(cfg.RunDir, "authz.sock")
	}
}

// defaultRunDir is below a directory for the sockets of running programs, where there
// is one that this user may write. In the one for temporary files every user can take
// the name first; the host then refuses to use it.
func defaultRunDir(xdg string) string {
	if filepath.IsAbs(xdg) {
		return filepath.Join(xdg, "authz")
	}
	uid := strconv.Itoa(os.Getuid())
	for _, base := range []string{"/run/user/" + uid, "/run"} {
		dir := filepath.Join(base, "authz")
		if unix.Access(dir, unix.W_OK) == nil || unix.Access(base, unix.W_OK) == nil {
			return dir
		}
	}
	return filepath.Join(os.TempDir(), "authz-"+uid)
}
