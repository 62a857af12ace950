package hosted

import (
	"context"
	"strings"
	"testing"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// given writes a row at docs, as that application itself does.
func (w *world) given(subject, pattern string) {
	w.t.Helper()
	_, err := w.app.CreateGrant(context.Background(), provider.GrantInput{Subject: subject, Pattern: pattern}, authz.AdminProvenance("application"))
	w.must(err)
}

// stored puts a row into account data, whoever might write it.
func (w *world) stored(g authz.Grant) {
	w.t.Helper()
	tx := w.accounts.Begin(context.Background())
	g.ID, g.Provenance = account.NewID(context.Background()), authz.AdminProvenance("setup")
	account.Grants.Put(tx, "acme", g.ID, g, 0)
	w.must(tx.Commit())
}

// grouped is acme with a group whose members administer it, one below it, and
// somebody of each kind of credential who writes groups and nothing else.
func (w *world) grouped() (owner caller, writers map[string]caller) {
	w.t.Helper()
	owner = w.acme()
	owner.call("POST", "/orgs/acme/org/groups", `{"id":"admins","name":"a"}`).want(w.t, 201, "")
	owner.call("POST", "/orgs/acme/org/groups", `{"id":"staff","name":"s"}`).want(w.t, 201, "")
	owner.call("POST", "/orgs/acme/org/groups", `{"id":"night","name":"n","parents":["admins"]}`).want(w.t, 201, "")
	owner.call("POST", "/orgs/acme/org/grants", `{"subject":"group:admins","pattern":"cloud.seats.*"}`).want(w.t, 201, "")
	owner.call("POST", "/orgs/acme/seats", `{"userId":"u_writer"}`).want(w.t, 201, "")
	writers = map[string]caller{"a session": w.signInAs("u_writer"), "a principal key": owner.key(`{"kind":"principal","name":"w","serviceId":"writer"}`)}
	key := owner.call("POST", "/orgs/acme/org/grants", `{"subject":"user:u_writer","pattern":"cloud.applications.manage_credentials"}`).want(w.t, 201, "").text("grant", "id")
	writers["an admin key"] = writers["a session"].key(`{"kind":"admin","name":"w"}`)
	owner.call("DELETE", "/orgs/acme/org/grants/"+key, "").want(w.t, 204, "")
	for _, subject := range []string{"user:u_writer", "service:writer"} {
		w.given(subject, "authz_internal.access.manage_groups")
		w.given(subject, "authz_internal.access.manage_grants")
	}
	return owner, writers
}

func TestNobodyIsPutIntoAGroupThatHoldsMoreThanTheWriter(t *testing.T) {
	w := newWorld(t)
	owner, writers := w.grouped()
	owner.call("PUT", "/orgs/acme/org/users/u_in/membership", `{"groupIds":["admins"]}`).want(t, 200, "")
	w.stored(authz.Grant{Subject: "group:awaited", Pattern: "cloud.billing.read", Scope: "*"})
	for name, who := range writers {
		for what, c := range map[string][3]string{
			"the group itself":         {"PUT", "/org/users/u_writer/membership", `{"groupIds":["staff","admins"]}`},
			"a group below it":         {"PUT", "/org/users/u_writer/membership", `{"groupIds":["night"]}`},
			"the group alone":          {"PUT", "/org/users/u_writer/groups/admins", `{}`},
			"one below it alone":       {"PUT", "/org/users/u_writer/groups/night", `{}`},
			"a group put below it":     {"PUT", "/org/groups/staff/parents", `{"parents":["admins"]}`},
			"one put below it by two":  {"PUT", "/org/groups/staff/parents", `{"parents":["night"]}`},
			"a new group below it":     {"POST", "/org/groups", `{"name":"x","parents":["admins"]}`},
			"a new group rows wait of": {"POST", "/org/groups", `{"id":"awaited","name":"x"}`},
		} {
			if r := who.call(c[0], "/orgs/acme"+c[1], c[2]); r.status != 403 || r.code() != "escalation_refused" || r.at("error", "missing") == nil {
				t.Errorf("%s by %s: %d %s", what, name, r.status, r.raw)
			}
		}
		// What confers nothing of account data, or nothing new, they write.
		who.call("PUT", "/orgs/acme/org/users/u_writer/membership", `{"groupIds":["staff"]}`).want(t, 200, "")
		who.call("PUT", "/orgs/acme/org/users/u_in/membership", `{"groupIds":["admins","staff"]}`).want(t, 200, "")
		who.call("PUT", "/orgs/acme/org/users/u_in/groups/admins", `{}`).want(t, 204, "")
		who.call("PUT", "/orgs/acme/org/users/u_writer/groups/staff", `{}`).want(t, 204, "")
		who.call("DELETE", "/orgs/acme/org/users/u_writer/groups/admins", "").want(t, 204, "")
		who.call("PUT", "/orgs/acme/org/groups/night/parents", `{"parents":["admins","staff"]}`).want(t, 200, "")
		w.clock.Add(60_000)
	}
	owner.call("PUT", "/orgs/acme/org/users/u_x/membership", `{"groupIds":["night"]}`).want(t, 200, "") // who holds it all
}

// To make a user active is to give what their rows confer, and deleting the record of
// an inactive one makes them active.
func TestNobodyIsMadeActiveWhoHoldsMoreThanTheWriter(t *testing.T) {
	w := newWorld(t)
	owner, writers := w.grouped()
	owner.call("POST", "/orgs/acme/seats", `{"userId":"u_admin","kind":"admin"}`).want(t, 201, "")
	w.signInAs("u_admin")
	owner.call("PUT", "/orgs/acme/org/users/u_admin/active", `{"active":false}`).want(t, 200, "")
	for name, who := range writers {
		for _, c := range [][3]string{{"PUT", "/org/users/u_admin/active", `{"active":true}`}, {"DELETE", "/org/subjects/user:u_admin", ""}} {
			if r := who.call(c[0], "/orgs/acme"+c[1], c[2]); r.status != 403 || r.code() != "escalation_refused" {
				t.Errorf("%s %s by %s: %d %s", c[0], c[1], name, r.status, r.raw)
			}
		}
		who.call("PUT", "/orgs/acme/org/users/u_plain/active", `{"active":false}`).want(t, 200, "")
		who.call("PUT", "/orgs/acme/org/users/u_plain/active", `{"active":true}`).want(t, 200, "")
	}
	owner.call("PUT", "/orgs/acme/org/users/u_admin/active", `{"active":true}`).want(t, 200, "")
}

// A revoke at one application keeps its holder from giving, at *, what it takes there.
func TestARowAtTheOrgIsComparedAtEveryApplication(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	owner.call("POST", "/orgs/acme/seats", `{"userId":"u_admin","kind":"admin"}`).want(t, 201, "")
	admin := w.signInAs("u_admin")
	owner.call("POST", "/orgs/acme/org/revokes", `{"userId":"u_admin","pattern":"cloud.applications.delete","scope":"cloud.app:docs"}`).want(t, 201, "")
	admin.call("POST", "/orgs/acme/org/grants", `{"subject":"user:u_9","pattern":"cloud.applications.delete"}`).want(t, 403, "escalation_refused")
	admin.call("POST", "/orgs/acme/seats", `{"userId":"u_9","kind":"admin"}`).want(t, 403, "escalation_refused")
	admin.call("POST", "/orgs/acme/org/grants", `{"subject":"user:u_9","pattern":"cloud.applications.read"}`).want(t, 201, "")
}

// With a seat its user's revokes go, and groups would confer again what they took.
func TestRemovingASeatGivesNothingBack(t *testing.T) {
	w := newWorld(t)
	owner, _ := w.grouped()
	owner.call("PUT", "/orgs/acme/org/users/u_7/membership", `{"groupIds":["admins"]}`).want(t, 200, "")
	owner.call("POST", "/orgs/acme/seats", `{"userId":"u_7"}`).want(t, 201, "")
	owner.call("POST", "/orgs/acme/org/revokes", `{"userId":"u_7","pattern":"cloud.seats.read"}`).want(t, 201, "")
	owner.call("POST", "/orgs/acme/org/grants", `{"subject":"group:admins","pattern":"cloud.applications.read"}`).want(t, 201, "")
	owner.call("POST", "/orgs/acme/org/revokes", `{"userId":"u_7","pattern":"cloud.applications.read","scope":"cloud.app:docs"}`).want(t, 201, "")
	for _, subject := range []string{"service:few", "service:more", "service:most"} {
		owner.call("POST", "/orgs/acme/org/grants", `{"subject":"`+subject+`","pattern":"cloud.seats.delete"}`).want(t, 201, "")
	}
	owner.call("POST", "/orgs/acme/org/grants", `{"subject":"service:more","pattern":"cloud.seats.read"}`).want(t, 201, "")
	owner.call("POST", "/orgs/acme/org/grants", `{"subject":"service:most","pattern":"cloud.*"}`).want(t, 201, "")
	for _, id := range []string{"few", "more"} {
		owner.key(`{"kind":"principal","name":"k","serviceId":"`+id+`"}`).call("DELETE", "/orgs/acme/seats/u_7", "").want(t, 403, "escalation_refused")
	}
	owner.key(`{"kind":"principal","name":"k","serviceId":"most"}`).call("DELETE", "/orgs/acme/seats/u_7", "").want(t, 204, "")
}

func TestWhoLearnsAServicesSecretHoldsWhatItHoldsEverywhere(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	owner.call("POST", "/orgs/acme/seats", `{"userId":"u_keys"}`).want(t, 201, "")
	owner.call("POST", "/orgs/acme/org/grants", `{"subject":"user:u_keys","pattern":"cloud.applications.manage_credentials"}`).want(t, 201, "")
	existing := owner.call("POST", "/orgs/acme/api-keys", `{"kind":"principal","name":"p","serviceId":"deploy"}`).want(t, 201, "").text("apiKey", "id")
	w.given("service:deploy", "*")
	keys := w.signInAs("u_keys")
	for name, who := range map[string]caller{"a session": keys, "an admin key": keys.key(`{"kind":"admin","name":"k"}`)} {
		for _, c := range [][2]string{{"/api-keys", `{"kind":"principal","name":"p","serviceId":"deploy"}`}, {"/api-keys/" + existing + "/rotate", `{}`}} {
			r := who.call("POST", "/orgs/acme"+c[0], c[1])
			if r.status != 403 || r.code() != "escalation_refused" || !strings.Contains(string(r.raw), `"authz_internal.access.manage_grants"`) {
				t.Errorf("%s by %s: %d %s", c[0], name, r.status, r.raw)
			}
		}
		who.call("POST", "/orgs/acme/api-keys", `{"kind":"publisher","name":"p","namespace":"docs"}`).want(t, 403, "escalation_refused")
		who.call("POST", "/orgs/acme/api-keys", `{"kind":"principal","name":"p","serviceId":"plain"}`).want(t, 201, "")
	}
	// Keys of the application's own namespaces don't count.
	w.given("service:reader", "docs.*")
	keys.call("POST", "/orgs/acme/api-keys", `{"kind":"principal","name":"p","serviceId":"reader"}`).want(t, 201, "")
	owner.call("POST", "/orgs/acme/api-keys", `{"kind":"principal","name":"p","serviceId":"deploy"}`).want(t, 201, "")

	// A source that cannot be asked mints nothing.
	w.far.Close()
	owner.call("POST", "/orgs/acme/api-keys", `{"kind":"principal","name":"p","serviceId":"plain"}`).want(t, 502, "application_unreachable")
	before := len(w.listedKeys(owner))
	owner.call("POST", "/orgs/acme/api-keys/"+existing+"/rotate", `{}`).want(t, 502, "application_unreachable")
	if after := len(w.listedKeys(owner)); after != before {
		t.Errorf("%d keys, and %d after a refusal", before, after)
	}
}

func (w *world) listedKeys(owner caller) []any {
	keys, _ := owner.call("GET", "/orgs/acme/api-keys?limit=1000", "").want(w.t, 200, "").at("apiKeys").([]any)
	return keys
}

// A grant to a group or an org leaves to the application who holds it: a warning, and
// refused when escalation is strict.
func TestAccountRightsForAGroupWarn(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	owner.call("POST", "/orgs/acme/org/groups", `{"id":"staff","name":"Staff"}`).want(t, 201, "")
	for _, subject := range []string{"group:staff", "org:hq"} {
		body := `{"subject":"` + subject + `","pattern":"cloud.billing.read"}`
		r := owner.call("POST", "/orgs/acme/org/grants", body).want(t, 201, "")
		if !strings.Contains(string(r.raw), `"warnings":["who is in `) || !strings.Contains(w.logs.String(), subject) {
			t.Errorf("no warning: %s", r.raw)
		}
		bulk := owner.call("POST", "/orgs/acme/org/grants/bulk", `{"grants":[`+body+`,`+body+`]}`).want(t, 201, "")
		if told, _ := bulk.at("warnings").([]any); len(told) != 1 {
			t.Errorf("of a bulk: %s", bulk.raw)
		}
	}
	for _, row := range []string{`{"subject":"user:u_9","pattern":"cloud.billing.read"}`, `{"subject":"group:staff","pattern":"docs.admin.read"}`} {
		if r := owner.call("POST", "/orgs/acme/org/grants", row).want(t, 201, ""); r.at("warnings") != nil {
			t.Errorf("a warning for nothing: %s", r.raw)
		}
	}
	w.core.StrictEscalation = true
	owner.call("POST", "/orgs/acme/org/grants", `{"subject":"group:staff","pattern":"cloud.billing.read"}`).want(t, 403, "escalation_refused")
	owner.call("POST", "/orgs/acme/org/grants", `{"subject":"org:hq","roleId":"cloud_admin"}`).want(t, 403, "escalation_refused")
}

// Strict escalation holds writers of the org domain to the keys of authz_internal that
// they hold, as the rule of account data always does.
func TestStrictEscalationComparesTheOrgDomainToo(t *testing.T) {
	w := newWorld(t)
	owner, writers := w.grouped()
	w.given("group:staff", "authz_internal.audit.read")
	w.given("directs:u_boss", "authz_internal.audit.read")
	w.given("user:u_off", "authz_internal.audit.read")
	w.must(w.app.SetUserActive(t.Context(), "u_off", false, authz.AdminProvenance("application")))
	for _, subject := range []string{"user:u_writer", "service:writer"} {
		for _, p := range []string{"manage_roles", "manage_revokes", "manage_reporting"} {
			w.given(subject, "authz_internal.access."+p)
		}
	}
	owner.call("POST", "/orgs/acme/org/roles", `{"id":"auditor","name":"a","patterns":["authz_internal.audit.*"]}`).want(t, 201, "")
	owner.call("POST", "/orgs/acme/org/roles", `{"id":"reader","name":"r","patterns":["docs.*"]}`).want(t, 201, "")
	revoke := owner.call("POST", "/orgs/acme/org/revokes", `{"userId":"u_9","pattern":"authz_internal.*"}`).want(t, 201, "").text("revoke", "id")
	dated := owner.call("POST", "/orgs/acme/org/grants", `{"subject":"user:u_9","roleId":"auditor","expiresAt":9000000000000}`).want(t, 201, "").text("grant", "id")
	writes := map[string][3]string{
		"a grant":                {"POST", "/org/grants", `{"subject":"user:u_9","pattern":"authz_internal.audit.read"}`},
		"everything":             {"POST", "/org/grants", `{"subject":"user:u_9","pattern":"*"}`},
		"a grant of a role":      {"POST", "/org/grants/bulk", `{"grants":[{"subject":"user:u_9","roleId":"auditor"}]}`},
		"a grant in a change":    {"POST", "/org/grants/change", `{"create":[{"subject":"user:u_9","pattern":"authz_internal.audit.read"}]}`},
		"a grant that lasts on":  {"POST", "/org/grants/change", `{"expire":[{"grantId":"` + dated + `","expiresAt":null}]}`},
		"a role":                 {"POST", "/org/roles", `{"id":"x","name":"r","patterns":["authz_internal.audit.read"]}`},
		"a role's patterns":      {"PATCH", "/org/roles/reader", `{"patterns":["*"]}`},
		"a membership":           {"PUT", "/org/users/u_9/membership", `{"groupIds":["staff"]}`},
		"one membership":         {"PUT", "/org/users/u_9/groups/staff", `{}`},
		"a parent":               {"PUT", "/org/groups/admins/parents", `{"parents":["staff"]}`},
		"a new group":            {"POST", "/org/groups", `{"id":"y","name":"x","parents":["staff"]}`},
		"a manager":              {"PUT", "/org/users/u_9/manager", `{"managerUserId":"u_boss"}`},
		"a return":               {"PUT", "/org/users/u_off/active", `{"active":true}`},
		"the end of a revoke":    {"DELETE", "/org/revokes/" + revoke, ""},
		"the end of an inactive": {"DELETE", "/org/subjects/user:u_off", ""},
	}
	w.core.StrictEscalation = true
	for name, who := range writers {
		for what, c := range writes {
			if r := who.call(c[0], "/orgs/acme"+c[1], c[2]); r.status != 403 || r.code() != "escalation_refused" {
				t.Errorf("%s by %s: %d %s", what, name, r.status, r.raw)
			}
		}
		w.clock.Add(60_000)
		for _, c := range [][3]string{
			{"POST", "/org/grants", `{"subject":"user:u_9","pattern":"docs.admin.read"}`},
			{"POST", "/org/grants", `{"subject":"user:u_9","pattern":"authz_internal.access.manage_groups"}`},
			{"PATCH", "/org/roles/reader", `{"patterns":["docs.admin.read"]}`},
			{"POST", "/org/grants/change", `{"expire":[{"grantId":"` + dated + `","expiresAt":8999999999999}]}`}, // sooner
		} {
			if r := who.call(c[0], "/orgs/acme"+c[1], c[2]); r.status >= 300 {
				t.Errorf("%s by %s: %d %s", c[2], name, r.status, r.raw)
			}
		}
	}
	for what, c := range writes { // who holds it all
		if r := owner.call(c[0], "/orgs/acme"+c[1], c[2]); r.status >= 300 {
			t.Errorf("%s by the owner: %d %s", what, r.status, r.raw)
		}
	}
	w.core.StrictEscalation = false
	for _, who := range writers {
		who.call("POST", "/orgs/acme/org/grants", `{"subject":"user:u_9","pattern":"authz_internal.audit.read"}`).want(t, 201, "")
	}
}
