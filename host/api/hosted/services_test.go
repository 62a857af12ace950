package hosted

import "testing"

// A service that holds the key of a gate passes it, also where people pass by other
// ways, and nowhere else.
func TestAServicePassesTheGatesWhoseKeysItHolds(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	people := w.crowd(owner)
	granted, bare := people["granted service"], people["bare service"]
	owner.call("POST", "/orgs/acme/org/roles", `{"id":"approver","name":"a","patterns":["docs.admin.read"]}`).want(t, 201, "")
	owner.call("POST", "/orgs/acme/org/roles", `{"id":"asked","name":"r","patterns":["docs.admin.read"],"requestable":{"stages":[{"kind":"named_approvers","roleId":"approver"}]}}`).want(t, 201, "")
	request := owner.call("POST", "/orgs/acme/requests", `{"roleId":"asked"}`).want(t, 201, "").text("request", "id")

	const path = "/orgs/acme/view-as"
	for _, p := range []party{granted, bare} {
		if r := p.call("POST", path, `{"viewAs":null}`).want(t, 200, ""); r.at("viewAs") != nil || r.text("caller", "kind") != "principal_key" || r.at("seat") != nil {
			t.Errorf("its own me: %s", r.raw)
		}
	}
	for _, view := range []string{`{"kind":"user","userId":"u_portal"}`, `{"kind":"role","roleId":"asked"}`} {
		r := granted.call("POST", path, `{"viewAs":`+view+`}`).want(t, 200, "")
		if held, _ := r.at("permissions", "org").([]any); r.at("viewAs") == nil || len(held) != 0 {
			t.Errorf("a preview narrows to what both hold: %s", r.raw)
		}
		bare.call("POST", path, `{"viewAs":`+view+`}`).want(t, 403, "forbidden")
		people["publisher"].call("POST", path, `{"viewAs":`+view+`}`).want(t, 403, "credential_not_allowed")
	}
	if r := granted.call("GET", "/orgs/acme/me", "").want(t, 200, ""); r.at("viewAs") != nil {
		t.Errorf("a key keeps no preview: %s", r.raw)
	}
	granted.call("GET", "/orgs/acme/requests/"+request, "").want(t, 200, "")
	granted.call("GET", "/orgs/acme/requests/ghost", "").want(t, 404, "not_found")
	there, absent := bare.call("GET", "/orgs/acme/requests/"+request, ""), bare.call("GET", "/orgs/acme/requests/ghost", "")
	there.want(t, 403, "forbidden")
	if said, none := sayings(there), sayings(absent); said != none {
		t.Errorf("whether there is a request is told: %s, %s", said, none)
	}
	for _, of := range []string{"/requests?mine=1", "/requests?decided=1", "/requests/queue", "/applications", ""} { // gated on a seat
		granted.call("GET", "/orgs/acme"+of, "").want(t, 403, "credential_not_allowed")
	}
	for _, end := range []string{"decide", "cancel"} {
		granted.call("POST", "/orgs/acme/requests/"+request+"/"+end, map[string]string{"decide": `{"decision":"approved"}`, "cancel": `{}`}[end]).want(t, 403, "credential_not_allowed")
	}
}
