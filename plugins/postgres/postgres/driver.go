package postgres

import (
	"container/list"
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/authzhost/authz/plugins/internal/relational"
	"github.com/authzhost/authz/plugins/internal/seam"
	"github.com/authzhost/authz/sdk/storage"
)

// driver is one database, or one schema of it. It satisfies storage.Driver.
type driver struct {
	options      Options
	pool         *pgxpool.Pool
	primary      *primary
	capabilities storage.Capabilities
	texts        sync.Map // statements, under the text they were written as

	// writers keeps some connections for reads: a commit may wait for a lock.
	writers chan struct{}

	turns    turnstile
	local    localLocks
	leases   storage.Leases // by the text of their pair
	offset   storage.ClockOffset
	listener *listener
	notifier *notifier

	// life ends with Close; cleaning counts the goroutines that outlive a call.
	life     context.Context
	end      context.CancelFunc
	cleaning sync.WaitGroup

	mu     sync.Mutex
	closed bool
	stores map[*store]struct{}
}

// New connects to the database, fills an empty one with tables, and refuses one
// of another version. Errors are *plugin.ConfigError or *storage.Error.
func New(ctx context.Context, o Options) (storage.Driver, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	config, err := poolConfig(o)
	if err != nil {
		return nil, err
	}
	primary := newPrimary(&config.ConnConfig.Config)
	config.BeforeClose = func(c *pgx.Conn) { primary.forget(c.PgConn()) }
	pool, err := pgxpool.NewWithConfig(context.WithoutCancel(ctx), config)
	if err != nil {
		return nil, refuse("dsn", "cannot be used")
	}
	d := &driver{options: o, pool: pool, primary: primary, writers: make(chan struct{}, max(1, o.MaxConnections*3/4)), stores: map[*store]struct{}{}}
	if err := d.prepare(ctx); err != nil {
		pool.Close()
		return nil, startError(err, config.ConnConfig)
	}
	d.life, d.end = context.WithCancel(context.Background())
	d.cleaning.Go(func() { primary.watch(d.life) })
	d.turns.queues = map[pair]*list.List{}
	d.local.holders = map[pair]*section{}
	d.listener = newListener(d)
	d.notifier = newNotifier(d)
	return d, nil
}

func (d *driver) Info() storage.DriverInfo {
	durable := true
	return storage.DriverInfo{Name: "postgres", Durable: &durable, CrossProcess: d.options.Lock == LockTable}
}

func (d *driver) Open(ctx context.Context, partition string) (storage.Store, error) {
	if err := storage.CheckPartition(partition); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, seam.Interrupted(ctx)
	}
	d.mu.Lock()
	closed := d.closed
	d.mu.Unlock()
	if closed {
		return nil, seam.DriverClosed()
	}
	at := d.primary.now.Load()
	incarnation, err := d.incarnation(ctx, partition)
	if err != nil {
		return nil, err
	}
	if now := d.primary.now.Load(); now.system != at.system {
		return nil, errServer("PostgreSQL was replaced by another cluster while the partition was opened")
	}
	s := &store{driver: d, partition: partition, at: at, incarnation: at.named(incarnation), handle: make(seam.Handle), held: map[*section]struct{}{}}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, seam.DriverClosed()
	}
	d.stores[s] = struct{}{}
	return s, nil
}

// incarnation reads the name of the partition's content, and gives it one when it
// is opened for the first time.
func (d *driver) incarnation(ctx context.Context, partition string) (string, error) {
	const find = `select "version", "incarnation" from "AuthzSchema" where "app" = $1`
	var version int64
	var incarnation string
	for {
		err := d.read(ctx, func(c *pgxpool.Conn) error {
			return c.QueryRow(ctx, d.sql(find), partition).Scan(&version, &incarnation)
		})
		switch {
		case err == nil && version > relational.SchemaVersion:
			return "", errVersionAbove(version)
		case err == nil:
			return incarnation, nil
		case !errors.Is(err, pgx.ErrNoRows):
			return "", readError(err)
		}
		const make = `insert into "AuthzSchema" ("app", "id", "version", "incarnation", "migratedAt") values ($1, 1, $2, $3, ` + clock + `)
			on conflict ("app", "id") do nothing`
		err = d.transact(ctx, &transaction{steps: []step{
			{sql: make, args: []any{partition, relational.SchemaVersion, rand.Text()}},
		}})
		if err != nil {
			return "", err
		}
	}
}

func (d *driver) Close() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil
	}
	d.closed = true
	open := make([]*store, 0, len(d.stores))
	for s := range d.stores {
		open = append(open, s)
	}
	d.mu.Unlock()
	for _, s := range open {
		_ = s.Close() // never fails
	}
	d.mu.Lock()
	d.end() // nothing is done aside from here on
	d.mu.Unlock()
	d.listener.close()
	d.notifier.close()
	d.cleaning.Wait()
	d.pool.Close()
	return nil
}

func (d *driver) forget(s *store) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.stores, s)
}

// aside runs f beside the call that asks for it, before Close ends at the latest.
func (d *driver) aside(f func(context.Context)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.life.Err() != nil {
		return
	}
	d.cleaning.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), asideTime)
		defer cancel()
		f(ctx)
	})
}

// sql gives the tables of a statement their schema.
func (d *driver) sql(text string) string {
	if done, found := d.texts.Load(text); found {
		return done.(string)
	}
	schema := pgx.Identifier{d.options.Schema}.Sanitize()
	done := strings.ReplaceAll(text, `"Authz`, schema+`."Authz`)
	d.texts.Store(text, done)
	return done
}

func (d *driver) has(c storage.Capability) bool { return d.capabilities.Has(c) }
