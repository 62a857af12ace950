package application_test

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"
	"testing"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/storage"
)

const now int64 = 1_700_000_000_000

var root = authz.AdminProvenance("root")

const testCatalog = `{
  "namespaces": ["docs"], "includeAuthzInternal": false,
  "scopeTypes": {
    "docs.org": {}, "docs.workspace": {"parent": "docs.org"}, "docs.folder": {"parent": "docs.folder"},
    "docs.doc": {"parent": "docs.folder"}, "docs.tag": {"parent": null, "multiParent": true}
  },
  "permissions": {
    "docs.files.read": {"scopes": ["docs.folder", "docs.doc"]},
    "docs.files.delete": {"scopes": ["docs.doc"]},
    "docs.admin.read": true
  }
}`

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func openStore(t testing.TB) storage.Store {
	t.Helper()
	driver := memory.New(memory.Options{})
	t.Cleanup(func() { _ = driver.Close() })
	store, err := driver.Open(context.Background(), "test")
	must(t, err)
	return store
}

// newApp fills in what a test leaves open: the test catalog, a store of its own
// and a clock that stands.
func newApp(t testing.TB, o application.Options) *application.Application {
	t.Helper()
	if o.Catalog == nil {
		o.Catalog = testCatalogBuilt(t)
	}
	if o.Store == nil {
		o.Store = openStore(t)
	}
	if o.Clock == nil {
		o.Clock = func() int64 { return now }
	}
	a, err := application.New(context.Background(), o)
	must(t, err)
	t.Cleanup(func() { must(t, a.Close()) })
	return a
}

// ascending makes log order the order of writing.
func ascending() func() string {
	var n atomic.Int64
	return func() string { return fmt.Sprintf("id%06d", n.Add(1)) }
}

func rows[Row any](t testing.TB, list iter.Seq2[Row, error]) []Row {
	t.Helper()
	found := []Row{}
	for row, err := range list {
		must(t, err)
		found = append(found, row)
	}
	return found
}

func testCatalogBuilt(t testing.TB) *catalog.Catalog { return buildCatalog(t, []byte(testCatalog)) }
