package host_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/internal/freeport"
	"github.com/authzhost/authz/plugins/postgres/postgrestest"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// memberHost is a member of the org acme in a host of its own. Its checks are asked in
// process, as a Go program does that embeds it.
type memberHost struct {
	*hostedHost
	name string
}

// join registers an application, links it, starts its host with the secret that the link
// made, and publishes its catalog.
func join(t testing.TB, owner visitor, clock *testClock, name string, plugin func(*config.Plugin)) *memberHost {
	t.Helper()
	port, err := freeport.Port()
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	owner.must(201, "POST", "/orgs/acme/applications", `{"id":"`+name+`","name":"`+name+`","namespaces":["`+name+`"]}`)
	link := owner.must(200, "POST", "/orgs/acme/applications/"+name+"/link", `{"relayUrl":"http://`+address+`"}`)
	dir, err := os.MkdirTemp("", "authz")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	vocabulary := "namespaces: [" + name + "]\nscopeTypes: {" + name + ".doc: {}}\npermissions:\n  " + name + ".files.read: {scopes: [" + name + ".doc]}\n  " + name + ".files.write: {scopes: [" + name + ".doc]}\n"
	write(t, filepath.Join(dir, "catalog.yaml"), vocabulary)
	write(t, filepath.Join(dir, "secret"), link.text("providerSecret"))
	path := filepath.Join(dir, "authz.yaml")
	write(t, path, `
listen: `+address+`
ops_listen: 127.0.0.1:0
run_dir: run
plugin_dirs: [`+plugins+`]
plugins:
  main: {plugin: memory}
applications:
  `+name+`:
    catalog: catalog.yaml
    storage: {driver: main, partition: `+name+`}
    provider: {secret: "file:secret"}
`)
	cfg, err := config.Load(config.Source{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	edit(cfg, plugin)
	m := &memberHost{openHosted(t, cfg, clock), name}
	app := m.app(t)
	document, err := app.Catalog().Document()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := app.PublishCatalog(t.Context(), document, authz.AdminProvenance("root")); err != nil {
		t.Fatal(err)
	}
	a := owner.call("POST", "/orgs/acme/applications/"+name+"/publish", `{"document":`+string(document)+`}`)
	if a.status != 201 {
		t.Fatalf("publish %s: %d %s", name, a.status, a.raw)
	}
	return m
}

func (m *memberHost) app(t testing.TB) *application.Application {
	t.Helper()
	a, ok := m.Application(m.name)
	if !ok {
		t.Fatalf("no application %s", m.name)
	}
	return a.Application
}

// fill gives a member an organization of its own.
func (m *memberHost) fill(t testing.TB) {
	t.Helper()
	app, by := m.app(t), authz.AdminProvenance("root")
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := app.CreateGroup(t.Context(), provider.GroupInput{ID: new(m.name + "-staff"), Name: m.name}, by)
	do(err)
	_, err = app.CreateRole(t.Context(), provider.RoleInput{ID: new(m.name + "-reader"), Name: m.name, Patterns: []string{m.name + ".files.read"}}, by)
	do(err)
	_, err = app.CreateGrant(t.Context(), provider.GrantInput{Subject: "group:" + m.name + "-staff", RoleID: m.name + "-reader"}, by)
	do(err)
	for i := range 5 {
		do(app.SetGroupMembership(t.Context(), fmt.Sprintf("%s-u%d", m.name, i), []string{m.name + "-staff"}, by))
	}
	_, err = app.CreateGrant(t.Context(), provider.GrantInput{Subject: "user:" + m.name + "-own", Pattern: m.name + ".files.write", Scope: m.name + ".doc:1"}, by)
	do(err)
}

// federate moves a member's organization; what widens by it is meant.
func federate(t testing.TB, by visitor, name string) {
	t.Helper()
	path := "/orgs/acme/applications/" + name + "/federate"
	plan := by.must(200, "POST", path, `{"dryRun":true}`)
	decided := []string{}
	for _, c := range plan.list("conflicts") {
		if c["kind"] != "widens" {
			t.Fatalf("a conflict that nobody made: %v", c)
		}
		decided = append(decided, fmt.Sprintf("%q:{\"action\":\"accept\"}", c["id"]))
	}
	a := by.must(200, "POST", path, `{"resolutions":{`+strings.Join(decided, ",")+`}}`)
	if a.text("application", "state") != "federated" {
		t.Fatalf("%s", a.raw)
	}
}

// history is what was written, by what was acknowledged of it.
type history struct {
	mu      sync.Mutex
	granted map[string]bool // user and key that were granted for good
	revoked map[string]bool
	acked   int
	failed  map[string]int
}

func (h *history) note(status int, code string, into map[string]bool, what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if status/100 == 2 {
		h.acked++
		into[what] = true
		return
	}
	h.failed[fmt.Sprint(status, " ", code)]++
}

// Two hosts of the service over one PostgreSQL, one of which dies again and again, and three
// members: one over PostgreSQL, one over SQLite, one in memory, whose plugins die. All are
// federated, written by both hosts, and then compared with what was acknowledged.
func TestFederationUnderWritesAndKills(t *testing.T) {
	postgrestest.Require(t)
	buildPlugin(t, "postgres")
	buildPlugin(t, "sqlite")
	p := &hostedPair{dsn: postgrestest.Database(t), files: hostedFiles(t)}
	lines := strings.Replace(hostedLines(p.files, bootUser), "allowed_networks: [127.0.0.1]", "allow_loopback: true", 1)
	p.a = openHosted(t, overPostgres(configure(t, lines), p.dsn), &p.clock)
	p.a.signIn(t, "", bootUser).must(201, "POST", "/orgs", `{"id":"acme","name":"Acme","ownerUserId":"`+bootUser+`"}`)
	p.owner = p.a.signIn(t, "acme", bootUser)
	other := postgrestest.Database(t)
	members := []*memberHost{
		join(t, p.owner, &p.clock, "pg", func(c *config.Plugin) {
			c.Plugin, c.Config = "postgres", config.NewSettings(map[string]any{"dsn": other, "lease": "1s"})
		}),
		join(t, p.owner, &p.clock, "lite", func(c *config.Plugin) {
			c.Plugin, c.Config = "sqlite", config.NewSettings(map[string]any{"path": filepath.Join(t.TempDir(), "lite.db")})
		}),
		join(t, p.owner, &p.clock, "here", func(*config.Plugin) {}),
	}
	_, err := members[0].app(t).CreateGrant(t.Context(), provider.GrantInput{Subject: "user:" + bootUser, Pattern: "authz_internal.*"}, authz.AdminProvenance("root"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range members {
		m.fill(t)
		federate(t, p.owner, m.name)
	}

	long := 5 * time.Second
	if os.Getenv("AUTHZ_FULL") != "" {
		long = time.Minute
	}
	ctx, stop := context.WithTimeout(t.Context(), long)
	defer stop()
	h := &history{granted: map[string]bool{}, revoked: map[string]bool{}, failed: map[string]int{}}
	_, key := p.owner.key(`{"kind":"admin","name":"script"}`)
	victimAt := atomic.Pointer[string]{}
	var all sync.WaitGroup
	for writer := range 4 {
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				by := key
				if at := victimAt.Load(); at != nil && writer%2 == 1 {
					by.at = *at
				}
				m := members[rand.IntN(len(members))]
				user := fmt.Sprintf("w%d-%d", writer, n)
				// The revoke first: at no member is there ever the grant without it.
				a, err := by.try("POST", "/orgs/acme/org/revokes", `{"userId":"`+user+`","pattern":"`+m.name+`.files.write"}`)
				if err != nil {
					continue
				}
				h.note(a.status, a.code(), h.revoked, user+" "+m.name+".files.write")
				if a.status != 201 {
					time.Sleep(50 * time.Millisecond)
					continue
				}
				if a, err = by.try("POST", "/orgs/acme/org/grants", `{"subject":"user:`+user+`","pattern":"`+m.name+`.files.*"}`); err == nil {
					h.note(a.status, a.code(), h.granted, user+" "+m.name+".files.read")
				}
			}
		})
	}
	var wrong atomic.Pointer[string]
	all.Go(func() { // whoever has the grant has the revoke, at each member at each instant
		for ctx.Err() == nil {
			for _, m := range members {
				for writer := range 4 {
					user := fmt.Sprintf("w%d-%d", writer, rand.IntN(40))
					allowed, err := m.check(ctx, user, m.name+".files.write")
					if err == nil && allowed {
						wrong.Store(new(user + " may write at " + m.name))
					}
				}
			}
		}
	})
	kills := 0
	all.Go(func() {
		for ctx.Err() == nil {
			v := p.victimWith(t, lines)
			victimAt.Store(&v.at)
			select {
			case <-time.After(1500 * time.Millisecond):
			case <-ctx.Done():
			}
			_ = v.process.Process.Kill()
			_ = v.process.Wait()
			kills++
			for _, m := range members[:2] { // a memory driver loses everything with its process
				killPlugin(t, m)
			}
		}
	})
	all.Wait()
	if w := wrong.Load(); w != nil {
		t.Error(*w)
	}
	if h.acked == 0 || kills == 0 {
		t.Fatalf("%d writes were acknowledged, %d kills, %v", h.acked, kills, h.failed)
	}
	t.Logf("%d writes acknowledged, %d hosts killed with two plugins each; refused or lost: %v", h.acked, kills, h.failed)

	eventually(t, "every member is up to date", func() bool {
		a := key.call("POST", "/orgs/acme/sync", `{}`)
		results := a.list("results")
		for _, r := range results {
			if r["applied"] != true {
				return false
			}
		}
		return a.status == 200 && len(results) == len(members)
	})
	for what := range h.granted {
		user, asked, _ := strings.Cut(what, " ")
		for _, m := range members {
			if strings.HasPrefix(asked, m.name+".") {
				if allowed, err := m.check(t.Context(), user, asked); err != nil || !allowed {
					t.Errorf("the acknowledged grant of %s is lost at %s: %v", what, m.name, err)
				}
			}
		}
	}
	for what := range h.revoked {
		user, asked, _ := strings.Cut(what, " ")
		for _, m := range members {
			if strings.HasPrefix(asked, m.name+".") {
				if allowed, err := m.check(t.Context(), user, asked); err != nil || allowed {
					t.Errorf("the acknowledged revoke of %s is lost at %s: %v", what, m.name, err)
				}
			}
		}
	}
	for _, m := range members { // what each had before
		for user, asked := range map[string]string{m.name + "-u3": m.name + ".files.read"} {
			if allowed, err := m.check(t.Context(), user, asked); err != nil || !allowed {
				t.Errorf("%s may no longer %s: %v", user, asked, err)
			}
		}
		root, err := m.app(t).StoredOrgRoot(t.Context())
		if err != nil || root {
			t.Errorf("%s is an org root: %v, %v", m.name, root, err)
		}
	}
	p.owner = p.a.signIn(t, "acme", bootUser)
	p.owner.refused(409, "not_last_member", "POST", "/orgs/acme/applications/pg/demote", `{}`)
}

func (m *memberHost) check(ctx context.Context, user, key string) (bool, error) {
	a, _ := m.Application(m.name)
	return a.Client().Can(ctx, authz.UserPrincipal(user), key, "")
}

// killPlugin kills the storage plugin of a member's host.
func killPlugin(t testing.TB, m *memberHost) {
	t.Helper()
	var list struct{ Plugins []struct{ PID int } }
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := localCaller(m.Host).Call(ctx, "_host/plugins", nil, &list); err == nil && len(list.Plugins) > 0 && list.Plugins[0].PID > 0 && alive(list.Plugins[0].PID) {
		kill(t, list.Plugins[0].PID)
	}
}

// One member, whose organization goes there and back while it is written at whichever side
// takes it: what was acknowledged is there at the end, and checks are answered throughout.
func TestAnOrganizationGoesThereAndBackUnderWrites(t *testing.T) {
	postgrestest.Require(t)
	buildPlugin(t, "postgres")
	buildPlugin(t, "sqlite")
	p := &hostedPair{dsn: postgrestest.Database(t), files: hostedFiles(t)}
	lines := strings.Replace(hostedLines(p.files, bootUser), "allowed_networks: [127.0.0.1]", "allow_loopback: true", 1)
	p.a = openHosted(t, overPostgres(configure(t, lines), p.dsn), &p.clock)
	p.a.signIn(t, "", bootUser).must(201, "POST", "/orgs", `{"id":"acme","name":"Acme","ownerUserId":"`+bootUser+`"}`)
	p.owner = p.a.signIn(t, "acme", bootUser)
	m := join(t, p.owner, &p.clock, "lite", func(c *config.Plugin) {
		c.Plugin, c.Config = "sqlite", config.NewSettings(map[string]any{"path": filepath.Join(t.TempDir(), "lite.db")})
	})
	if _, err := m.app(t).CreateGrant(t.Context(), provider.GrantInput{Subject: "user:" + bootUser, Pattern: "authz_internal.*"}, authz.AdminProvenance("root")); err != nil {
		t.Fatal(err)
	}
	m.fill(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	h := &history{granted: map[string]bool{}, failed: map[string]int{}}
	_, key := p.owner.key(`{"kind":"admin","name":"script"}`)
	var all sync.WaitGroup
	for writer := range 2 {
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				user := fmt.Sprintf("b%d-%d", writer, n)
				if a, err := key.try("POST", "/orgs/acme/org/grants", `{"subject":"user:`+user+`","pattern":"lite.files.read"}`); err == nil {
					h.note(a.status, a.code(), h.granted, user)
				}
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
	all.Go(func() {
		for ctx.Err() == nil {
			if allowed, err := m.check(ctx, "lite-u1", "lite.files.read"); ctx.Err() == nil && (err != nil || !allowed) {
				t.Errorf("a check noticed the move: %v, %v", allowed, err)
				return
			}
		}
	})
	move := func(what string) {
		t.Helper()
		for range 20 {
			a := key.call("POST", "/orgs/acme/applications/lite/"+what, `{}`)
			if a.status == 200 {
				return
			}
			switch a.code() {
			case "org_changed": // the writers are meant to be in the way
			case "application_unavailable", "application_timeout": // a starved machine; nothing was moved, and it says so
			case "storage_unavailable": // the same: the host sheds writes that it is slow to serve
				time.Sleep(200 * time.Millisecond)
			default:
				t.Fatalf("%s: %d %s", what, a.status, a.raw)
			}
		}
		t.Fatalf("%s never came through", what)
	}
	for range 2 {
		move("federate")
		time.Sleep(300 * time.Millisecond)
		move("demote")
		time.Sleep(300 * time.Millisecond)
	}
	move("federate")
	stop()
	all.Wait()
	key.must(200, "POST", "/orgs/acme/sync", `{}`)
	for user := range h.granted {
		if allowed, err := m.check(t.Context(), user, "lite.files.read"); err != nil || !allowed {
			t.Errorf("the acknowledged grant of %s is lost: %v", user, err)
		}
	}
	if h.acked < 10 || h.failed["409 org_root_moving"] == 0 {
		t.Errorf("%d acknowledged, %v", h.acked, h.failed)
	}
	t.Logf("%d grants acknowledged through five moves; refused: %v", h.acked, h.failed)
}
