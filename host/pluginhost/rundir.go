package pluginhost

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/authzhost/authz/host/files"
)

const (
	// maxSocketPath is what every supported system accepts in a socket address.
	maxSocketPath = 103

	// socketNameBytes is the longest that go-plugin adds below the directory:
	// "/plugin-dir" and "/plugin", each with ten digits.
	socketNameBytes = len("/plugin-dir") + len("/plugin") + 2*10

	socketsName = "plugins"
)

// sockets is the directory that this host alone keeps its plugins' sockets in, and
// the copies that pinned plugins run from.
type sockets struct {
	run  *files.Dir
	dir  string
	lock *os.File
}

// openSockets makes the directory below runDir and empties it: hosts that were
// killed leave sockets behind. The lock keeps a second host from doing that to a
// living one. Everything is made and removed below the descriptor of a run directory
// that only this user can write.
func openSockets(runDir string, trustWay bool) (*sockets, error) {
	if runDir == "" {
		return nil, errors.New("pluginhost: no run directory is given")
	}
	runDir, err := filepath.Abs(runDir)
	if err != nil {
		return nil, fmt.Errorf("pluginhost: run directory: %w", err)
	}
	dir := filepath.Join(runDir, socketsName)
	if n := len(dir) + socketNameBytes; n > maxSocketPath {
		return nil, fmt.Errorf("pluginhost: the run directory %s is too long by %d bytes for a socket's address: choose a shorter `run_dir`",
			runDir, n-maxSocketPath)
	}
	run, err := files.OpenDir(runDir, files.DirOptions{TrustWay: trustWay})
	if err != nil {
		return nil, fmt.Errorf("pluginhost: run directory: %w", err)
	}
	s := &sockets{run: run, dir: dir}
	var free bool
	s.lock, free, err = run.Lock(socketsName + ".lock")
	switch {
	case err != nil:
		err = fmt.Errorf("pluginhost: run directory: %w", err)
	case !free:
		err = fmt.Errorf("pluginhost: another host uses the run directory %s: stop it or choose another `run_dir`", runDir)
	default:
		err = s.clean()
	}
	if err != nil {
		s.lock.Close() // of nil too
		run.Close()
		return nil, err
	}
	return s, nil
}

func (s *sockets) clean() error {
	if err := s.run.RemoveAll(socketsName); err != nil {
		return fmt.Errorf("pluginhost: old sockets: %w", err)
	}
	if err := s.run.Mkdir(socketsName, 0o700); err != nil {
		return fmt.Errorf("pluginhost: sockets: %w", err)
	}
	return nil
}

// close removes the directory. The lock file stays: removing it would let two
// hosts lock two files of one name.
func (s *sockets) close() error {
	return errors.Join(s.run.RemoveAll(socketsName), s.lock.Close(), s.run.Close())
}
