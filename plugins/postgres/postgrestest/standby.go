package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/authzhost/authz/internal/freeport"
)

// Standby makes a hot standby of the cluster, as it is now. It is asynchronous: the
// primary waits for nobody. Close it.
func (c *Cluster) Standby(ctx context.Context) (*Cluster, error) {
	folder, err := os.MkdirTemp(filepath.Dir(c.folder), "pg")
	if err != nil {
		return nil, err
	}
	s := &Cluster{folder: folder, bin: c.bin, Password: c.Password}
	if err := chown(s.folder); err != nil {
		return nil, err
	}
	if s.Port, err = freeport.Port(); err == nil {
		err = s.Follow(ctx, c)
	}
	if err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// Follow makes a cluster that is stopped a standby of another one, under its own
// address and with nothing of what it held.
func (c *Cluster) Follow(ctx context.Context, primary *Cluster) error {
	if err := os.RemoveAll(c.data()); err != nil {
		return err
	}
	backup := c.command(ctx, "pg_basebackup", "--pgdata", c.data(), "--host", primary.folder, "--port", strconv.Itoa(primary.Port),
		"--username", superuser, "--checkpoint", "fast", "--wal-method", "stream", "--no-sync", "--write-recovery-conf")
	if out, err := backup.CombinedOutput(); err != nil {
		return fmt.Errorf("pg_basebackup: %w\n%s", err, out)
	}
	if err := c.Set(map[string]string{"port": strconv.Itoa(c.Port), "unix_socket_directories": c.folder}); err != nil {
		return err
	}
	return c.Start(ctx)
}

// Set appends settings for the next start, of which the last counts.
func (c *Cluster) Set(settings map[string]string) error {
	file, err := os.OpenFile(filepath.Join(c.data(), "postgresql.auto.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	for name, value := range settings {
		if _, err := fmt.Fprintf(file, "%s = '%s'\n", name, value); err != nil {
			return err
		}
	}
	return nil
}

// Detach keeps a standby from receiving more: what the primary commits from now on is
// lost with it.
func (c *Cluster) Detach(ctx context.Context) error {
	if err := c.Exec(ctx, `alter system set primary_conninfo = ''`, `select pg_reload_conf()`); err != nil {
		return err
	}
	return c.until(ctx, `select not exists (select 1 from pg_stat_wal_receiver)`)
}

// CaughtUp waits until the standby has replayed what its primary has written.
func (c *Cluster) CaughtUp(ctx context.Context, primary *Cluster) error {
	conn, err := primary.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	var at string
	if err := conn.QueryRow(ctx, `select pg_current_wal_lsn()::text`).Scan(&at); err != nil {
		return err
	}
	return c.until(ctx, `select pg_last_wal_replay_lsn() >= '`+at+`'::pg_lsn`)
}

// Promote ends a standby's recovery and waits until it takes writes.
func (c *Cluster) Promote(ctx context.Context) error { return c.until(ctx, `select pg_promote()`) }

// Synchronous has the commits of a primary wait for a standby, or for none.
func (c *Cluster) Synchronous(ctx context.Context, on bool) error {
	names, waits := "", `select not exists (select 1 from pg_stat_replication where sync_state = 'sync')`
	if on {
		names, waits = "*", `select exists (select 1 from pg_stat_replication where sync_state = 'sync')`
	}
	if err := c.Exec(ctx, `alter system set synchronous_standby_names = '`+names+`'`, `select pg_reload_conf()`); err != nil {
		return err
	}
	return c.until(ctx, waits)
}

// Exec runs statements, each by itself.
func (c *Cluster) Exec(ctx context.Context, statements ...string) error {
	conn, err := c.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, s := range statements {
		if _, err := conn.Exec(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// until waits for a question to be answered with true.
func (c *Cluster) until(ctx context.Context, question string) error {
	conn, err := c.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for {
		var yes bool
		if err := conn.QueryRow(ctx, question).Scan(&yes); err != nil || yes {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", question, ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// connect waits for a server that starts or recovers.
func (c *Cluster) connect(ctx context.Context) (*pgx.Conn, error) {
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		conn, err := pgx.Connect(ctx, c.DSN("postgres"))
		var starting *pgconn.PgError
		if !errors.As(err, &starting) || starting.Code != "57P03" || ctx.Err() != nil || time.Now().After(end) {
			return conn, err
		}
	}
}
