package hosted

import (
	"strings"
	"testing"
)

// A subject where an id is wanted is another user: the write would succeed and touch
// nobody.
func TestSubjectsAreRefusedWhereIDsAreWanted(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	owner.call("POST", "/orgs/acme/org/groups", `{"id":"staff","name":"Staff"}`).want(t, 201, "")
	for _, c := range []struct{ method, path, body, field, advice string }{
		{"POST", "/orgs/acme/org/revokes", `{"userId":"user:ann","pattern":"docs.admin.read"}`, "userId", "write ann"},
		{"POST", "/orgs/acme/org/revokes", `{"userId":"group:staff","pattern":"docs.admin.read"}`, "userId", "is how grants name a group"},
		{"POST", "/orgs/acme/org/grants", `{"subject":"user:user:ann","pattern":"docs.admin.read"}`, "subject", "write ann"},
		{"POST", "/orgs/acme/org/grants/bulk", `{"grants":[{"subject":"user:bob","pattern":"docs.admin.read"},{"subject":"group:group:staff","pattern":"docs.admin.read"}]}`, "grants[1].subject", "write staff"},
		{"PUT", "/orgs/acme/org/users/user:ann/active", `{"active":false}`, "id", "write ann"},
		{"PUT", "/orgs/acme/org/users/user:ann/membership", `{"groupIds":[]}`, "id", "write ann"},
		{"PUT", "/orgs/acme/org/users/ann/membership", `{"groupIds":["group:staff"]}`, "groupIds[0]", "write staff"},
		{"GET", "/orgs/acme/org/users/user:ann", "", "id", "write ann"},
		{"PUT", "/orgs/acme/org/users/user:ann/groups/staff", `{}`, "id", "write ann"},
		{"DELETE", "/orgs/acme/org/users/ann/groups/group:staff", "", "groupId", "write staff"},
		{"PUT", "/orgs/acme/org/users/user:ann/manager", `{"managerUserId":null}`, "id", "write ann"},
		{"PUT", "/orgs/acme/org/users/ann/manager", `{"managerUserId":"user:boss"}`, "managerUserId", "write boss"},
		{"DELETE", "/orgs/acme/org/subjects/user:user:ann", "", "subject", "write ann"},
		{"GET", "/orgs/acme/org/subject-access?userId=user:ann", "", "userId", "write ann"},
		{"GET", "/orgs/acme/org/subject-access?serviceId=service:ci", "", "serviceId", "write ci"},
		{"GET", "/orgs/acme/org/explain?userId=user:ann&key=authz_internal.access.read&scope=*", "", "userId", "write ann"},
		{"POST", "/orgs/acme/seats", `{"userId":"user:ann"}`, "userId", "write ann"},
	} {
		r := owner.call(c.method, c.path, c.body).want(t, 400, "invalid_request")
		if text := string(r.raw); !strings.Contains(text, `"path":"`+c.field+`"`) || !strings.Contains(text, c.advice) {
			t.Errorf("%s %s: %s", c.method, c.path, text)
		}
	}

	// Who has such an id is served as anybody.
	w.grant("user:user:odd")
	owner.call("POST", "/orgs/acme/org/revokes", `{"userId":"user:odd","pattern":"authz_internal.audit.read"}`).want(t, 201, "")
}

func TestGrantsToGroupsThatAreNotStoredWarn(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	r := owner.call("POST", "/orgs/acme/org/grants", `{"subject":"group:staff","pattern":"authz_internal.audit.read"}`).want(t, 201, "")
	if !strings.Contains(string(r.raw), `there is no group \"staff\"`) {
		t.Errorf("no warning: %s", r.raw)
	}
	owner.call("POST", "/orgs/acme/org/groups", `{"id":"staff","name":"Staff"}`).want(t, 201, "")
	if r := owner.call("POST", "/orgs/acme/org/grants", `{"subject":"group:staff","pattern":"authz_internal.audit.read"}`).want(t, 201, ""); r.at("warnings") != nil {
		t.Errorf("a warning for nothing: %s", r.raw)
	}
}
