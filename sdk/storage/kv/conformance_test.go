package kv_test

import (
	"context"
	"testing"

	"github.com/authzhost/authz/conformance"
	"github.com/authzhost/authz/sdk/storage/kv"
)

func TestConformance(t *testing.T) {
	conformance.RunSelected(t, conformance.Target{
		Name:          "kv",
		Unpartitioned: true,
		New: func(_ context.Context, o conformance.Options) (conformance.Backend, error) {
			return conformance.OneDriver{Driver: kv.New(newMemory(), kv.Options{Name: "memory", Lease: o.Lease})}, nil
		},
	}, conformance.Quick(t))
}
