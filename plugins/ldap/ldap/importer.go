package ldap

import (
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
)

// Importer reads one directory. Each reading has a connection of its own.
type Importer struct {
	o        Options
	closing  context.CancelCauseFunc
	lifetime context.Context
	running  sync.WaitGroup

	mu     sync.Mutex // orders readings that begin before Close waits for them
	closed bool
}

var errClosed = errors.New("the importer was closed")

// New refuses options that cannot work; it does not connect.
func New(o Options) (*Importer, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	lifetime, closing := context.WithCancelCause(context.Background())
	return &Importer{o: o, lifetime: lifetime, closing: closing}, nil
}

// Info says what the configuration lets a reading tell. There are no incremental
// readings: a directory does not say what was deleted, and a person's list of
// groups is known from all groups only.
func (i *Importer) Info() directory.ImporterInfo {
	capabilities := []directory.ImporterCapability{directory.CapUsers}
	if i.o.GroupBase != "" {
		capabilities = append(capabilities, directory.CapGroups, directory.CapMemberships)
	}
	if i.o.UserManager != "" {
		capabilities = append(capabilities, directory.CapReporting)
	}
	if len(i.o.UserOrgs) > 0 {
		capabilities = append(capabilities, directory.CapOrgs)
	}
	return directory.ImporterInfo{Name: importerName, Capabilities: capabilities}
}

// Import reads everything before its first entry. The cursor of a request has no
// meaning here: every reading is whole, and says so.
func (i *Importer) Import(ctx context.Context, _ directory.Request) iter.Seq2[directory.Entry, error] {
	return func(yield func(directory.Entry, error) bool) {
		if !i.begin() {
			yield(nil, stopped(errClosed))
			return
		}
		defer i.running.Done()
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(i.lifetime, func() { cancel(errClosed) })()

		r, err := read(ctx, i.o)
		if err != nil {
			yield(nil, err)
			return
		}
		for entry := range r.entries() {
			if ctx.Err() != nil {
				yield(nil, stopped(context.Cause(ctx)))
				return
			}
			if !yield(entry, nil) {
				return
			}
		}
	}
}

func (i *Importer) begin() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return false
	}
	i.running.Add(1)
	return true
}

// Close ends the readings that run and waits for them.
func (i *Importer) Close() error {
	i.mu.Lock()
	i.closed = true
	i.mu.Unlock()
	i.closing(errClosed)
	i.running.Wait()
	return nil
}

func stopped(cause error) error {
	return &authz.UnavailableError{Message: "the reading was stopped: " + cause.Error(), Cause: cause}
}
