package host_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/authzhost/authz/host"
	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/plugins/postgres/postgrestest"
	"github.com/authzhost/authz/sdk/catalog"
)

// The environment of this test binary when it is to be a host that can be killed.
const (
	childConfig = "AUTHZ_TEST_CHILD_CONFIG"
	childDSN    = "AUTHZ_TEST_CHILD_DSN"
	childAhead  = "AUTHZ_TEST_CHILD_AHEAD" // of the wall clock, in milliseconds
)

// serveAsChild is a host that ends with its parent, which holds its stdin open.
func serveAsChild() int {
	cfg, err := config.Load(config.Source{Path: os.Getenv(childConfig)})
	clock := &testClock{}
	if err == nil && os.Getenv(childDSN) != "" {
		cfg = overPostgres(cfg, os.Getenv(childDSN))
		var ahead int64
		ahead, err = strconv.ParseInt(os.Getenv(childAhead), 10, 64)
		clock.ahead.Store(ahead)
	}
	if err == nil {
		var h *host.Host
		if h, err = host.Open(context.Background(), cfg, host.Options{Clock: clock.now}); err == nil {
			fmt.Println(h.Address())
			_, _ = io.Copy(io.Discard, os.Stdin) // its end is what is waited for
			err = h.Close(context.Background())
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// victim is a host in a process of its own.
type victim struct {
	visitor // without a credential
	process *exec.Cmd
}

func (p *hostedPair) victim(t *testing.T) *victim {
	t.Helper()
	return p.victimWith(t, hostedLines(p.files, bootUser))
}

func (p *hostedPair) victimWith(t *testing.T, lines string) *victim {
	t.Helper()
	v := &victim{process: exec.Command(os.Args[0])}
	v.process.Env = append(os.Environ(), childConfig+"="+configFile(t, lines), childDSN+"="+p.dsn,
		fmt.Sprintf("%s=%d", childAhead, p.clock.ahead.Load()))
	v.process.Stderr = os.Stderr
	stdin, err := v.process.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := v.process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := v.process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stdin.Close() })
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	v.visitor = visitor{t: t, at: "http://" + strings.TrimSpace(address)}
	return v
}

// database holds writes fast, so that a host can be killed while one is under way.
type database struct {
	t    *testing.T
	conn *pgx.Conn
}

func (p *hostedPair) database(t *testing.T) database {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), p.dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return database{t, conn}
}

func (d database) run(statement string) {
	d.t.Helper()
	if _, err := d.conn.Exec(d.t.Context(), statement); err != nil {
		d.t.Fatalf("%s: %v", statement, err)
	}
}

// hold has every write of such a row wait until it is cut off.
func (d database) hold(table, when string) {
	d.run(`create or replace function hold() returns trigger language plpgsql as $$ begin
		if ` + when + ` then perform pg_sleep(300); raise exception 'held'; end if; return new; end $$`)
	d.run(`create trigger hold before insert or update on "` + table + `" for each row execute function hold()`)
}

const held = `from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()`

func (d database) holds() (n int) {
	if err := d.conn.QueryRow(d.t.Context(), `select count(*) `+held).Scan(&n); err != nil {
		d.t.Fatal(err)
	}
	return n
}

// release cuts off what is held, which then never happens.
func (d database) release(table string) {
	d.run(`select pg_terminate_backend(pid) ` + held)
	d.run(`drop trigger hold on "` + table + `"`)
}

