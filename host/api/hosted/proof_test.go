package hosted

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/authzhost/authz/host/service"
)

// asksProof are the endpoints that a session may call only soon after its sign-in,
// whatever it sends.
var asksProof = []string{
	"PATCH /orgs/{org}",
	"POST /orgs/{org}/applications/{app}/link",
	"POST /orgs/{org}/applications/{app}/unlink",
	"DELETE /orgs/{org}/applications/{app}",
	"POST /orgs/{org}/applications/{app}/federate",
	"POST /orgs/{org}/applications/{app}/demote",
	"POST /orgs/{org}/api-keys",
	"POST /orgs/{org}/api-keys/{id}/rotate",
	"DELETE /orgs/{org}/api-keys/{id}",
}

// Every endpoint by every kind of credential, sixteen minutes after the sessions
// were opened: proof_required is for sessions that pass the gate, where keys, the
// org and links are changed, and for nothing and nobody else.
func TestAnOldSignInChangesNoKeysAndNoLinks(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	people := w.crowd(owner)
	type call struct {
		endpoint           *endpoint
		path, absent, body string
	}
	var calls []call
	for n, e := range endpoints().list {
		if !e.inOrg() {
			continue
		}
		w.clock.Add(500)
		values, body := w.existing(t, e, owner, people["owner"], n)
		there := pathOf(e, values)
		for _, name := range []string{"app", "id"} {
			values[name] = "ghost"
		}
		calls = append(calls, call{e, there, pathOf(e, values), body})
	}
	w.clock.Add((16 * time.Minute).Milliseconds())
	asked := 0
	for _, c := range calls {
		e := c.endpoint
		for _, name := range slices.Sorted(maps.Keys(people)) {
			p := people[name]
			if !e.Gate.Admits(p.kind) {
				continue
			}
			w.clock.Add(500)
			holds := p.account
			if e.Gate.Kind == service.GateOwner {
				holds = p.owner
			}
			if !holds || p.kind != service.CallerSession || !slices.Contains(asksProof, e.Method+" "+e.Path) {
				if got := p.call(e.Method, c.path, c.body); got.code() == "proof_required" {
					t.Errorf("%s %s by %s: %d %s", e.Method, c.path, name, got.status, got.raw)
				}
				continue
			}
			asked++
			for _, path := range []string{c.path, c.absent} { // whether it is there or not
				got := p.call(e.Method, path, c.body).want(t, 403, "proof_required")
				if got.text("error", "name") != "CloudError" || !strings.Contains(got.text("error", "message"), "sign in again") {
					t.Errorf("%s %s by %s: %s", e.Method, path, name, got.raw)
				}
			}
		}
	}
	if want := 2*len(asksProof) - 1; asked != want { // the owner and the admin, to whom the org itself is closed
		t.Errorf("a proof was asked for %d times, not %d", asked, want)
	}
}

// Of seats only what makes or ends an owner needs a proof, and nobody learns by it
// that they are none.
func TestAnOldSignInMakesAndEndsNoOwners(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	people := w.crowd(owner)
	for user, kind := range map[string]string{"u_second": "owner", "u_plain": "portal", "u_gone": "portal"} {
		owner.call("POST", "/orgs/acme/seats", `{"userId":"`+user+`","kind":"`+kind+`"}`).want(t, 201, "")
	}
	w.clock.Add((16 * time.Minute).Milliseconds())
	for _, c := range []struct {
		name, method, path, body string
		owners                   bool
		status                   int
	}{
		{"an owner", "POST", "/seats", `{"userId":"u_next","kind":"owner"}`, true, 201},
		{"a portal seat", "POST", "/seats", `{"userId":"u_other"}`, false, 201},
		{"promotion", "PATCH", "/seats/u_plain", `{"kind":"owner"}`, true, 200},
		{"demotion", "PATCH", "/seats/u_second", `{"kind":"portal"}`, true, 200},
		{"an owner's e-mail", "PATCH", "/seats/u_plain", `{"email":"a@example.org"}`, false, 200},
		{"the end of an owner", "DELETE", "/seats/u_plain", "", true, 204},
		{"the end of a portal seat", "DELETE", "/seats/u_gone", "", false, 204},
	} {
		path := "/orgs/acme" + c.path
		if c.owners {
			owner.call(c.method, path, c.body).want(t, 403, "proof_required")
			people["admin"].call(c.method, path, c.body).want(t, 403, "owner_required")
			people["portal"].call(c.method, path, c.body).want(t, 403, "forbidden")
			people["owner's key"].call(c.method, path, c.body).want(t, c.status, "")
			continue
		}
		owner.call(c.method, path, c.body).want(t, c.status, "")
	}
}

// Signing in again is all it takes, a minute short of the limit nothing is asked,
// and a refusal is not kept for the Idempotency-Key.
func TestAProofLastsFifteenMinutesAndIsRenewedBySigningIn(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	body := `{"kind":"principal","name":"p","serviceId":"ci"}`
	w.clock.Add((15 * time.Minute).Milliseconds())
	owner.call("POST", "/orgs/acme/api-keys", body).want(t, 201, "")
	w.clock.Add(1)
	keyed := owner.with("Idempotency-Key", "k")
	keyed.call("POST", "/orgs/acme/api-keys", body).want(t, 403, "proof_required")
	owner.call("GET", "/orgs/acme/api-keys", "").want(t, 200, "")
	w.signIn("acme").with("Idempotency-Key", "k").call("POST", "/orgs/acme/api-keys", body).want(t, 201, "")
	keyed.call("POST", "/orgs/acme/api-keys", body).want(t, 403, "proof_required") // nor is the good answer told
}
