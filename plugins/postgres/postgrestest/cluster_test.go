package postgrestest_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/authzhost/authz/plugins/postgres/postgrestest"
)

func TestMain(m *testing.M) { os.Exit(postgrestest.Run(m)) }

func TestAClusterKeepsItsRowsWhenItIsKilledAndStartedAgain(t *testing.T) {
	dsn := postgrestest.Database(t)
	cluster := postgrestest.SharedCluster(t)
	run := func(statement string) {
		t.Helper()
		conn, err := pgx.Connect(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(t.Context())
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	run("create table kept (n int)")
	for _, end := range []func() error{cluster.Stop, cluster.Kill} {
		if err := end(); err != nil {
			t.Fatal(err)
		}
		if err := cluster.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		run("insert into kept values (1)")
	}
	conn, err := pgx.Connect(t.Context(), cluster.TCP("postgres"))
	if err != nil {
		t.Fatalf("over the loopback port: %v", err)
	}
	_ = conn.Close(t.Context())
}

func TestAServerThatEndedByItselfHasNoProcess(t *testing.T) {
	cluster := postgrestest.SharedCluster(t)
	server, err := os.FindProcess(cluster.Pid())
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); cluster.Pid() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it still has one")
		}
	}
	if err := errors.Join(cluster.Kill(), cluster.Start(t.Context())); err != nil {
		t.Fatal(err)
	}
}
