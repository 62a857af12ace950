package lookup_test

import (
	"flag"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/authzhost/authz/host/lookup/lookuptest"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/plugins/postgres/postgres"
	"github.com/authzhost/authz/plugins/postgres/postgrestest"
	"github.com/authzhost/authz/plugins/sqlite/sqlite"
	"github.com/authzhost/authz/sdk/storage"
)

func TestListsEqualChecks(t *testing.T) {
	for name, open := range map[string]func(*testing.T) (storage.Driver, error){
		"memory": func(*testing.T) (storage.Driver, error) { return memory.New(memory.Options{}), nil },
		"sqlite": func(t *testing.T) (storage.Driver, error) {
			return sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "authz.db")})
		},
		"postgres": func(t *testing.T) (storage.Driver, error) {
			return postgres.New(t.Context(), postgres.Options{DSN: postgrestest.Database(t)})
		},
	} {
		t.Run(name, func(t *testing.T) {
			driver, err := open(t)
			if err != nil {
				t.Fatal(err)
			}
			defer driver.Close()
			if name != "memory" {
				fewer(t)
			}
			lookuptest.Property(t, driver)
		})
	}
}

// fewer asks a fifth of the worlds: a database takes a second for each, with -race.
func fewer(t *testing.T) {
	checks := flag.Lookup("rapid.checks").Value
	asked := checks.String()
	n, err := strconv.Atoi(asked)
	if err != nil {
		t.Fatal(err)
	}
	if err := checks.Set(strconv.Itoa(max(n/5, 1))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = checks.Set(asked) })
}
