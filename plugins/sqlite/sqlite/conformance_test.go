package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/authzhost/authz/conformance"
	"github.com/authzhost/authz/plugins/sqlite/sqlite"
	"github.com/authzhost/authz/sdk/storage"
)

// backend is a file of its own. Every connection is a driver with sessions, write
// lock and sections of its own, as another process has them.
type backend struct {
	options sqlite.Options

	mu      sync.Mutex
	drivers []storage.Driver
}

// factory makes backends of the options given, each with a file of its own.
func factory(o sqlite.Options) func(context.Context, conformance.Options) (conformance.Backend, error) {
	return func(_ context.Context, asked conformance.Options) (conformance.Backend, error) {
		dir, err := os.MkdirTemp("", "authz-sqlite-")
		if err != nil {
			return nil, err
		}
		own := o // cases run at the same time
		own.Path, own.Lease = filepath.Join(dir, "authz.db"), asked.Lease
		return &backend{options: own}, nil
	}
}

func (b *backend) Connect(ctx context.Context) (storage.Driver, error) {
	d, err := sqlite.Open(ctx, b.options)
	if err == nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.drivers = append(b.drivers, d)
	}
	return d, err
}

func (b *backend) Postpone(ctx context.Context, partition, key string, by time.Duration) error {
	db, err := sql.Open("sqlite", b.options.Path)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, `PRAGMA busy_timeout = 10000; UPDATE "AuthzLock" SET "expiresAt" = "expiresAt" + ? WHERE "app" = ? AND "key" = ?`,
		by.Milliseconds(), partition, key)
	return err
}

func (b *backend) Close() error {
	var failed []error
	for _, d := range b.drivers {
		failed = append(failed, d.Close())
	}
	return errors.Join(append(failed, os.RemoveAll(filepath.Dir(b.options.Path)))...)
}

func TestConformance(t *testing.T) {
	var statements sqlite.Statements
	target := conformance.Target{Name: "sqlite", New: factory(statements.Observe(sqlite.Options{})), Unpartitioned: true, SeparateProcesses: true}
	selected := conformance.Quick(t)
	conformance.RunSelected(t, target, selected)
	if all := flag.Lookup("test.run").Value.String(); selected.IDs == nil && !strings.Contains(all, "/") { // the whole suites ran
		statements.CarryThePartition(t)
	}
}

// Only sections are another matter within one process.
func TestConformanceWithinOneProcess(t *testing.T) {
	target := conformance.Target{Name: "sqlite, lock none", New: factory(sqlite.Options{Lock: sqlite.LockNone}), Unpartitioned: true}
	selected := conformance.Quick(t)
	selected.IDs = sections(t)
	conformance.RunSelected(t, target, selected)
}

// sections are the cases that take a section, and every case in the full run.
func sections(t *testing.T) (ids []string) {
	t.Helper()
	for _, c := range conformance.Cases() {
		if os.Getenv("AUTHZ_FULL") == "1" || strings.Contains(c.Rule, "section") || strings.Contains(c.Rule, "fence") ||
			slices.Contains([]string{"B68", "B73", "B76", "S04"}, c.ID) { // their rules do not say the word
			ids = append(ids, c.ID)
		}
	}
	if len(ids) == 0 {
		t.Fatal("no case is about sections")
	}
	return ids
}
