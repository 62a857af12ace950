package hosted

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/cloud"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/provider"
)

// A random org, and one of its people or services who writes what they like over the
// hosted API: seats, groups, roles, rows, keys, links. Nobody then holds a key of
// cloud.* that the writer did not hold before, no service whose secret the writer
// learned holds more than the writer, and an owner can always come back. Who holds
// what is computed here from the stored rows, by the plain definition.
func TestNoSequenceOfWritesGivesWhatItsAuthorDoesNotHold(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		script := rapid.SliceOfN(rapid.IntRange(0, 1<<16), 60, 110).Draw(rt, "script")
		strict := rapid.Bool().Draw(rt, "strict")
		var wrong string
		t.Run("org", func(t *testing.T) { wrong = newEscalation(t, strict, script).run() })
		if wrong != "" {
			rt.Fatal(wrong)
		}
	})
}

type escalation struct {
	*world
	apps   map[string]*application.Application
	script []int
	trace  []string
	writer caller
	who    string          // the writer's subject
	minted map[string]bool // services whose secret the writer knows
	n      int
}

var (
	orgUsers    = []string{testUser, "u_1", "u_2", "u_3", "u_4"}
	orgGroups   = []string{"g_1", "g_2", "g_3", "g_4", "g_5"}
	orgServices = []string{"s_1", "s_2"}
	orgApps     = []string{"docs", "billing"}
	orgScopes   = []string{"*", "*", "cloud.app:docs", "cloud.app:billing"}
	orgPatterns = []string{"cloud.*", "cloud.seats.*", "cloud.seats.update_seat", "cloud.seats.delete", "cloud.billing.read", "cloud.applications.*", "cloud.applications.manage_credentials"}
	ofWriters   = []string{"cloud.seats.*", "cloud.seats.update_seat", "cloud.seats.delete", "cloud.seats.invite_seat", "cloud.applications.manage_credentials", "cloud.billing.*"}
	ofTheOrg    = []string{"authz_internal.*", "authz_internal.access.*", "authz_internal.access.manage_groups", "authz_internal.audit.read", "*"}
)

// next is a number below n, the script's; past its end 0.
func (e *escalation) next(n int) int {
	if len(e.script) == 0 {
		return 0
	}
	v := e.script[0] % n
	e.script = e.script[1:]
	return v
}

func (e *escalation) of(list []string) string { return list[e.next(len(list))] }

// newEscalation makes the org as an application, a directory and its owners may have
// left it.
func newEscalation(t *testing.T, strict bool, script []int) *escalation {
	e := &escalation{world: newWorld(t), script: script, minted: map[string]bool{}}
	e.core.StrictEscalation = strict
	owner := e.acme()
	e.apps = map[string]*application.Application{"docs": e.app, "billing": e.second(owner)}
	for _, u := range orgUsers[1:] {
		if kind := e.of([]string{"", account.SeatOwner, account.SeatAdmin, account.SeatPortal, account.SeatPortal}); kind != "" {
			owner.call("POST", "/orgs/acme/seats", `{"userId":"`+u+`","kind":"`+kind+`"}`).want(t, 201, "")
			if e.next(4) > 0 {
				e.signInAs(u)
			}
		}
	}
	by, ctx := authz.AdminProvenance("application"), t.Context()
	for i, g := range orgGroups[:4] {
		in := provider.GroupInput{ID: &g, Name: g}
		if i > 0 && e.next(2) == 0 {
			in.Parents = []string{orgGroups[e.next(i)]}
		}
		_, err := e.app.CreateGroup(ctx, in, by)
		e.must(err)
	}
	for _, u := range orgUsers[1:] {
		if e.next(4) > 0 {
			e.must(e.app.SetGroupMembership(ctx, u, []string{e.of(orgGroups[:4])}, by))
		}
		if e.next(6) == 0 {
			e.must(e.app.SetUserActive(ctx, u, false, by))
		}
	}
	tx := e.accounts.Begin(ctx)
	account.Roles.Put(tx, "acme", "r_1", authz.Role{ID: "r_1", Name: "r", Patterns: []string{e.of(orgPatterns)}}, 0)
	for i := range 4 {
		g := authz.Grant{ID: fmt.Sprint("row", i), Subject: e.of(e.subjects()), Scope: e.of(orgScopes), RoleID: "r_1", Provenance: by}
		if e.next(4) > 0 {
			g.RoleID, g.Pattern = "", e.of(orgPatterns)
		}
		account.Grants.Put(tx, "acme", g.ID, g, 0)
	}
	for i := range e.next(4) {
		v := authz.Revoke{ID: fmt.Sprint("revoke", i), UserID: e.of(orgUsers[1:]), Pattern: e.of(orgPatterns), Scope: e.of(orgScopes), Provenance: by}
		account.Revokes.Put(tx, "acme", v.ID, v, 0)
	}
	e.must(tx.Commit())
	for range 2 {
		_, err := e.apps[e.of(orgApps)].CreateGrant(ctx, provider.GrantInput{Subject: "service:" + e.of(orgServices), Pattern: e.of(ofTheOrg)}, by)
		e.must(err)
	}
	e.choose(owner)
	return e
}

