package pluginhost

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/authzhost/authz/host/files"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/plugin"
)

// program is what runs a plugin.
type program struct {
	path     string   // shown to people
	file     string   // hashed and executed; path unless it is embedded
	args     []string // after the program's own name
	name     string   // what the plugin must call itself, "" when nothing says
	embedded bool
}

// find looks for a plugin's program. A path is taken as it is; a name is looked
// for in the directories, in order, and then among the embedded ones. A file in
// a directory that cannot be run is an error, not a reason to look further. judge
// refuses a directory that is searched, as one into which others may put a plugin.
func find(plug string, dirs []string, embedded map[string]Command, judge func(dir string) error) (program, error) {
	if strings.ContainsRune(plug, filepath.Separator) {
		path, err := filepath.Abs(plug)
		if err != nil {
			return program{}, err
		}
		if err := executable(path); err != nil {
			return program{}, fmt.Errorf("%s %w", path, err)
		}
		return program{path: path, file: path, name: expectedName(path)}, nil
	}
	if plug == "" {
		return program{}, errors.New("no plugin is named: set `plugin` to the <name> of authz-plugin-<name>, or to a path")
	}
	file := plugin.BinaryPrefix + plug
	for _, dir := range dirs {
		if err := judge(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return program{}, err
		}
		path := filepath.Join(dir, file)
		err := executable(path)
		if err == nil {
			return program{path: path, file: path, name: plug}, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return program{}, fmt.Errorf("%s %w", path, err)
		}
	}
	if c, ok := embedded[plug]; ok {
		return program{path: c.Path, file: c.file(), args: c.Args, name: plug, embedded: true}, nil
	}
	advice := ""
	if len(embedded) > 0 {
		advice = "; this host's own binary carries " + strings.Join(slices.Sorted(maps.Keys(embedded)), ", ")
	}
	if near := spell.Nearest(plug, names(dirs, embedded)); near != "" {
		advice += ". Did you mean " + near + "?"
	}
	if len(dirs) == 0 {
		return program{}, fmt.Errorf("%s was looked for nowhere: set `plugin_dirs`, or give the plugin's path%s", file, advice)
	}
	return program{}, fmt.Errorf("%s is in none of the directories searched (%s): build or install it there, add its directory to `plugin_dirs`, or give its path%s",
		file, strings.Join(dirs, ", "), advice)
}

// names are the plugins that there are.
func names(dirs []string, embedded map[string]Command) []string {
	all := slices.Collect(maps.Keys(embedded))
	for _, dir := range dirs {
		files, _ := os.ReadDir(dir) // whoever looks for a plugin is told of a directory that is not there
		for _, file := range files {
			if name := expectedName(file.Name()); name != "" {
				all = append(all, name)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Exposed says that other users may write or replace what a plugin of that name or
// path runs from, or a directory in which it is looked for: an *files.ExposedError.
// Other faults show when it is started.
func Exposed(plug string, dirs []string, embedded map[string]Command) error {
	prog, err := find(plug, dirs, embedded, func(dir string) error { return files.Judge(dir, files.Trusted) })
	if err == nil && !prog.embedded {
		err = files.Judge(prog.file, files.Trusted)
	}
	if files.IsExposed(err) {
		return err
	}
	return nil
}

func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("does not exist: %w", fs.ErrNotExist)
	case err != nil:
		return fmt.Errorf("cannot be read: %w", err)
	case !info.Mode().IsRegular():
		return errors.New("is no regular file")
	case info.Mode().Perm()&0o111 == 0:
		return errors.New("is not executable: chmod +x it")
	}
	return nil
}

// expectedName is what the binary must call itself, "" when its file name does
// not say.
func expectedName(path string) string {
	name, ok := strings.CutPrefix(filepath.Base(path), plugin.BinaryPrefix)
	if !ok {
		return ""
	}
	return name
}

func checkEnv(env map[string]string) error {
	for name, value := range env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			return fmt.Errorf("%s is no name of an environment variable with a usable value", spell.Quote(name))
		}
	}
	return nil
}

// checkDir finds what the system would blame on the binary.
func checkDir(dir string) error {
	if dir == "" {
		return nil
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return fmt.Errorf("its working directory %s is no directory that can be entered", dir)
	}
	return nil
}
