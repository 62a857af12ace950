package hosted

import (
	"reflect"
	"strings"
	"testing"
)

// What a POST made is where its Location says, as it was answered, with an ETag that a
// conditional read matches.
func TestWhatWasMadeIsWhereItsLocationSays(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	for _, made := range []struct{ path, body, member string }{
		{"org/roles", `{"id":"reader","name":"Reader","patterns":["docs.admin.read"]}`, "role"},
		{"org/roles", `{"id":"seats","name":"Seats","patterns":["cloud.seats.read"]}`, "role"},
		{"org/groups", `{"id":"eng","name":"Engineering"}`, "group"},
		{"org/grants", `{"subject":"group:eng","roleId":"reader"}`, "grant"},
		{"org/grants", `{"subject":"user:u_7","pattern":"cloud.seats.read"}`, "grant"},
		{"org/grants", `{"subject":"user:u_7","pattern":"docs.files.read","scope":"docs.doc:1"}`, "grant"},
		{"org/revokes", `{"userId":"u_7","pattern":"docs.admin.read"}`, "revoke"},
		{"org/revokes", `{"userId":"u_7","pattern":"docs.files.read","scope":"docs.doc:1"}`, "revoke"},
		{"applications/docs/grants", `{"subject":"user:u_8","pattern":"docs.files.read","scope":"docs.doc:2"}`, "grant"},
		{"applications/docs/revokes", `{"userId":"u_8","pattern":"docs.files.read","scope":"docs.doc:2"}`, "revoke"},
		{"seats", `{"userId":"u_7"}`, "seat"},
		{"api-keys", `{"kind":"principal","name":"ci","serviceId":"ci"}`, "apiKey"},
	} {
		t.Run(made.path+" "+made.body, func(t *testing.T) {
			w.t = t
			post := owner.call("POST", "/orgs/acme/"+made.path, made.body).want(t, 201, "")
			path, ours := strings.CutPrefix(post.header.Get("Location"), w.server.URL+base)
			if !ours {
				t.Fatalf("Location %q", post.header.Get("Location"))
			}
			got := owner.call("GET", path, "").want(t, 200, "")
			for _, member := range []string{made.member, "home"} {
				if want := post.at(member); want != nil && !reflect.DeepEqual(got.at(member), want) {
					t.Errorf("%s is %v, and was %v", member, got.at(member), want)
				}
			}
			etag := got.header.Get("ETag")
			if etag == "" {
				t.Fatal("no ETag")
			}
			owner.with("If-None-Match", etag).call("GET", path, "").want(t, 304, "")
			owner.with("If-None-Match", `"other"`).call("GET", path, "").want(t, 200, "")
		})
	}
	w.t = t
	for path, code := range map[string]string{"org/roles/x": "not_found", "org/groups/x": "not_found", "org/grants/x": "not_found", "org/revokes/x": "not_found",
		"org/grants/x?application=ghost": "application_not_found", "seats/u_x": "seat_not_found", "api-keys/x": "api_key_not_found"} {
		owner.call("GET", "/orgs/acme/"+path, "").want(t, 404, code)
	}
	global := owner.call("GET", "/orgs/acme/org/grants?subject=group:eng", "").at("grants").([]any)[0].(map[string]any)["id"].(string)
	owner.call("GET", "/orgs/acme/org/grants/"+global+"?application=docs", "").want(t, 400, "invalid_request")
	owner.call("DELETE", "/orgs/acme/seats/u_7", "").want(t, 204, "")
	if got := owner.call("GET", "/orgs/acme/seats/u_7", "").want(t, 200, ""); got.text("seat", "state") != "removed" {
		t.Errorf("a removed seat: %s", got.raw)
	}
}

func TestASeatsOwnGrantSaysSo(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	seat := owner.call("GET", "/orgs/acme/seats/"+testUser, "").want(t, 200, "")
	got := owner.call("GET", "/orgs/acme/org/explain?userId="+testUser+"&key=cloud.seats.read&scope=*", "").want(t, 200, "")
	grants, _ := got.at("matchedGrants").([]any)
	if len(grants) != 1 {
		t.Fatalf("%s", got.raw)
	}
	grant := grants[0].(map[string]any)
	if grant["id"] != "seat" || !reflect.DeepEqual(grant["provenance"], map[string]any{"kind": "seat"}) || grant["createdAt"] != seat.at("seat", "activatedAt") {
		t.Errorf("%s; the seat is %s", got.raw, seat.raw)
	}
}

func TestTheWaysToSignIn(t *testing.T) {
	w := newWorld(t)
	got := caller{w: w}.call("GET", "/auth/methods", "").want(t, 200, "")
	if string(got.raw) != `{"methods":[{"kind":"bootstrap"}]}` {
		t.Errorf("%s", got.raw)
	}
}
