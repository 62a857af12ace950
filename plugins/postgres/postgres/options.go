package postgres

import (
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/authzhost/authz/sdk/plugin"
	"github.com/authzhost/authz/sdk/storage"
)

// Lock says what keeps exclusive sections apart.
type Lock string

// The kinds of Lock.
const (
	LockTable Lock = "table" // rows of the database: across processes
	LockNone  Lock = "none"  // within this driver only
)

const (
	defaultSchema      = "public"
	defaultConnections = 16
	minConnections     = 2 // one that waits for a lock must not keep reads out
	maxConnections     = 10_000
	minLease           = 50 * time.Millisecond
)

// Options configures a driver. Only DSN is required.
type Options struct {
	DSN    string
	Schema string // "" is "public"
	Lock   Lock   // "" is LockTable

	// Lease is how long a section is held without a renewal; zero is
	// storage.DefaultLease.
	Lease time.Duration

	MaxConnections int // 0 is 16

	// Migrate moves a database of an older version to the present one. An empty
	// database is always filled with tables.
	Migrate bool

	// NoStatementCache does without prepared statements, session settings and
	// notifications, for poolers that share a connection between transactions.
	NoStatementCache bool

	tracer pgx.QueryTracer // of the package's own tests
}

func (o *Options) check() error {
	if o.DSN == "" {
		return refuse("dsn", "is required")
	}
	if o.Schema == "" {
		o.Schema = defaultSchema
	}
	// PostgreSQL would cut a longer name off and mean another schema.
	if len(o.Schema) > 63 || !utf8.ValidString(o.Schema) {
		return refuse("schema", "must be 1 to 63 bytes of UTF-8")
	}
	switch o.Lock {
	case "":
		o.Lock = LockTable
	case LockTable, LockNone:
	default:
		return refuse("lock", "must be %q or %q", LockTable, LockNone)
	}
	switch {
	case o.Lease == 0:
		o.Lease = storage.DefaultLease
	case o.Lease < minLease:
		return refuse("lease", "must be at least %s", minLease)
	}
	switch {
	case o.MaxConnections == 0:
		o.MaxConnections = defaultConnections
	case o.MaxConnections < minConnections || o.MaxConnections > maxConnections:
		return refuse("max_connections", "must be between %d and %d", minConnections, maxConnections)
	}
	return nil
}

func refuse(field, format string, args ...any) error {
	return &plugin.ConfigError{Field: field, Message: fmt.Sprintf(format, args...)}
}
