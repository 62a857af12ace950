// Package database opens the database of an example whose rows outlive a process, or
// are shared by several applications. Your program has a host do that, by a line of
// its configuration.
package database

import (
	"context"
	"errors"

	"github.com/authzhost/authz/plugins/postgres/postgres"
	"github.com/authzhost/authz/plugins/sqlite/sqlite"
	"github.com/authzhost/authz/sdk/storage"
)

// At says where a database is: one of the two.
type At struct {
	File string // of SQLite
	DSN  string // of PostgreSQL
}

// Open opens the database.
func Open(ctx context.Context, at At) (storage.Driver, error) {
	switch {
	case at.File != "" && at.DSN != "":
		return nil, errors.New("name a file of SQLite or a DSN of PostgreSQL, not both")
	case at.DSN != "":
		return postgres.New(ctx, postgres.Options{DSN: at.DSN})
	}
	return sqlite.Open(ctx, sqlite.Options{Path: at.File})
}
