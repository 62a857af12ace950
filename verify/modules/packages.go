package modules

import (
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// The bounds of the search for packages of the workspace.
const (
	packageDepth  = 5
	packageLevels = 4 // above the working directory
)

type packageFile struct {
	Name       string          `json:"name"`
	Main       string          `json:"main"`
	Module     string          `json:"module"`
	Types      string          `json:"types"`
	Exports    json.RawMessage `json:"exports"`
	Workspaces json.RawMessage `json:"workspaces"`
}

// ofPackage finds a module of a package of the workspace.
func (r *Resolver) ofPackage(specifier string) string {
	if r.packages == nil {
		r.findPackages()
	}
	parts := strings.SplitN(specifier, "/", 3)
	n := 1
	if strings.HasPrefix(specifier, "@") {
		n = 2
	}
	if len(parts) < n {
		return ""
	}
	name := strings.Join(parts[:n], "/")
	rest := strings.TrimPrefix(strings.TrimPrefix(specifier, name), "/")
	dir, ok := r.packages[name]
	if !ok {
		return ""
	}
	var p packageFile
	if readJSON(path.Join(dir, "package.json"), &p) != nil {
		return ""
	}
	targets := exported(p.Exports, "./"+rest)
	if rest == "" {
		targets = append(exported(p.Exports, "."), p.Module, p.Main, p.Types)
	}
	for _, t := range targets {
		if t != "" && !strings.HasPrefix(path.Clean(t), "..") {
			if file := r.probe(path.Join(dir, t)); file != "" {
				return file
			}
		}
	}
	// What is published is built; its source lies beside it.
	for _, below := range []string{"", "src", "source", "lib"} {
		if file := r.probe(path.Join(dir, below, rest)); file != "" {
			return file
		}
	}
	return ""
}

// exported are the files that the exports of a package name for a path, under any
// condition.
func exported(raw json.RawMessage, want string) []string {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		if want == "." {
			return []string{one}
		}
		return nil
	}
	var many map[string]json.RawMessage
	if json.Unmarshal(raw, &many) != nil {
		return nil
	}
	if raw, ok := many[want]; ok {
		return leaves(raw, "", 0)
	}
	if _, conditions := many["."]; !conditions && want == "." {
		for name := range many {
			if !strings.HasPrefix(name, ".") {
				return leaves(raw, "", 0)
			}
		}
	}
	for _, pattern := range sortedKeys(many) {
		before, after, star := strings.Cut(pattern, "*")
		if star && len(want) >= len(before)+len(after) && strings.HasPrefix(want, before) && strings.HasSuffix(want, after) {
			return leaves(many[pattern], want[len(before):len(want)-len(after)], 0)
		}
	}
	return nil
}

// leaves are the strings in an exports entry, with what its "*" stands for.
func leaves(raw json.RawMessage, rest string, depth int) []string {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return []string{strings.ReplaceAll(one, "*", rest)}
	}
	var many map[string]json.RawMessage
	if depth > 4 || json.Unmarshal(raw, &many) != nil {
		return nil
	}
	var all []string
	for _, condition := range sortedKeys(many) {
		all = append(all, leaves(many[condition], rest, depth+1)...)
	}
	return all
}

func sortedKeys(m map[string]json.RawMessage) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// findPackages lists the packages of the workspace: from its root, which is the
// working directory or the nearest one above that says so.
func (r *Resolver) findPackages() {
	r.packages = map[string]string{}
	root := "."
	for at, n := ".", 0; n <= packageLevels; at, n = path.Join("..", at), n+1 {
		if isWorkspace(at) {
			root = at
			break
		}
	}
	base := strings.Count(filepath.ToSlash(root), "/")
	_ = filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
		p = filepath.ToSlash(p)
		switch {
		case err != nil && e != nil && e.IsDir():
			return fs.SkipDir
		case err != nil:
			return nil
		case e.IsDir():
			hidden := strings.HasPrefix(e.Name(), ".") && p != root
			if hidden || e.Name() == "node_modules" || e.Name() == "dist" || strings.Count(p, "/")-base > packageDepth {
				return fs.SkipDir
			}
		case e.Name() == "package.json":
			var f packageFile
			if readJSON(p, &f) == nil && f.Name != "" && r.packages[f.Name] == "" {
				r.packages[f.Name] = path.Dir(p)
			}
		}
		return nil
	})
}

func isWorkspace(dir string) bool {
	if _, err := os.Stat(filepath.Join(dir, "pnpm-workspace.yaml")); err == nil {
		return true
	}
	var f packageFile
	return readJSON(filepath.Join(dir, "package.json"), &f) == nil && len(f.Workspaces) > 0
}
