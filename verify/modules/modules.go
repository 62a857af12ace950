package modules

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// extensions are tried in this order, as TypeScript does.
var extensions = []string{".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"}

// Resolver finds modules from the working directory on. It is safe for concurrent use.
type Resolver struct {
	mu       sync.Mutex
	exists   map[string]bool
	found    map[[2]string]string // by directory and specifier
	configs  map[string]*settings // by directory
	packages map[string]string    // directory by name; nil until asked for
}

// New returns a resolver that knows nothing yet.
func New() *Resolver {
	return &Resolver{exists: map[string]bool{}, found: map[[2]string]string{}, configs: map[string]*settings{}}
}

// Resolve is the path of a source file, "" where the import leads to none: to an
// installed package, to a file of another kind, or nowhere. Paths have "/" and begin as
// the importing one does.
func (r *Resolver) Resolve(from, specifier string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	dir := path.Dir(filepath.ToSlash(from))
	key := [2]string{dir, specifier}
	file, known := r.found[key]
	if !known {
		file = r.resolve(dir, specifier)
		r.found[key] = file
	}
	return file
}

func (r *Resolver) resolve(dir, specifier string) string {
	if specifier == "." || specifier == ".." || strings.HasPrefix(specifier, "./") || strings.HasPrefix(specifier, "../") {
		return r.probe(path.Join(dir, specifier))
	}
	if specifier == "" || strings.Contains(specifier, ":") || path.IsAbs(specifier) {
		return ""
	}
	for _, s := range r.settingsOf(dir) {
		if file := r.byPaths(s, specifier); file != "" {
			return file
		}
	}
	return r.ofPackage(specifier)
}

// probe finds the source that a path without, or with another, extension means.
func (r *Resolver) probe(p string) string {
	if isSource(p) && r.isFile(p) {
		return p
	}
	stem := p
	switch ext := path.Ext(p); ext {
	case ".js", ".jsx", ".mjs", ".cjs":
		stem = strings.TrimSuffix(p, ext)
	}
	for _, base := range slices.Compact([]string{p, stem}) {
		for _, ext := range extensions {
			if r.isFile(base + ext) {
				return base + ext
			}
		}
	}
	for _, ext := range extensions {
		if r.isFile(p + "/index" + ext) {
			return p + "/index" + ext
		}
	}
	return ""
}

func isSource(p string) bool {
	for _, end := range []string{".d.ts", ".d.mts", ".d.cts"} {
		if strings.HasSuffix(p, end) {
			return false
		}
	}
	return slices.Contains(extensions, path.Ext(p))
}

func (r *Resolver) isFile(p string) bool {
	if is, known := r.exists[p]; known {
		return is
	}
	info, err := os.Stat(filepath.FromSlash(p))
	is := err == nil && info.Mode().IsRegular()
	r.exists[p] = is
	return is
}
