package goanalysis

import (
	"context"
	"fmt"
	"path/filepath"

	"golang.org/x/tools/go/packages"
)

// Run judges the packages that the patterns name in a folder, each by the
// configuration that NewAnalyzer would find for it, and settles what single packages
// leave open. Files go by paths relative to the folder.
func Run(ctx context.Context, o Options, dir string, patterns []string) (*Judged, error) {
	loaded, err := packages.Load(&packages.Config{Context: ctx, Dir: dir, Tests: true, Mode: loadMode}, patterns...)
	if err != nil {
		return nil, fmt.Errorf("list Go packages: %w", err)
	}
	byPath(loaded)
	m := &maker{options: &o, shown: dir}
	return judgeAll(ctx, loaded, func(pkg *packages.Package) (*Checker, error) {
		if len(pkg.GoFiles) == 0 {
			return m.checkerFor(dir)
		}
		return m.checkerFor(filepath.Dir(pkg.GoFiles[0]))
	})
}
