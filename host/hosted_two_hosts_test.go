package host_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/service/changes"
	"github.com/authzhost/authz/internal/streamtest"
	"github.com/authzhost/authz/plugins/postgres/postgrestest"
	"github.com/authzhost/authz/sdk/authz"
)

func TestTwoHostsServeOneOrg(t *testing.T) {
	postgrestest.Require(t)
	p := openPair(t)
	for _, c := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"a key revoked at one is refused by the other", p.keys},
		{"a session ended at one is refused by the other", p.sessions},
		{"a write at one is told by the other, which ends with its session", p.streams},
		{"a seat removed at one is refused by the other", p.seats},
		{"a request is answered once, by whichever host", p.repeats},
		{"50 identical requests at once make one object", p.crowd},
		{"of 50 changes of one version exactly one is made", p.lostUpdates},
		{"changes of different members are both kept", p.changesMeet},
		{"the account log of both is one chain", p.logs},
		{"failed proofs are counted together, and through restarts", p.failures}, // last: nobody signs in after it
	} {
		t.Run(c.name, func(t *testing.T) {
			p.owner.t, p.other.t = t, t
			c.run(t)
		})
	}
}

func (p *hostedPair) keys(t *testing.T) {
	here, there := p.owner, p.owner.elsewhere(p.b)
	id, key := here.key(`{"kind":"admin","name":"script"}`)
	key = key.elsewhere(p.b)
	key.must(200, "GET", "/orgs/acme", "")
	renewed := key.with(here.must(200, "POST", "/orgs/acme/api-keys/"+id+"/rotate", `{"overlapMs":0}`).text("secret"))
	key.refused(401, "credential_invalid", "GET", "/orgs/acme", "")
	renewed.must(200, "GET", "/orgs/acme", "")
	here.must(204, "DELETE", "/orgs/acme/api-keys/"+id, "")
	renewed.refused(401, "credential_invalid", "GET", "/orgs/acme", "")

	id, key = there.key(`{"kind":"principal","name":"ci","serviceId":"ci"}`)
	key = key.elsewhere(p.a)
	const ask = `{"principal":{"serviceId":"ci"},"key":["authz_internal.access.read"]}`
	key.must(200, "POST", "/orgs/acme/evaluate", ask)
	there.must(204, "DELETE", "/orgs/acme/api-keys/"+id, "")
	key.refused(401, "credential_invalid", "POST", "/orgs/acme/evaluate", ask)
}

func (p *hostedPair) sessions(t *testing.T) {
	second := p.b.signIn(t, "acme", otherUser).elsewhere(p.a)
	second.must(200, "GET", "/orgs/acme", "")
	second.elsewhere(p.b).must(204, "POST", "/auth/sign-out", `{}`)
	second.refused(401, "session_expired", "GET", "/orgs/acme", "")

	third := p.b.signIn(t, "acme", otherUser)
	id := third.must(200, "GET", "/auth/session", "").text("session", "id")
	p.other.elsewhere(p.a).must(204, "DELETE", "/auth/sessions/"+id, "")
	third.refused(401, "session_expired", "GET", "/orgs/acme", "")

	fourth := p.b.signIn(t, "acme", otherUser)
	p.owner.must(204, "DELETE", "/orgs/acme/seats/"+otherUser+"/sessions", "")
	fourth.refused(401, "session_expired", "GET", "/orgs/acme", "")
	p.other.refused(401, "session_expired", "GET", "/orgs/acme", "")
	p.other = p.b.signIn(t, "acme", otherUser)
}

func (p *hostedPair) seats(t *testing.T) {
	const rename = `{"name":"Acme Ltd"}`
	_, key := p.other.key(`{"kind":"admin","name":"theirs"}`)
	p.other.must(200, "PATCH", "/orgs/acme", rename)
	key.must(200, "PATCH", "/orgs/acme", rename)
	p.owner.must(200, "PATCH", "/orgs/acme/seats/"+otherUser, `{"kind":"portal"}`)
	p.other.refused(403, "owner_required", "PATCH", "/orgs/acme", rename)
	key.refused(403, "owner_required", "PATCH", "/orgs/acme", rename)
	p.owner.must(204, "DELETE", "/orgs/acme/seats/"+otherUser, "")
	p.other.refused(401, "session_expired", "GET", "/orgs/acme", "")
	key.refused(401, "credential_invalid", "GET", "/orgs/acme", "")
	p.invite()
	key.refused(401, "credential_invalid", "GET", "/orgs/acme", "") // what ended stays so
	p.other = p.b.signIn(t, "acme", otherUser)
}