// second links a further application.
func (e *escalation) second(owner caller) *application.Application {
	in, err := catalog.ParseJSON([]byte(`{"namespaces":["billing"],"permissions":{"billing.invoices.read":true}}`))
	e.must(err)
	built, err := catalog.Build(in)
	e.must(err)
	app, err := application.New(e.t.Context(), application.Options{Name: "billing", Catalog: built, Store: e.store("billing"), Clock: e.clock.Load})
	e.must(err)
	e.t.Cleanup(func() { _ = app.Close() })
	var token atomic.Pointer[string]
	token.Store(new("not-linked-yet-0123456789"))
	handler, err := api.NewProviderHandler(api.ProviderOptions{Application: app, ApplicationID: "billing", Secrets: func() []string { return []string{*token.Load()} }})
	e.must(err)
	server := httptest.NewTLSServer(handler) // vouched for as the first one is
	e.t.Cleanup(server.Close)
	owner.call("POST", "/orgs/acme/applications", `{"id":"billing","name":"B","namespaces":["billing"]}`).want(e.t, 201, "")
	token.Store(new(owner.call("POST", "/orgs/acme/applications/billing/link", `{"relayUrl":"`+server.URL+`"}`).want(e.t, 200, "").text("providerSecret")))
	return app
}

// choose makes somebody who can be signed in, or a service, the writer.
func (e *escalation) choose(owner caller) {
	ctx, by := e.t.Context(), authz.AdminProvenance("application")
	user := e.of(orgUsers)
	seat, found, err := account.Seats.Get(ctx, e.accounts, "acme", user)
	e.must(err)
	switch {
	case e.next(5) == 0:
		e.who = "service:writer"
		e.writer = owner.key(`{"kind":"principal","name":"w","serviceId":"writer"}`)
	case !found || seat.Value.State != account.SeatActive:
		user = testUser
		fallthrough
	default:
		e.who, e.writer = "user:"+user, e.signInAs(user)
		if e.next(4) == 0 && user == testUser {
			e.writer = e.signIn("acme")
		}
	}
	for _, app := range orgApps {
		if e.next(4) > 0 {
			_, err := e.apps[app].CreateGrant(ctx, provider.GrantInput{Subject: e.who, Pattern: e.of(ofTheOrg)}, by)
			e.must(err)
		}
	}
	for range 2 {
		if e.next(2) == 0 {
			tx := e.accounts.Begin(ctx)
			g := authz.Grant{ID: account.NewID(ctx), Subject: e.who, Scope: e.of(orgScopes), Pattern: e.of(ofWriters), Provenance: by}
			account.Grants.Put(tx, "acme", g.ID, g, 0)
			e.must(tx.Commit())
		}
	}
}

func (e *escalation) subjects() []string {
	var all []string
	for _, u := range orgUsers[1:] {
		all = append(all, "user:"+u)
	}
	for _, g := range orgGroups {
		all = append(all, "group:"+g, "group:"+g)
	}
	return append(all, "service:s_1", "service:s_2")
}

