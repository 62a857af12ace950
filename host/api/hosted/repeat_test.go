package hosted

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/sdk/storage"
)

// dies makes the entries of the org what they are when the host died after the
// commit and before the answer was kept.
func (w *world) dies(org string) {
	w.t.Helper()
	ctx := context.Background()
	for row, err := range entries.All(ctx, w.accounts, org) {
		w.must(err)
		e := row.Value
		e.RunningAt, e.Status, e.Header, e.Answer = w.clock.Load(), 0, nil, nil
		tx := w.accounts.Begin(ctx)
		entries.Put(tx, org, row.ID, e, row.Version)
		w.must(tx.Commit())
	}
}

func TestARepeatAfterItsHostDiedDoesNothingTwice(t *testing.T) {
	id := func(path ...string) func(reply) string { return func(r reply) string { return r.text(path...) } }
	for name, c := range map[string]struct {
		path, body, org string
		id              func(reply) string
		list, rows      string
		want            int // rows in the list at the end
	}{
		"org":         {"/orgs", `{"name":"N","ownerUserId":"` + testUser + `"}`, "", id("org", "id"), "/orgs", "orgs", 2},
		"seat":        {"/orgs/acme/seats", `{"userId":"u_1"}`, "acme", id("seat", "userId"), "/orgs/acme/seats", "seats", 2},
		"key":         {"/orgs/acme/api-keys", `{"kind":"principal","name":"ci","serviceId":"ci"}`, "acme", id("apiKey", "id"), "/orgs/acme/api-keys", "apiKeys", 1},
		"application": {"/orgs/acme/applications", `{"id":"wiki","name":"W","namespaces":["wiki"]}`, "acme", id("application", "id"), "/orgs/acme/applications", "applications", 2},
		"account grant": {"/orgs/acme/org/grants", `{"subject":"user:u_1","pattern":"cloud.seats.read"}`, "acme", id("grant", "id"),
			"/orgs/acme/org/grants?subject=user:u_1", "grants", 1},
		"account grants": {"/orgs/acme/org/grants/bulk", `{"grants":[{"subject":"user:u_1","pattern":"cloud.seats.read"},{"subject":"user:u_1","pattern":"cloud.billing.read"}]}`, "acme",
			func(r reply) string { return r.ids("grants", "id") }, "/orgs/acme/org/grants?subject=user:u_1", "grants", 2},
		"account revoke": {"/orgs/acme/org/revokes", `{"userId":"u_1","pattern":"cloud.seats.read"}`, "acme", id("revoke", "id"), "/orgs/acme/org/revokes?userId=u_1", "revokes", 1},
		"account role":   {"/orgs/acme/org/roles", `{"name":"r","patterns":["cloud.seats.read"]}`, "acme", id("role", "id"), "/orgs/acme/audit?action=role.create", "events", 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			owner := w.acme()
			c2 := owner.with("Idempotency-Key", "k")
			first := c2.call("POST", c.path, c.body).want(t, 201, "")
			w.dies(c.org)
			running := c2.call("POST", c.path, c.body).want(t, 409, "idempotency_in_progress")
			if running.header.Get("Retry-After") == "" {
				t.Error("nobody says when to come back")
			}
			w.clock.Add(runningMs)
			again := c2.call("POST", c.path, c.body).want(t, 201, "")
			if got, want := c.id(again), c.id(first); got != want || got == "" {
				t.Errorf("the repeat made %q, the first run %q", got, want)
			}
			if first.at("secret") != nil && (again.at("secret") != nil || again.at("secretWithheld") != true) {
				t.Errorf("a secret that was not stored was told: %s", again.raw)
			}
			if r := owner.call("GET", c.list, "").want(t, 200, ""); len(r.at(c.rows).([]any)) != c.want {
				t.Errorf("want %d: %s", c.want, r.raw)
			}
			if r := c2.call("POST", c.path, c.body).want(t, 201, ""); r.header.Get("Idempotency-Replayed") != "true" {
				t.Error("the repeat's answer was not kept")
			}
		})
	}
}

