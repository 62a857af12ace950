package totals

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/authzhost/authz/sdk/authz"
)

const (
	stateFile   = "totals"
	freshFile   = "totals.new"
	leastToKeep = 4 << 20 // what is appended before a file is written anew
	chunkSeries = 1_000   // a line, when all is written

	// lockPatience is how long the process before, killed a moment ago, may take to end.
	lockPatience = 2 * time.Second
)

// StateError is a directory that cannot be used. Message never repeats its path.
type StateError struct {
	Message string
	Cause   error
}

func (e *StateError) Error() string { return e.Message }
func (e *StateError) Unwrap() error { return e.Cause }

// state is the file in which totals are durable. One goroutine uses it at a time.
type state struct {
	dir    string
	folder *os.File // locked as long as it is open
	file   *os.File
	size   int64 // of what is good
	base   int64 // of what was written at once
	cut    int64 // what opening cut off
	broken bool  // the file may hold more than size: it must be written anew
	warned bool
}

// openState locks the directory and replays its file, or makes an empty one.
func openState(dir string, replay func(record)) (_ *state, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, &StateError{"the directory cannot be created: " + reason(err), err}
	}
	s := &state{dir: dir}
	defer func() {
		if err != nil {
			_ = s.close()
		}
	}()
	if err := s.hold(); err != nil {
		return nil, err
	}
	_ = os.Remove(filepath.Join(dir, freshFile))
	s.file, err = os.OpenFile(filepath.Join(dir, stateFile), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		if err := s.rewrite([]record{{Format: stateFormat}}); err != nil {
			return nil, &StateError{"the state file cannot be written: " + reason(err), err}
		}
		return s, nil
	}
	if err != nil {
		return nil, &StateError{"the state file cannot be opened: " + reason(err), err}
	}
	if s.size, err = read(s.file, replay); err != nil {
		if errors.Is(err, errNoState) || errors.Is(err, errDamaged) {
			return nil, &StateError{fmt.Sprintf("the file %q %v; move it away to count from zero", stateFile, err), err}
		}
		return nil, &StateError{"the state file cannot be read: " + reason(err), err}
	}
	end, err := s.file.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, &StateError{"the state file cannot be read: " + reason(err), err}
	}
	if s.cut = end - s.size; s.cut > 0 {
		if err := s.repair(); err != nil {
			return nil, &StateError{"the torn end of the state file cannot be cut off: " + reason(err), err}
		}
	}
	s.base = s.size
	return s, nil
}

// hold locks the directory that has the path now, unless it is the one that is held:
// another process may have it, and only its own entries are synced with it. One that
// has come in the place of another must hold no counts but this table's.
func (s *state) hold() error {
	if s.folder != nil && same(s.dir, s.folder) {
		return nil
	}
	folder, err := os.Open(s.dir + string(filepath.Separator)) // which no file is
	if err != nil {
		return &StateError{"the directory cannot be opened: " + reason(err), err}
	}
	patience := lockPatience
	if s.folder != nil {
		patience = 0 // a window waits
	}
	if err := lock(folder, patience); err != nil {
		_ = folder.Close()
		return &StateError{err.Error(), err}
	}
	if s.folder != nil {
		path := filepath.Join(s.dir, stateFile)
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) && !same(path, s.file) {
			_ = folder.Close() // which unlocks it
			return &StateError{"a directory with counts of its own is in the place of the one that was opened", err}
		}
		_ = s.folder.Close()
	}
	s.folder = folder
	return nil
}

// same reports whether a path still names what was opened by it.
func same(path string, opened *os.File) bool {
	named, err := os.Stat(path)
	if err != nil {
		return false
	}
	is, err := opened.Stat()
	return err == nil && os.SameFile(named, is)
}

// append makes a line durable. Its error says by its outcome whether the line may
// be read all the same one day.
func (s *state) append(line []byte) error {
	_, err := s.file.WriteAt(line, s.size)
	if err == nil {
		err = s.file.Sync()
	}
	if err == nil {
		s.size += int64(len(line))
		return nil
	}
	if undo := s.repair(); undo != nil {
		s.broken = true
		return unavailable(authz.OutcomeUnknown, errors.Join(err, undo), "the state cannot be written: "+reason(err))
	}
	return unavailable(authz.OutcomeNotApplied, err, "the state cannot be written: "+reason(err))
}

// repair cuts off what is not good.
func (s *state) repair() error {
	return errors.Join(s.file.Truncate(s.size), s.file.Sync())
}

// gone reports whether the file or its directory is no longer the one that was opened:
// what is appended would not be found again, or is another's to write.
func (s *state) gone() bool {
	return !same(filepath.Join(s.dir, stateFile), s.file) || !same(s.dir, s.folder)
}

// long reports whether the file is worth writing anew.
func (s *state) long() bool { return s.size-s.base > max(s.base, leastToKeep) }

// rewrite puts a file of the records in place of the present one, or leaves that as
// it is.
func (s *state) rewrite(records []record) (err error) {
	if err := s.hold(); err != nil {
		return err
	}
	path := filepath.Join(s.dir, freshFile)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = file.Close()
			_ = os.Remove(path)
		}
	}()
	var all bytes.Buffer
	for _, r := range records {
		line, err := r.line()
		if err != nil {
			return err
		}
		all.Write(line)
	}
	size := int64(all.Len())
	if _, err := file.Write(all.Bytes()); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if err := os.Rename(path, filepath.Join(s.dir, stateFile)); err != nil {
		return err
	}
	// From here on the new file is the one that a next life finds, or the old one
	// with the same content when the folder's own entry is lost.
	if s.file != nil {
		_ = s.file.Close()
	}
	s.file, s.size, s.base, s.broken = file, size, size, false
	if err := s.folder.Sync(); err != nil {
		s.broken = true
	}
	return nil
}

func (s *state) close() error {
	var err error
	if s.file != nil {
		err = s.file.Close()
	}
	if s.folder != nil {
		err = errors.Join(err, s.folder.Close()) // which unlocks it
	}
	return err
}

// reason is what the operating system says, without a path.
func reason(err error) string {
	var state *StateError
	if errors.As(err, &state) {
		return state.Message
	}
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