func (p *hostedPair) repeats(t *testing.T) {
	here, there := p.owner, p.owner.elsewhere(p.b)
	const seat = `{"userId":"u_once"}`
	first := here.must(201, "POST", "/orgs/acme/seats", seat, "Idempotency-Key", "seat-1")
	again := there.must(201, "POST", "/orgs/acme/seats", seat, "Idempotency-Key", "seat-1")
	if diff := cmp.Diff(string(first.raw), string(again.raw)); diff != "" || again.header.Get("Idempotency-Replayed") != "true" ||
		first.header.Get("Idempotency-Replayed") != "" || again.header.Get("Etag") != first.header.Get("Etag") {
		t.Errorf("the repeat has headers %v, and another body (-first +repeat):\n%s", again.header, diff)
	}
	there.refused(409, "idempotency_conflict", "POST", "/orgs/acme/seats", `{"userId":"u_twice"}`, "Idempotency-Key", "seat-1")
	p.other.refused(409, "seat_exists", "POST", "/orgs/acme/seats", seat, "Idempotency-Key", "seat-1") // another caller's key is another key

	const key = `{"kind":"principal","name":"once","serviceId":"once"}`
	first = here.must(201, "POST", "/orgs/acme/api-keys", key, "Idempotency-Key", "key-1")
	again = there.must(201, "POST", "/orgs/acme/api-keys", key, "Idempotency-Key", "key-1")
	var told struct {
		APIKey         struct{ ID string }
		Secret         *string
		SecretWithheld bool
	}
	if err := json.Unmarshal(again.raw, &told); err != nil || told.Secret != nil || !told.SecretWithheld || told.APIKey.ID != first.text("apiKey", "id") {
		t.Errorf("the repeat answers %s, %v", again.raw, err)
	}
	here.refused(409, "seat_exists", "POST", "/orgs/acme/seats", seat, "Idempotency-Key", "seat-2")
	there.refused(409, "seat_exists", "POST", "/orgs/acme/seats", seat, "Idempotency-Key", "seat-2")
	p.clock.pass(25 * time.Hour) // entries are gone, and sessions
	p.owner, p.other = p.a.signIn(t, "acme", bootUser), p.b.signIn(t, "acme", otherUser)
	p.owner.refused(409, "seat_exists", "POST", "/orgs/acme/seats", seat, "Idempotency-Key", "seat-1")
}

// crowd: who comes while the first still runs is told so, and whoever else gets
// the first one's answer.
func (p *hostedPair) crowd(t *testing.T) {
	hosts := []visitor{p.owner, p.owner.elsewhere(p.b)}
	for _, c := range []struct{ path, body, list, member string }{
		{"/orgs/acme/api-keys", `{"kind":"principal","name":"crowd","serviceId":"crowd"}`, "apiKeys", "name"},
		{"/orgs/acme/applications", `{"id":"crowd","name":"crowd","namespaces":["crowd"]}`, "applications", "name"},
		{"/orgs/acme/org/grants", `{"subject":"user:crowd","pattern":"docs.files.read"}`, "grants", "subject"},
	} {
		var of struct{ Name, Subject string }
		_ = json.Unmarshal([]byte(c.body), &of) // a literal above
		answers := together(50, func(i int) answer {
			return hosts[i%2].call("POST", c.path, c.body, "Idempotency-Key", "crowd")
		})
		got := tally(answers)
		if made := got["Created"]; made == 0 || made+got["Conflict idempotency_in_progress"] != 50 {
			t.Errorf("%s: %v", c.path, got)
		}
		objects := map[string]bool{}
		firsts := 0
		for _, a := range append(answers, hosts[1].must(201, "POST", c.path, c.body, "Idempotency-Key", "crowd")) {
			if a.status == 201 {
				objects[a.header.Get("Location")+a.text("grant", "id")] = true
			}
			if a.status == 201 && a.header.Get("Idempotency-Replayed") == "" {
				firsts++
			}
		}
		kept := 0
		for _, row := range hosts[0].must(200, "GET", c.path+"?limit=1000", "").list(c.list) {
			if row[c.member] == of.Name+of.Subject || row[c.member] == of.Name {
				kept++
			}
		}
		if len(objects) != 1 || firsts != 1 || kept != 1 {
			t.Errorf("%s: %d objects are told of, %d times for the first time, and %d are kept", c.path, len(objects), firsts, kept)
		}
	}
}

