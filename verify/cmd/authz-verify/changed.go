package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/authzhost/authz/verify/sources"
)

// changes tells what differs between a git revision and the files as they lie here.
type changes struct {
	dir     string          // the working directory, real
	root    string          // of the repository, real
	tracked map[string]bool // files that git knows, by how it does and path from the root
	differ  map[string]bool // those of them, by path, that are not as in the revision
	others  map[string]bool // files, and repositories with "/" at the end, that git does not track
}

// changesSince asks git, which neither writes nor fetches for it.
func changesSince(ctx context.Context, rev string) (*changes, error) {
	dir, err := os.Getwd()
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return nil, err
	}
	c := &changes{dir: dir, tracked: map[string]bool{}, differ: map[string]bool{}, others: map[string]bool{}}
	top, err := git(ctx, dir, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, err
	}
	if c.root, err = filepath.EvalSymlinks(strings.TrimSuffix(string(top), "\n")); err != nil {
		return nil, err
	}
	// Resolved apart, so that the revision is never read as a path or a flag.
	commit, err := git(ctx, c.root, "rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{commit}")
	if err != nil {
		return nil, fmt.Errorf("git knows no revision %q", rev)
	}
	for _, list := range []struct {
		into map[string]bool
		args []string
	}{
		{c.tracked, []string{"ls-files", "-z", "-v"}},
		// Go imports nothing from folders of these names, and they may be large.
		{c.others, []string{"ls-files", "-z", "--others", "--exclude=.*", "--exclude=node_modules"}},
		{c.differ, []string{"diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-relative",
			"--ignore-submodules=none", strings.TrimSpace(string(commit)), "--"}},
	} {
		out, err := git(ctx, c.root, list.args...)
		if err != nil {
			return nil, err
		}
		for name := range bytes.SplitSeq(out, []byte{0}) {
			if len(name) > 0 { // the last ends with a 0 too
				list.into[string(name)] = true
			}
		}
	}
	return c, nil
}

func git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = append(gitEnviron(), "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "LC_ALL=C")
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		said, _, _ := strings.Cut(strings.TrimSpace(string(exit.Stderr)), "\n")
		return nil, fmt.Errorf("git %s: %s", args[0], said)
	}
	return out, err
}

// gitEnviron is the environment without what git tells its hooks of a repository:
// together with another working directory that is wrong. It stays where somebody
// says by GIT_WORK_TREE which files are meant.
func gitEnviron() []string {
	env := os.Environ()
	if os.Getenv("GIT_WORK_TREE") != "" {
		return env
	}
	return slices.DeleteFunc(env, func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains([]string{"GIT_DIR", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_PREFIX"}, name)
	})
}

// changed reports whether a file may differ from the revision: it does unless git
// tracks the very file and says that it is the same. What is ignored, outside the
// repository or reached through a link counts as changed.
func (c *changes) changed(path string) bool {
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.dir, path)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil || real != filepath.Clean(path) {
		return true
	}
	name, err := filepath.Rel(c.root, real)
	if err != nil {
		return true
	}
	name = filepath.ToSlash(name)
	const looked = "H " // not "h " or "S ", by which git takes for the same what it was told not to look at
	return !c.tracked[looked+name] || c.differ[name]
}

// anySource reports whether what TypeScript and JavaScript files mean to each other may
// differ: one of them, also one that is gone, or a file that says what imports mean.
func (c *changes) anySource(files []string) bool {
	for _, names := range []map[string]bool{c.differ, c.others} {
		for name := range names {
			base := filepath.Base(name)
			if sources.IsSource(base) || sources.IsScript(base) || slices.Contains(moduleSettings, base) || strings.HasSuffix(name, "/") ||
				isDir(filepath.Join(c.root, name)) {
				return true
			}
		}
	}
	return slices.ContainsFunc(files, c.changed)
}

// anyGo reports whether what the Go files mean may differ: one of them, or one that
// they can depend on, also where that is left out of the report.
func (c *changes) anyGo(files []string) bool {
	for name := range c.differ {
		switch base := filepath.Base(name); {
		case filepath.Ext(name) == ".go", base == "go.mod", base == "go.sum", base == "go.work",
			isDir(filepath.Join(c.root, name)): // a submodule
			return true
		}
	}
	for name := range c.others {
		if filepath.Ext(name) == ".go" || strings.HasSuffix(name, "/") {
			return true
		}
	}
	return slices.ContainsFunc(files, c.changed)
}
