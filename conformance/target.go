package conformance

import (
	"context"
	"time"

	"github.com/authzhost/authz/conformance/runner"
	"github.com/authzhost/authz/sdk/storage"
)

// Target is what is proved.
type Target struct {
	Name string

	// New makes the backend of one case. Cases run at the same time.
	New func(ctx context.Context, o Options) (Backend, error)

	// Unpartitioned says that the partition "" can be opened, beside others. A
	// backend is then a database that nothing else uses, and cases name their
	// partitions as they like. Otherwise every case uses names of its own, so
	// that all backends may be one database server.
	Unpartitioned bool

	// SeparateProcesses says that the connections of a backend are separate
	// processes, or behave as if they were: they see the same rows, and fences and
	// sections hold between them. Otherwise a case that needs two processes takes
	// two stores of one connection.
	SeparateProcesses bool

	// Prefix begins the partition names of a target that is not Unpartitioned.
	Prefix string

	// Timeout is how long a case may take. Zero is DefaultTimeout.
	Timeout time.Duration
}

// DefaultTimeout is how long a case may take.
const DefaultTimeout = runner.DefaultTimeout

// Backend is the fresh, empty database of one case. It may also be a Crasher,
// a Freezer and a Forger.
type Backend interface {
	// Connect opens a driver of its own on the backend, as another process
	// would. Drivers of one backend see the same rows.
	Connect(ctx context.Context) (storage.Driver, error)

	// Close ends the drivers that are still open and removes what the backend
	// left behind.
	Close() error
}

// Options is what a case asks of its backend.
type Options struct {
	// Lease is how long a section is held without a renewal. Zero is the driver's
	// default. A target that cannot set it ignores it: cases take the lease from
	// the sections, and last longer with a long one.
	Lease time.Duration
}

// Crasher is a Backend whose drivers live in processes that can be killed. A killed
// driver and its stores are useless; another Connect starts another process.
type Crasher = runner.Crasher[storage.Driver]

// Freezer is a Backend whose drivers live in processes that can be stopped.
type Freezer = runner.Freezer[storage.Driver]

// Forger is a Backend that can write into a lock what a clock would have written that
// ran ahead of the database's.
type Forger interface {
	// Postpone moves the end of the lease under which a section is held.
	Postpone(ctx context.Context, partition, key string, by time.Duration) error
}

// Ability is what a case needs beyond the seam.
type Ability string

// The abilities of a target.
const (
	Kill       Ability = "kill"      // the backend is a Crasher
	Freeze     Ability = "freeze"    // the backend is a Freezer
	Forge      Ability = "forge"     // the backend is a Forger
	Processes  Ability = "processes" // Target.SeparateProcesses
	CrossLocks Ability = "cross"     // the driver declares that sections hold across processes
	Durable    Ability = "durable"   // the driver declares that rows survive the process
	Volatile   Ability = "volatile"  // the driver declares that they do not
	Unnamed    Ability = "unnamed"   // Target.Unpartitioned
)

// missing says why an ability is not there.
func (a Ability) missing() string {
	switch a {
	case Kill:
		return "the target's processes cannot be killed"
	case Freeze:
		return "the target's processes cannot be stopped"
	case Forge:
		return "the target does not write leases as a clock that ran ahead would"
	case Processes:
		return "the target's connections are no separate processes on the same rows"
	case CrossLocks:
		return "the driver does not declare that sections hold across processes"
	case Durable:
		return "the driver does not declare that rows survive its process"
	case Volatile:
		return "the driver does not declare that rows end with its process"
	case Unnamed:
		return "the target's database has no unpartitioned rows beside partitions"
	}
	return "the target lacks the ability " + string(a)
}

func declares(d storage.Driver, durable bool) bool {
	declared := d.Info().Durable
	return declared != nil && *declared == durable
}
