package postgres

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/plugin"
	"github.com/authzhost/authz/sdk/storage"
)

const (
	connectTimeout = 5 * time.Second
	asideTime      = 5 * time.Second

	// idleInTransaction ends transactions of a process that was stopped between
	// two statements: its locks would hold up everybody.
	idleInTransaction = 10 * time.Second
)

// sessionSettings do not trust the server's defaults. Plans must not turn into
// scans of whole tables because a table was small when they were made.
var sessionSettings = map[string]string{
	"default_transaction_isolation":       "read committed",
	"default_transaction_read_only":       "off",
	"synchronous_commit":                  "on",
	"idle_in_transaction_session_timeout": strconv.FormatInt(idleInTransaction.Milliseconds(), 10),
	"enable_seqscan":                      "off",
	"jit":                                 "off",
}

func poolConfig(o Options) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(o.DSN)
	var file *fs.PathError
	if errors.As(err, &file) {
		return nil, refuse("dsn", "names a file that cannot be read: %v", file)
	}
	if err != nil {
		// Its text repeats the connection string.
		return nil, refuse("dsn", `is no connection string of PostgreSQL, such as "postgres://user@host:5432/database" or "host=… dbname=…"`)
	}
	config.MaxConns = int32(o.MaxConnections)
	c := config.ConnConfig
	c.Tracer = o.tracer
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = connectTimeout
	}
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "authz"
	}
	if o.NoStatementCache {
		c.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
		return config, nil
	}
	for name, value := range sessionSettings {
		c.RuntimeParams[name] = value
	}
	return config, nil
}

// startError says why a driver could not be made, without secrets.
func startError(err error, c *pgx.ConnConfig) error {
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		switch refused.Code {
		case "28P01", "28000":
			return refuse("dsn", "the server refused the user or the password")
		case "3D000":
			return refuse("dsn", "the server has no database of that name")
		case "42501":
			return refuse("dsn", "the user may not create or read the tables")
		}
	}
	var ours *storage.Error
	var config *plugin.ConfigError
	switch {
	case errors.As(err, &config):
		return config
	case errors.As(err, &ours) && (ours.Code != storage.CodeUnavailable || ours.Cause == nil):
		return ours // of one with a cause less is known than below
	}
	if refused != nil {
		return storage.Unavailable(authz.OutcomeNotApplied, err, "PostgreSQL at %s refused a statement (SQLSTATE %s)", address(c), refused.Code)
	}
	return storage.Unavailable(authz.OutcomeNotApplied, err, "PostgreSQL at %s does not answer%s", address(c), unreached(err))
}

func address(c *pgx.ConnConfig) string {
	if len(c.Host) > 0 && (c.Host[0] == '/' || c.Host[0] == '@') {
		return c.Host
	}
	return net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))
}

// read runs f, which changes nothing, on a connection, and once more on a new one
// when that one turns out to be dead: the server may have been restarted since.
func (d *driver) read(ctx context.Context, f func(*pgxpool.Conn) error) error {
	dead := false
	attempt := func(c *pgxpool.Conn) error {
		err := f(c)
		dead = err != nil && c.Conn().IsClosed()
		return err
	}
	err := d.withConn(ctx, attempt)
	if dead && ctx.Err() == nil {
		d.pool.Reset()
		err = d.withConn(ctx, attempt)
	}
	return err
}

func (d *driver) withConn(ctx context.Context, f func(*pgxpool.Conn) error) error {
	conn, err := d.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	return f(conn)
}
