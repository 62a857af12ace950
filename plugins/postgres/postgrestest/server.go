package postgrestest

import (
	"context"
	"crypto/rand"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// DSNVariable names the environment variable of a server to test against instead
// of a cluster. Its user must be allowed to create databases.
const DSNVariable = "AUTHZ_TEST_POSTGRES_DSN"

// process is the server that the tests of this process share.
var process struct {
	once    sync.Once
	dsn     string   // of a database to create others from
	cluster *Cluster // nil on a server that was given
	err     error
}

func shared() (string, error) {
	process.once.Do(func() {
		if process.dsn = os.Getenv(DSNVariable); process.dsn != "" {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if process.cluster, process.err = Start(ctx, Options{}); process.err == nil {
			process.dsn = process.cluster.DSN("postgres")
		}
	})
	return process.dsn, process.err
}

// Run is the body of a TestMain: os.Exit(postgrestest.Run(m)). It ends the shared
// server after the tests.
func Run(m *testing.M) int {
	code := m.Run()
	if process.cluster != nil {
		_ = process.cluster.Close() // the tests have said what they had to say
	}
	return code
}

// Require skips the test, loudly, when there is no server to be had.
func Require(tb testing.TB) {
	tb.Helper()
	if os.Getenv(DSNVariable) != "" {
		return
	}
	if _, err := binaries(); err != nil {
		tb.Skipf("SKIPPED: %v, and %s is not set; the PostgreSQL driver is NOT tested", err, DSNVariable)
	}
}

// SharedCluster is the throw-away cluster of this process; it skips the test when
// a given server is used instead.
func SharedCluster(tb testing.TB) *Cluster {
	tb.Helper()
	Require(tb)
	if _, err := shared(); err != nil {
		tb.Fatal(err)
	}
	if process.cluster == nil {
		tb.Skipf("SKIPPED: this needs a throw-away cluster, and %s names a server", DSNVariable)
	}
	return process.cluster
}

// Database makes an empty database on the shared server and drops it with the
// test.
func Database(tb testing.TB) (dsn string) {
	tb.Helper()
	Require(tb)
	server, err := shared()
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	dsn, drop, err := CreateDatabase(ctx, server)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := drop(ctx); err != nil {
			tb.Logf("drop database: %v", err)
		}
	})
	return dsn
}

// CreateDatabase makes an empty database beside the one that dsn names. drop cuts
// its connections.
func CreateDatabase(ctx context.Context, dsn string) (created string, drop func(context.Context) error, err error) {
	name := "authz_" + strings.ToLower(rand.Text())
	if err := execute(ctx, dsn, "create database "+name+" template template0"); err != nil {
		return "", nil, err
	}
	created, err = withDatabase(dsn, name)
	return created, func(ctx context.Context) error {
		return execute(ctx, dsn, "drop database if exists "+name+" with (force)")
	}, err
}

func execute(ctx context.Context, dsn, statement string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, statement)
	return err
}