func (p *hostedPair) lostUpdates(t *testing.T) {
	hosts := []visitor{p.owner, p.owner.elsewhere(p.b)}
	for _, c := range []struct{ path, object, member string }{
		{"/orgs/acme", "org", "name"},
		{"/orgs/acme/seats/" + otherUser, "seat", "displayName"},
	} {
		get := c.path
		if c.object == "seat" {
			get = "" // is read from the list: one seat has no GET
		}
		etag := func() string {
			if get != "" {
				return hosts[0].must(200, "GET", get, "").header.Get("Etag")
			}
			for _, seat := range hosts[0].must(200, "GET", "/orgs/acme/seats", "").list("seats") {
				if seat["userId"] == otherUser {
					return seat["etag"].(string)
				}
			}
			t.Fatal("the seat is gone")
			return ""
		}()
		answers := together(50, func(i int) answer {
			return hosts[i%2].call("PATCH", c.path, fmt.Sprintf(`{%q:"writer %d"}`, c.member, i), "If-Match", etag)
		})
		if diff := cmp.Diff(map[string]int{"OK": 1, "Conflict precondition_failed": 49}, tally(answers)); diff != "" {
			t.Errorf("%s: %s", c.path, diff)
		}
		for i, a := range answers {
			if a.status == 200 && a.text(c.object, c.member) != fmt.Sprintf("writer %d", i) {
				t.Errorf("%s: the winner %d is told %s", c.path, i, a.raw)
			}
			if a.status == 200 && get != "" {
				if now := hosts[1].must(200, "GET", get, ""); now.text(c.object, c.member) != a.text(c.object, c.member) || now.header.Get("Etag") != a.header.Get("Etag") {
					t.Errorf("%s: the winner wrote %s, kept is %s", c.path, a.raw, now.raw)
				}
			}
		}
		hosts[1].refused(409, "precondition_failed", "PATCH", c.path, `{"`+c.member+`":"late"}`, "If-Match", etag)
	}
	id, _ := p.owner.key(`{"kind":"principal","name":"held","serviceId":"held"}`)
	p.owner.refused(409, "precondition_failed", "DELETE", "/orgs/acme/api-keys/"+id, "", "If-Match", `"none"`)
}

// changesMeet: without If-Match each write judges what is there, so that neither
// undoes the other.
func (p *hostedPair) changesMeet(t *testing.T) {
	hosts := []visitor{p.owner, p.owner.elsewhere(p.b)}
	for round := range 5 {
		bodies := []string{fmt.Sprintf(`{"email":"r%d@example.com"}`, round), fmt.Sprintf(`{"displayName":"Round %d"}`, round)}
		for _, a := range together(2, func(i int) answer { return hosts[i].call("PATCH", "/orgs/acme/seats/"+otherUser, bodies[i]) }) {
			if a.status != 200 {
				t.Errorf("%d %s", a.status, a.raw)
			}
		}
		for _, seat := range hosts[0].must(200, "GET", "/orgs/acme/seats", "").list("seats") {
			if seat["userId"] == otherUser && (seat["email"] != fmt.Sprintf("r%d@example.com", round) || seat["displayName"] != fmt.Sprintf("Round %d", round)) {
				t.Errorf("a change is lost: %v", seat)
			}
		}
	}
}

