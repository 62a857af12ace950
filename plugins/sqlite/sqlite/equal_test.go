package sqlite_test

import (
	"testing"

	"github.com/authzhost/authz/conformance/equal"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/plugins/sqlite/sqlite"
)

func TestSQLiteEqualsMemory(t *testing.T) {
	driver, err := sqlite.Open(t.Context(), sqlite.Options{Path: t.TempDir() + "/authz.db"})
	if err != nil {
		t.Fatal(err)
	}
	defer driver.Close()
	equal.Drivers(t, memory.New(memory.Options{}), driver)
}