// What a caller may is asked at every request: a kept answer is no right to it.
func TestAnAnswerIsNotGivenAgainToWhomItWouldBeRefusedNow(t *testing.T) {
	cloudRow := func(pattern, scope string) string {
		return `{"subject":"user:u_portal","pattern":"` + pattern + `","scope":"` + scope + `"}`
	}
	for name, c := range map[string]struct {
		account    []string // rows that the caller has; the first is lost
		path, body string
		status     int
		code       string
	}{
		"a grant of the root":       {nil, "/org/grants", `{"subject":"user:u_1","pattern":"docs.admin.read"}`, 201, "forbidden"},
		"grants of an application":  {nil, "/org/grants/bulk", `{"grants":[{"subject":"user:u_1","pattern":"docs.files.read","scope":"docs.doc:1"}]}`, 201, "forbidden"},
		"a revoke of the root":      {nil, "/org/revokes", `{"userId":"u_1","pattern":"docs.admin.read"}`, 201, "forbidden"},
		"a role of the root":        {nil, "/org/roles", `{"name":"r","patterns":["docs.admin.read"]}`, 201, "forbidden"},
		"a preview":                 {nil, "/view-as", `{"viewAs":{"kind":"user","userId":"u_1"}}`, 200, "forbidden"},
		"an account grant":          {[]string{cloudRow("cloud.*", "*")}, "/org/grants", `{"subject":"user:u_1","pattern":"cloud.seats.read"}`, 201, "forbidden"},
		"what a grant confers":      {[]string{cloudRow("cloud.seats.read", "*"), cloudRow("cloud.seats.update_seat", "*")}, "/org/grants", `{"subject":"user:u_1","pattern":"cloud.seats.read"}`, 201, "escalation_refused"},
		"a change of grants":        {nil, "/org/grants/change", `{"create":[{"subject":"user:u_1","pattern":"docs.admin.read"}]}`, 200, "forbidden"},
		"what a change confers":     {[]string{cloudRow("cloud.seats.read", "*"), cloudRow("cloud.seats.update_seat", "*")}, "/org/grants/change", `{"create":[{"subject":"user:u_1","pattern":"cloud.seats.read"}]}`, 200, "escalation_refused"},
		"what a granted role is":    {[]string{cloudRow("cloud.*", "*"), cloudRow("cloud.seats.*", "*")}, "/org/grants/bulk", `{"grants":[{"subject":"user:u_1","roleId":"billing"}]}`, 201, "escalation_refused"},
		"an account revoke":         {[]string{cloudRow("cloud.seats.update_seat", "*")}, "/org/revokes", `{"userId":"u_1","pattern":"cloud.seats.read"}`, 201, "forbidden"},
		"an account role":           {[]string{cloudRow("cloud.seats.update_seat", "*"), cloudRow("cloud.seats.read", "*")}, "/org/roles", `{"name":"r","patterns":["cloud.seats.read"]}`, 201, "forbidden"},
		"what a role confers":       {[]string{cloudRow("cloud.seats.read", "*"), cloudRow("cloud.seats.update_seat", "*")}, "/org/roles", `{"name":"r","patterns":["cloud.seats.read"]}`, 201, "escalation_refused"},
		"a key":                     {[]string{cloudRow("cloud.applications.manage_credentials", "*")}, "/api-keys", `{"kind":"principal","name":"x","serviceId":"x"}`, 201, "forbidden"},
		"a key of an application's": {[]string{cloudRow("cloud.applications.manage_credentials", "cloud.app:docs"), cloudRow("cloud.applications.publish_catalog", "cloud.app:docs")}, "/api-keys", `{"kind":"publisher","name":"x","namespace":"docs"}`, 201, "forbidden"},
		"another secret":            {[]string{cloudRow("cloud.applications.manage_credentials", "*")}, "/api-keys/ID/rotate", `{}`, 200, "forbidden"},
		"an administrator's seat":   {[]string{cloudRow("cloud.*", "*"), cloudRow("cloud.seats.*", "*")}, "/seats", `{"userId":"u_1","kind":"admin"}`, 201, "escalation_refused"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			owner := w.acme()
			owner.call("POST", "/orgs/acme/org/roles", `{"id":"billing","name":"b","patterns":["cloud.billing.read"]}`).want(t, 201, "")
			owner.call("POST", "/orgs/acme/seats", `{"userId":"u_portal"}`).want(t, 201, "")
			key := owner.call("POST", "/orgs/acme/api-keys", `{"kind":"principal","name":"y","serviceId":"y"}`).want(t, 201, "").text("apiKey", "id")
			path := strings.Replace(c.path, "ID", key, 1)
			give := func(row string) (lose func()) {
				id := owner.call("POST", "/orgs/acme/org/grants", row).want(t, 201, "").text("grant", "id")
				return func() { owner.call("DELETE", "/orgs/acme/org/grants/"+id, "").want(t, 204, "") }
			}
			rows := c.account
			if rows == nil {
				rows = []string{cloudRow("authz_internal.*", "*")}
			}
			lose := give(rows[0])
			for _, row := range rows[1:] {
				give(row)
			}
			caller := w.signInAs("u_portal").with("Idempotency-Key", "k")
			first := caller.call("POST", "/orgs/acme"+path, c.body).want(t, c.status, "")
			lose()
			for _, body := range []string{c.body, " " + c.body} { // nor told that it was another body
				if refused := caller.call("POST", "/orgs/acme"+path, body).want(t, 403, c.code); refused.header.Get("Idempotency-Replayed") != "" {
					t.Error("a refusal was kept")
				}
			}
			give(rows[0])
			again := caller.call("POST", "/orgs/acme"+path, c.body).want(t, c.status, "")
			if again.header.Get("Idempotency-Replayed") != "true" || first.at("secret") == nil && string(again.raw) != string(first.raw) {
				t.Errorf("who may again is not told what it was: %s, first %s", again.raw, first.raw)
			}
		})
	}
}