// TestARepeatAfterAHostDied kills hosts between what they noted of a request and
// its commit, and between its commit and its answer.
func TestARepeatAfterAHostDied(t *testing.T) {
	postgrestest.Require(t)
	p := openPair(t)
	db := p.database(t)
	const records, grants = "AuthzRecord", "AuthzGrant"
	row := func(collection, part string) string {
		return `new."collection" = '` + collection + `' and new."data"::text like '%` + part + `%'`
	}
	ended := row("idempotency", `"status"`)
	for i, c := range []struct {
		name, path, body, list, member string
		table, when                    string
		status                         int
		code                           string
		kept                           int
	}{
		{"an org, before its commit", "/orgs", `{"id":"lost-1","name":"lost-1","ownerUserId":"u_root"}`, "orgs", "id", records, row("orgs", "lost-1"), 201, "", 1},
		{"an org, before its answer", "/orgs", `{"id":"lost-2","name":"lost-2","ownerUserId":"u_root"}`, "orgs", "id", records, ended, 201, "", 1},
		{"a seat, before its commit", "/orgs/acme/seats", `{"userId":"lost-3"}`, "seats", "userId", records, row("seats", "lost-3"), 201, "", 1},
		{"a seat, before its answer", "/orgs/acme/seats", `{"userId":"lost-4"}`, "seats", "userId", records, ended, 201, "", 1},
		{"a key, before its commit", "/orgs/acme/api-keys", `{"kind":"principal","name":"lost-5","serviceId":"s"}`, "apiKeys", "name", records, row("api_keys", "lost-5"), 201, "", 1},
		{"a key, before its answer", "/orgs/acme/api-keys", `{"kind":"principal","name":"lost-6","serviceId":"s"}`, "apiKeys", "name", records, ended, 201, "", 1},
		{"an application, before its answer", "/orgs/acme/applications", `{"id":"lost-7","name":"lost-7","namespaces":["lost7"]}`, "applications", "id", records, ended, 201, "", 1},
		// What an application was sent, nobody here can send again.
		{"a relayed grant, before its commit", "/orgs/acme/org/grants", `{"subject":"user:lost-8","pattern":"docs.files.read"}`, "grants", "subject", grants, "true", 504, "application_timeout", 0},
		{"a relayed grant, before its answer", "/orgs/acme/org/grants", `{"subject":"user:lost-9","pattern":"docs.files.read"}`, "grants", "subject", records, ended, 504, "application_timeout", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			caller := p.a.signIn(t, "acme", bootUser) // minutes go by in each, and keys need a recent sign-in
			key := fmt.Sprintf("killed-%d", i)
			p.dieAt(database{t, db.conn}, c.table, c.when, caller, c.path, c.body, key)
			again := caller.call("POST", c.path, c.body, "Idempotency-Key", key)
			if again.status != c.status || again.code() != c.code {
				t.Fatalf("the repeat: %d %s", again.status, again.raw)
			}
			if c.status != 201 && again.text("error", "outcome") != "unknown" {
				t.Errorf("the outcome is not said to be unknown: %s", again.raw)
			}
			if strings.Contains(c.when, "idempotency") && c.list == "apiKeys" && !strings.Contains(string(again.raw), `"secret":null,"secretWithheld":true`) {
				t.Errorf("a secret that was never kept is not said to be withheld: %s", again.raw)
			}
			var wanted map[string]any
			_ = json.Unmarshal([]byte(c.body), &wanted) // a literal above
			kept := 0
			for _, row := range caller.must(200, "GET", c.path+"?limit=1000", "").list(c.list) {
				if row[c.member] == wanted[c.member] {
					kept++
				}
			}
			if kept != c.kept {
				t.Errorf("%d are kept, want %d", kept, c.kept)
			}
			if c.status != 201 {
				return
			}
			third := caller.must(201, "POST", c.path, c.body, "Idempotency-Key", key)
			if third.header.Get("Idempotency-Replayed") != "true" || third.header.Get("Location") != again.header.Get("Location") {
				t.Errorf("another repeat: %v %s", third.header, third.raw)
			}
			p.loggedOnce(t, caller, c.list, wanted, again)
		})
	}
}

// dieAt kills a host while it writes the row that a POST of the caller's leads to,
// and lets the minute go by in which the request counts as running.
func (p *hostedPair) dieAt(db database, table, when string, caller visitor, path, body, key string) {
	t := db.t
	t.Helper()
	p.clock.pass(2 * time.Minute) // buckets of sign-ins are full
	victim := p.victim(t)
	doomed := caller
	doomed.at = victim.at
	db.hold(table, when)
	answered := make(chan string, 1)
	go func() {
		a, err := doomed.try("POST", path, body, "Idempotency-Key", key)
		answered <- fmt.Sprintf("%d %s %v", a.status, a.raw, err)
	}()
	eventually(t, "the write is under way", func() bool {
		select {
		case a := <-answered:
			t.Fatal("it was answered: " + a)
		default:
		}
		return db.holds() > 0
	})
	kill(t, victim.process.Process.Pid)
	_ = victim.process.Wait()
	db.release(table)
	caller.refused(409, "idempotency_in_progress", "POST", path, body, "Idempotency-Key", key)
	p.clock.pass(time.Minute)
}

