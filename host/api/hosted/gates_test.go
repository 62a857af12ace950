package hosted

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/authzhost/authz/host/service"
)

// party is somebody with a credential, and what gates they hold.
type party struct {
	caller
	kind          service.CallerKind
	owner         bool
	account, orgs bool // every key of cloud.*, of authz_internal.*
}

// holds says of the chapter's gate whether the party's kind of credential may call
// at all, and whether it passes.
func (p party) holds(gate string) (admitted, passes bool) {
	seat := p.kind == service.CallerSession || p.kind == service.CallerAdmin
	switch {
	case gate == "Session":
		return p.kind == service.CallerSession, true
	case gate == "Operator":
		return p.kind == service.CallerSession, p.owner // the bootstrap user is the owner
	case gate == "Owner":
		return seat, p.owner
	case gate == "Seat or principal key":
		return p.kind != service.CallerPublisher, true
	case gate == "publisher key":
		return p.kind == service.CallerPublisher, true
	case gate == "principal key":
		return p.kind == service.CallerPrincipal, true
	case strings.Contains(gate, "`null` ungated"): // and null is what is sent
		return p.kind != service.CallerPublisher, true
	case strings.Contains(gate, "requests.read`") && strings.HasPrefix(gate, "Seat with"):
		return p.kind != service.CallerPublisher, p.orgs
	case strings.HasPrefix(gate, "Seat"):
		return seat, true
	case strings.HasPrefix(gate, "`access.") || strings.HasPrefix(gate, "`audit."):
		return p.kind != service.CallerPublisher, p.orgs
	case strings.Contains(gate, "@") || strings.HasPrefix(gate, "same") || strings.Contains(gate, "cloud."):
		return p.kind != service.CallerPublisher, p.account
	}
	panic("the gate " + gate + " is not one that this test knows")
}

// absent is what the chapter answers where there is no such object.
func absent(method, path string) string {
	switch last := path[strings.LastIndex(path, "{")+1:]; {
	case strings.HasPrefix(last, "app}"):
		return "application_not_found"
	case strings.HasPrefix(last, "userId}"):
		return "seat_not_found"
	case strings.HasPrefix(last, "ns}"):
		return "namespace_not_found"
	case strings.HasPrefix(last, "dimension}"):
		return "dimension_not_found"
	case strings.Contains(path, "/api-keys/{id}"):
		return "api_key_not_found"
	case strings.Contains(path, "/sessions/{id}"):
		return "session_not_found"
	case path == "/orgs/{org}/org/roles/{id}" && method == http.MethodDelete, strings.HasSuffix(path, "/members"), strings.HasSuffix(path, "/members/count"):
		return "" // nothing to delete, nobody in it
	case strings.HasSuffix(path, "/groups/{groupId}") && method == http.MethodPut:
		return "not_found"
	case strings.Contains(path, "/users/{id}"), strings.HasSuffix(path, "{subject}"), strings.HasSuffix(path, "{scope}"):
		return "" // nobody keeps a list of them
	case strings.Contains(path, "{id}"):
		return "not_found"
	}
	return ""
}

// crowd are every kind of credential, with and without what gates ask for.
func (w *world) crowd(owner caller) map[string]party {
	invite := func(user, kind string) caller {
		owner.call("POST", "/orgs/acme/seats", `{"userId":"`+user+`","kind":"`+kind+`"}`).want(w.t, 201, "")
		return w.signInAs(user)
	}
	admin, portal := invite("u_admin", "admin"), invite("u_portal", "portal")
	granted := owner.key(`{"kind":"principal","name":"p","serviceId":"granted"}`)
	owner.call("POST", "/orgs/acme/org/grants", `{"subject":"service:granted","pattern":"cloud.*"}`).want(w.t, 201, "")
	w.grant("service:granted")
	return map[string]party{
		"owner":           {caller: owner, kind: service.CallerSession, owner: true, account: true, orgs: true},
		"admin":           {caller: admin, kind: service.CallerSession, account: true},
		"portal":          {caller: portal, kind: service.CallerSession},
		"owner's key":     {caller: owner.key(`{"kind":"admin","name":"a"}`), kind: service.CallerAdmin, owner: true, account: true, orgs: true},
		"admin's key":     {caller: admin.key(`{"kind":"admin","name":"a"}`), kind: service.CallerAdmin, account: true},
		"granted service": {caller: granted, kind: service.CallerPrincipal, account: true, orgs: true},
		"bare service":    {caller: owner.key(`{"kind":"principal","name":"p","serviceId":"bare"}`), kind: service.CallerPrincipal},
		"publisher":       {caller: owner.key(`{"kind":"publisher","name":"b","namespace":"docs"}`), kind: service.CallerPublisher},
	}
}

