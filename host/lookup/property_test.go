package lookup_test

import (
	"testing"

	"github.com/authzhost/authz/host/lookup/lookuptest"
	"github.com/authzhost/authz/plugins/memory/memory"
)

func TestListsEqualChecks(t *testing.T) {
	driver := memory.New(memory.Options{})
	defer driver.Close()
	lookuptest.Property(t, driver)
}
