package hosted

import (
	"net/http"
	"testing"
)

// What the root says of a user counts from its answer on, and while it is silent.
func TestWhomTheRootDeactivatedStaysOutWhileItIsSilent(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	admin := w.crowd(owner)["admin's key"]
	admin.call("GET", "/orgs/acme/seats", "").want(t, 200, "")
	owner.call("PUT", "/orgs/acme/org/users/u_admin/active", `{"active":false}`).want(t, 200, "")
	w.far.CloseClientConnections()
	w.far.Close()
	admin.call("GET", "/orgs/acme/seats", "").want(t, 403, "inactive")
	admin.call("POST", "/orgs/acme/seats", `{"userId":"u_evil"}`).want(t, 403, "inactive")
	admin.call("GET", "/orgs/acme", "").want(t, 403, "inactive")
	owner.call("GET", "/orgs/acme/seats", "").want(t, 200, "")
}

func TestADeactivationCountsFromTheNextRequestOn(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	admin := w.crowd(owner)["admin's key"]
	for _, active := range []string{"false", "true"} {
		status, code := 200, ""
		owner.call("PUT", "/orgs/acme/org/users/u_admin/active", `{"active":`+active+`}`).want(t, 200, "")
		if active == "false" {
			status, code = 403, "inactive"
		}
		admin.call("GET", "/orgs/acme/seats", "").want(t, status, code)
	}
}

func TestAWriteWhoseReadFailsSaysThatNothingWasDone(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	owner.call("POST", "/orgs/acme/applications/docs/audit-optin", `{"optIn":true}`).want(t, 200, "")
	w.far.Config.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	for _, c := range []struct{ method, path, body, outcome string }{
		{"POST", "/org/grants", `{"subject":"user:u_7","pattern":"docs.admin.read"}`, "not_applied"},
		{"PUT", "/org/users/u_7/active", `{"active":false}`, "not_applied"},
		{"POST", "/view-as", `{"viewAs":{"kind":"user","userId":"u_7"}}`, "not_applied"},
		{"POST", "/applications/docs/ingest-audit", `{}`, "unknown"},
	} {
		if r := owner.call(c.method, "/orgs/acme"+c.path, c.body); r.text("error", "name") != "ProviderTransportError" || r.text("error", "outcome") != c.outcome {
			t.Errorf("%s: %s", c.path, r.raw)
		}
	}
	if r := owner.call("GET", "/orgs/acme/org/grants", ""); r.at("error", "outcome") != nil {
		t.Errorf("a read has no outcome: %s", r.raw)
	}
}