// renewed has the sessions signed in again.
func (w *world) renewed(people map[string]party) map[string]party {
	again := maps.Clone(people)
	for name, user := range map[string]string{"owner": testUser, "admin": "u_admin", "portal": "u_portal"} {
		p := people[name]
		p.caller = w.signInAs(user)
		again[name] = p
	}
	return again
}

// existing makes an object of the kind that the endpoint is about and answers the
// values of its path, and its body when that is not the usual one.
func (w *world) existing(t *testing.T, e *endpoint, owner caller, p party, n int) (values map[string]string, body string) {
	t.Helper()
	values = map[string]string{"org": "acme", "app": "docs", "ns": "docs", "userId": fmt.Sprintf("u_f%d", n), "id": "u_7",
		"subject": "user:u_gone", "scope": "docs.doc:gone", "dimension": "admin_seats"}
	body = bodyOf(t, e)
	made := func(path, body string, at ...string) string {
		return owner.call("POST", "/orgs/acme/"+path, body).want(t, 201, "").text(at...)
	}
	name := func(what string) string { return fmt.Sprintf("%s%d", what, n) }
	group := func() string { return made("org/groups", `{"name":"g"}`, "group", "id") }
	switch key := e.Method + " " + strings.TrimPrefix(e.Path, "/orgs/{org}"); {
	case strings.Contains(key, "/seats/{userId}"):
		made("seats", `{"userId":"`+values["userId"]+`"}`)
	case strings.Contains(key, "/api-keys/{id}"):
		values["id"] = made("api-keys", `{"kind":"principal","name":"x","serviceId":"x"}`, "apiKey", "id")
	case key == "DELETE /auth/sessions/{id}":
		other := w.signInAs(map[bool]string{true: testUser, false: "u_admin"}[p.owner])
		if !p.owner && !p.account {
			other = w.signInAs("u_portal")
		}
		values["id"] = other.call("GET", "/auth/session", "").want(t, 200, "").text("session", "id")
	case key == "POST /orgs":
		body = `{"id":"` + name("fresh") + `","name":"N","ownerUserId":"` + testUser + `"}`
	case key == "POST /seats":
		body = `{"userId":"` + name("u_n") + `"}`
	case key == "POST /org/roles":
		body = `{"name":"r","patterns":["docs.admin.read"]}`
	case strings.Contains(key, "/org/roles/{id}"):
		values["id"] = made("org/roles", `{"name":"r","patterns":["docs.admin.read"]}`, "role", "id")
		body = map[string]string{"PATCH": `{"name":"s"}`}[e.Method]
	case key == "POST /requests":
		body = `{"roleId":"asked"}`
	case key == "POST /org/groups":
		body = `{"name":"g"}`
	case strings.Contains(key, "/org/groups/{id}"):
		values["id"] = group()
		if strings.HasSuffix(key, "/parents") {
			body = `{"parents":[]}`
		}
	case strings.HasSuffix(key, "/groups/{groupId}"):
		values["groupId"] = group()
	case strings.HasSuffix(key, "/audit/{id}"):
		owner.call("POST", "/orgs/acme/applications/docs/grants", shapes["POST /orgs/{org}/applications/{app}/grants"]).want(t, 201, "")
		list, _, _ := strings.Cut(pathOf(e, values), "/u_7")
		event := owner.call("GET", list+"?limit=1", "").want(t, 200, "").at("events").([]any)[0].(map[string]any)
		values["id"], values["at"] = event["id"].(string), strconv.FormatInt(int64(event["at"].(float64)), 10)
	case strings.HasSuffix(key, "/membership"):
		body = `{"groupIds":["` + group() + `"]}`
	case strings.HasSuffix(key, "/active"):
		body = `{"active":true}`
	case strings.HasSuffix(key, "/manager"):
		body = `{"managerUserId":null}`
	case strings.HasSuffix(key, " /org/grants/{id}"):
		values["id"] = made("org/grants", shapes["POST /orgs/{org}/org/grants"], "grant", "id")
	case strings.HasSuffix(key, " /org/revokes/{id}"):
		values["id"] = made("org/revokes", `{"userId":"u_9","pattern":"docs.admin.read"}`, "revoke", "id")
	case key == "POST /org/revokes":
		body = `{"userId":"u_9","pattern":"docs.admin.read"}`
	case strings.HasSuffix(key, " /applications/{app}/grants/{id}"):
		values["id"] = made("applications/docs/grants", shapes["POST /orgs/{org}/applications/{app}/grants"], "grant", "id")
	case strings.HasSuffix(key, " /applications/{app}/revokes/{id}"):
		values["id"] = made("applications/docs/revokes", shapes["POST /orgs/{org}/applications/{app}/revokes"], "revoke", "id")
	case key == "POST /applications":
		body = `{"id":"` + name("app") + `","name":"A","namespaces":["` + name("app") + `"]}`
	case key == "DELETE /applications/{app}":
		values["app"] = name("gone")
		made("applications", `{"id":"`+values["app"]+`","name":"A","namespaces":["`+values["app"]+`"]}`)
	case strings.HasSuffix(key, "/{app}/link"):
		body = `{"relayUrl":"` + w.farURL + `"}`
	case strings.HasSuffix(key, "/{app}/federate"), strings.HasSuffix(key, "/{app}/demote"):
		body = `{"dryRun":true}`
	case key == "POST /sync":
		body = `{}`
	case strings.HasSuffix(key, "/ingest-audit"):
		owner.call("POST", "/orgs/acme/applications/docs/audit-optin", `{"optIn":true}`).want(t, 200, "")
	case strings.HasSuffix(key, "/publish"):
		body = w.publish
	case strings.HasSuffix(key, "/usage/{dimension}"):
		values["dimension"] = "grants"
	}
	return values, body
}

