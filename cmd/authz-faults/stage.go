//go:build linux

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/authzhost/authz/plugins/postgres/postgrestest"
	"github.com/authzhost/authz/sdk/catalog"
)

const (
	// lease is short, so that a stopped holder is robbed within the run.
	lease = time.Second

	// recovery is how long hosts may take to be ready after the last fault.
	recovery = 60 * time.Second

	application = "lab"
)

// catalogText is the vocabulary of the run.
const catalogText = `namespaces: [lab]
conventions: {depth: 3}
scopeTypes:
  lab.doc: {description: "A document"}
groups:
  lab: {label: "Lab", description: "The laboratory"}
permissions:
  - kind: block
    path: lab.files
    group: {label: "Files", description: "Documents", scopes: [lab.doc]}
    leaves:
      lab.files.read: {description: "Read"}
      lab.files.update: {description: "Update"}
      lab.files.share: {description: "Share"}
  - kind: block
    path: lab.notes
    group: {label: "Notes", description: "Notes on documents", scopes: [lab.doc]}
    leaves:
      lab.notes.read: {description: "Read"}
      lab.notes.create: {description: "Create"}
      lab.notes.delete: {description: "Delete"}
`

// stage is everything that runs: two hosts and one database.
type stage struct {
	options options
	dir     string
	secret  string
	hosts   []*host
	ledger  *ledger

	// cluster is the primary, and standby follows it; nil over SQLite.
	cluster, standby *postgrestest.Cluster

	catalog *catalog.Catalog
	base    position // of the logs before the first write

	faults  faults
	stopped sync.WaitGroup // processes that are stopped and will go on
	stale   staleAnswers
	crowds  int
}

// newStage starts everything. Nothing of a failed start is left.
func newStage(ctx context.Context, o options) (_ *stage, err error) {
	s := &stage{options: o, dir: o.dir, secret: rand.Text(), ledger: newLedger()}
	if s.dir == "" {
		// Short: unix sockets have room for 107 bytes.
		if s.dir, err = os.MkdirTemp("", "faults"); err != nil {
			return nil, err
		}
	} else if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close(!o.keep))
		}
	}()
	for name, path := range map[string]string{"authz": "./cmd/authz", "authz-plugin-" + o.driver: "./plugins/" + o.driver} {
		if err := build(ctx, filepath.Join(s.dir, name), path); err != nil {
			return nil, err
		}
	}
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	for i := range 2 {
		h, err := s.newHost(string(rune('A' + i)))
		if err != nil {
			return nil, err
		}
		s.hosts = append(s.hosts, h)
		// One after the other: the first publishes the catalog.
		if err := h.serve(); err != nil {
			return nil, err
		}
		if err := h.ready(ctx, recovery); err != nil {
			return nil, fmt.Errorf("%w\n%s", err, h.lastLines())
		}
	}
	s.base, err = s.hosts[0].position(ctx)
	return s, err
}

func build(ctx context.Context, binary, path string) error {
	command := exec.CommandContext(ctx, "go", "build", "-gcflags=all=-dwarf=false", "-ldflags=-w", "-o", binary, path)
	// A go that is killed leaves its scratch folder behind: it goes with the binaries'.
	command.Env = append(os.Environ(), "GOTMPDIR="+filepath.Dir(binary))
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s (run this in the repository): %w\n%s", path, err, out)
	}
	return nil
}

// prepare starts the database and writes the catalog.
func (s *stage) prepare(ctx context.Context) error {
	path := filepath.Join(s.dir, "catalog.yaml")
	if err := os.WriteFile(path, []byte(catalogText), 0o600); err != nil {
		return err
	}
	input, err := catalog.Load(path)
	if err != nil {
		return err
	}
	built, err := catalog.Build(input)
	if err != nil {
		return err
	}
	s.catalog = built
	if s.options.driver == "postgres" {
		// A standby comes back at once, not after five seconds.
		settings := map[string]string{"wal_retrieve_retry_interval": "100ms"}
		if s.cluster, err = postgrestest.Start(ctx, postgrestest.Options{Settings: settings}); err != nil {
			return fmt.Errorf("a PostgreSQL of our own: %w", err)
		}
		if s.standby, err = s.cluster.Standby(ctx); err != nil {
			return fmt.Errorf("its standby: %w", err)
		}
		if err := s.cluster.Synchronous(ctx, true); err != nil {
			return fmt.Errorf("its standby: %w", err)
		}
	}
	return nil
}

// configuration is the file of one host.
func (s *stage) configuration(h *host) string {
	settings := fmt.Sprintf("{path: %q, lease: %s}", filepath.Join(s.dir, "authz.db"), lease)
	if s.cluster != nil {
		dsn := fmt.Sprintf("postgres://postgres:%s@%s,%s/postgres?sslmode=disable&connect_timeout=2", s.cluster.Password, s.cluster.Addr(), s.standby.Addr())
		settings = fmt.Sprintf("{dsn: %q, lease: %s}", dsn, lease)
	}
	return strings.NewReplacer("$LISTEN", h.listen, "$RUN", h.dir, "$DIR", s.dir, "$DRIVER", s.options.driver,
		"$SETTINGS", settings, "$APP", application).Replace(`listen: $LISTEN
ops_listen: ""
run_dir: $RUN
plugin_dirs: [$DIR]
shutdown_timeout: 10s
plugins:
  main: {plugin: $DRIVER, config: $SETTINGS}
applications:
  $APP:
    catalog: $DIR/catalog.yaml
    storage: {driver: main, partition: $APP}
    provider: {secret: "env:FAULTS_SECRET"}
    audit: {hash_chain: true}
    events: {persist: true, retention: {max_rows: 100000000}}
`)
}

// close ends every process. remove also deletes what they wrote.
func (s *stage) close(remove bool) (err error) {
	s.stopped.Wait()
	for _, h := range s.hosts {
		err = errors.Join(err, h.close())
	}
	if s.cluster != nil {
		err = errors.Join(err, s.cluster.Close())
		if s.standby != nil {
			err = errors.Join(err, s.standby.Close())
		}
	}
	if remove && s.options.dir == "" {
		err = errors.Join(err, os.RemoveAll(s.dir))
	}
	return err
}