// run answers what is wrong, "" for nothing.
func (e *escalation) run() string {
	start := e.held()
	able := e.able()
	for range 14 {
		if len(e.script) == 0 {
			break
		}
		e.clock.Add(60_000) // full buckets, and a session's proof is young enough for the first writes
		e.write()
		if e.t.Failed() {
			return "a call failed"
		}
		now := e.held()
		for who, keys := range now {
			for key := range keys {
				if !start[who][key] && !start[e.who][key] {
					return e.tell("%s holds %s now", who, key)
				}
			}
		}
		for id := range e.minted {
			for key := range now["service:"+id] {
				if !start[e.who][key] {
					return e.tell("the writer knows the secret of service:%s, which holds %s", id, key)
				}
			}
		}
		if able && !e.able() {
			return e.tell("no owner can act any more")
		}
	}
	return e.comesBack()
}

func (e *escalation) tell(format string, args ...any) string {
	return fmt.Sprintf(format, args...) + "; " + e.who + " wrote\n" + strings.Join(e.trace, "\n")
}

// comesBack: while the bootstrap user is an owner, somebody can be let in who then
// undoes everything.
func (e *escalation) comesBack() string {
	seat, found, err := account.Seats.Get(e.t.Context(), e.accounts, "acme", testUser)
	e.must(err)
	if !found || !seat.Value.ActiveOwner() {
		return ""
	}
	e.clock.Add(3_600_000)
	back := e.signIn("acme")
	if r := back.call("POST", "/orgs/acme/seats", `{"userId":"u_back","kind":"owner"}`); r.status != 201 {
		return e.tell("nobody can be let in: %s", r.raw)
	}
	in := e.signInAs("u_back")
	for row, err := range account.Revokes.All(e.t.Context(), e.accounts, "acme") {
		e.must(err)
		if r := in.call("DELETE", "/orgs/acme/org/revokes/"+row.ID, ""); r.status != 204 {
			return e.tell("a revoke of %s stays: %s", row.Value.UserID, r.raw)
		}
	}
	return ""
}

// write does one of the writes.
func (e *escalation) write() {
	e.n++
	user, group, service := e.of(orgUsers[e.next(2):]), e.of(orgGroups[:4+e.next(2)]), e.of(orgServices)
	quoted := func(v any) string { raw, _ := json.Marshal(v); return string(raw) }
	var method, path, body string
	switch e.next(24) {
	case 23:
		method, path = "POST", "/org/grants/change"
		taken := `"delete":["` + e.row("grants") + `"]`
		if e.next(2) == 0 {
			taken = `"expire":[{"grantId":"` + e.row("grants") + `","expiresAt":null}]`
		}
		body = `{` + taken + `,"create":[{"subject":"` + e.of(append(e.subjects(), e.who)) + `","pattern":"` + e.of(append(orgPatterns, ofTheOrg...)) + `"}]}`
	case 21:
		method, path, body = "PUT", "/org/users/"+user+"/groups/"+group, `{}`
	case 0:
		method, path, body = "PUT", "/org/users/"+user+"/membership", `{"groupIds":`+quoted([]string{group, e.of(orgGroups)})+`}`
	case 1, 2:
		method, path, body = "PUT", "/org/groups/"+group+"/parents", `{"parents":`+quoted([]string{e.of(orgGroups[:4])})+`}`
	case 3:
		method, path, body = "POST", "/org/groups", `{"id":"`+group+`","name":"g","parents":`+quoted([]string{e.of(orgGroups)})+`}`
	case 4, 5:
		method, path = "POST", "/org/grants"
		subject := e.of(append(e.subjects(), e.who))
		if e.next(3) == 0 {
			body = `{"subject":"` + subject + `","roleId":"r_1","scope":"` + e.of(orgScopes) + `"}`
		} else {
			body = `{"subject":"` + subject + `","pattern":"` + e.of(append(orgPatterns, ofTheOrg...)) + `"` + []string{"", fmt.Sprintf(`,"expiresAt":%d`, e.clock.Load()+90_000)}[e.next(2)] + `}`
		}
	case 6:
		method, path = "DELETE", "/org/grants/"+e.row("grants")
	case 7:
		method, path, body = "PATCH", "/org/roles/r_1", `{"patterns":`+quoted([]string{e.of(orgPatterns)})+`}`
	case 8:
		method, path, body = "POST", "/org/roles", `{"id":"r_2","name":"r","patterns":`+quoted([]string{e.of(orgPatterns)})+`}`
	case 9:
		method, path, body = "POST", "/org/revokes", `{"userId":"`+user+`","pattern":"`+e.of(orgPatterns)+`","scope":"`+e.of(orgScopes)+`"}`
	case 10:
		method, path = "DELETE", "/org/revokes/"+e.row("revokes")
	case 11:
		method, path, body = "PUT", "/org/users/"+user+"/active", fmt.Sprintf(`{"active":%v}`, e.next(2) == 0)
	case 12:
		method, path = "DELETE", "/org/subjects/user:"+user
	case 13:
		method, path, body = "POST", "/seats", `{"userId":"`+user+`","kind":"`+e.of([]string{"owner", "admin", "portal"})+`"}`
	case 14:
		method, path, body = "PATCH", "/seats/"+user, `{"kind":"`+e.of([]string{"owner", "admin", "portal"})+`"}`
	case 15, 22:
		method, path = "DELETE", "/seats/"+user
	case 16:
		method, path, body = "POST", "/api-keys", `{"kind":"principal","name":"k","serviceId":"`+service+`"}`
	case 17:
		method, path = "DELETE", "/org/groups/"+group
	case 18:
		method, path = "POST", "/org/groups/"+group+"/dissolve"
		body = "{}"
	case 19:
		method, path, body = "PATCH", "", `{"primaryApplication":"`+e.of(orgApps)+`"}`
	case 20:
		method, path, body = "POST", "/applications/"+e.of(orgApps)+"/unlink", "{}"
	}
	over := e.secretless(service)
	r := e.writer.call(method, "/orgs/acme"+path, body)
	e.trace = append(e.trace, fmt.Sprintf("%s %s %s: %d %s", method, path, body, r.status, r.code()))
	if r.text("secret") == "" {
		return
	}
	e.minted[service] = true
	if over != "" {
		e.t.Error(e.tell("%s", over))
	}
}

