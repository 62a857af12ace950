package application_test

import (
	"fmt"
	"testing"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// A whole list of 100 folders of 100 documents each, below one granted folder.
func BenchmarkListScopes(b *testing.B) {
	store := openStore(b)
	app := newApp(b, application.Options{Store: store, Ancestry: application.Stored(store)})
	all := storage.Commit{ID: "tree", Changes: []storage.Change{storage.PutScopeParents{Scope: "docs.folder:top", Parents: []string{}},
		storage.InsertGrant{Grant: authz.Grant{ID: "g", Subject: "user:u", Pattern: "docs.files.read", Scope: "docs.folder:top", Provenance: root}}}}
	for i := range 100 {
		folder := fmt.Sprintf("docs.folder:f%d", i)
		all.Changes = append(all.Changes, storage.PutScopeParents{Scope: folder, Parents: []string{"docs.folder:top"}})
		for j := range 100 {
			all.Changes = append(all.Changes, storage.PutScopeParents{Scope: fmt.Sprintf("docs.doc:%d-%d", i, j), Parents: []string{folder}})
		}
	}
	if _, err := store.Commit(b.Context(), all); err != nil {
		b.Fatal(err)
	}
	q := provider.ScopesQuery{Principal: authz.UserPrincipal("u"), Key: "docs.files.read"}
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range provider.EveryScope(b.Context(), app, q) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != 10_101 {
			b.Fatal(n)
		}
	}
}
