package importer

import (
	"context"
	"time"

	"github.com/authzhost/authz/conformance/configured"
	"github.com/authzhost/authz/conformance/runner"
	"github.com/authzhost/authz/sdk/directory"
)

// Target is what is proved.
type Target struct {
	Name string

	// New makes the backend of one case. Cases run at the same time; their backends
	// may read one directory, which must not change by itself meanwhile.
	New func(ctx context.Context) (Backend, error)

	// Timeout is how long a case may take. Zero is runner.DefaultTimeout.
	Timeout time.Duration
}

// Backend is the way of one case to the directory. It may also be a Crasher,
// Freezer, Cutter, MidCutter, Staller, Changer, Teller and Configurer.
type Backend interface {
	// Connect starts an importer, as the host does.
	Connect(ctx context.Context) (directory.Importer, error)

	// Close ends the importers that are still open and removes what the backend
	// left behind.
	Close() error
}

// Crasher is a Backend whose importers live in processes that can be killed.
type Crasher = runner.Crasher[directory.Importer]

// Freezer is a Backend whose importers live in processes that can be stopped.
type Freezer = runner.Freezer[directory.Importer]

// Cutter is a Backend that can cut the line to the directory: open connections
// break and new ones fail, until Resume.
type Cutter interface {
	Cut() error
	Resume() error
}

// MidCutter is a Cutter that can let the line break by itself while an importer reads.
// One that reads everything before it tells anything has no other middle: once it has
// told its first entry it needs the line no more.
type MidCutter interface {
	// CutMidway lets the line break when about half of the next reading has come
	// over it, until Resume. The backend's importers have read the directory so many
	// times before, and it did not change. cut reports whether it came to that.
	CutMidway(readings int) (cut func() bool, err error)
}

// Staller is a Backend whose directory can stop answering, with connections left
// open, until Resume.
type Staller = runner.Staller

// Changer is a Backend that can change the directory, so that a later reading tells
// what an earlier one did not.
type Changer interface {
	Change(ctx context.Context) error
}

// Teller is a Backend that can tell how many entries an importer has handed out of
// all its readings, read or not.
type Teller interface {
	Handed(i directory.Importer) (int64, error)
}

// Configurer is a Backend that can start the importer with any configuration.
type Configurer = configured.Configurer[directory.Importer]

// Ability is what a case needs beyond the seam.
type Ability string

// The abilities of a target.
const (
	Kill      Ability = "kill"
	Freeze    Ability = "freeze"
	Cut       Ability = "cut"
	Stall     Ability = "stall"
	Change    Ability = "change"
	Tell      Ability = "handed"
	Configure Ability = "configure"
)

var offers = map[Ability]runner.Offer{
	Kill:      runner.Offered[Crasher]("the target's processes cannot be killed"),
	Freeze:    runner.Offered[Freezer]("the target's processes cannot be stopped"),
	Cut:       runner.Offered[Cutter]("the line to the directory cannot be cut"),
	Stall:     runner.Offered[Staller]("the directory cannot be kept from answering"),
	Change:    runner.Offered[Changer]("the directory cannot be changed"),
	Tell:      runner.Offered[Teller]("how far the importer is ahead of its reader cannot be told"),
	Configure: runner.Offered[Configurer]("the importer cannot be started with another configuration"),
}