// federate makes docs a member.
func (w *world) federate(t *testing.T, owner caller) {
	t.Helper()
	owner.call("POST", "/orgs/acme/applications/docs/publish", w.publish)
	owner.call("POST", "/orgs/acme/applications/docs/federate", `{}`).want(t, 200, "")
}

func pathOf(e *endpoint, values map[string]string) string {
	path := e.Path
	for _, name := range e.parameters {
		path = strings.Replace(path, "{"+name+"}", values[name], 1)
	}
	if at := values["at"]; at != "" {
		return path + "?at=" + at
	}
	return path + queryOf(e)
}

// The whole table (spec: hosted-api §8): every endpoint by every kind of
// credential, with its gate held or not, for an object that exists and for one
// that does not. What is expected is read from the chapter's table, not from the
// code's.
func TestEveryGateOfTheChapter(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	people := w.crowd(owner)
	owner.call("POST", "/orgs/acme/applications/docs/publish", w.publish).want(t, 201, "")
	owner.call("POST", "/orgs/acme/org/roles", `{"id":"approver","name":"a","patterns":["docs.admin.read"]}`).want(t, 201, "")
	owner.call("POST", "/orgs/acme/org/roles", `{"id":"asked","name":"r","patterns":["docs.admin.read"],"requestable":{"stages":[{"kind":"named_approvers","roleId":"approver"}]}}`).want(t, 201, "")
	revoked := owner.key(`{"kind":"admin","name":"revoked"}`)
	id := owner.call("GET", "/orgs/acme/api-keys?kind=admin&limit=1000", "").at("apiKeys").([]any)
	last := id[slices.IndexFunc(id, func(k any) bool { return k.(map[string]any)["name"] == "revoked" })].(map[string]any)
	owner.call("DELETE", "/orgs/acme/api-keys/"+last["id"].(string), "").want(t, 204, "")
	typo := revoked
	typo.bearer = typo.bearer[:len(typo.bearer)-1] + map[bool]string{true: "b", false: "a"}[strings.HasSuffix(typo.bearer, "a")]
	byName := map[string]*endpoint{}
	for _, e := range endpoints().list {
		byName[e.Method+" "+e.Path] = e
	}
	n := 0
	for _, r := range inventory(t) {
		e := byName[r.method+" "+r.path]
		if e == nil || r.gate == "Public" || strings.Contains(r.path, "/requests/{id}") { // whose gates are the request's own
			continue
		}
		t.Run(strings.TrimPrefix(r.method+" "+r.path, "/"), func(t *testing.T) {
			w.t = t
			w.clock.Add(60_000) // full buckets
			people = w.renewed(people)
			owner := people["owner"].caller
			gone := map[string]string{"org": "acme", "app": "ghost", "ns": "ghost", "userId": "u_ghost", "id": "ghost", "groupId": "ghost", "dimension": "ghost",
				"subject": "user:u_ghost", "scope": "docs.doc:ghost"}
			if strings.HasSuffix(r.path, "/demote") { // whatever follows is asked of a federated org
				w.federate(t, owner)
			}
			usual, body := w.existing(t, e, owner, people["owner"], 1_000+n)
			for _, values := range []map[string]string{usual, gone} {
				path := pathOf(e, values)
				caller{w: w}.call(e.Method, path, body).want(t, 401, "credential_missing")
				typo.call(e.Method, path, body).want(t, 401, "credential_invalid")
				revoked.call(e.Method, path, body).want(t, 401, "credential_invalid")
			}
			for _, name := range slices.Sorted(maps.Keys(people)) {
				n++
				p := people[name]
				admitted, passes := p.holds(r.gate)
				if admitted && passes {
					w.passes(t, name, r, e, owner, p, gone, n)
					continue
				}
				var said []string
				for _, values := range []map[string]string{usual, gone} {
					got := p.call(e.Method, pathOf(e, values), body)
					switch {
					case !admitted:
						got.want(t, 403, "credential_not_allowed")
					case r.gate == "Owner":
						got.want(t, 403, "owner_required")
					case r.gate == "Operator":
						got.want(t, 403, "operator_required")
					default:
						got.want(t, 403, "forbidden")
						if got.text("error", "name") != "AccessDeniedError" || got.text("error", "permission") == "" {
							t.Errorf("%s: %s", name, got.raw)
						}
					}
					said = append(said, strings.ReplaceAll(sayings(got), "cloud.app:"+values["app"], "cloud.app:"))
				}
				if said[0] != said[1] {
					t.Errorf("%s without the gate tells what is there: %s, %s", name, said[0], said[1])
				}
			}
		})
	}
}