// secretless is why the writer must not learn a secret of the service: what the org
// root or a linked application lets it do and not the writer.
func (e *escalation) secretless(service string) string {
	ctx := e.t.Context()
	for _, name := range orgApps {
		if r := e.entry(name); r != "linked" {
			continue
		}
		theirs, err := e.apps[name].GetSubjectAccess(ctx, authz.ServicePrincipal(service))
		e.must(err)
		principal := authz.ServicePrincipal(strings.TrimPrefix(e.who, "service:"))
		if user, ok := strings.CutPrefix(e.who, "user:"); ok {
			principal = authz.UserPrincipal(user)
		}
		own, err := e.apps[name].GetSubjectAccess(ctx, principal)
		e.must(err)
		for _, key := range cloud.Evaluable().KeysMatching("authz_internal.*") {
			has := func(rows authz.SubjectAccess) bool {
				return rows.Active && slices.ContainsFunc(rows.Grants, func(g authz.Grant) bool {
					return g.Scope == "*" && slices.Contains(cloud.Evaluable().KeysMatching(g.Pattern), key)
				})
			}
			if has(theirs) && !has(own) {
				return "the secret of a service that holds " + key + " at " + name + " was told"
			}
		}
	}
	return ""
}

func (e *escalation) entry(name string) string {
	apps, _, err := e.options.Services.Applications.List(e.t.Context(), "acme", applications.Query{})
	e.must(err)
	for _, a := range apps {
		if a.ID == name {
			return string(a.State)
		}
	}
	return ""
}

// row is the id of some account row.
func (e *escalation) row(what string) string {
	var ids []string
	if what == "grants" {
		for row, err := range account.Grants.All(e.t.Context(), e.accounts, "acme") {
			e.must(err)
			ids = append(ids, row.ID)
		}
	} else {
		for row, err := range account.Revokes.All(e.t.Context(), e.accounts, "acme") {
			e.must(err)
			ids = append(ids, row.ID)
		}
	}
	if len(ids) == 0 {
		return "none"
	}
	return e.of(ids)
}
