package hosted

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// ids are the values of a member of the rows of a list.
func (r reply) ids(list, name string) string {
	var out []string
	rows, _ := r.at(list).([]any)
	for _, row := range rows {
		m, _ := row.(map[string]any)
		if inner, ok := m["request"].(map[string]any); ok {
			m = inner
		}
		id, _ := m[name].(string)
		out = append(out, id)
	}
	return strings.Join(out, " ")
}

func TestGroupsAndUsersOverHTTP(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	made := owner.call("POST", "/orgs/acme/org/groups", `{"id":"eng","name":"Engineering"}`).want(t, 201, "")
	if got, want := made.header.Get("Location"), w.server.URL+"/api/v1/orgs/acme/org/groups/eng"; got != want || made.header.Get("ETag") == "" {
		t.Errorf("Location %q, want %q; ETag %q", got, want, made.header.Get("ETag"))
	}
	owner.call("POST", "/orgs/acme/org/groups", `{"id":"core","name":"Core","parents":["eng"]}`).want(t, 201, "")
	owner.call("POST", "/orgs/acme/org/groups", `{"id":"core","name":"Core"}`).want(t, 409, "conflict")
	cycle := owner.call("PUT", "/orgs/acme/org/groups/eng/parents", `{"parents":["core"]}`).want(t, 409, "graph_cycle")
	if cycle.text("error", "name") != "ProviderWriteRejectedError" || !strings.HasPrefix(cycle.text("error", "message"), "cycle: ") {
		t.Errorf("cycle: %s", cycle.raw)
	}
	etag := made.text("group", "etag")
	owner.with("If-Match", `"other"`).call("PATCH", "/orgs/acme/org/groups/eng", `{"name":"E"}`).want(t, 409, "precondition_failed")
	owner.with("If-Match", etag).call("PATCH", "/orgs/acme/org/groups/eng", `{"name":"E","description":"d"}`).want(t, 200, "")
	owner.with("If-Match", etag).call("DELETE", "/orgs/acme/org/groups/eng", "").want(t, 409, "precondition_failed")
	if r := owner.call("PATCH", "/orgs/acme/org/groups/eng", `{"description":null}`).want(t, 200, ""); r.at("group", "description") != nil {
		t.Errorf("null did not clear: %s", r.raw)
	}

	owner.call("PUT", "/orgs/acme/org/users/u_7/membership", `{"groupIds":["core"]}`).want(t, 200, "")
	owner.call("PUT", "/orgs/acme/org/users/u_7/membership", `{"groupIds":["nothing"]}`).want(t, 404, "not_found")
	owner.call("PUT", "/orgs/acme/org/users/u_7/manager", `{}`).want(t, 400, "invalid_request")
	owner.call("PUT", "/orgs/acme/org/users/u_7/manager", `{"managerUserId":"u_8"}`).want(t, 200, "")
	owner.call("PUT", "/orgs/acme/org/users/u_8/manager", `{"managerUserId":"u_7"}`).want(t, 409, "graph_cycle")
	owner.call("PUT", "/orgs/acme/org/users/u_8/active", `{"active":false}`).want(t, 200, "")
	if got := owner.call("GET", "/orgs/acme/org/groups/core/members", ""); len(got.at("userIds").([]any)) != 1 {
		t.Errorf("members: %s", got.raw)
	}
	if got := owner.call("GET", "/orgs/acme/org/groups?limit=1", ""); got.ids("groups", "id") != "core" || got.text("nextCursor") == "" {
		t.Errorf("groups: %s", got.raw)
	} else if got = owner.call("GET", "/orgs/acme/org/groups?limit=1&cursor="+got.text("nextCursor"), ""); got.ids("groups", "id") != "eng" {
		t.Errorf("second page: %s", got.raw)
	}
	if got := owner.call("GET", "/orgs/acme/org/users", ""); got.ids("users", "userId") != "u_7 u_8 "+testUser || got.at("complete") != false {
		t.Errorf("users: %s", got.raw)
	}
	if got := owner.call("GET", "/orgs/acme/org/users?active=false", ""); got.ids("users", "userId") != "u_8" {
		t.Errorf("inactive users: %s", got.raw)
	}
	if got := owner.call("GET", "/orgs/acme/org/reporting-edges", ""); got.ids("edges", "managerUserId") != "u_8" {
		t.Errorf("edges: %s", got.raw)
	}
	owner.call("PUT", "/orgs/acme/org/users/u_7/manager", `{"managerUserId":null}`).want(t, 200, "")
	if got := owner.call("GET", "/orgs/acme/org/subject-access?userId=u_7", "").want(t, 200, ""); !strings.Contains(string(got.raw), `"group:eng"`) {
		t.Errorf("closure: %s", got.raw)
	}
	owner.call("GET", "/orgs/acme/org/subject-access", "").want(t, 400, "invalid_parameter")
	owner.call("GET", "/orgs/acme/org/subject-access?userId=u&serviceId=s", "").want(t, 400, "invalid_parameter")
	if got := owner.call("GET", "/orgs/acme/org/audit?action=user.set_manager", ""); got.ids("events", "actor") != testUser+" "+testUser {
		t.Errorf("the actor of a relayed write: %s", got.raw)
	}
}

