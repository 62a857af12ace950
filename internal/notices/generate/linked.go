package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// ours begins the path of every module of this project, whose own licence is LICENSE.
const ours = "github.com/authzhost/authz"

// A module is linked into programs. The Go library has no version here, so that the
// notices do not change with every toolchain.
type module struct {
	path, version, dir string
	programs           map[string]bool
	dirs               map[string]bool // of the packages that are linked

	files []file // found in dirs and above
	kinds []string
}

func (m *module) String() string { return strings.TrimSpace(m.path + " " + m.version) }

// platforms are those whose binaries the notices are for.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/arm64"}

// linked are the modules of all programs on all platforms, by path. Two versions of a
// module, in programs of different modules, are two.
func linked(root string, programs []program) ([]*module, error) {
	found := map[string]*module{}
	for _, platform := range platforms {
		for _, p := range programs {
			if err := list(filepath.Join(root, p.module), platform, p, found); err != nil {
				return nil, fmt.Errorf("%s on %s: %w", p.name, platform, err)
			}
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b *module) int { return cmp.Compare(a.String(), b.String()) }), nil
}

func list(dir, platform string, p program, found map[string]*module) error {
	goos, goarch, _ := strings.Cut(platform, "/")
	c := exec.Command("go", "list", "-deps", "-json=Dir,ImportPath,Standard,Module,Root", p.pkg)
	c.Dir, c.Stderr = dir, os.Stderr
	c.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0", "GOFLAGS=")
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	return errors.Join(packages(out, p, found), c.Wait())
}

func packages(in io.Reader, p program, found map[string]*module) error {
	carries := false
	for d := json.NewDecoder(in); ; {
		var pkg struct {
			Dir, Root, ImportPath string
			Standard              bool
			Module                *struct {
				Path, Version, Dir string
				Replace            *struct{ Version string }
			}
		}
		if err := d.Decode(&pkg); err == io.EOF && !carries {
			return errors.New("it does not carry the notices: have its main call notices.Asked")
		} else if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		carries = carries || pkg.ImportPath == ours+"/internal/notices"
		m := &module{programs: map[string]bool{}, dirs: map[string]bool{}}
		switch {
		case pkg.Standard:
			m.path, m.dir, pkg.Dir = "Go standard library", pkg.Root, pkg.Root
		case pkg.Module == nil:
			return fmt.Errorf("package %s is of no module", pkg.Dir)
		case pkg.Module.Path == ours || strings.HasPrefix(pkg.Module.Path, ours+"/") ||
			pkg.Module.Replace != nil && pkg.Module.Replace.Version == "":
			continue // a module of this project, by its path or by its place
		default:
			m.path, m.version, m.dir = pkg.Module.Path, pkg.Module.Version, pkg.Module.Dir
		}
		if known := found[m.String()]; known != nil {
			m = known
		}
		found[m.String()] = m
		m.programs[p.name], m.dirs[pkg.Dir] = true, true
	}
}
