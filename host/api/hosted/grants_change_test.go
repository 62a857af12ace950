package hosted

import (
	"strings"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
)

// Grants of one home change together, or not at all.
func TestGrantsChangeTogether(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	made := func(body string) string {
		return owner.call("POST", "/orgs/acme/org/grants", body).want(t, 201, "").text("grant", "id")
	}
	change := func(who caller, status int, code, body string) reply {
		return who.call("POST", "/orgs/acme/org/grants/change", body).want(t, status, code)
	}
	grants := func(scope string) string {
		var rows []string
		for _, g := range owner.call("GET", "/orgs/acme/org/grants?scope="+scope, "").want(t, 200, "").at("grants").([]any) {
			row := g.(map[string]any)
			line := row["subject"].(string) + " " + row["pattern"].(string)
			if row["expiresAt"] != nil {
				line += " dated"
			}
			if strings.Contains(line, "user:c_") {
				rows = append(rows, line)
			}
		}
		return strings.Join(rows, ", ")
	}
	for home, h := range map[string]struct{ scope, pattern, named string }{
		"root":        {"*", "docs.admin.read", ""},
		"account":     {"*", "cloud.seats.read", ""},
		"application": {"docs.doc:1", "docs.files.read", `"application":"docs",`},
	} {
		row := func(user, rest string) string {
			return `{"subject":"user:c_` + user + `","pattern":"` + h.pattern + `","scope":"` + h.scope + `"` + rest + `}`
		}
		gone, dated := made(row("1", "")), made(row("2", `,"expiresAt":9000000000000`))
		got := change(owner, 200, "", `{`+h.named+`"delete":["`+gone+`"],"expire":[{"grantId":"`+dated+`","expiresAt":null}],"create":[`+row("3", `,"expiresAt":9000000000000`)+`]}`)
		if got.text("home", "kind") != home || got.ids("grants", "subject") != "user:c_3" {
			t.Errorf("%s: %s", home, got.raw)
		}
		after := grants(h.scope)
		if strings.Contains(after, "c_1") || !strings.Contains(after, "c_2 "+h.pattern) || strings.Contains(after, "c_2 "+h.pattern+" dated") || !strings.Contains(after, "c_3 "+h.pattern+" dated") {
			t.Errorf("%s: %s", home, after)
		}
		change(owner, 404, "not_found", `{`+h.named+`"delete":["`+dated+`","`+gone+`"]}`)
		change(owner, 400, "validation", `{`+h.named+`"expire":[{"grantId":"`+dated+`","expiresAt":5}]}`)
		change(owner, 400, "invalid_request", `{"expire":[{"grantId":"`+dated+`"}]}`)
		if again := grants(h.scope); again != after {
			t.Errorf("%s, after refusals: %s", home, again)
		}
		for name, other := range map[string]string{"root": "docs.admin.read", "account": "cloud.seats.read"} {
			switch body := `{` + h.named + `"delete":["` + dated + `"],"create":[{"subject":"user:c_4","pattern":"` + other + `"}]}`; {
			case name == "account" && home == "root":
				change(owner, 404, "not_found", body) // account data, where the new one belongs, has no such grant
			case name != home:
				change(owner, 400, "mixed_homes", body)
			}
		}
		change(owner, 200, "", `{`+h.named+`"delete":["`+dated+`","`+got.at("grants").([]any)[0].(map[string]any)["id"].(string)+`"]}`)
		if left := grants(h.scope); left != "" {
			t.Errorf("%s, at the end: %s", home, left)
		}
	}
	change(owner, 400, "invalid_request", `{}`)
	for _, wrong := range []string{`{"delete":["x","x"]}`, `{"delete":["x"],"expire":[{"grantId":"x","expiresAt":null}]}`, `{"delete":[""]}`, `{"delete":["a\u0000b"]}`, `{"expire":[{"grantId":"a\u0001b","expiresAt":null}]}`} {
		change(owner, 400, "invalid_request", wrong)
	}
	// Rows at * of the application that is the root may be named with it, too.
	change(owner, 200, "", `{"application":"docs","delete":["`+made(`{"subject":"user:c_9","pattern":"docs.admin.read"}`)+`"]}`)
	change(owner, 400, "invalid_request", `{"delete":[`+strings.Repeat(`"x",`, 1000)+`"x"]}`)
}

