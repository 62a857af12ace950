package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// checkFile is how often readers make sure that the files are still those that were
// opened.
const checkFile = 250 * time.Millisecond

// watch knows which files are open and whether one of them is lost: its name is gone
// or means another file. What is written to it would be lost, and what takes its
// place knows nothing of it. A file that is lost once is lost for good.
type watch struct {
	lost atomic.Pointer[string] // what was lost, for people
	next atomic.Int64           // of check, in nanoseconds

	// mu is read-locked while files are compared: the last session to close takes
	// its log with it, which is no loss.
	mu       sync.RWMutex
	sessions int
	log      os.FileInfo // of the write-ahead log; nil while no session has opened it
	index    os.FileInfo // of the log's index in shared memory
}

// The names of the log and of its index, after that of the database.
const (
	logSuffix   = "-wal"
	indexSuffix = "-shm"
)

// check refuses to go on with files that were removed or replaced. It looks once in
// checkFile.
func (f *file) check() error {
	now := time.Now().UnixNano()
	if due := f.watch.next.Load(); now >= due && f.watch.next.CompareAndSwap(due, now+int64(checkFile)) {
		return f.look()
	}
	return f.loss(authz.OutcomeNotApplied)
}

// look is a check that looks now.
func (f *file) look() error {
	w := &f.watch
	if w.lost.Load() != nil {
		return f.loss(authz.OutcomeNotApplied)
	}
	w.mu.RLock()
	defer w.mu.RUnlock()
	switch {
	case moved(f.path, f.found):
		f.lose("the database file")
	case moved(f.path+logSuffix, w.log), moved(f.path+indexSuffix, w.index):
		f.lose("the database's write-ahead log")
	}
	return f.loss(authz.OutcomeNotApplied)
}

func (f *file) lose(what string) {
	text := what + " was removed or replaced while it was open; put back the files that belong together and restart the host"
	f.watch.lost.CompareAndSwap(nil, &text)
}

// loss refuses files that were once seen to be lost; outcome is what is known of a
// write.
func (f *file) loss(outcome authz.Outcome) error {
	if why := f.watch.lost.Load(); why != nil {
		return storage.Lost(outcome, nil, "%s", *why)
	}
	return nil
}

// moved reports that a name means another file than the one found, or none. A file
// system that does not say is believed to be as it was; nil was never found.
func moved(path string, found os.FileInfo) bool {
	if found == nil {
		return false
	}
	info, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(info, found)
}

// opened counts a session that was just opened.
func (f *file) opened() error {
	f.watch.mu.Lock()
	f.watch.sessions++
	f.watch.mu.Unlock()
	f.note()
	return f.look()
}

// note remembers the log, which all sessions share, once one has it open. A database
// that was never written has none yet.
func (f *file) note() {
	w := &f.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.log == nil {
		w.log, _ = os.Stat(f.path + logSuffix)
		w.index, _ = os.Stat(f.path + indexSuffix)
	}
}

// closing must be called before a session is closed: SQLite removes the log with the
// last one. It reports false for a session that must stay open for ever.
//
// Closing the last session brings what is in the log into the database and removes
// the files by their names. Where another file has taken one of the names, that would
// damage it. Where the log alone is gone, it saves what the log held.
func (f *file) closing() bool {
	w := &f.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lost.Load() != nil && (moved(f.path, f.found) || taken(f.path+logSuffix, w.log) || taken(f.path+indexSuffix, w.index)) {
		return false
	}
	if w.sessions--; w.sessions == 0 {
		w.log, w.index = nil, nil
	}
	return true
}

// taken reports that another file than the one found has its name.
func taken(path string, found os.FileInfo) bool {
	info, err := os.Stat(path)
	return err == nil && found != nil && !os.SameFile(info, found)
}