func TestTheAnswerOfAnOwnersActIsNotGivenAgainToWhoIsNone(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	owner.call("POST", "/orgs/acme/seats", `{"userId":"u_2","kind":"owner"}`).want(t, 201, "")
	other := w.signInAs("u_2").with("Idempotency-Key", "k")
	other.call("POST", "/orgs/acme/seats", `{"userId":"u_3","kind":"owner"}`).want(t, 201, "")
	owner.call("PATCH", "/orgs/acme/seats/u_2", `{"kind":"admin"}`).want(t, 200, "")
	other.call("POST", "/orgs/acme/seats", `{"userId":"u_3","kind":"owner"}`).want(t, 403, "owner_required")
}

// A right that ended must not be read off an answer of yesterday: evaluations are
// never stored (spec: hosted-api §13).
func TestADecisionIsNeverKept(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	machine := owner.key(`{"kind":"principal","name":"p","serviceId":"ci"}`).with("Idempotency-Key", "k")
	id := owner.call("POST", "/orgs/acme/org/grants", `{"subject":"service:ci","pattern":"cloud.seats.read"}`).want(t, 201, "").text("grant", "id")
	ask := func() any {
		return machine.call("POST", "/orgs/acme/evaluate", `{"key":["cloud.seats.read"]}`).want(t, 200, "").at("allowed")
	}
	if ask() != true {
		t.Error("the grant does not count")
	}
	owner.call("DELETE", "/orgs/acme/org/grants/"+id, "").want(t, 204, "")
	if ask() != false {
		t.Error("what was decided before the grant went is told again")
	}
	for row, err := range entries.All(t.Context(), w.accounts, "acme") {
		w.must(err)
		t.Errorf("a decision is stored: %s", row.Value.Answer)
	}
}

