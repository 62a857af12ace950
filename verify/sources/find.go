package sources

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// DefaultExclude are the path substrings that are excluded always.
var DefaultExclude = []string{"node_modules", "dist", ".next", ".git"}

// Found is what lies below the roots.
type Found struct {
	Files []string // in the order of the scan, joined and clean, with "/"
	Dirs  []string // the real paths of the directories that were entered
	Links []string // what may be a symbolic link: roots, and entries that are one
}

// Error is a directory or file that should be looked at and cannot be.
type Error struct {
	Path   string
	Reason error
}

func (e *Error) Error() string { return fmt.Sprintf("cannot read source %s: %v", e.Path, e.Reason) }
func (e *Error) Unwrap() error { return e.Reason }

// Find walks the roots in order, depth first, the entries of a directory ascending
// by byte, without the paths that contain a default or given substring. Symbolic
// links are followed, each real directory is entered once and each path found once.
// A root that does not exist, and a link that leads nowhere, contribute nothing.
// The error is an *Error.
func Find(include, exclude []string) (*Found, error) { return find(include, exclude, false, false) }

// FindAll is Find with JavaScript beside TypeScript.
func FindAll(include, exclude []string) (*Found, error) { return find(include, exclude, false, true) }

// LookAll is Look with JavaScript beside TypeScript.
func LookAll(include, exclude []string) *Found {
	found, _ := find(include, exclude, true, true) // lenient: no fault is an error
	return found
}

// Look is Find that passes over what it cannot look at: for whoever judges nothing
// by what is missing.
func Look(include, exclude []string) *Found {
	found, _ := find(include, exclude, true, false) // lenient: no fault is an error
	return found
}

func find(include, exclude []string, lenient, scripts bool) (*Found, error) {
	w := walk{
		exclude: append(slices.Clone(DefaultExclude), exclude...),
		lenient: lenient,
		scripts: scripts,
		seen:    map[string]bool{},
		entered: map[string]bool{},
	}
	for _, root := range include {
		written := filepath.ToSlash(root)
		if !w.excluded(written) {
			if err := w.link(path.Clean(written)); err != nil {
				return nil, err
			}
		}
	}
	return &w.found, nil
}

// IsSource reports whether a file of that name is scanned.
func IsSource(name string) bool {
	for _, end := range []string{".d.ts", ".d.mts", ".d.cts"} {
		if strings.HasSuffix(name, end) {
			return false
		}
	}
	switch path.Ext(name) {
	case ".ts", ".tsx", ".mts", ".cts":
		return true
	}
	return false
}

// IsScript reports whether a file of that name is scanned where JavaScript is.
func IsScript(name string) bool {
	switch path.Ext(name) {
	case ".js", ".jsx", ".mjs", ".cjs":
		return true
	}
	return false
}

type walk struct {
	exclude []string
	lenient bool
	scripts bool
	found   Found
	seen    map[string]bool // files, by path
	entered map[string]bool // directories, by real path
}

func (w *walk) excluded(p string) bool {
	return slices.ContainsFunc(w.exclude, func(part string) bool { return strings.Contains(p, part) })
}

// link looks at what may be a symbolic link: a root, or an entry that says so.
func (w *walk) link(p string) error {
	if w.excluded(p) {
		return nil
	}
	w.found.Links = append(w.found.Links, p)
	info, err := os.Stat(p)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ELOOP):
		return nil
	case err != nil:
		return w.fault(p, err)
	case !info.IsDir():
		return w.file(p, info.Mode())
	}
	real, err := filepath.Abs(p)
	if err == nil {
		real, err = filepath.EvalSymlinks(real)
	}
	if err != nil {
		return w.fault(p, err)
	}
	return w.dir(p, real)
}

// dir enters a directory. Its real path makes links that lead back, or to what was
// already read, end there; it is extended by name, because resolving each entry
// would cost more than all the rest.
func (w *walk) dir(p, real string) error {
	if w.entered[real] {
		return nil
	}
	w.entered[real] = true
	w.found.Dirs = append(w.found.Dirs, real)
	entries, err := os.ReadDir(p) // ascending by name
	if err != nil {
		return w.fault(p, err)
	}
	for _, e := range entries {
		child := path.Join(p, e.Name())
		switch {
		case w.excluded(child):
		case e.Type()&fs.ModeSymlink != 0:
			err = w.link(child)
		case e.IsDir():
			err = w.dir(child, filepath.Join(real, e.Name()))
		default:
			err = w.file(child, e.Type())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// file keeps a source. A pipe or device by such a name could not be read to an end.
func (w *walk) file(p string, mode fs.FileMode) error {
	if base := path.Base(p); !IsSource(base) && !(w.scripts && IsScript(base)) || w.seen[p] {
		return nil
	}
	if !mode.IsRegular() {
		return w.fault(p, errors.New("not a regular file"))
	}
	w.seen[p] = true
	w.found.Files = append(w.found.Files, p)
	return nil
}

func (w *walk) fault(p string, err error) error {
	if w.lenient {
		return nil
	}
	var long *fs.PathError
	if errors.As(err, &long) {
		err = long.Err
	}
	return &Error{Path: p, Reason: err}
}
