package kv_test

import (
	"testing"

	"github.com/authzhost/authz/host/lookup/lookuptest"
	"github.com/authzhost/authz/sdk/storage/kv"
)

// Every list over the driver equals the checks of what it lists.
func TestListsEqualChecks(t *testing.T) {
	lookuptest.Property(t, kv.New(newMemory(), kv.Options{Name: "memory"}))
}
