package kv

import (
	"context"
	"errors"
	"time"

	"github.com/authzhost/authz/sdk/storage"
)

// DB is an open key-value store that holds nothing but what the driver keeps in
// it. The driver calls View at any time and concurrently, Update never more than
// once at a time, and Close once, when every transaction has ended.
type DB interface {
	// View calls read once, over one instant of the store: what was committed
	// before View was called is seen, what is committed while read runs is not.
	// It returns read's error. A reader never waits for a consumer of rows, so
	// that View may hold what others need.
	View(ctx context.Context, read func(Tx) error) error

	// Update calls change once, over the newest instant, and commits what it
	// wrote. Nil says that all of it is durable, to the degree that Options.Durable
	// promises, and is seen by every View called from then on. When change was not
	// called or returned an error, nothing is written, and Update returns an error,
	// change's own where there is one.
	//
	// An error after change has returned nil is taken for a commit whose fate is
	// unknown, and the host finds out by the commit's id. Wrap ErrNotApplied where
	// it is certain that nothing was written and never will be; a wrong
	// ErrNotApplied writes twice. Whatever the error, a commit is whole or absent,
	// also when process or machine die in the middle.
	//
	// The driver itself queues writers and looks at ctx before the commit; heed
	// ctx where the store can wait for long.
	Update(ctx context.Context, change func(Tx) error) error

	// Close gives the store back.
	Close() error
}

// Tx is one transaction, used by one goroutine, and not after read or change has
// returned. An error from it ends the transaction: after the first, nothing more
// is asked, and read or change returns it. It is never an answer: a key that
// could not be read is not an absent one.
//
// Keys are bytes, compared as unsigned bytes from the left; they hold ids and the
// texts that rows are found by, so let them be as long as the store can. Values are
// never empty.
type Tx interface {
	// Get returns the value, or nil when the key is absent. It sees what the
	// transaction wrote. The driver has read the value when it makes its next call.
	Get(key []byte) ([]byte, error)

	// Put writes over whatever stands under the key. Many keys come in ascending
	// order. Neither side changes the slices afterwards. ErrTooLarge: the store
	// takes no key, value or transaction of that size.
	Put(key, value []byte) error

	// Delete removes the key; one that is absent is no error.
	Delete(key []byte) error

	// Scan calls each with the keys from the given one on, ascending, until each
	// returns false or there are no more. It sees what the transaction wrote
	// before. While it runs there may be Gets, but no writes and no second Scan.
	// The driver has read the key when each returns.
	Scan(from []byte, each func(key []byte) bool) error
}

// What a DB wraps so that the driver can say more than "unavailable, fate unknown".
var (
	// ErrNotApplied: nothing of the transaction was written, or ever will be.
	ErrNotApplied = errors.New("kv: the transaction was not applied")

	// ErrTooLarge: a key, a value or the transaction is larger than the store
	// takes, and nothing of it was written.
	ErrTooLarge = errors.New("kv: larger than the database takes")
)

// Options is what the driver cannot know of a DB.
type Options struct {
	// Name is the driver's name, of the database rather than of this package.
	Name string

	// Durable says that a commit survives the process and the machine's loss of
	// power. A DB that is not durable must be empty at every start.
	Durable bool

	// Lease is how long a section is held without a renewal. Zero is
	// storage.DefaultLease.
	Lease time.Duration
}

// Capabilities are the optional operations that the driver has over every DB.
var Capabilities = storage.Capabilities{
	storage.CapEvents, storage.CapImports, storage.CapBatchRoles, storage.CapExpand, storage.CapAncestry, storage.CapLookups, storage.CapRecords,
	storage.CapAuditSubjects, storage.CapRenewal,
}
