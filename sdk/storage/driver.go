package storage

import "context"

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
