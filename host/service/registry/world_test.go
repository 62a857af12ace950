package registry_test

import (
	"errors"
	"testing"

	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/internal/remote"
	testworld "github.com/authzhost/authz/host/service/internal/world"
	"github.com/authzhost/authz/host/service/registry"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/catalog"
)

// world is a registry over the memory driver, with real applications.
type world struct {
	*testworld.World
	*registry.Registry
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := testworld.New(t, memory.New(memory.Options{}), "acme", "other")
	return &world{w, registry.New(registry.Options{Store: w.Store, Applications: w.Entries, Meters: w.Meters})}
}

func (w *world) serve(id, catalog string) *remote.Remote {
	w.T.Helper()
	return w.Serve(remote.Options{ID: id, Catalog: catalog})
}

func (w *world) key(namespace string, document []byte) (registry.Result, error) {
	return w.PublishNamespace(w.T.Context(), "publisher:"+namespace, "acme", namespace, registry.Input{Document: document})
}

func (w *world) published(namespace string, document []byte) registry.Result {
	w.T.Helper()
	r, err := w.key(namespace, document)
	w.Must(err)
	return r
}

// document is the document of a catalog of these keys, as applications publish it.
func document(t *testing.T, namespaces []string, keys ...string) []byte {
	t.Helper()
	in := catalog.Input{Namespaces: namespaces}
	for _, key := range keys {
		in.Permissions = append(in.Permissions, catalog.PermissionSet{Leaves: []catalog.Permission{{Key: key}}})
	}
	built, err := catalog.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := built.Document()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func faultOf(err error) *fault.Error {
	if f := new(fault.Error); errors.As(err, &f) {
		return f
	}
	return &fault.Error{}
}

func to[T any](v T) *T { return &v }