func TestARelayedWriteLeftRunningIsUnknown(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	for path, body := range map[string]string{
		"/orgs/acme/org/grants":               `{"subject":"user:u_1","pattern":"docs.admin.read"}`,
		"/orgs/acme/applications/docs/grants": `{"subject":"user:u_1","pattern":"docs.files.read","scope":"docs.doc:1"}`,
	} {
		c := owner.with("Idempotency-Key", "k")
		c.call("POST", path, body).want(t, 201, "")
		w.dies("acme")
		w.clock.Add(runningMs)
		r := c.call("POST", path, body).want(t, 504, "application_timeout")
		if r.text("error", "outcome") != "unknown" || r.text("error", "application") != "docs" {
			t.Errorf("%s: %s", path, r.raw)
		}
	}
}

func TestAnswersOfEarlierDaysGoHoweverManyThereAre(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	for n := range maxSweep + 50 {
		_, _, err := w.api.idempotency.begin(ctx, "acme", entryID("c", "/p", strconv.Itoa(n)), nil, nil)
		w.must(err)
	}
	w.clock.Add(20 * idempotencyLifetimeMs) // the org wrote nothing meanwhile
	for range 2 {
		w.must(w.api.idempotency.sweep(ctx, "acme"))
	}
	for range entries.All(ctx, w.accounts, "acme") {
		t.Fatal("an answer of weeks ago is still there")
	}
}

// overtaken has something happen before its next commit.
type overtaken struct {
	storage.Store
	by func()
}

func (o *overtaken) Commit(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
	if by := o.by; by != nil {
		o.by = nil
		by()
	}
	return o.Store.Commit(ctx, c)
}

func TestTwoHostsMaySweepAtOnce(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	records := &overtaken{Store: w.store(account.Partition)}
	here, there := account.New(records, w.clock.Load), account.New(records.Store, w.clock.Load)
	hosts := [2]*idempotency{{store: here, swept: map[string]string{}}, {store: there, swept: map[string]string{}}}
	_, _, err := hosts[0].begin(ctx, "acme", entryID("c", "/p", "k"), nil, nil)
	w.must(err)
	w.clock.Add(3 * idempotencyLifetimeMs)
	records.by = func() { w.must(hosts[1].sweep(ctx, "acme")) }
	for range 2 {
		if err := hosts[0].sweep(ctx, "acme"); err != nil {
			t.Error(err)
		}
	}
	if hosts[0].swept["acme"] == "" || hosts[1].swept["acme"] == "" {
		t.Errorf("%v, %v: they sweep for ever", hosts[0].swept, hosts[1].swept)
	}
}

func TestForgedSessionsAreCounted(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	owner.call("POST", "/auth/sign-out", `{}`).want(t, 204, "")
	for range rateAnybody.PerMinute + 1 {
		if owner.call("GET", "/orgs", "").status == 429 {
			return
		}
	}
	t.Error("sessions that are none are looked up without end")
}

func TestThePublishesOfAnOrgAreCountedToIt(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	owner.key(`{"kind":"publisher","name":"b","namespace":"docs"}`).call("POST", "/registry/publish", w.publish).want(t, 201, "")
	left := func() int { return w.api.limits.buckets.Look(rateOrgWrites, "acme").Remaining }
	before := left()
	owner.key(`{"kind":"publisher","name":"b","namespace":"docs"}`).call("POST", "/registry/publish", w.publish).want(t, 200, "")
	if after := left(); before-after != 2 { // the key's making, and the publish
		t.Errorf("%v calls of 2 were counted to the org", before-after)
	}
	owner.call("POST", "/orgs/acme/applications", `{"id":"wiki","name":"W","namespaces":["wiki"]}`).want(t, 201, "")
	for range ratePublish.PerMinute + 2 {
		owner.call("POST", "/orgs/acme/applications/wiki/publish", w.publish).want(t, 403, "namespace_not_owned")
	}
}