func TestRolesExplainAndCatalogOverHTTP(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	owner.call("POST", "/orgs/acme/applications/docs/publish", w.publish).want(t, 201, "")
	owner.call("POST", "/orgs/acme/applications/docs/publish", w.publish).want(t, 200, "")
	made := owner.call("POST", "/orgs/acme/org/roles", `{"id":"reader","name":"R","patterns":["docs.admin.read"],"description":"d"}`).want(t, 201, "")
	owner.with("If-Match", made.text("role", "etag")).call("PATCH", "/orgs/acme/org/roles/reader", `{"description":null,"name":"S"}`).want(t, 200, "")
	owner.with("If-Match", made.text("role", "etag")).call("DELETE", "/orgs/acme/org/roles/reader", "").want(t, 409, "precondition_failed")
	owner.call("POST", "/orgs/acme/org/roles", `{"name":"R","patterns":["docs.admin.read","cloud.seats.read"]}`).want(t, 400, "validation")
	seats := owner.call("POST", "/orgs/acme/org/roles", `{"id":"seats","name":"S","patterns":["cloud.seats.read"]}`).want(t, 201, "")
	owner.with("If-Match", seats.text("role", "etag")).call("PATCH", "/orgs/acme/org/roles/seats", `{"name":"T"}`).want(t, 200, "")
	if got := owner.call("GET", "/orgs/acme/org/roles", "").want(t, 200, ""); !strings.Contains(got.ids("roles", "id"), "reader seats") {
		t.Errorf("roles: %s", got.raw)
	}
	owner.call("POST", "/orgs/acme/org/grants", `{"subject":"user:u_7","roleId":"reader"}`).want(t, 201, "")
	owner.call("DELETE", "/orgs/acme/org/roles/reader", "").want(t, 409, "conflict")
	if got := owner.call("GET", "/orgs/acme/org/explain?userId=u_7&key=docs.admin.read&scope=*", "").want(t, 200, ""); got.at("allowed") != true {
		t.Errorf("explain: %s", got.raw)
	}
	owner.call("GET", "/orgs/acme/org/explain?userId=u_7&key=docs.files.read&scope=docs.doc:1", "").want(t, 200, "")
	if got := owner.call("GET", "/orgs/acme/org/who-can?key=docs.admin.read", "").want(t, 200, ""); !strings.Contains(got.ids("subjects", "subject"), "user:u_7") || got.at("nextCursor") != nil {
		t.Errorf("who-can: %s", got.raw)
	}
	if got := owner.call("GET", "/orgs/acme/org/where-can?userId=u_7&key=docs.admin.read", "").want(t, 200, ""); got.ids("scopes", "scope") != "*" || got.at("expanded") == nil {
		t.Errorf("where-can: %s", got.raw)
	}
	if got := owner.call("GET", "/orgs/acme/org/what-can?userId=u_7&application=docs", "").want(t, 200, ""); got.ids("keys", "key") != "docs.admin.read" {
		t.Errorf("what-can: %s", got.raw)
	}
	owner.call("GET", "/orgs/acme/org/what-can?userId=u_7&application=nothing", "").want(t, 404, "application_not_found")
	owner.call("GET", "/orgs/acme/org/who-can?key=docs.admin.reed", "").want(t, 500, "UnknownPermissionError")
	owner.call("GET", "/orgs/acme/org/who-can?key=cloud.seats.read", "").want(t, 501, "unsupported")
	owner.call("GET", "/orgs/acme/org/who-can?key=mail.files.read", "").want(t, 400, "validation")
	if got := owner.call("POST", "/orgs/acme/org/plan", `{"with":{"grants":[{"subject":"user:u_9","roleId":"reader"}]}}`).want(t, 200, ""); got.ids("changes", "subject") != "user:u_9" {
		t.Errorf("plan: %s", got.raw)
	}
	owner.call("POST", "/orgs/acme/org/plan", `{"with":{"grants":[{"subject":"user:u_9","roleId":"raeder"}]}}`).want(t, 404, "not_found")
	owner.call("POST", "/orgs/acme/org/plan", `{"with":{"grant":[]}}`).want(t, 400, "invalid_request")
	if got := owner.call("GET", "/orgs/acme/me/explain?key=docs.admin.read&scope=*", "").want(t, 200, ""); got.at("allowed") != false || got.at("by") == nil {
		t.Errorf("me/explain: %s", got.raw)
	}
	if got := owner.call("GET", "/orgs/acme/me/explain?key=authz_internal.access.read&scope=*", "").want(t, 200, ""); got.at("allowed") != true || strings.Contains(string(got.raw), "provenance") {
		t.Errorf("me/explain: %s", got.raw)
	}
	unknown := owner.call("GET", "/orgs/acme/org/explain?userId=u_7&key=docs.admin.reed&scope=*", "").want(t, 500, "UnknownPermissionError")
	if unknown.text("error", "permission") != "docs.admin.reed" || unknown.at("error", "code") != nil {
		t.Errorf("unknown key: %s", unknown.raw)
	}
	if got := owner.call("GET", "/orgs/acme/org/catalog", "").want(t, 200, ""); got.ids("namespaces", "namespace") != "docs" {
		t.Errorf("catalog: %s", got.raw)
	}
	bulk := owner.call("POST", "/orgs/acme/org/grants/bulk", `{"grants":[{"subject":"user:u_1","pattern":"docs.admin.read"},{"subject":"user:u_2","pattern":"docs.admin.read"}]}`).want(t, 201, "")
	if bulk.text("home", "kind") != "root" || len(bulk.at("grants").([]any)) != 2 {
		t.Errorf("bulk: %s", bulk.raw)
	}
	var told []string
	for query := "?key=docs.admin.read&limit=1"; query != ""; {
		page := owner.call("GET", "/orgs/acme/org/who-can"+query, "").want(t, 200, "")
		told = append(told, page.ids("subjects", "subject"))
		query = ""
		if page.at("nextCursor") != nil {
			query = "?key=docs.admin.read&limit=1&cursor=" + page.text("nextCursor")
			owner.call("GET", "/orgs/acme/org/who-can?key=docs.files.read&limit=1&cursor="+page.text("nextCursor"), "").want(t, 400, "invalid_cursor")
		}
	}
	if got := strings.Join(told, " "); !strings.Contains(got, "user:u_1 user:u_2 user:u_7") {
		t.Errorf("who-can in pages of one: %s", got)
	}
	owner.call("POST", "/orgs/acme/org/grants/bulk", `{"grants":[{"subject":"user:u_1","pattern":"docs.admin.read"},{"subject":"user:u_2","pattern":"cloud.seats.read"}]}`).want(t, 400, "mixed_homes")
	at := owner.call("POST", "/orgs/acme/org/grants", `{"subject":"user:u_1","pattern":"docs.files.read","scope":"docs.doc:1"}`).want(t, 201, "")
	if where := at.header.Get("Location"); !strings.HasSuffix(where, at.text("grant", "id")+"?application=docs") {
		t.Errorf("an instance row is at %q", where)
	} else {
		owner.call("DELETE", strings.TrimPrefix(where, w.server.URL+base), "").want(t, 204, "")
	}
	if got := owner.call("GET", "/orgs/acme/org/grants?subject=user:u_1&homes=all", "").want(t, 200, ""); got.ids("grants", "pattern") != "docs.admin.read" || len(got.at("unavailable").([]any)) != 0 {
		t.Errorf("of all homes: %s", got.raw)
	}
	owner.call("GET", "/orgs/acme/org/revokes?userId=u_1&homes=all", "").want(t, 200, "")
	for query, want := range map[string]string{
		"order=-createdAt&actor=u_root&pattern=docs.admin.read": "docs.admin.read docs.admin.read",
		"createdFrom=1900000000000":                             "", "expires=true": "", "order=expiresAt": "", "expires=false&roleId=nobody": "",
	} {
		if got := owner.call("GET", "/orgs/acme/org/grants?"+query, "").want(t, 200, ""); got.ids("grants", "pattern") != want {
			t.Errorf("%s: %s", query, got.raw)
		}
	}
	first := owner.call("GET", "/orgs/acme/org/grants?order=-createdAt&limit=1", "").want(t, 200, "")
	owner.call("GET", "/orgs/acme/org/grants?limit=1&cursor="+first.at("nextCursor").(string), "").want(t, 400, "invalid_cursor") // it is of its order
	second := owner.call("GET", "/orgs/acme/org/grants?order=-createdAt&limit=1&cursor="+first.at("nextCursor").(string), "").want(t, 200, "")
	if a, b := first.ids("grants", "id"), second.ids("grants", "id"); a <= b || b == "" { // of one instant the greater id first
		t.Errorf("%q before %q", a, b)
	}
	for _, wrong := range []string{"grants?order=createdAt", "grants?createdFrom=2&createdTo=2", "grants?expiresFrom=2&expiresTo=1", "grants?expires=false&expiresTo=1", "grants?expires=false&order=expiresAt",
		"grants?pattern=docs..read", "grants?pattern=docs.*&roleId=r", "grants?actr=ann", "grants?scope=*&homes=all", "grants?subject=user:u_1&homes=all&scope=*", "grants?subject=user:u_1&homes=some", "revokes?homes=all"} {
		owner.call("GET", "/orgs/acme/org/"+wrong, "").want(t, 400, "invalid_parameter")
	}
	for _, grants := range []string{"org/grants?", "org/grants?homes=all&", "applications/docs/grants?"} {
		if got := owner.call("GET", "/orgs/acme/"+grants+"actor=user:ann", "").want(t, 400, "invalid_request"); !strings.Contains(string(got.raw), "write ann") {
			t.Errorf("%s", got.raw)
		}
	}
	if got := owner.call("GET", "/orgs/acme/org/grants/count?subject=user:u_1", ""); got.at("count") != float64(1) {
		t.Errorf("count: %s", got.raw)
	}
	if got := owner.call("DELETE", "/orgs/acme/org/subjects/user:u_1", "").want(t, 200, ""); got.at("deletedGrants") != float64(1) {
		t.Errorf("delete subject: %s", got.raw)
	}
	owner.call("GET", "/orgs/acme/org/epoch", "").want(t, 200, "")
}

