package hosted

import "testing"

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
