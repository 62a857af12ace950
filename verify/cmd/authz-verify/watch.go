package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/authzhost/authz/verify/config"
	"github.com/authzhost/authz/verify/sources"
	"github.com/fsnotify/fsnotify"
)

// settle is how long changes are gathered before the run that follows them.
const settle = 100 * time.Millisecond

// watchAll runs, then again after each change, until the context ends. Its status is
// that of the last run that was whole.
func (j *job) watchAll(ctx context.Context) int {
	w, err := newWatch()
	if err != nil {
		return fail(j.stderr, verifyName, fmt.Errorf("cannot watch: %w", err))
	}
	defer w.events.Close()
	status := exitFailed
	for told := false; ; told = true {
		// Watched before it is read, so that no change falls between.
		if err := w.follow(j.config); err != nil {
			return fail(j.stderr, verifyName, fmt.Errorf("cannot watch: %w", err))
		}
		now, err := j.once(ctx)
		if told && errors.Is(err, errInterrupted) {
			return status
		}
		status = j.told(now, err)
		if !told && j.format == "text" {
			fmt.Fprintf(j.stderr, "%s: watching for changes\n", verifyName)
		}
		if !w.wait(ctx) {
			return status
		}
	}
}

// watch is told of changes in directories. All paths are absolute and lie in real
// directories, by which one that two names lead to is watched once.
type watch struct {
	events  *fsnotify.Watcher
	named   map[string]bool // files, roots and links, and the directories above them
	dirs    map[string]bool // with sources
	goCode  bool            // Go files are sources too
	scripts bool            // and JavaScript
}

func newWatch() (*watch, error) {
	events, err := fsnotify.NewWatcher()
	return &watch{events: events}, err
}

// follow watches what a run looks at now. A file is watched by its directory,
// because editors put another in its place, and what does not exist by the nearest
// directory above it. Of a link both it and what it leads to are watched.
func (w *watch) follow(configPath string) error {
	w.named, w.dirs = map[string]bool{}, map[string]bool{}
	want := map[string]bool{}
	var name func(path string)
	name = func(path string) {
		path, err := filepath.Abs(path)
		if err != nil {
			return
		}
		path = inRealDir(path)
		to, err := os.Readlink(path)
		leads := err == nil && !w.named[path] // links may lead back
		for at := path; !w.named[at]; at = filepath.Dir(at) {
			w.named[at] = true
		}
		at := filepath.Dir(path)
		for at != filepath.Dir(at) && !isDir(at) {
			at = filepath.Dir(at)
		}
		want[at] = true
		switch {
		case !leads:
		case filepath.IsAbs(to):
			name(to)
		default:
			name(filepath.Join(filepath.Dir(path), to))
		}
	}
	name(configPath)
	if c, _, err := config.Load(configPath); err == nil {
		look := sources.Look
		if w.scripts = c.JavaScript(); w.scripts {
			look = sources.LookAll
		}
		found := look(c.Include, c.Exclude)
		if w.goCode = c.Go != nil; w.goCode {
			addGo(found, c.Go.Packages)
		}
		for _, path := range slices.Concat(documentPaths(c), c.Include, found.Links) {
			name(path)
		}
		for _, dir := range found.Dirs {
			w.dirs[dir], want[dir] = true, true
		}
	}
	for _, path := range w.events.WatchList() {
		if !want[path] {
			_ = w.events.Remove(path) // it may have gone by itself
		}
	}
	have := w.events.WatchList()
	for path := range want {
		if slices.Contains(have, path) {
			continue
		}
		err := w.events.Add(path)
		// Of a directory with sources that cannot be read the run tells.
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !(w.dirs[path] && errors.Is(err, fs.ErrPermission)) {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// wait returns true some time after a change, false when the context ends.
func (w *watch) wait(ctx context.Context) bool {
	var due <-chan time.Time
	for {
		changed := false
		select {
		case <-ctx.Done():
			return false
		case <-due:
			return true
		case e := <-w.events.Events:
			changed = w.concerns(e)
		case <-w.events.Errors: // changes were lost
			changed = true
		}
		if changed && due == nil {
			due = time.After(settle)
		}
	}
}

// concerns reports whether a run could come out differently after the event.
func (w *watch) concerns(e fsnotify.Event) bool {
	switch {
	case e.Op == fsnotify.Chmod:
		return false
	case w.named[e.Name], w.dirs[e.Name]:
		return e.Op != fsnotify.Write || !isDir(e.Name)
	case !w.dirs[filepath.Dir(e.Name)]:
		return false
	}
	base := filepath.Base(e.Name)
	if w.goCode && (filepath.Ext(base) == ".go" || slices.Contains(moduleFiles, base)) {
		return true
	}
	return sources.IsSource(base) || w.scripts && (sources.IsScript(base) || slices.Contains(moduleSettings, base)) || e.Has(fsnotify.Create) && isDir(e.Name)
}

// moduleSettings decide what imports of TypeScript mean, beside the sources.
var moduleSettings = []string{"tsconfig.json", "jsconfig.json", "package.json"}

// moduleFiles decide what Go packages mean, beside their sources.
var moduleFiles = []string{"go.mod", "go.sum", "go.work", "go.work.sum"}

// addGo adds the directories that Go packages may lie in, below the working directory
// and where else the patterns lead, the links among their files, and what of modules
// lies above.
func addGo(found *sources.Found, patterns []string) {
	roots := []string{"."}
	for _, pattern := range patterns {
		if filepath.IsAbs(pattern) || strings.HasPrefix(pattern, "..") {
			dir, _, _ := strings.Cut(pattern, "...")
			roots = append(roots, dir)
		}
	}
	for _, root := range roots {
		root, err := filepath.Abs(root)
		if err == nil {
			root, err = filepath.EvalSymlinks(root)
		}
		if err != nil {
			continue
		}
		for at := root; at != filepath.Dir(at); at = filepath.Dir(at) {
			exists := func(name string) bool { _, err := os.Stat(filepath.Join(at, name)); return err == nil }
			if slices.ContainsFunc(moduleFiles, exists) {
				for _, name := range moduleFiles { // those that may come too
					found.Links = append(found.Links, filepath.Join(at, name))
				}
			}
		}
		_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			switch {
			case err != nil: // what cannot be read is not watched
			case e.Type()&fs.ModeSymlink != 0 && filepath.Ext(path) == ".go":
				found.Links = append(found.Links, path)
			case !e.IsDir():
			case path != root && (strings.HasPrefix(e.Name(), ".") || strings.HasPrefix(e.Name(), "_") || slices.Contains(sources.DefaultExclude, e.Name())):
				return fs.SkipDir
			default:
				found.Dirs = append(found.Dirs, path)
			}
			return nil
		})
	}
}

// inRealDir is the path without the links among the directories above it.
func inRealDir(path string) string {
	dir := filepath.Dir(path)
	if dir == path {
		return path
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		real = inRealDir(dir)
	}
	return filepath.Join(real, filepath.Base(path))
}

// isDir also of a link that leads to a directory.
func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
