package file_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/authzhost/authz/conformance/importer"
	"github.com/authzhost/authz/plugins/file/file"
	"github.com/authzhost/authz/sdk/directory"
)

// folder is a directory in files of its own: its line is cut by moving them away.
type folder struct {
	path      string
	o         file.Options
	importers []directory.Importer
}

func (f *folder) Connect(context.Context) (directory.Importer, error) {
	i, err := file.Open(f.o)
	if err != nil {
		return nil, err
	}
	f.importers = append(f.importers, i)
	return i, nil
}

func (f *folder) Close() error {
	var errs []error
	for _, i := range f.importers {
		errs = append(errs, i.Close())
	}
	return errors.Join(append(errs, os.RemoveAll(f.path))...)
}

func (f *folder) Cut() error { return os.Rename(f.o.Path, f.o.Path+".away") }

func (f *folder) Resume() error {
	if _, err := os.Stat(f.o.Path); err == nil {
		return nil
	}
	return os.Rename(f.o.Path+".away", f.o.Path)
}

func (f *folder) Change(context.Context) error {
	return os.WriteFile(filepath.Join(f.o.Path, "groups.csv"), []byte("id,name\nnew,A new group\n"), 0o600)
}

func TestConformance(t *testing.T) {
	people := company(300, 20)
	importer.Run(t, importer.Target{Name: "file", New: func(context.Context) (importer.Backend, error) {
		dir, err := os.MkdirTemp("", "authz-file")
		if err != nil {
			return nil, err
		}
		f := &folder{path: dir, o: at(filepath.Join(dir, "people"))}
		if err := os.Mkdir(f.o.Path, 0o700); err != nil {
			return nil, err
		}
		for name, content := range csvOf(people) {
			if err := os.WriteFile(filepath.Join(f.o.Path, name), []byte(content), 0o600); err != nil {
				return nil, err
			}
		}
		return f, nil
	}})
}
