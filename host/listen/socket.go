package listen

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/authzhost/authz/host/files"
)

// maxSocketPath is how many bytes the path of a unix socket may have.
const maxSocketPath = len(syscall.RawSockaddrUnix{}.Path) - 1

// Local opens the administration socket: mode 0600, in a directory of mode
// 0700 that belongs to this user and is made when missing. trustWay leaves out the
// directories above that one. A lock beside the socket is held as long as the
// listener is open, so a socket found while nobody holds it was left by a host that
// died and is replaced; a host that lives is not robbed of its socket.
func Local(path string, trustWay bool) (net.Listener, error) {
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("the path of the administration socket is %d bytes long, the system allows %d: %s — choose a shorter run_dir",
			len(path), maxSocketPath, path)
	}
	dir, err := files.OpenDir(filepath.Dir(path), files.DirOptions{Private: true, TrustWay: trustWay})
	if err != nil {
		return nil, fmt.Errorf("administration socket: %w", err)
	}
	l, err := listenIn(dir, path)
	if err = errors.Join(err, dir.Close()); err != nil {
		return nil, fmt.Errorf("administration socket: %w", err)
	}
	return l, nil
}

// listenIn listens in a directory that only this user can use: no other can put
// anything at the path meanwhile.
func listenIn(dir *files.Dir, path string) (net.Listener, error) {
	name := filepath.Base(path)
	lock, free, err := dir.Lock(name + ".lock")
	if err == nil && !free {
		err = inUse(path)
	}
	if err != nil {
		return nil, err
	}
	if err := removeStale(dir, name, path); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	if err := dir.Chmod(name, 0o600); err != nil {
		return nil, errors.Join(err, listener.Close(), lock.Close())
	}
	return &localListener{Listener: listener, lock: lock}, nil
}

func inUse(path string) error {
	return fmt.Errorf("another host is serving %s — stop it, or choose another run_dir", path)
}

// removeStale removes a socket that nobody answers on, and nothing else.
func removeStale(dir *files.Dir, name, path string) error {
	info, err := dir.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s exists and is not a socket", path)
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		return errors.Join(inUse(path), conn.Close())
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("%s may be in use: %w", path, err)
	}
	return dir.Remove(name)
}

// localListener gives up the lock after the socket is gone.
type localListener struct {
	net.Listener
	lock *os.File
}

func (l *localListener) Close() error {
	return errors.Join(l.Listener.Close(), l.lock.Close())
}
