// Command testserver is a MongoDB-compatible server for the tests of the mongo
// plugin: FerretDB, embedded over a temporary directory of SQLite files, behind a
// proxy that forwards one writing command at a time to each database.
//
// It prints its connection string on standard output when it is ready and ends
// when its standard input does. It is a module of its own because nothing that
// the product runs on needs FerretDB.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strings"

	"github.com/FerretDB/FerretDB/ferretdb"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "testserver:", err)
		os.Exit(1)
	}
}

func run() error {
	dir, err := os.MkdirTemp(scratch(), "authz-mongo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	db, err := ferretdb.New(&ferretdb.Config{
		Listener:  ferretdb.ListenerConfig{TCP: "127.0.0.1:0"},
		Handler:   "sqlite",
		SQLiteURL: "file:" + dir + "/",
		Logger:    slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = db.Run(ctx)
	}()
	defer func() { stop(); <-ended }()
	upstream, err := url.Parse(db.MongoDBURI())
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	go serve(l, upstream.Host)
	fmt.Printf("mongodb://%s/\n", l.Addr())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// scratch prefers memory: nothing here outlives the process, and the tests
// commit thousands of times.
func scratch() string {
	const shm = "/dev/shm"
	if probe, err := os.MkdirTemp(shm, "authz-probe-"); err == nil {
		_ = os.Remove(probe)
		if free, err := freeBytes(shm); err == nil && free > 1<<30 {
			return shm
		}
	}
	return strings.TrimSuffix(os.TempDir(), "/")
}
