package ldap

import (
	"context"
	"errors"
	"iter"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
)

// Importer reads one directory. Each reading has a connection of its own.
type Importer struct {
	o        Options
	lifetime context.Context // ends with Close, and every reading with it
	end      context.CancelCauseFunc
}

var errClosed = errors.New("the importer was closed")

// New refuses options that cannot work; it does not connect.
func New(o Options) (*Importer, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	lifetime, end := context.WithCancelCause(context.Background())
	return &Importer{o: o, lifetime: lifetime, end: end}, nil
}

// Info says what every reading tells. There are no incremental readings: a
// directory does not say what was deleted, and a person's list of groups is known
// from all groups only.
func (i *Importer) Info() directory.ImporterInfo {
	return directory.ImporterInfo{Name: importerName, Capabilities: i.o.datasets()}
}

func (o Options) datasets() []directory.ImporterCapability {
	list := []directory.ImporterCapability{directory.CapUsers}
	if o.GroupBase != "" {
		list = append(list, directory.CapGroups, directory.CapMemberships)
	}
	if o.UserManager != "" {
		list = append(list, directory.CapReporting)
	}
	if len(o.UserOrgs) > 0 {
		list = append(list, directory.CapOrgs)
	}
	return list
}

// Import begins once a server is bound to, and reads everything before the second
// entry. The cursor of a request has no meaning here: every reading is whole, and
// says so.
func (i *Importer) Import(ctx context.Context, _ directory.Request) iter.Seq2[directory.Entry, error] {
	return func(yield func(directory.Entry, error) bool) {
		if i.lifetime.Err() != nil {
			yield(nil, stopped(errClosed))
			return
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(i.lifetime, func() { cancel(errClosed) })()

		tell := func(entry directory.Entry) bool {
			if ctx.Err() != nil {
				yield(nil, stopped(context.Cause(ctx)))
				return false
			}
			return yield(entry, nil)
		}
		r, s, err := begin(ctx, i.o)
		if err != nil {
			yield(nil, err)
			return
		}
		defer s.close()
		if !tell(directory.Begin{Datasets: i.o.datasets()}) {
			return
		}
		if err := r.read(ctx, s); err != nil {
			yield(nil, err)
			return
		}
		s.close() // the reader may take its time
		_ = r.tell(tell)
	}
}

// Close ends the readings that run: their connections are closed, and the next
// entry that their readers ask for is an error.
func (i *Importer) Close() error {
	i.end(errClosed)
	return nil
}

func stopped(cause error) error {
	return &authz.UnavailableError{Message: "the reading was stopped: " + cause.Error(), Cause: cause}
}