// passes calls with the gate held: an object that is there, and one that is not.
func (w *world) passes(t *testing.T, name string, r row, e *endpoint, owner caller, p party, gone map[string]string, n int) {
	t.Helper()
	values, body := w.existing(t, e, owner, p, n)
	who := p.caller
	if e.Path == "/auth/sign-out" { // which ends the session
		who = w.signInAs("u_portal")
	}
	got := who.call(e.Method, pathOf(e, values), body)
	switch key := e.Method + " " + e.Path; {
	case key == "POST /orgs" && !p.owner:
		got.want(t, 403, "org_creation_disabled")
	case strings.HasSuffix(key, "/{app}/publish") || key == "POST /registry/publish":
		if got.status != 200 && got.status != 201 {
			t.Errorf("%s: %d %s", name, got.status, got.raw)
		}
	case key == "POST /orgs/{org}/api-keys" && p.kind == service.CallerPrincipal && got.status != 201:
		t.Errorf("%s: %d %s", name, got.status, got.raw)
	default:
		if want, _ := strconv.Atoi(r.success[:3]); got.status != want {
			t.Errorf("%s: %s answered %d %s, want %d", name, pathOf(e, values), got.status, got.raw, want)
		}
	}
	if strings.HasSuffix(e.Path, "/link") || strings.HasSuffix(e.Path, "/unlink") {
		again := owner.call("POST", "/orgs/acme/applications/docs/link", `{"relayUrl":"`+w.farURL+`"}`).want(t, 200, "")
		w.farToken.Store(new(again.text("providerSecret")))
	}
	if code := absent(e.Method, e.Path); code != "" {
		status := http.StatusNotFound
		if got := who.call(e.Method, pathOf(e, gone), body); got.status != status || got.code() != absentFirst(e.Path, code) {
			t.Errorf("%s: %s answered %d %s, want %d %s", name, pathOf(e, gone), got.status, got.raw, status, code)
		}
	}
}

