package storage

import (
	"context"
	"time"
)

// Driver is one configured connection to a database (spec: storage §2). It opens stores;
// stores of one driver share nothing but its connections.
type Driver interface {
	Info() DriverInfo

	// Open returns a store pinned to the partition, irrevocably: no operation
	// of a store names a partition. "" is the unpartitioned dataset. Opening
	// the same partition again gives another handle on the same rows.
	Open(ctx context.Context, partition string) (Store, error)

	// Close releases the connections. Open stores end with it.
	Close() error
}

// DriverInfo holds advisory facts; they change no operation's semantics.
type DriverInfo struct {
	Name string

	// Durable says whether rows survive the process; nil declares nothing.
	Durable *bool

	// CrossProcess says that exclusive sections hold across every process that
	// can reach the same backend.
	CrossProcess bool
}

// StoreInfo holds the facts of one open store.
type StoreInfo struct {
	Partition string

	// Incarnation names this life of the content: written when the partition is
	// first opened, kept with the rows, equal for every host. A driver that is
	// not durable makes a new one at every start.
	Incarnation string

	SchemaVersion int
	Capabilities  Capabilities
}

// Renewer is a Store whose content can be given a new incarnation: what belongs to
// every restore from a backup, so that no host takes what came back for what it had
// open. Handles that are open keep the incarnation that they found; whoever opens
// the partition afterwards finds the new one.
type Renewer interface {
	// Renew gives the content a new incarnation. One that is not expect's is
	// CodeConflict: somebody else gave it one already. "" expects nothing.
	Renew(ctx context.Context, expect string) (incarnation string, err error)
}

// HealthReporter is a Store that tells how its database is. It is asked twice a
// second, so it reads no row and waits for nobody.
type HealthReporter interface {
	// Health looks now. An error with Lost says that the content which was open is
	// gone or another one; any other that it cannot be told.
	Health(ctx context.Context) (Health, error)
}

// Health is how a database is.
type Health struct {
	// ClockAhead is how far the database's clock was ahead of this machine's at the
	// last measurement; negative is behind. nil means that it is not known, or that the
	// database has no clock of its own.
	ClockAhead *time.Duration
}
