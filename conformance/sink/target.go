package sink

import (
	"context"
	"time"

	"github.com/authzhost/authz/conformance/configured"
	"github.com/authzhost/authz/conformance/runner"
	"github.com/authzhost/authz/sdk/metrics"
)

// Target is what is proved.
type Target struct {
	Name string

	// New makes the backend of one case. Cases run at the same time; their backends
	// may pass on to one target system, each case counts under names of its own.
	New func(ctx context.Context) (Backend, error)

	// Patience is how long counts may take to reach the target system. Zero is
	// DefaultPatience.
	Patience time.Duration

	// Timeout is how long a case may take. Zero is runner.DefaultTimeout.
	Timeout time.Duration
}

// DefaultPatience is how long counts may take to reach the target system.
const DefaultPatience = 20 * time.Second

// Backend is what one case has of its own: where sinks keep what must outlive
// them, and the way to the target system. It may also be a Crasher, Freezer,
// Counter, Staller, Weigher and Configurer.
type Backend interface {
	// Connect starts a sink, as the host does; a later one takes the place of an
	// earlier one that has ended.
	Connect(ctx context.Context) (metrics.Sink, error)

	// Close ends the sinks that are still open and removes what the backend left
	// behind.
	Close() error
}

// Crasher is a Backend whose sinks live in processes that can be killed.
type Crasher = runner.Crasher[metrics.Sink]

// Freezer is a Backend whose sinks live in processes that can be stopped.
type Freezer = runner.Freezer[metrics.Sink]

// Counter is a Backend that can read what the target system was given.
type Counter interface {
	// Counts are the checks counted in all under each key, those of others
	// included. An error says that they cannot be read now.
	Counts(ctx context.Context) (map[Key]float64, error)
}

// Key is what counts are told apart by.
type Key struct {
	Application string
	Permission  string
	Decision    metrics.Decision
}

// Staller is a Backend whose target system can stop answering. Sinks that pass nothing
// on, because the target system comes to them, need none.
type Staller = runner.Staller

// Weigher is a Backend that can tell about how many bytes the process behind a
// sink holds.
type Weigher interface {
	Weigh(s metrics.Sink) (int64, error)
}

// Configurer is a Backend that can start the sink with any configuration.
type Configurer = configured.Configurer[metrics.Sink]

// Ability is what a case needs beyond the seam.
type Ability string

// The abilities of a target.
const (
	Kill      Ability = "kill"
	Freeze    Ability = "freeze"
	Count     Ability = "counts"
	Stall     Ability = "stall"
	Weigh     Ability = "memory"
	Configure Ability = "configure"
)

var offers = map[Ability]runner.Offer{
	Kill:      runner.Offered[Crasher]("the target's processes cannot be killed"),
	Freeze:    runner.Offered[Freezer]("the target's processes cannot be stopped"),
	Count:     runner.Offered[Counter]("what the target system counted cannot be read"),
	Stall:     runner.Offered[Staller]("the target system cannot be kept from answering"),
	Weigh:     runner.Offered[Weigher]("the memory of the sink's process cannot be told"),
	Configure: runner.Offered[Configurer]("the sink cannot be started with another configuration"),
}
