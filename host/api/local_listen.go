package api

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// maxSocketPath is how many bytes the path of a unix socket may have.
const maxSocketPath = len(syscall.RawSockaddrUnix{}.Path) - 1

// ListenLocal opens the administration socket: mode 0600, in a directory of mode
// 0700 that belongs to this user and is made when missing. A lock beside the
// socket is held as long as the listener is open, so a socket found while nobody
// holds it was left by a host that died and is replaced; a host that lives is
// not robbed of its socket.
func ListenLocal(path string) (net.Listener, error) {
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("the path of the administration socket is %d bytes long, the system allows %d: %s — choose a shorter run_dir",
			len(path), maxSocketPath, path)
	}
	if err := ownDirectory(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("administration socket: %w", err)
	}
	lock, err := lockSocket(path)
	if err != nil {
		return nil, fmt.Errorf("administration socket: %w", err)
	}
	listener, err := listenLocked(path)
	if err != nil {
		return nil, fmt.Errorf("administration socket: %w", errors.Join(err, lock.Close()))
	}
	return &localListener{Listener: listener, lock: lock}, nil
}

// ownDirectory makes dir, or verifies that nobody else can reach into it.
func ownDirectory(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && int(owner.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to uid %d, not to this process's uid %d", dir, owner.Uid, os.Geteuid())
	}
	if mode := info.Mode().Perm(); mode != 0o700 {
		return fmt.Errorf("%s has mode %04o, it must have 0700: run chmod 700 on it, or choose another run_dir", dir, mode)
	}
	return nil
}

// lockSocket takes the lock that goes with its process, however that ends.
func lockSocket(path string) (*os.File, error) {
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(inUse(path), lock.Close())
	}
	return lock, nil
}

func inUse(path string) error {
	return fmt.Errorf("another host is serving %s — stop it, or choose another run_dir", path)
}

func listenLocked(path string) (net.Listener, error) {
	if err := removeStale(path); err != nil {
		return nil, err
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return listener, nil
}

// removeStale removes a socket that nobody answers on, and nothing else.
func removeStale(path string) error {
	info, err := os.Lstat(path)
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
	return os.Remove(path)
}

// localListener gives up the lock after the socket is gone.
type localListener struct {
	net.Listener
	lock *os.File
}

func (l *localListener) Close() error {
	return errors.Join(l.Listener.Close(), l.lock.Close())
}
