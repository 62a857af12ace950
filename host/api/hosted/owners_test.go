package hosted

import (
	"testing"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/sdk/authz"
)

// takes are the writes that take from an active owner, by the id of one and of an admin
// key of theirs.
func takes(owner, key string) map[string][3]string {
	return map[string][3]string{
		"an account revoke":           {"POST", "/orgs/acme/org/revokes", `{"userId":"` + owner + `","pattern":"cloud.*"}`},
		"one at an application":       {"POST", "/orgs/acme/org/revokes", `{"userId":"` + owner + `","pattern":"cloud.applications.*","scope":"cloud.app:docs"}`},
		"active: false":               {"PUT", "/orgs/acme/org/users/" + owner + "/active", `{"active":false}`},
		"the deletion of the subject": {"DELETE", "/orgs/acme/org/subjects/user:" + owner, ""},
		"the end of the sessions":     {"DELETE", "/orgs/acme/seats/" + owner + "/sessions", ""},
		"the revocation of a key":     {"DELETE", "/orgs/acme/api-keys/" + key, ""},
		"the removal of the seat":     {"DELETE", "/orgs/acme/seats/" + owner, ""},
		"a lesser kind of seat":       {"PATCH", "/orgs/acme/seats/" + owner, `{"kind":"portal"}`},
	}
}

// lasting are those that the last owner who can act is kept from, by anybody.
var lasting = []string{"an account revoke", "one at an application", "active: false", "the deletion of the subject", "the removal of the seat", "a lesser kind of seat"}

func TestOnlyAnOwnerTakesFromAnActiveOwner(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	people := w.crowd(owner)
	w.grant("user:u_admin") // who may then do all that the org root gates
	key := owner.call("POST", "/orgs/acme/api-keys", `{"kind":"admin","name":"o"}`).want(t, 201, "").text("apiKey", "id")
	for what, c := range takes(testUser, key) {
		for _, name := range []string{"admin", "admin's key", "granted service"} {
			if what == "a lesser kind of seat" && people[name].kind == service.CallerPrincipal {
				continue // no seat, no principal key
			}
			r := people[name].call(c[0], c[1], c[2])
			if r.status != 403 || r.code() != "owner_required" {
				t.Errorf("%s by %s: %d %s", what, name, r.status, r.raw)
			}
		}
	}
	owner.call("GET", "/orgs/acme/seats", "").want(t, 200, "")

	// From who is no owner they take as before.
	people["admin"].call("POST", "/orgs/acme/org/revokes", `{"userId":"u_portal","pattern":"cloud.*"}`).want(t, 201, "")
	people["admin"].call("PUT", "/orgs/acme/org/users/u_portal/active", `{"active":false}`).want(t, 200, "")
	people["admin"].call("DELETE", "/orgs/acme/seats/u_portal/sessions", "").want(t, 204, "")
	// What the application itself writes stands.
	w.must(w.app.SetUserActive(t.Context(), testUser, false, authz.AdminProvenance("application")))
	owner.call("GET", "/orgs/acme/seats", "").want(t, 200, "") // by bootstrap
	w.signInAs(testUser).call("GET", "/orgs/acme/seats", "").want(t, 403, "inactive")
}

func TestTheLastOwnerWhoCanActStays(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	for _, what := range lasting {
		c := takes(testUser, "")[what]
		if r := owner.call(c[0], c[1], c[2]); r.status != 409 || r.code() != "last_owner" {
			t.Errorf("%s of the only owner: %d %s", what, r.status, r.raw)
		}
	}
	owner.call("POST", "/orgs/acme/seats", `{"userId":"u_two","kind":"owner"}`).want(t, 201, "")
	for _, what := range lasting { // an invited owner cannot act yet
		c := takes(testUser, "")[what]
		if r := owner.call(c[0], c[1], c[2]); r.status != 409 || r.code() != "last_owner" {
			t.Errorf("%s beside an invited owner: %d %s", what, r.status, r.raw)
		}
	}
	two := w.signInAs("u_two")
	w.grant("user:u_two")
	revoke := owner.call("POST", "/orgs/acme/org/revokes", `{"userId":"u_two","pattern":"cloud.billing.read"}`).want(t, 201, "").text("revoke", "id")
	for _, what := range lasting { // one with revokes cannot restore everything
		c := takes(testUser, "")[what]
		for name, who := range map[string]caller{"themself": owner, "the other": two} {
			if r := who.call(c[0], c[1], c[2]); r.status != 409 || r.code() != "last_owner" {
				t.Errorf("%s by %s beside an owner with a revoke: %d %s", what, name, r.status, r.raw)
			}
		}
	}
	owner.call("DELETE", "/orgs/acme/org/revokes/"+revoke, "").want(t, 204, "")
	two.call("PUT", "/orgs/acme/org/users/"+testUser+"/active", `{"active":false}`).want(t, 200, "")
	two.call("PUT", "/orgs/acme/org/users/u_two/active", `{"active":false}`).want(t, 409, "last_owner")
	two.call("PUT", "/orgs/acme/org/users/"+testUser+"/active", `{"active":true}`).want(t, 200, "")
	two.call("DELETE", "/orgs/acme/seats/u_two", "").want(t, 204, "")
}

