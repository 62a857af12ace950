package main

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/authzhost/authz/verify/config"
	"github.com/authzhost/authz/verify/goanalysis"
)

// identify answers what go vet asks a tool first. It remembers packages that
// passed by this answer, so the answer covers, beside the program, the
// configuration and the catalog: a package that was clean must be judged again
// when they change. Which packages it is about, and what flags name, go vet does
// not tell here: the configurations of all packages below the folder count.
func identify(o goanalysis.Options) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	f, err := os.Open(program)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	o.Fingerprint(h, dir)
	if wanted := cmp.Or(o.Config, config.DefaultPath); !filepath.IsAbs(wanted) {
		// What cannot be read holds no package either.
		_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			switch {
			case err != nil || !e.IsDir():
			case path != dir && (strings.HasPrefix(e.Name(), ".") || e.Name() == "node_modules"):
				return fs.SkipDir
			default:
				if _, err := os.Stat(filepath.Join(path, wanted)); err == nil {
					o.Fingerprint(h, path)
				}
			}
			return nil
		})
	}
	fmt.Printf("%s version devel comments-go-here buildID=%x\n", program, h.Sum(nil))
	return nil
}