// absentFirst: below an application that is not there nothing else is looked for.
func absentFirst(path, code string) string {
	if strings.Contains(path, "{app}") {
		return "application_not_found"
	}
	return code
}

func TestTheShapeOfABodyIsJudgedBeforeTheGateAndItsOwnRulesAfter(t *testing.T) {
	w := newWorld(t)
	portal := w.crowd(w.acme())["portal"]
	portal.call("POST", "/orgs/acme/applications", `{"id":"Wiki","name":"W","namespaces":["wiki"]}`).want(t, 400, "invalid_request")
	portal.call("POST", "/orgs/acme/applications", `{"id":"wiki","name":"W","namespaces":["cloud"]}`).want(t, 403, "forbidden")
	portal.call("POST", "/orgs/elsewhere/applications", `{"id":"Wiki","name":"W","namespaces":["wiki"]}`).want(t, 400, "invalid_request")
}

// A row of account data is named by its id like one of the root: a denial does not
// tell the one from the other, nor from none.
func TestADenialDoesNotTellWhatAccountDataHas(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	portal := w.crowd(owner)["portal"]
	grant := owner.call("POST", "/orgs/acme/org/grants", `{"subject":"user:u_7","pattern":"cloud.seats.read"}`).want(t, 201, "").text("grant", "id")
	revoke := owner.call("POST", "/orgs/acme/org/revokes", `{"userId":"u_7","pattern":"cloud.seats.read"}`).want(t, 201, "").text("revoke", "id")
	owner.call("POST", "/orgs/acme/org/roles", `{"id":"seats","name":"S","patterns":["cloud.seats.read"]}`).want(t, 201, "")
	for _, c := range []struct{ method, path, body, there string }{
		{"DELETE", "/orgs/acme/org/grants/ID", "", grant},
		{"DELETE", "/orgs/acme/org/revokes/ID", "", revoke},
		{"DELETE", "/orgs/acme/org/roles/ID", "", "seats"},
		{"PATCH", "/orgs/acme/org/roles/ID", `{"name":"T"}`, "seats"},
		{"POST", "/orgs/acme/org/grants", `{"subject":"user:u_7","roleId":"ID"}`, "seats"},
		{"POST", "/orgs/acme/org/grants/bulk", `{"grants":[{"subject":"user:u_7","roleId":"ID"}]}`, "seats"},
	} {
		said := func(id string) string {
			return sayings(portal.call(c.method, strings.ReplaceAll(c.path, "ID", id), strings.ReplaceAll(c.body, "ID", id)).want(t, 403, "forbidden"))
		}
		if there, none := said(c.there), said("ghost"); there != none {
			t.Errorf("%s %s: %s, and of none %s", c.method, c.path, there, none)
		}
	}
	// Whoever passes the root's gate alone is denied by that of account data.
	w.grant("user:u_portal")
	portal.call("DELETE", "/orgs/acme/org/roles/seats", "").want(t, 403, "forbidden")
	portal.call("POST", "/orgs/acme/org/grants", `{"subject":"user:u_7","pattern":"cloud.seats.read"}`).want(t, 403, "forbidden")
}