func TestRequestsAndTheQueueOverHTTP(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	people := w.crowd(owner)
	portal, admin := people["portal"], people["admin"]
	owner.call("POST", "/orgs/acme/org/roles", `{"id":"approver","name":"a","patterns":["docs.admin.read"]}`).want(t, 201, "")
	owner.call("POST", "/orgs/acme/org/roles", `{"id":"asked","name":"r","patterns":["docs.admin.read"],"requestable":{"stages":[{"kind":"named_approvers","roleId":"approver"}]}}`).want(t, 201, "")
	owner.call("POST", "/orgs/acme/org/grants", `{"subject":"user:u_admin","roleId":"approver"}`).want(t, 201, "")

	ask := func() (string, string) {
		made := portal.call("POST", "/orgs/acme/requests", `{"roleId":"asked"}`).want(t, 201, "")
		if made.text("request", "requesterUserId") != "u_portal" || made.at("application") != nil {
			t.Fatalf("submitted: %s", made.raw)
		}
		return made.text("request", "id"), strings.TrimPrefix(made.header.Get("Location"), w.server.URL+base)
	}
	id, where := ask()
	portal.call("POST", "/orgs/acme/requests", `{"roleId":"asked","requesterUserId":"u_7"}`).want(t, 400, "invalid_request")
	portal.call("POST", "/orgs/acme/requests", `{}`).want(t, 400, "invalid_request")
	for name, c := range map[string]caller{"requester": portal.caller, "approver": admin.caller, "reader": owner} {
		if got := c.call("GET", where, "").want(t, 200, ""); got.text("request", "id") != id {
			t.Errorf("%s: %s", name, got.raw)
		}
	}
	other := owner.call("POST", "/orgs/acme/requests", `{"roleId":"asked"}`).want(t, 201, "").text("request", "id")
	there := sayings(portal.call("GET", "/orgs/acme/requests/"+other, "").want(t, 403, "forbidden"))
	if none := sayings(portal.call("GET", "/orgs/acme/requests/ghost", "").want(t, 403, "forbidden")); there != none {
		t.Errorf("a request of others is told from none: %s, %s", there, none)
	}
	owner.call("GET", "/orgs/acme/requests/ghost", "").want(t, 404, "not_found")

	owner.call("POST", "/orgs/acme/applications", `{"id":"wiki","name":"Wiki","namespaces":["wiki"]}`).want(t, 201, "")
	for action, body := range map[string]string{"decide": `{"decision":"approved","application":"A"}`, "cancel": `{"application":"A"}`} {
		path := "/orgs/acme/requests/ghost/" + action
		in := func(application string) string { return strings.Replace(body, `"A"`, `"`+application+`"`, 1) }
		owner.call("POST", path, in("nowhere")).want(t, 404, "application_not_found")
		owner.call("POST", path, in("wiki")).want(t, 409, "not_linked")
		// A request of others is told neither from none nor from one of an application
		// that there is not.
		of := sayings(portal.call("POST", strings.Replace(path, "ghost", other, 1), in("")).want(t, 400, "validation"))
		for _, application := range []string{"", "docs", "wiki", "nowhere"} {
			for _, id := range []string{"ghost", other} {
				if got := sayings(portal.call("POST", strings.Replace(path, "ghost", id, 1), in(application)).want(t, 400, "validation")); got != of {
					t.Errorf("%s of %s in %q says %s, of a request of others %s", action, id, application, got, of)
				}
			}
		}
		owner.call("POST", path, in("docs")).want(t, 404, "not_found")                                   // who may read requests
		portal.call("POST", strings.Replace(path, "ghost", id, 1), in("docs")).want(t, 404, "not_found") // whose own is elsewhere
	}
	for _, application := range []string{"docs", "wiki", "nowhere"} {
		if got := sayings(portal.call("GET", "/orgs/acme/requests/ghost?application="+application, "").want(t, 403, "forbidden")); got != there {
			t.Errorf("the application %s is told: %s", application, got)
		}
	}

	portal.call("GET", "/orgs/acme/requests", "").want(t, 403, "forbidden")
	portal.call("GET", "/orgs/acme/requests?mine=0", "").want(t, 403, "forbidden")
	if got := portal.call("GET", "/orgs/acme/requests?mine=1&requesterUserId="+testUser, "").want(t, 200, ""); got.ids("entries", "id") != id {
		t.Errorf("mine: %s", got.raw)
	}
	for _, service := range []string{"bare service", "granted service"} {
		people[service].call("GET", "/orgs/acme/requests?mine=1", "").want(t, 403, "credential_not_allowed")
	}
	people["granted service"].call("GET", "/orgs/acme/requests", "").want(t, 200, "")
	if got := admin.call("GET", "/orgs/acme/requests/queue", "").want(t, 200, ""); len(strings.Fields(got.ids("entries", "id"))) != 2 || len(got.at("unavailable").([]any)) != 0 {
		t.Errorf("queue: %s", got.raw)
	}
	if got := portal.call("GET", "/orgs/acme/requests/queue", "").want(t, 200, ""); got.ids("entries", "id") != "" {
		t.Errorf("queue of one who decides nothing: %s", got.raw)
	}

	portal.call("POST", "/orgs/acme/requests/"+id+"/decide", `{"decision":"approved"}`).want(t, 400, "validation")
	owner.call("POST", "/orgs/acme/requests/"+other+"/decide", `{"decision":"approved"}`).want(t, 400, "validation")
	admin.call("POST", "/orgs/acme/requests/"+id+"/decide", `{"decision":"perhaps"}`).want(t, 400, "invalid_request")
	for who, may := range map[string]party{"true": admin, "false": portal} {
		if got := may.call("GET", "/orgs/acme/requests/"+id, "").want(t, 200, ""); fmt.Sprint(got.at("mayDecide")) != who {
			t.Errorf("mayDecide, of whom %s is expected: %s", who, got.raw)
		}
	}
	if got := admin.call("GET", "/orgs/acme/requests?decided=1", "").want(t, 200, ""); got.ids("entries", "id") != "" {
		t.Errorf("decided, before: %s", got.raw)
	}
	if got := admin.call("POST", "/orgs/acme/requests/"+id+"/decide", `{"decision":"approved","note":"n"}`).want(t, 200, ""); got.text("request", "state") != "approved" {
		t.Errorf("decided: %s", got.raw)
	}
	admin.call("POST", "/orgs/acme/requests/"+id+"/decide", `{"decision":"denied"}`).want(t, 409, "conflict")
	if got := admin.call("GET", "/orgs/acme/requests?decided=1", "").want(t, 200, ""); got.ids("entries", "id") != id {
		t.Errorf("decided: %s", got.raw)
	}
	if got := portal.call("GET", "/orgs/acme/requests?decided=1", "").want(t, 200, ""); got.ids("entries", "id") != "" {
		t.Errorf("decided by one who decides nothing: %s", got.raw)
	}
	if got := admin.call("GET", "/orgs/acme/requests/"+id, "").want(t, 200, ""); got.at("mayDecide") != false {
		t.Errorf("what is decided: %s", got.raw)
	}
	portal.call("GET", "/orgs/acme/requests?decided=1&mine=1", "").want(t, 400, "invalid_parameter")
	at := int64(owner.call("GET", "/orgs/acme/requests/"+id, "").at("request", "createdAt").(float64))
	for query, want := range map[string]string{fmt.Sprintf("&to=%d", at): "", fmt.Sprintf("&from=%d&to=%d", at, at+1): id, fmt.Sprintf("&from=%d", at+1): ""} {
		if got := admin.call("GET", "/orgs/acme/requests?decided=1"+query, "").want(t, 200, ""); got.ids("entries", "id") != want {
			t.Errorf("%s: %s", query, got.raw)
		}
	}
	mine, _ := ask()
	admin.call("POST", "/orgs/acme/requests/"+mine+"/cancel", `{}`).want(t, 400, "validation")
	if got := portal.call("POST", "/orgs/acme/requests/"+mine+"/cancel", `{}`).want(t, 200, ""); got.text("request", "state") != "cancelled" {
		t.Errorf("cancelled: %s", got.raw)
	}
	portal.call("POST", "/orgs/acme/requests/"+mine+"/cancel", `{}`).want(t, 409, "conflict")
	if got := owner.call("GET", "/orgs/acme/applications/docs/requests?state=approved", "").want(t, 200, ""); got.ids("requests", "id") != id {
		t.Errorf("the application's requests: %s", got.raw)
	}
}