// Two owners who deactivate each other at the same time: one stays.
func TestTwoOwnersDoNotShutEachOtherOut(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	owner.call("POST", "/orgs/acme/seats", `{"userId":"u_two","kind":"owner"}`).want(t, 201, "")
	two := w.signInAs("u_two")
	w.grant("user:u_two")
	for range 10 {
		done := make(chan reply, 2)
		go func() { done <- owner.call("PUT", "/orgs/acme/org/users/u_two/active", `{"active":false}`) }()
		go func() { done <- two.call("PUT", "/orgs/acme/org/users/"+testUser+"/active", `{"active":false}`) }()
		first, second := <-done, <-done
		if first.status == 200 && second.status == 200 {
			t.Fatal("both owners are inactive now")
		}
		for _, user := range []string{testUser, "u_two"} {
			w.must(w.app.SetUserActive(t.Context(), user, true, authz.AdminProvenance("application")))
		}
		w.clock.Add(60_000)
	}
}

// Whatever an application and other owners did to them, an owner with the bootstrap
// credential lets somebody in again, and does nothing else.
func TestABootstrapSessionIsTheWayBack(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	owner.call("POST", "/orgs/acme/seats", `{"userId":"u_two","kind":"owner"}`).want(t, 201, "")
	two := w.signInAs("u_two")
	two.call("POST", "/orgs/acme/org/revokes", `{"userId":"`+testUser+`","pattern":"cloud.*"}`).want(t, 201, "")
	revokes := two.call("POST", "/orgs/acme/org/revokes", `{"userId":"u_8","pattern":"cloud.*"}`).want(t, 201, "").text("revoke", "id")
	for _, user := range []string{testUser, "u_two"} {
		w.must(w.app.SetUserActive(t.Context(), user, false, authz.AdminProvenance("application")))
	}
	ordinary := w.signInAs(testUser)
	ordinary.call("POST", "/orgs/acme/seats", `{"userId":"u_three","kind":"owner"}`).want(t, 403, "inactive")

	back := w.signIn("acme")
	for _, c := range []struct {
		method, path, body string
		status             int
		code               string
	}{
		{"GET", "/seats", "", 200, ""},
		{"POST", "/seats", `{"userId":"u_four"}`, 201, ""},
		{"PATCH", "/seats/u_four", `{"kind":"admin"}`, 200, ""},
		{"DELETE", "/seats/u_four/sessions", "", 204, ""},
		{"DELETE", "/seats/u_four", "", 204, ""},
		{"GET", "/api-keys", "", 200, ""},
		{"POST", "/api-keys", `{"kind":"principal","name":"p","serviceId":"ci"}`, 201, ""},
		{"DELETE", "/org/revokes/" + revokes, "", 204, ""},
		{"POST", "/org/revokes", `{"userId":"u_8","pattern":"cloud.billing.*"}`, 201, ""},
		{"POST", "/org/revokes", `{"userId":"` + testUser + `","pattern":"cloud.billing.*"}`, 403, "inactive"},
		{"POST", "/org/revokes", `{"userId":"u_8","pattern":"docs.*"}`, 403, "inactive"},
		{"POST", "/org/grants", `{"subject":"user:u_8","pattern":"cloud.billing.*"}`, 403, "inactive"},
		{"GET", "/me", "", 403, "inactive"},
		{"GET", "", "", 403, "inactive"},
		{"PATCH", "", `{"name":"Mine"}`, 403, "inactive"},
		{"GET", "/billing/usage", "", 403, "inactive"},
		{"POST", "/applications/docs/unlink", "{}", 403, "inactive"},
		{"PUT", "/org/users/" + testUser + "/active", `{"active":true}`, 403, "inactive"},
		{"POST", "/seats", `{"userId":"u_three","kind":"owner"}`, 201, ""},
	} {
		if r := back.call(c.method, "/orgs/acme"+c.path, c.body); r.status != c.status || r.code() != c.code {
			t.Errorf("%s %s %s: %d %s, want %d %s", c.method, c.path, c.body, r.status, r.raw, c.status, c.code)
		}
	}
	three := w.signInAs("u_three")
	w.grant("user:u_three")
	three.call("PUT", "/orgs/acme/org/users/"+testUser+"/active", `{"active":true}`).want(t, 200, "")
	w.clock.Add(60_000)
	for _, v := range three.call("GET", "/orgs/acme/org/revokes?userId="+testUser, "").want(t, 200, "").at("revokes").([]any) {
		three.call("DELETE", "/orgs/acme/org/revokes/"+v.(map[string]any)["id"].(string), "").want(t, 204, "")
	}
	w.signInAs(testUser).call("GET", "/orgs/acme/billing/usage", "").want(t, 200, "")
}

// A break-glass user who is no owner of the org, or whose seat is another's kind, is
// judged as everybody.
func TestABootstrapSessionOfNoOwnerRecoversNothing(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	owner.call("POST", "/orgs/acme/seats", `{"userId":"u_two","kind":"owner"}`).want(t, 201, "")
	two := w.signInAs("u_two")
	back := w.signIn("acme")
	two.call("PATCH", "/orgs/acme/seats/"+testUser, `{"kind":"admin"}`).want(t, 200, "")
	two.call("POST", "/orgs/acme/org/revokes", `{"userId":"`+testUser+`","pattern":"cloud.seats.*"}`).want(t, 201, "")
	back.call("GET", "/orgs/acme/seats", "").want(t, 403, "forbidden")
	back.call("POST", "/orgs/acme/seats", `{"userId":"u_9"}`).want(t, 403, "forbidden")
	back.call("GET", "/orgs/acme/api-keys", "").want(t, 200, "")
}