// TestARepeatOfAChangeAfterAHostDied does so with what changes an object that is
// there: the repeat changes it once, and tells no secret that nobody has.
func TestARepeatOfAChangeAfterAHostDied(t *testing.T) {
	postgrestest.Require(t)
	p := openPair(t)
	db := p.database(t)
	owner := p.owner
	docs := "/orgs/acme/applications/"
	for _, c := range []struct {
		name, action, collection string // whose write is the commit
		status                   int
		make                     func(id string) (path, body, target string)
		check                    func(t *testing.T, id string, told answer, committed bool)
	}{
		{"rotate", "api_key.rotate", "api_keys", 200, func(id string) (string, string, string) {
			key, _ := owner.key(`{"kind":"principal","name":"` + id + `","serviceId":"` + id + `"}`)
			return "/orgs/acme/api-keys/" + key + "/rotate", `{"overlapMs":0}`, key
		}, func(t *testing.T, id string, told answer, committed bool) {
			if committed {
				if !strings.Contains(string(told.raw), `"secret":null,"secretWithheld":true`) {
					t.Errorf("a secret that was never kept is not said to be withheld: %s", told.raw)
				}
				return
			}
			owner.with(told.text("secret")).must(200, "GET", "/orgs/acme/me", "")
		}},
		{"link", "application.link", "applications", 200, func(id string) (string, string, string) {
			owner.must(201, "POST", docs[:len(docs)-1], `{"id":"`+id+`","name":"`+id+`","namespaces":["`+id+`"]}`)
			return docs + id + "/link", `{"relayUrl":"https://127.0.0.1:1025"}`, id // where nobody answers
		}, func(t *testing.T, id string, told answer, _ bool) {
			if told.text("application", "state") != "linked" {
				t.Errorf("told %s", told.raw)
			}
		}},
		{"publish", "registry.publish", "catalogs", 201, func(id string) (string, string, string) {
			owner.must(201, "POST", docs[:len(docs)-1], `{"id":"`+id+`","name":"`+id+`","namespaces":["`+id+`"]}`)
			return docs + id + "/publish", `{"document":` + documentOf(t, id, id+".files.read") + `}`, id
		}, func(t *testing.T, id string, told answer, _ bool) {
			n := len(owner.must(200, "GET", "/orgs/acme/registry/"+id, "").list("versions"))
			if n != 1 || !strings.Contains(string(told.raw), `"version":1`) || !strings.Contains(string(told.raw), `"addedKeys":["`+id+`.files.read"]`) {
				t.Errorf("%d versions; told %s", n, told.raw)
			}
		}},
	} {
		for _, committed := range []bool{false, true} {
			id := fmt.Sprintf("%s%t", c.name, committed)
			t.Run(fmt.Sprintf("%s, committed %t", c.name, committed), func(t *testing.T) {
				owner = p.a.signIn(t, "acme", bootUser)
				path, body, target := c.make(id)
				when := `new."collection" = '` + c.collection + `'`
				if committed {
					when = `new."collection" = 'idempotency' and new."data"::text like '%"status"%'`
				}
				p.dieAt(database{t, db.conn}, "AuthzRecord", when, owner, path, body, id)
				told := owner.must(c.status, "POST", path, body, "Idempotency-Key", id)
				c.check(t, id, told, committed)
				if events := owner.must(200, "GET", "/orgs/acme/audit?action="+c.action+"&target="+target, "").list("events"); len(events) != 1 {
					t.Errorf("%d entries %s of %s: %v", len(events), c.action, target, events)
				}
				third := owner.must(c.status, "POST", path, body, "Idempotency-Key", id)
				if third.header.Get("Idempotency-Replayed") != "true" {
					t.Errorf("another repeat: %v %s", third.header, third.raw)
				}
			})
		}
	}
}

// documentOf is the document of a catalog of these keys.
func documentOf(t *testing.T, namespace string, keys ...string) string {
	t.Helper()
	in := catalog.Input{Namespaces: []string{namespace}}
	for _, key := range keys {
		in.Permissions = append(in.Permissions, catalog.PermissionSet{Leaves: []catalog.Permission{{Key: key}}})
	}
	built, err := catalog.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	document, err := built.Document()
	if err != nil {
		t.Fatal(err)
	}
	return string(document)
}

// loggedOnce: what was made by two hosts was made once, and its entry says so.
func (p *hostedPair) loggedOnce(t *testing.T, caller visitor, list string, made map[string]any, told answer) {
	t.Helper()
	action, target, org := "", "", "acme"
	switch list {
	case "orgs":
		org = made["id"].(string)
		action, target = "org.create", org
	case "seats":
		action, target = "seat.invite", made["userId"].(string)
	case "apiKeys":
		action, target = "api_key.create", told.text("apiKey", "id")
	case "applications":
		action, target = "application.register", made["id"].(string)
	}
	events := caller.must(200, "GET", "/orgs/"+org+"/audit?action="+action+"&target="+target, "").list("events")
	if len(events) != 1 {
		t.Errorf("%d entries %s of %s: %v", len(events), action, target, events)
	}
}
