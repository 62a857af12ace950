// Command testserver is a throw-away PostgreSQL for scripts: it prints a connection
// string of an empty database on standard output when the server is ready, and ends
// it when its standard input does. AUTHZ_TEST_POSTGRES_DSN names a server to use
// instead; a database is then made there and dropped at the end.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/authzhost/authz/plugins/postgres/postgrestest"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "testserver:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	server := os.Getenv("AUTHZ_TEST_POSTGRES_DSN")
	if server == "" {
		cluster, startErr := postgrestest.Start(ctx, postgrestest.Options{})
		if startErr != nil {
			return startErr
		}
		defer func() { err = errors.Join(err, cluster.Close()) }()
		server = cluster.TCP("postgres")
	}
	dsn, drop, err := postgrestest.CreateDatabase(ctx, server)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, drop(ctx)) }()
	fmt.Println(dsn)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}
