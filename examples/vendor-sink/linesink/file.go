package linesink

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// lockWait is for a process that is about to exit.
const lockWait = 5 * time.Second

// acquire holds a lock for as long as the file is open; a process that dies lets go.
func acquire(ctx context.Context, path string) (*os.File, error) {
	ctx, done := context.WithTimeout(ctx, lockWait)
	defer done()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			return f, nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, errors.Join(errors.New("another process appends to the file"), f.Close())
		}
	}
}

// open reads what was taken and makes the file ready for more.
func (s *Sink) open() (err error) {
	if s.before, _, err = read(s.path + ".1"); err != nil {
		return err
	}
	if s.newest, s.size, err = read(s.path); err != nil {
		return err
	}
	if s.file, err = os.OpenFile(s.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
		return err
	}
	return s.file.Truncate(s.size)
}

// read answers the newest sequence of each origin in a file, and how long its whole
// lines are. A file that is not there has none.
func read(path string) (newest map[string]uint64, size int64, err error) {
	newest = map[string]uint64{}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return newest, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	r := bufio.NewReader(f)
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return newest, size, nil
		}
		if err != nil {
			return nil, 0, err
		}
		var w struct {
			Origin   string `json:"origin"`
			Sequence uint64 `json:"sequence"`
		}
		if err := json.Unmarshal(line, &w); err != nil || w.Origin == "" {
			return nil, 0, fmt.Errorf("line %d of %s is no window: is it another program's file?", n, path)
		}
		newest[w.Origin] = max(newest[w.Origin], w.Sequence)
		size += int64(len(line))
	}
}

// append leaves the file as it was when it fails, or torn.
func (s *Sink) append(line []byte) error {
	if s.torn {
		if err := s.file.Truncate(s.size); err != nil {
			return err
		}
		s.torn = false
	}
	_, err := s.file.Write(line)
	if err == nil {
		err = s.file.Sync()
	}
	if err != nil {
		s.torn = s.file.Truncate(s.size) != nil
		return err
	}
	s.size += int64(len(line))
	return nil
}

// rotate puts the file in the place of the one before. A window is sent again within
// seconds, so that two files hold every one that may be.
func (s *Sink) rotate() error {
	if s.torn { // a line whose fate is unknown must not stay
		if err := s.file.Truncate(s.size); err != nil {
			return err
		}
		s.torn = false
	}
	if err := os.Rename(s.path, s.path+".1"); err != nil {
		return err
	}
	next, err := os.OpenFile(s.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return errors.Join(err, os.Rename(s.path+".1", s.path))
	}
	_ = s.file.Close() // every line of it is on the disk
	s.file, s.size, s.before, s.newest = next, 0, s.newest, map[string]uint64{}
	return nil
}
