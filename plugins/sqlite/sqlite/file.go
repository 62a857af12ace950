package sqlite

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/authzhost/authz/sdk/plugin"
)

// file is the database's place in the file system.
type file struct {
	path  string // absolute
	found os.FileInfo
	watch watch
}

// prepareFile finds the file or makes an empty one, which is an empty database.
// Only its owner can read what is made.
//
// The file is never opened here once it exists: the process would lose SQLite's
// locks on it when that descriptor is closed.
func prepareFile(path string) (*file, error) {
	refuse := func(message string) (*file, error) {
		return nil, &plugin.ConfigError{Field: settingPath, Message: message}
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return refuse("is no path")
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return refuse("the directory cannot be created: " + reason(err))
	}
	if onNetwork(dir) {
		return refuse("the directory is on a network file system, whose locks do not hold")
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := createFile(path); err != nil {
			return refuse("the file cannot be created: " + reason(err))
		}
		info, err = os.Stat(path)
	}
	switch {
	case err != nil:
		return refuse("the file cannot be read: " + reason(err))
	case !info.Mode().IsRegular():
		return refuse("is no regular file")
	}
	return &file{path: path, found: info}, nil
}

// createFile puts an empty file in place, unless another process was faster.
func createFile(path string) error {
	blank, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(blank.Name())
	if err := blank.Close(); err != nil {
		return err
	}
	if err := os.Link(blank.Name(), path); err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	// A file system without links.
	made, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return made.Close()
}

// source names the file to SQLite, with what holds for every connection: a commit
// is synced whatever the library's defaults are, and waiting is the caller's. The
// file is never created there: one that vanished must not come back empty.
func (f *file) source() string {
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(f.path)}
	return u.String() + "?mode=rw&_dqs=0&_defensive=1&_error_rc=1&_txlock=immediate" +
		"&_pragma=synchronous(FULL)&_pragma=fullfsync(1)&_pragma=checkpoint_fullfsync(1)" +
		"&_pragma=busy_timeout(0)&_pragma=cache_size(-8192)&_pragma=trusted_schema(0)&_pragma=journal_size_limit(67108864)"
}

// reason is what the operating system says, without the path.
func reason(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		return link.Err.Error()
	}
	return "the operating system refused"
}
