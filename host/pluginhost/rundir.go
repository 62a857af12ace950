package pluginhost

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

const (
	// maxSocketPath is what every supported system accepts in a socket address.
	maxSocketPath = 103

	// socketNameBytes is the longest that go-plugin adds below the directory:
	// "/plugin-dir" and "/plugin", each with ten digits.
	socketNameBytes = len("/plugin-dir") + len("/plugin") + 2*10
)

// sockets is the directory that this host alone keeps its plugins' sockets in.
type sockets struct {
	dir  string
	lock *os.File
}

// openSockets makes the directory below runDir and empties it: hosts that were
// killed leave sockets behind. The lock keeps a second host from doing that to a
// living one.
func openSockets(runDir string) (*sockets, error) {
	if runDir == "" {
		return nil, errors.New("pluginhost: no run directory is given")
	}
	runDir, err := filepath.Abs(runDir)
	if err != nil {
		return nil, fmt.Errorf("pluginhost: run directory: %w", err)
	}
	dir := filepath.Join(runDir, "plugins")
	if n := len(dir) + socketNameBytes; n > maxSocketPath {
		return nil, fmt.Errorf("pluginhost: the run directory %s is too long by %d bytes for a socket's address: choose a shorter `run_dir`",
			runDir, n-maxSocketPath)
	}
	if err := os.MkdirAll(runDir, 0o700); err != nil {
		return nil, fmt.Errorf("pluginhost: run directory: %w", err)
	}
	lock, err := os.OpenFile(dir+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("pluginhost: run directory: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		lock.Close()
		return nil, fmt.Errorf("pluginhost: another host uses the run directory %s: stop it or choose another `run_dir`", runDir)
	}
	s := &sockets{dir: dir, lock: lock}
	if err := s.clean(); err != nil {
		lock.Close()
		return nil, err
	}
	return s, nil
}

func (s *sockets) clean() error {
	if err := os.RemoveAll(s.dir); err != nil {
		return fmt.Errorf("pluginhost: old sockets: %w", err)
	}
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		return fmt.Errorf("pluginhost: sockets: %w", err)
	}
	return nil
}

// close removes the directory. The lock file stays: removing it would let two
// hosts lock two files of one name.
func (s *sockets) close() error {
	err := os.RemoveAll(s.dir)
	return errors.Join(err, s.lock.Close())
}
