package kv_test

import (
	"testing"

	"github.com/authzhost/authz/conformance/equal"
	model "github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/storage/kv"
)

func TestKeyValueEqualsMemory(t *testing.T) {
	equal.Drivers(t, model.New(model.Options{}), kv.New(newMemory(), kv.Options{Name: "memory"}))
}
