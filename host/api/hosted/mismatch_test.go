package hosted

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/authzhost/authz/host/service"
)

// taken has another application take the address of docs. heard counts what it
// hears beside pings.
func (w *world) taken(id string) (heard *atomic.Int32) {
	heard = &atomic.Int32{}
	w.far.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/v1/ping") {
			_, _ = fmt.Fprintf(rw, `{"api":1,"application":%q,"orgRoot":true,"hasEpoch":true,"auditOptIn":true}`, id)
			return
		}
		heard.Add(1)
		http.Error(rw, "asked", http.StatusTeapot)
	})
	w.clock.Add(60_000) // older than what the last ping vouches for
	return heard
}

// Every endpoint below an org by every kind of credential, while another application
// answers where docs was: it is pinged, and hears nothing else. What is relayed says
// application_mismatch, to those alone who pass a gate of account data.
func TestNoEndpointReachesAnotherApplication(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	people := w.crowd(owner)
	type call struct {
		endpoint   *endpoint
		path, body string
	}
	var calls []call
	for n, e := range endpoints().list {
		if !e.inOrg() || strings.HasSuffix(e.Path, "/link") || strings.HasSuffix(e.Path, "/unlink") {
			continue
		}
		w.clock.Add(500)
		values, body := w.existing(t, e, owner, people["owner"], n)
		calls = append(calls, call{e, pathOf(e, values), body})
	}
	heard := w.taken("payroll")
	refused := 0
	for _, c := range calls {
		e := c.endpoint
		for _, name := range slices.Sorted(maps.Keys(people)) {
			p := people[name]
			if !e.Gate.Admits(p.kind) {
				continue
			}
			w.clock.Add(400) // no bucket is empty, no session old
			got := p.call(e.Method, c.path, c.body)
			byAccount := e.Gate.Kind == service.GateCloud
			switch {
			case byAccount && !p.account:
				got.want(t, 403, "forbidden")
			case byAccount && e.Relayed, e.Gate.Kind == service.GateOrg:
				refused++
				if got.status != 409 || got.code() != "application_mismatch" {
					t.Errorf("%s %s by %s: %d %s", e.Method, c.path, name, got.status, got.raw)
				}
			}
		}
	}
	if heard.Load() != 0 || refused < 100 {
		t.Errorf("the other application was asked %d times; %d calls were refused", heard.Load(), refused)
	}
}

// A stored entry that names a neighbour of the same host, as it could be made once,
// and an entry that another application answers for: deleting it is what remains.
func TestAnEntryThatLeadsElsewhereCanStillBeUnlinked(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	w.taken("payroll")
	probe := owner.call("POST", "/orgs/acme/applications/docs/probe", `{}`).want(t, 200, "")
	if probe.text("health", "status") != "mismatch" || probe.text("health", "application") != "payroll" {
		t.Errorf("the probe: %s", probe.raw)
	}
	if me := owner.call("GET", "/orgs/acme/me", "").want(t, 200, ""); me.at("orgRoot", "reachable") != false || me.at("permissions", "org") != nil {
		t.Errorf("me: %s", me.raw)
	}
	owner.call("GET", "/orgs/acme/org/grants", "").want(t, 409, "application_mismatch")
	owner.call("POST", "/orgs/acme/applications/docs/unlink", `{}`).want(t, 200, "")
}

func TestALocalNameIsTheEntrysOwnId(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	owner.call("POST", "/orgs/acme/applications", `{"id":"wiki","name":"W","namespaces":["wiki"]}`).want(t, 201, "")
	owner.call("POST", "/orgs/acme/seats", `{"userId":"u_wiki"}`).want(t, 201, "")
	owner.call("POST", "/orgs/acme/org/grants", `{"subject":"user:u_wiki","pattern":"cloud.applications.*","scope":"cloud.app:wiki"}`).want(t, 201, "")
	one := w.signInAs("u_wiki")
	one.call("POST", "/orgs/acme/applications/wiki/link", `{"relayUrl":"local:docs"}`).want(t, 409, "application_mismatch")
	one.call("GET", "/orgs/acme/applications/wiki/grants", "").want(t, 409, "not_linked")
}