// Nobody prolongs an account grant that confers what they do not hold. They may end it.
func TestAProlongedAccountGrantIsJudgedAsANewOne(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	owner.call("POST", "/orgs/acme/seats", `{"userId":"u_seats"}`).want(t, 201, "")
	seats := w.signInAs("u_seats")
	w.stored(authz.Grant{Subject: "user:u_seats", Pattern: "cloud.seats.*", Scope: "*"})
	dated := func(pattern string) string {
		return owner.call("POST", "/orgs/acme/org/grants", `{"subject":"user:u_9","pattern":"`+pattern+`","expiresAt":9000000000000}`).want(t, 201, "").text("grant", "id")
	}
	billing, own := dated("cloud.billing.read"), dated("cloud.seats.read")
	change := func(id, expiry string) reply {
		return seats.call("POST", "/orgs/acme/org/grants/change", `{"expire":[{"grantId":"`+id+`","expiresAt":`+expiry+`}]}`)
	}
	for _, later := range []string{"null", "9000000000001"} {
		change(billing, later).want(t, 403, "escalation_refused")
		change(own, later).want(t, 200, "")
	}
	change(billing, "8999999999999").want(t, 200, "")
	seats.call("POST", "/orgs/acme/org/grants/change", `{"delete":["`+billing+`"],"create":[{"subject":"user:u_9","pattern":"cloud.billing.read"}]}`).want(t, 403, "escalation_refused")
	seats.call("POST", "/orgs/acme/org/grants/change", `{"delete":["`+billing+`"]}`).want(t, 200, "")
	if log := owner.call("GET", "/orgs/acme/audit?action=grant.change&subject=user:u_9", "").want(t, 200, ""); len(log.at("events").([]any)) != 4 {
		t.Errorf("%s", log.raw)
	}
}

// A change of account grants whose host died before it answered is done once, and told,
// also where nothing that it names is left. Who may make it is told of it again.
func TestARepeatedChangeOfAccountGrantsIsDoneOnce(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		left int
	}{
		"all":       {`{"delete":["ID1"],"expire":[{"grantId":"ID2","expiresAt":null}],"create":[{"subject":"user:u_1","pattern":"cloud.seats.read"}]}`, 2},
		"deletions": {`{"delete":["ID1","ID2"]}`, 0},
		"an expiry": {`{"expire":[{"grantId":"ID1","expiresAt":null}]}`, 2},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			owner := w.acme()
			owner.call("POST", "/orgs/acme/seats", `{"userId":"u_seats"}`).want(t, 201, "")
			w.stored(authz.Grant{Subject: "user:u_seats", Pattern: "cloud.seats.*", Scope: "*"})
			made := func() string {
				return owner.call("POST", "/orgs/acme/org/grants", `{"subject":"user:u_1","pattern":"cloud.seats.read","expiresAt":9000000000000}`).want(t, 201, "").text("grant", "id")
			}
			body := strings.NewReplacer("ID1", made(), "ID2", made()).Replace(c.body)
			seats := w.signInAs("u_seats").with("Idempotency-Key", "k")
			first := seats.call("POST", "/orgs/acme/org/grants/change", body).want(t, 200, "")
			w.dies("acme")
			w.clock.Add(runningMs)
			again := seats.call("POST", "/orgs/acme/org/grants/change", body).want(t, 200, "")
			if got, want := again.ids("grants", "id"), first.ids("grants", "id"); got != want || again.text("home", "kind") != "account" {
				t.Errorf("the repeat answers %s, the first run %s", again.raw, first.raw)
			}
			if r := seats.call("POST", "/orgs/acme/org/grants/change", body).want(t, 200, ""); r.header.Get("Idempotency-Replayed") != "true" {
				t.Error("the repeat's answer was not kept")
			}
			if r := owner.call("GET", "/orgs/acme/org/grants?subject=user:u_1", "").want(t, 200, ""); len(r.at("grants").([]any)) != c.left {
				t.Errorf("%s", r.raw)
			}
		})
	}
}

// A change that went to an application, and whose host died, is not sent again: nobody
// knows whether it was applied there. The application that it went to is named.
func TestAChangeThatMayHaveBeenAppliedIsNotSentAgain(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	id := owner.call("POST", "/orgs/acme/org/grants", `{"subject":"user:u_1","pattern":"docs.admin.read"}`).want(t, 201, "").text("grant", "id")
	c := owner.with("Idempotency-Key", "k")
	c.call("POST", "/orgs/acme/org/grants/change", `{"delete":["`+id+`"]}`).want(t, 200, "")
	w.dies("acme")
	w.clock.Add(runningMs)
	if r := c.call("POST", "/orgs/acme/org/grants/change", `{"delete":["`+id+`"]}`).want(t, 504, "application_timeout"); r.text("error", "application") != "docs" {
		t.Errorf("%s", r.raw)
	}
}

// An entry that an older host began does not say where its request went: that is found
// again, as that host did.
func TestAnEntryOfAnOlderHostIsGoneOnWith(t *testing.T) {
	for path, c := range map[string]struct {
		body   string
		status int
	}{
		"/orgs/acme/org/grants":      {`{"subject":"user:u_1","pattern":"cloud.seats.read"}`, 201},
		"/orgs/acme/org/grants/bulk": {`{"grants":[{"subject":"user:u_1","pattern":"docs.admin.read"}]}`, 504},
	} {
		w := newWorld(t)
		owner := w.acme().with("Idempotency-Key", "k")
		owner.call("POST", path, c.body).want(t, 201, "")
		w.dies("acme")
		for row, err := range entries.All(t.Context(), w.accounts, "acme") {
			w.must(err)
			row.Value.Sent = nil
			tx := w.accounts.Begin(t.Context())
			entries.Put(tx, "acme", row.ID, row.Value, row.Version)
			w.must(tx.Commit())
		}
		w.clock.Add(runningMs)
		if r := owner.call("POST", path, c.body); r.status != c.status {
			t.Errorf("%s: %d %s", path, r.status, r.raw)
		}
	}
}