// Every gate of an org that a user may pass refuses an invited seat and an inactive
// user; the description says both.
func TestWhoIsInvitedOrInactiveIsToldSo(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	admin := w.crowd(owner)["admin"]
	owner.call("POST", "/orgs", `{"id":"beta","name":"Beta","ownerUserId":"`+testUser+`"}`).want(t, 201, "")
	owner.call("POST", "/orgs/beta/seats", `{"userId":"u_admin"}`).want(t, 201, "")
	owner.call("PUT", "/orgs/acme/org/users/u_admin/active", `{"active":false}`).want(t, 200, "")
	for _, path := range []string{"", "/seats", "/me", "/org/grants", "/requests"} {
		admin.call("GET", "/orgs/beta"+path, "").want(t, 403, "seat_required")
		admin.call("GET", "/orgs/acme"+path, "").want(t, 403, "inactive")
	}
	admin.call("PATCH", "/orgs/acme", `{"name":"A"}`).want(t, 403, "inactive")
}

// A session keeps one preview per org and writes in none of them meanwhile.
func TestASessionThatPreviewsWritesNowhere(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	owner.call("POST", "/orgs", `{"id":"beta","name":"Beta","ownerUserId":"`+testUser+`"}`).want(t, 201, "")
	owner.call("POST", "/orgs/acme/view-as", `{"viewAs":{"kind":"user","userId":"u_7"}}`).want(t, 200, "")
	for _, org := range []string{"acme", "beta"} {
		owner.call("PATCH", "/orgs/"+org+"/seats/"+testUser, `{"displayName":"X"}`).want(t, 403, "view_as_read_only")
		owner.call("GET", "/orgs/"+org, "").want(t, 200, "")
	}
	owner.call("POST", "/orgs/beta/seats", `{"userId":"u_9"}`).want(t, 403, "view_as_read_only")
	owner.call("POST", "/orgs", `{"name":"X","ownerUserId":"`+testUser+`"}`).want(t, 403, "view_as_read_only")
	owner.call("POST", "/orgs/beta/view-as", `{"viewAs":null}`).want(t, 200, "")
	owner.call("POST", "/orgs/acme/view-as", `{"viewAs":null}`).want(t, 200, "")
	owner.call("POST", "/orgs/beta/seats", `{"userId":"u_9"}`).want(t, 201, "")
}

// A denial points at explain, which knows the keys of account data too.
func TestADenialByAccountDataIsExplained(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	people := w.crowd(owner)
	why := func(user, key, scope string) reply {
		return owner.call("GET", "/orgs/acme/org/explain?userId="+user+"&key="+key+"&scope="+scope, "").want(t, 200, "")
	}
	denied := people["portal"].call("GET", "/orgs/acme/billing/usage", "").want(t, 403, "forbidden")
	if r := why("u_portal", denied.text("error", "permission"), denied.text("error", "scope")); r.at("allowed") != false || r.at("active") != true {
		t.Errorf("of the portal seat: %s", r.raw)
	}
	owner.call("POST", "/orgs/acme/org/grants", `{"subject":"user:u_portal","pattern":"cloud.applications.read","scope":"cloud.app:docs"}`).want(t, 201, "")
	for scope, want := range map[string]bool{"*": false, "cloud.app:docs": true, "cloud.app:wiki": false} {
		if r := why("u_portal", "cloud.applications.read", scope); r.at("allowed") != want {
			t.Errorf("at %s: %s", scope, r.raw)
		}
	}
	if r := why("u_admin", "cloud.billing.read", "*"); r.at("allowed") != true {
		t.Errorf("of the admin seat: %s", r.raw)
	}
	why("nobody", "cloud.billing.read", "*")
	owner.call("GET", "/orgs/acme/org/explain?serviceId=granted&key=cloud.billing.read&scope=*", "").want(t, 200, "")
	owner.call("GET", "/orgs/acme/org/explain?userId=u&key=cloud.billing.read&scope=docs.doc:1", "").want(t, 400, "validation")
	owner.call("GET", "/orgs/acme/org/explain?userId=u&key=cloud.billing.reed&scope=*", "").want(t, 500, "UnknownPermissionError")
}
