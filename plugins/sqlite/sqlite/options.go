package sqlite

import (
	"time"

	"github.com/authzhost/authz/sdk/plugin"
	"github.com/authzhost/authz/sdk/storage"
)

// Lock says between whom exclusive sections hold.
type Lock string

// The kinds of Lock.
const (
	LockTable Lock = "table" // every process that shares the file
	LockNone  Lock = "none"  // this driver only: one host process per file
)

const (
	driverName = "sqlite"

	defaultBusyTimeout = 30 * time.Second
	defaultWatchPoll   = 250 * time.Millisecond
	defaultReaders     = 8

	// maxReaders bounds the connections, each with a page cache of its own.
	maxReaders = 64

	// minLease keeps the renewal of a section, a third of it, apart from the
	// time that a synced write takes.
	minLease = 50 * time.Millisecond
)

// Options configures a driver. All but Path may be zero.
type Options struct {
	// Path is the database file. It is created with its directory when missing.
	Path string

	// Lock is LockTable when empty.
	Lock Lock

	// Lease is how long a section is held without a renewal, by the machine's
	// clock. Zero is storage.DefaultLease.
	Lease time.Duration

	// BusyTimeout is how long a call without an earlier deadline waits for
	// another process. Zero is 30 s.
	BusyTimeout time.Duration

	// WatchPoll is how often Watch looks for commits of other processes. Zero is
	// 250 ms.
	WatchPoll time.Duration

	// Readers is the most connections that read. Zero is 8.
	Readers int

	// Migrate changes a database of an older schema version while it is opened.
	Migrate bool

	// Clock gives epoch milliseconds: leases, where fences start, and how long
	// commit ids are kept. nil is the machine's clock.
	Clock func() int64

	// observe sees every statement before it runs.
	observe func(statement string)
}

// filled puts defaults in place and refuses what makes no sense.
func (o Options) filled() (Options, error) {
	wrong := func(setting, message string) (Options, error) {
		return Options{}, &plugin.ConfigError{Field: setting, Message: message}
	}
	if o.Path == "" {
		return wrong(settingPath, "must not be empty")
	}
	switch o.Lock {
	case "":
		o.Lock = LockTable
	case LockTable, LockNone:
	default:
		return wrong(settingLock, `must be "table" or "none"`)
	}
	for _, d := range []struct {
		setting  string
		value    *time.Duration
		fallback time.Duration
		least    time.Duration
	}{
		{settingLease, &o.Lease, storage.DefaultLease, minLease},
		{settingBusyTimeout, &o.BusyTimeout, defaultBusyTimeout, time.Millisecond},
		{settingWatchPoll, &o.WatchPoll, defaultWatchPoll, time.Millisecond},
	} {
		if *d.value == 0 {
			*d.value = d.fallback
		}
		if *d.value < d.least {
			return wrong(d.setting, "must be at least "+d.least.String())
		}
	}
	if o.Readers == 0 {
		o.Readers = defaultReaders
	}
	if o.Readers < 1 || o.Readers > maxReaders {
		return wrong(settingReaders, "must be between 1 and 64")
	}
	if o.Clock == nil {
		o.Clock = func() int64 { return time.Now().UnixMilli() }
	}
	return o, nil
}
