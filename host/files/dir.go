package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Dir is an open directory that belongs to this process's user, and that others
// cannot write. Names are looked up below the descriptor, whatever comes to stand
// at the path.
type Dir struct {
	*os.Root
	path string
}

// DirOptions says how a directory is opened.
type DirOptions struct {
	// Private also refuses a directory that others may list or enter.
	Private bool

	// TrustWay leaves out the directories above it. Its own owner, its mode and
	// that it is no link of another user are always looked at.
	TrustWay bool
}

// OpenDir opens a directory, and makes it and what lacks above it, with mode 0700.
// Nothing is created or removed below a directory that others control: its error
// then is an *ExposedError.
func OpenDir(path string, o DirOptions) (*Dir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	w := walk{asked: path, trustWay: o.TrustWay}
	if err := w.make(path); err != nil {
		return nil, err
	}
	real, info, err := w.resolve(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s: %w", path, syscall.ENOTDIR)
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, err
	}
	d := &Dir{Root: root, path: real}
	if err := d.judge(w, info, o); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return d, nil
}

// make makes the directories that lack, from the top, each below one that was
// judged.
func (w walk) make(path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	above := filepath.Dir(path)
	if err := w.make(above); err != nil {
		return err
	}
	real, info, err := w.resolve(above)
	if err != nil {
		return err
	}
	switch {
	case w.trustWay:
	case info.Mode()&fs.ModeSticky != 0 && trusted(ownerOf(info).uid): // it keeps others from what is made
	default:
		if err := w.judgeEnd(real, info, Trusted); err != nil {
			return err
		}
	}
	if err := os.Mkdir(filepath.Join(real, filepath.Base(path)), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// judge looks at the open directory itself.
func (d *Dir) judge(w walk, found fs.FileInfo, o DirOptions) error {
	info, err := d.Stat(".")
	if err != nil {
		return err
	}
	if !os.SameFile(info, found) {
		return fmt.Errorf("%s was replaced while it was opened", d.path)
	}
	if uid := ownerOf(info).uid; uid != os.Geteuid() {
		return w.exposed(d.path, info, fmt.Sprintf("it must belong to this process's %s", userName(os.Geteuid())),
			"Remove it, or run: chown "+loginOf(os.Geteuid())+" "+quote(d.path))
	}
	if o.Private && info.Mode().Perm() != 0o700 {
		return w.exposed(d.path, info, "it must have mode 0700", "Run: chmod 700 "+quote(d.path))
	}
	return w.judgeEnd(d.path, info, Trusted)
}

// Path is where the directory is, without links.
func (d *Dir) Path() string { return d.path }

// Lock takes the lock of a name, and holds it until the file is closed, however the
// process ends. ok is false while another process holds it.
func (d *Dir) Lock(name string) (lock *os.File, ok bool, err error) {
	// A link that this user made at some time would be followed otherwise.
	switch info, err := d.Lstat(name); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, false, err
	case !info.Mode().IsRegular():
		return nil, false, fmt.Errorf("%s is no regular file: remove it", filepath.Join(d.path, name))
	}
	lock, err = d.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, false, err
	}
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case err == nil:
		return lock, true, nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		err = nil
	}
	return nil, false, errors.Join(err, lock.Close())
}
