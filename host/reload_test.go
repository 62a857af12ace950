package host_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
)

// A catalog grows while the application is asked, over the network and by the program that
// embeds the host; nobody is answered by half of it.
func TestACatalogGrowsUnderQuestions(t *testing.T) {
	cfg := configure(t, "")
	h, log := open(t, cfg)
	c := caller(h)
	call(t, c, "createGrant", object{"input": object{"subject": "user:ann", "pattern": "docs.*", "provenance": root}})
	file := cfg.Applications["docs"].Catalog
	by := authz.AdminProvenance("ops")
	before, _ := h.Application("docs")
	keys := []string{"docs.files.read", "docs.grown.one", "docs.grown.two", "docs.grown.three"}

	var asking sync.WaitGroup
	var ended atomic.Bool
	for range 4 {
		asking.Go(func() {
			for !ended.Load() {
				var answer struct{ Allowed bool }
				if err := c.Call(t.Context(), "check", object{"principal": object{"userId": "ann"}, "key": keys[0]}, &answer); err != nil || !answer.Allowed {
					t.Errorf("over the network: %v, %v", answer.Allowed, err)
					return
				}
				app, _ := h.Application("docs")
				if ok, err := app.Client().Can(t.Context(), authz.UserPrincipal("ann"), keys[0], "*"); err != nil || !ok {
					t.Errorf("in process: %v, %v", ok, err)
					return
				}
			}
		})
	}
	grown := testCatalog
	for _, key := range keys[1:] {
		grown = strings.Replace(grown, "permissions:\n", "permissions:\n  "+key+": true\n", 1)
		write(t, file, grown)
		list := h.ReloadCatalogs(t.Context(), by, "docs")
		if len(list) != 1 || list[0].Refused != "" || len(list[0].Changes) == 0 {
			t.Fatalf("%s: %+v", key, list)
		}
		app, _ := h.Application("docs")
		if ok, err := app.Client().Can(t.Context(), authz.UserPrincipal("ann"), key, "*"); err != nil || !ok {
			t.Errorf("%s is answered %v, %v", key, ok, err)
		}
		call(t, c, "createGrant", object{"input": object{"subject": "user:ben", "pattern": key, "provenance": root}})
	}
	ended.Store(true)
	asking.Wait()

	// who still has the application of before is answered by its catalog
	if ok, err := before.Client().Can(t.Context(), authz.UserPrincipal("ann"), keys[0], "*"); err != nil || !ok {
		t.Errorf("the client of before: %v, %v", ok, err)
	}
	if _, err := before.Client().Can(t.Context(), authz.UserPrincipal("ann"), keys[1], "*"); err == nil {
		t.Error("the client of before knows what was added")
	}
	write(t, file, testCatalog)
	if list := h.ReloadCatalogs(t.Context(), by); len(list) != 1 || !strings.Contains(list[0].Refused, "permission docs.grown.one is removed") {
		t.Errorf("a catalog that shrinks: %+v", list)
	}
	if list := h.ReloadCatalogs(t.Context(), by, "nobody"); list[0].Refused != "this host serves no such application" {
		t.Errorf("%+v", list)
	}
	var events struct{ Events []authz.AuditEntry }
	if err := c.Call(t.Context(), "listAuditEvents", object{"filter": object{"action": "catalog.reload"}}, &events); err != nil || len(events.Events) != len(keys)-1 || events.Events[0].Actor != "ops" {
		t.Errorf("the audit log: %+v, %v", events, err)
	}
	if !strings.Contains(log.String(), "the catalog was reloaded") || !strings.Contains(log.String(), "the catalog was not reloaded") {
		t.Error("the log does not tell")
	}

	// nothing comes into force that could not be recorded
	write(t, file, strings.Replace(grown, "permissions:\n", "permissions:\n  docs.grown.four: true\n", 1))
	if list := h.ReloadCatalogs(t.Context(), authz.Provenance{}); list[0].Refused == "" {
		t.Errorf("without anybody who is answerable: %+v", list)
	}
	app, _ := h.Application("docs")
	if app.Catalog().HasKey("docs.grown.four") {
		t.Error("an unrecorded catalog is in force")
	}
}