// logs: what both wrote at once, in the tests before and here, forked no chain.
func (p *hostedPair) logs(t *testing.T) {
	hosts := []visitor{p.owner, p.owner.elsewhere(p.b)}
	for _, a := range together(50, func(i int) answer {
		return hosts[i%2].call("POST", "/orgs/acme/seats", fmt.Sprintf(`{"userId":"u_chain_%d"}`, i))
	}) {
		if a.status != 201 {
			t.Errorf("%d %s", a.status, a.raw)
		}
	}
	var log []authz.AuditEntry
	for path := "/orgs/acme/audit?mode=export&limit=100"; ; {
		page := hosts[1].must(200, "GET", path, "")
		var got struct{ Events []authz.AuditEntry }
		if err := json.Unmarshal(page.raw, &got); err != nil {
			t.Fatal(err)
		}
		log = append(log, got.Events...)
		next := page.text("nextCursor")
		if next == "" {
			break
		}
		path = "/orgs/acme/audit?mode=export&limit=100&cursor=" + url.QueryEscape(next)
	}
	report, err := authz.VerifyHashChain(func(yield func(authz.AuditEntry, error) bool) {
		for _, e := range log {
			if !yield(e, nil) {
				return
			}
		}
	}, "")
	if err != nil || !report.OK || report.Hashed != len(log) || len(log) < 50 {
		t.Errorf("%+v, %v of %d entries", report, err, len(log))
	}
}

func (p *hostedPair) failures(t *testing.T) {
	p.clock.pass(2 * time.Hour)
	wrong := signInBody("acme", bootUser, "a-guess-that-is-as-long-as-the-secret-is")
	for i := range 5 {
		p.at(t, i).refused(401, "sign_in_failed", "POST", "/auth/sign-in", wrong)
	}
	p.clock.pass(time.Minute) // so that the bucket of sign-ins is full again
	restarted := openHosted(t, p.postgres(t, bootUser), &p.clock)
	for _, at := range []visitor{p.at(t, 0), p.at(t, 1), restarted.visitor(t)} {
		a := at.refused(429, "rate_limited", "POST", "/auth/sign-in", signInBody("acme", bootUser, bootSecret))
		if a.text("error", "bucket") != "bootstrap_address" || a.header.Get("Retry-After") == "" {
			t.Errorf("%v %s", a.header, a.raw)
		}
	}
	p.clock.pass(15 * time.Minute)
	restarted.signIn(t, "acme", bootUser)
}

func (p *hostedPair) at(t *testing.T, i int) visitor {
	if i%2 == 0 {
		return p.a.visitor(t)
	}
	return p.b.visitor(t)
}

// What is written at one host is told at the other within a second, and a session that is
// ended there ends the stream here.
func (p *hostedPair) streams(t *testing.T) {
	user := p.b.signIn(t, "acme", otherUser).elsewhere(p.a)
	open := func(v visitor) <-chan streamtest.Event {
		r, err := http.NewRequest(http.MethodGet, v.at+"/api/v1/orgs/acme/changes", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Cookie", "authz_session="+v.cookie)
		answer, err := apiTransport.RoundTrip(r)
		if err != nil || answer.StatusCode != 200 {
			t.Fatal(answer, err)
		}
		return streamtest.Events(answer)
	}
	open(p.owner) // and left open: a host that stops ends it
	events := open(user)
	wait := func(name, want string) (told time.Duration) {
		t.Helper()
		for began := time.Now(); ; {
			select {
			case e, more := <-events:
				if !more {
					t.Fatalf("the stream ended before %s of %s", name, want)
				}
				if e.Name == name && strings.Contains(e.Data, strconv.Quote(want)) {
					return time.Since(began)
				}
			case <-time.After(30 * time.Second):
				t.Fatalf("no %s of %s", name, want)
			}
		}
	}
	time.Sleep(3 * changes.Every) // what it begins with is told
	for len(events) > 0 {
		<-events
	}
	for i := range 5 {
		p.owner.elsewhere(p.b).must(200, "PATCH", "/orgs/acme", fmt.Sprintf(`{"name":"Acme %d"}`, i))
		if took := wait("change", "account"); took > time.Second {
			t.Logf("told after %s", took) // of a busy machine
		}
	}
	user.elsewhere(p.b).must(204, "POST", "/auth/sign-out", `{}`)
	wait("end", "session_expired")
}