func TestEvaluateOverHTTP(t *testing.T) {
	w := newWorld(t)
	people := w.crowd(w.acme())
	granted, bare := people["granted service"], people["bare service"]
	for body, want := range map[string]bool{
		`{"key":["cloud.seats.read"]}`:                                                                     true,
		`{"key":["authz_internal.access.read"],"fresh":true}`:                                              true,
		`{"key":["cloud.seats.read"],"scope":"*","principal":{"serviceId":"granted"}}`:                     true,
		`{"key":["cloud.applications.read"],"scope":"cloud.app:docs","principal":{"serviceId":"granted"}}`: true,
	} {
		if r := granted.call("POST", "/orgs/acme/evaluate", body).want(t, 200, ""); r.at("allowed") != want {
			t.Errorf("%s: %s", body, r.raw)
		}
	}
	for _, key := range []string{"cloud.seats.read", "authz_internal.access.read"} {
		if r := bare.call("POST", "/orgs/acme/evaluate", `{"key":["`+key+`"]}`).want(t, 200, ""); r.at("allowed") != false {
			t.Errorf("a service without grants: %s", r.raw)
		}
	}
	bare.call("POST", "/orgs/acme/evaluate", `{"key":["cloud.seats.read"],"principal":{"serviceId":"granted"}}`).want(t, 403, "principal_mismatch")
	bare.call("POST", "/orgs/acme/evaluate", `{"key":["cloud.seats.read"],"principal":{"serviceId":"bare","serviceID":"granted"}}`).want(t, 400, "invalid_request")
	bare.call("POST", "/orgs/acme/evaluate", `{"key":["docs.admin.read"]}`).want(t, 400, "not_evaluable_here")
	bare.call("POST", "/orgs/acme/evaluate", `{"key":["cloud.seats.read"],"scope":"docs.doc:1"}`).want(t, 400, "not_evaluable_here")
	bare.call("POST", "/orgs/acme/evaluate", `{"key":["cloud.seats.reed"]}`).want(t, 500, "UnknownPermissionError")
	bare.call("POST", "/orgs/acme/evaluate", `{"key":[]}`).want(t, 400, "invalid_request")
	bare.call("POST", "/orgs/acme/evaluate", `{"key":[`+strings.TrimSuffix(strings.Repeat(`"cloud.seats.read",`, 51), ",")+`]}`).want(t, 400, "invalid_request")
	if got := bare.call("POST", "/orgs/acme/evaluate", `{"key":["cloud.seats.read"]}`).header.Get("Ratelimit-Limit"); got != "600" {
		t.Errorf("the bucket of evaluate is %s", got)
	}
	people["owner"].call("POST", "/orgs/acme/evaluate", `{"key":["cloud.seats.read"]}`).want(t, http.StatusForbidden, "credential_not_allowed")
}
