package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/authzhost/authz/examples/internal/demo"
	"github.com/authzhost/authz/examples/internal/demotest"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// here is the machine that serves; away is another one, where administrators work.
func open(t *testing.T) (here, away *demo.App, all *projects, site demotest.Site) {
	t.Helper()
	away = demotest.Open(t, permissions, rows)
	here, err := away.Replica(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(here.Close)
	all = &projects{}
	all.Store("apollo", "Apollo")
	return here, away, all, demotest.Serve(t, routes(here.Client(), all))
}

func (p *projects) has(id string) bool {
	_, found := p.Load(id)
	return found
}

func TestWhoMayDeletesAndWhoMayNotDoesNot(t *testing.T) {
	_, _, all, site := open(t)
	if status, _ := site.As("bob").Do("DELETE", "/projects/apollo", nil); status != http.StatusForbidden || !all.has("apollo") {
		t.Errorf("bob was answered %d; the project is there: %v", status, all.has("apollo"))
	}
	if status, _ := site.As("ada").Do("DELETE", "/projects/apollo", nil); status != http.StatusNoContent || all.has("apollo") {
		t.Errorf("ada was answered %d; the project is there: %v", status, all.has("apollo"))
	}
}

func TestFreshKnowsWhatAnotherMachineHasJustTakenAway(t *testing.T) {
	_, away, all, site := open(t)
	ada := site.As("ada")
	if _, page := ada.Do("GET", "/projects/apollo", nil); !strings.Contains(page, "Delete") {
		t.Fatalf("ada is shown no button before: %q", page)
	}
	for grant, err := range away.ListGrants(t.Context(), provider.GrantQuery{Subject: new("user:ada")}) {
		if err != nil {
			t.Fatal(err)
		}
		if err := away.DeleteGrant(t.Context(), grant.ID, authz.AdminProvenance("root")); err != nil {
			t.Fatal(err)
		}
	}
	if status, body := ada.Do("DELETE", "/projects/apollo", nil); status != http.StatusForbidden || !all.has("apollo") {
		t.Errorf("answered %d %q; the project is there: %v", status, body, all.has("apollo"))
	}
}

func TestFreshRemembersNothingThroughAnOutage(t *testing.T) {
	here, _, all, site := open(t)
	ada := site.As("ada")
	ada.Do("GET", "/projects/apollo", nil) // her rows are in the cache now
	if err := here.CutOff(); err != nil {
		t.Fatal(err)
	}
	if _, page := ada.Do("GET", "/projects/apollo", nil); !strings.Contains(page, "Delete") {
		t.Errorf("Can did not answer from its cache: %q", page)
	}
	if status, body := ada.Do("DELETE", "/projects/apollo", nil); status != http.StatusServiceUnavailable || !all.has("apollo") {
		t.Errorf("answered %d %q; the project is there: %v", status, body, all.has("apollo"))
	}
}
