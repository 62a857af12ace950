package config

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	koanfmaps "github.com/knadh/koanf/maps"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/v2"
	"go.yaml.in/yaml/v3"

	"github.com/authzhost/authz/host/files"
	"github.com/authzhost/authz/internal/spell"
)

// Source says where a configuration comes from; what comes later wins, key by
// key.
type Source struct {
	// Path of the YAML file; "" reads none. Relative paths in the file are
	// relative to its directory.
	Path string

	// Environ holds NAME=value pairs, as os.Environ returns them. AUTHZ_LISTEN
	// sets listen, AUTHZ_LOG__LEVEL sets log.level: the prefix goes, two
	// underscores descend, letters become lower case. References find their
	// variables here too. Nil is an empty environment.
	Environ []string

	// Overrides by path ("log.level"), from flags. Relative paths here and in
	// Environ are relative to the working directory.
	Overrides map[string]any
}

const (
	envPrefix = "AUTHZ_"

	// delim joins paths inside koanf. No YAML, variable or flag can hold it, so
	// names with dots stay whole.
	delim = "\x00"

	maxFile = 1 << 20
)

// foreign are variables with our prefix that are no keys: other parts of the
// product read them.
func foreign(name string) bool {
	switch name {
	case "AUTHZ_CONFIG", "AUTHZ_TOKEN_FILE", "AUTHZ_SERVICE_KEYS", "AUTHZ_VERIFY_CONFIG", "AUTHZ_PLUGIN", "AUTHZ_VECTORS", "AUTHZ_FULL":
		return true
	}
	return strings.HasPrefix(name, "AUTHZ_TEST_")
}

// layer is one source as a tree. Relative paths in it start at base.
type layer struct {
	tree map[string]any
	base string
	text bool              // its strings stand for values of any type
	vars map[string]string // variable by path
}

// document is the file: its tree, and the line of every path in it.
type document struct {
	tree  map[string]any
	lines map[string]int
}

func join(path []string) string {
	var b strings.Builder
	for i, segment := range path {
		if i > 0 && !strings.HasPrefix(segment, "[") {
			b.WriteByte('.')
		}
		b.WriteString(spell.Echo(segment))
	}
	return b.String()
}

func index(i int) string { return fmt.Sprintf("[%d]", i) }

// readFile reads the file. The parser is used below koanf's, because koanf's
// gives no lines and quotes values in its errors.
func (l *loader) readFile(path string) (document, bool) {
	fail := func(format string, args ...any) (document, bool) {
		l.problems = append(l.problems, Problem{Message: fmt.Sprintf(format, args...)})
		return document{}, false
	}
	f, err := os.Open(path)
	if err != nil {
		return fail("cannot be opened: %v", reason(err))
	}
	defer f.Close()
	l.judge(nil, absolute(l.workDir, path), files.Trusted)
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return fail("cannot be read: %v", reason(err))
	case len(text) > maxFile:
		return fail("is larger than %d bytes", maxFile)
	}
	dec := yaml.NewDecoder(strings.NewReader(string(text)))
	var root, second yaml.Node
	if err := dec.Decode(&root); errors.Is(err, io.EOF) {
		return document{}, true
	} else if err != nil {
		return fail("is not YAML: %v", err)
	}
	if err := dec.Decode(&second); !errors.Is(err, io.EOF) {
		return fail("holds more than one YAML document; only one is read")
	}
	doc := document{lines: map[string]int{}}
	top := root.Content[0]
	if top.Kind == yaml.ScalarNode && top.Tag == "!!null" {
		return doc, true
	}
	if top.Kind != yaml.MappingNode {
		l.problems = append(l.problems, Problem{Line: top.Line, Message: "must be a mapping of keys, not " + nodeKind(top)})
		return doc, false
	}
	l.survey(top, nil, doc.lines)
	if err := root.Decode(&doc.tree); err != nil {
		return fail("cannot be read as a mapping of keys: check its anchors and merge keys")
	}
	return doc, true
}

// survey notes the line of every path, and takes out the repetitions of a key
// that stands twice in one mapping. Aliases keep the line of their use.
func (l *loader) survey(n *yaml.Node, path []string, lines map[string]int) {
	switch n.Kind {
	case yaml.MappingNode:
		kept := n.Content[:0]
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			p := append(slices.Clone(path), key.Value)
			if line, twice := lines[strings.Join(p, delim)]; twice && key.Tag != "!!merge" {
				l.problems = append(l.problems, Problem{Path: join(p), Line: key.Line, Message: fmt.Sprintf("is given twice, first in line %d", line)})
				continue
			}
			kept = append(kept, key, value)
			lines[strings.Join(p, delim)] = key.Line
			l.survey(value, p, lines)
		}
		n.Content = kept
	case yaml.SequenceNode:
		for i, value := range n.Content {
			p := append(slices.Clone(path), index(i))
			lines[strings.Join(p, delim)] = value.Line
			l.survey(value, p, lines)
		}
	}
}

func nodeKind(n *yaml.Node) string {
	switch n.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	return "a single value"
}

// environment takes the AUTHZ_ variables.
func (l *loader) environment(environ []string) layer {
	vars := map[string]string{}
	flat, _ := env.Provider("", env.Opt{
		Prefix:      envPrefix,
		EnvironFunc: func() []string { return environ },
		TransformFunc: func(name, value string) (string, any) {
			if foreign(name) {
				return "", nil
			}
			path := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, envPrefix)), "__", delim)
			vars[path] = name
			return path, value
		},
	}).Read() // never fails
	tree := l.nested(flat, delim, func(path string) string { return vars[path] + " sets what another variable treats as a section" })
	return layer{tree: tree, base: l.workDir, text: true, vars: vars}
}

// overrides takes flags.
func (l *loader) overrides(flat map[string]any) layer {
	tree := l.nested(maps.Clone(flat), ".", func(string) string { return "an override sets what another override treats as a section" })
	return layer{tree: tree, base: l.workDir, text: true}
}

// nested makes a tree of values by path. It takes out of flat, and refuses, what lies
// below another value.
func (l *loader) nested(flat map[string]any, delim string, refusal func(path string) string) map[string]any {
	for _, path := range sortedKeys(flat) {
		segments := strings.Split(path, delim)
		for n := 1; n < len(segments); n++ {
			if _, taken := flat[strings.Join(segments[:n], delim)]; taken {
				l.problem(segments, "%s", refusal(path))
				delete(flat, path)
				break
			}
		}
	}
	return koanfmaps.Unflatten(flat, delim)
}

// merge lays the layers over each other, the later over the earlier.
func merge(layers []layer) (map[string]any, error) {
	k := koanf.New(delim)
	for _, one := range layers {
		if err := k.Load(confmap.Provider(one.tree, ""), nil); err != nil {
			return nil, err
		}
	}
	return k.Raw(), nil
}

// origin returns the topmost layer that holds the path.
func (l *loader) origin(path []string) layer {
	for _, one := range slices.Backward(l.layers) {
		var at any = one.tree
		for _, segment := range path {
			section, ok := at.(map[string]any)
			if !ok {
				break // inside a list: the layer of the list
			}
			if at, ok = section[segment]; !ok {
				at = nil
				break
			}
		}
		if at != nil {
			return one
		}
	}
	return l.layers[0] // a default counts as written in the file
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// reason strips what an error of the os package says about the operation.
func reason(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

func absolute(base, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(base, path)
}
