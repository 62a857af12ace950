package unixdir_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	conformance "github.com/authzhost/authz/conformance/importer"
	"github.com/authzhost/authz/examples/vendor-importer/unixdir"
	"github.com/authzhost/authz/sdk/directory"
)

func TestConformance(t *testing.T) {
	conformance.Run(t, conformance.Target{Name: unixdir.Name, New: newFiles})
}

// files are the directory of one case.
type files struct{ unixdir.Options }

func newFiles(context.Context) (conformance.Backend, error) {
	dir, err := os.MkdirTemp("", "unixdir")
	if err != nil {
		return nil, err
	}
	f := &files{unixdir.Options{Passwd: filepath.Join(dir, "passwd"), Group: filepath.Join(dir, "group"), MinUID: 1000, MaxUID: 60000}}
	return f, f.write(2000)
}

func (f *files) write(people int) error {
	passwd := []string{"root:x:0:0:root:/root:/bin/bash", ""}
	staff := []string{"gone"}
	for n := range people {
		passwd = append(passwd, fmt.Sprintf("u%d:x:%d:100::/home/u%d:/bin/sh", n, 1000+n, n))
		if n%3 == 0 {
			staff = append(staff, fmt.Sprint("u", n))
		}
	}
	group := fmt.Sprintf("# groups\nusers:x:100:\nstaff:x:50:%s\n", strings.Join(staff, ","))
	return errors.Join(os.WriteFile(f.Passwd, []byte(strings.Join(passwd, "\n")+"\n"), 0o600), os.WriteFile(f.Group, []byte(group), 0o600))
}

func (f *files) Connect(context.Context) (directory.Importer, error) {
	return unixdir.New(f.Options), nil
}

func (f *files) Change(context.Context) error { return f.write(2001) }

func (f *files) Close() error { return os.RemoveAll(filepath.Dir(f.Passwd)) }
