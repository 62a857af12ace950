package storage_test

import (
	"context"
	"fmt"
	"log"

	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// A store takes whole commits, and recognises one that it has.
func Example() {
	ctx := context.Background()
	store, err := memory.New(memory.Options{}).Open(ctx, "docs")
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	commit := storage.Commit{ID: "c1", At: 1764547200000,
		Changes: []storage.Change{storage.InsertGrant{Grant: authz.Grant{ID: "g1", Subject: "user:ann", Pattern: "docs.files.read", Scope: "*",
			Provenance: authz.AdminProvenance("root"), CreatedAt: 1764547200000}}},
		Events: []authz.Event{authz.UserEvent("ann")},
	}
	for range 2 { // the answer of the first was lost, say
		result, err := store.Commit(ctx, commit)
		fmt.Println(result.UpTo.Seq, err)
	}
	access, err := store.ReadAccess(ctx, storage.AccessQuery{UserID: "ann", Expand: true})
	fmt.Println(len(access.Grants), access.Head.Seq, err)

	_, err = store.Commit(ctx, storage.Commit{ID: "c2", Changes: []storage.Change{storage.DeleteGrant{ID: "g9", MustExist: true}}})
	fmt.Println(storage.CodeOf(err))
	// Output:
	// 1 <nil>
	// 1 <nil>
	// 1 1 <nil>
	// not_found
}
