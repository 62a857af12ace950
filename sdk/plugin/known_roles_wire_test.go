package plugin_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/plugin"
	"github.com/authzhost/authz/sdk/storage"
)

// Over the wire: two handles, a role that changes, goes and comes back, a host that has
// forgotten what the plugin takes for known, and answers too large for one message.
func TestKnownRolesOverTheWire(t *testing.T) {
	driver := memory.New(memory.Options{})
	remote := bridged(t, driver)
	handles := []storage.Store{openStore(t, remote, "docs"), openStore(t, remote, "docs")}
	direct := openStore(t, driver, "docs")
	commits := 0
	write := func(changes ...storage.Change) {
		t.Helper()
		commits++
		if _, err := direct.Commit(t.Context(), storage.Commit{ID: fmt.Sprint("c", commits), Changes: changes}); err != nil {
			t.Fatal(err)
		}
	}
	ask := storage.AccessQuery{Subjects: []string{"everyone"}}
	equal := func(when string) {
		t.Helper()
		want, err := direct.ReadAccess(t.Context(), ask)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			for i, s := range handles {
				got, err := s.ReadAccess(t.Context(), ask)
				if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmp.Comparer(func(a, b authz.Expiry) bool { return a == b })); err != nil || diff != "" {
					t.Errorf("%s, handle %d: %v (-driver +host)\n%s", when, i, err, diff)
				}
			}
		}
	}
	for i := range 3 {
		id := fmt.Sprint("r", i)
		write(storage.UpsertRole{Role: authz.Role{ID: id, Name: "a", Patterns: []string{"docs.a"}}},
			storage.InsertGrant{Grant: authz.Grant{ID: id, Subject: "everyone", RoleID: id, Scope: "*"}})
	}
	equal("at first")
	write(storage.UpsertRole{Role: authz.Role{ID: "r1", Name: "b", Patterns: []string{"docs.b"}}})
	equal("changed")
	write(storage.DeleteRole{ID: "r1"})
	equal("deleted")
	write(storage.UpsertRole{Role: authz.Role{ID: "r1", Name: "a", Patterns: []string{"docs.a"}}})
	equal("as it was once")
	plugin.ForgetRoles(handles[0])
	equal("forgotten")
	if n := plugin.RolesKept(handles[0]); n != 3 {
		t.Errorf("%d roles are kept", n)
	}
	write(storage.UpsertRole{Role: authz.Role{ID: "r2", Name: strings.Repeat("x", plugin.MaxMessage/2+1)}})
	equal("too large for a message")
}
