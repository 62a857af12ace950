package host_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/authzhost/authz/host"
	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/host/pluginhost"
	"github.com/authzhost/authz/internal/testlog"
	"github.com/authzhost/authz/internal/testprocess"
	"github.com/authzhost/authz/plugins/postgres/postgrestest"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/plugin"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/hashicorp/go-hclog"
)

// plugins is where TestMain puts the plugin binaries.
var plugins string

func TestMain(m *testing.M) {
	if os.Getenv(childConfig) != "" {
		os.Exit(serveAsChild())
	}
	if len(os.Args) == 3 && os.Args[1] == asPlugin {
		plugin.Serve(ownPlugins[os.Args[2]]("test")) // ends the process
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "authz-host-test")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		plugins = dir
		if err := testprocess.BuildAs(filepath.Join(dir, "authz-plugin-memory"), "plugins/memory"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return postgrestest.Run(m)
	}())
}

const testCatalog = `
namespaces: [docs]
scopeTypes:
  docs.folder: {parent: docs.folder}
  docs.doc: {parent: docs.folder}
groups:
  docs.files: {scopes: [docs.folder, docs.doc]}
permissions:
  docs.files.read: true
  docs.files.edit: true
`

const testSecret = "a-secret-of-the-test"

// configure writes a configuration of one application and loads it.
func configure(t testing.TB, extra string) *config.Config {
	t.Helper()
	cfg, err := config.Load(config.Source{Path: configFile(t, extra)})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// configFile writes what configure loads.
func configFile(t testing.TB, extra string) (path string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "authz") // short: sockets live below it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	write(t, filepath.Join(dir, "docs.yaml"), testCatalog)
	write(t, filepath.Join(dir, "secret"), testSecret)
	path = filepath.Join(dir, "authz.yaml")
	write(t, path, `
listen: 127.0.0.1:0
ops_listen: 127.0.0.1:0
run_dir: run
plugin_dirs: [`+plugins+`]
plugins:
  main: {plugin: memory}
applications:
  docs:
    catalog: docs.yaml
    storage: {driver: main, partition: docs}
    provider: {secret: "file:secret"}
    ancestry: {kind: stored}
`+extra)
	return path
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, cfg *config.Config) (*host.Host, *testlog.Log) {
	t.Helper()
	log := &testlog.Log{}
	h, err := host.Open(t.Context(), cfg, host.Options{Version: "test", Logger: hclog.New(&hclog.LoggerOptions{Output: log, Level: hclog.Debug})})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeHost(t, h) })
	return h, log
}

func closeHost(t testing.TB, h *host.Host) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := h.Close(ctx); err != nil {
		t.Errorf("close: %v", err)
	}
}

func caller(h *host.Host) *provider.Caller {
	return &provider.Caller{Base: "http://" + h.Address(), Secret: testSecret}
}

type object = map[string]any

func call(t testing.TB, c *provider.Caller, op string, params object) object {
	t.Helper()
	var result object
	if err := c.Call(t.Context(), op, params, &result); err != nil {
		t.Fatalf("%s: %v", op, err)
	}
	return result
}

// insist writes again what was not applied: a host may shed some of many writers, whom a
// busy machine is slow to serve.
func insist(write func() error) error {
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		var shed *authz.UnavailableError
		if err := write(); !errors.As(err, &shed) || shed.Outcome != authz.OutcomeNotApplied || time.Now().After(end) {
			return err
		}
	}
}

var root = object{"kind": "admin", "actorUserId": "root"}

func TestAGrantAndARevokeOverHTTPTakeEffectOnTheNextCheck(t *testing.T) {
	h, _ := open(t, configure(t, ""))
	c := caller(h)
	ask := object{"principal": object{"userId": "u_17"}, "key": "docs.files.edit", "scope": "docs.doc:1"}
	call(t, c, "setScopeParents", object{"provenance": root, "entries": []object{
		{"scope": "docs.folder:9", "parents": []string{}}, {"scope": "docs.doc:1", "parents": []string{"docs.folder:9"}}}})
	for _, step := range []struct {
		name string
		act  func()
		want bool
	}{
		{"before any grant", func() {}, false},
		{"after a grant on the folder", func() {
			call(t, c, "createGrant", object{"input": object{"subject": "user:u_17", "pattern": "docs.files.*", "scope": "docs.folder:9", "provenance": root}})
		}, true},
		{"after a revoke on the document", func() {
			call(t, c, "createRevoke", object{"input": object{"userId": "u_17", "pattern": "docs.files.edit", "scope": "docs.doc:1", "provenance": root}})
		}, false},
	} {
		step.act()
		if got := call(t, c, "check", ask)["allowed"]; got != step.want {
			t.Errorf("%s: allowed = %v", step.name, got)
		}
	}
	ping := call(t, c, "ping", nil)
	if ping["application"] != "docs" || ping["hasEpoch"] != true || ping["api"] != 1.0 {
		t.Errorf("ping: %v", ping)
	}
}

func TestAStoreThatVanishedIsNotTakenForAnEmptyOne(t *testing.T) {
	h, log := open(t, configure(t, ""))
	c := caller(h)
	grant := func() {
		call(t, c, "createGrant", object{"input": object{"subject": "everyone", "pattern": "docs.files.read", "provenance": root}})
	}
	ask := object{"principal": object{"userId": "u"}, "key": "docs.files.read"}
	grant()
	if call(t, c, "check", ask)["allowed"] != true || !h.Ready() {
		t.Fatal("the host does not answer to begin with")
	}
	local := localCaller(h)
	var before, after struct {
		Plugins []struct{ PID, Restarts int }
	}
	if err := local.Call(t.Context(), "_host/plugins", nil, &before); err != nil {
		t.Fatal(err)
	}
	kill(t, before.Plugins[0].PID)
	eventually(t, "the host finds the content lost", func() bool { return strings.Contains(log.String(), "STORAGE LOST") })
	if h.Ready() {
		t.Error("the host calls itself ready although the rows are gone")
	}
	for range 3 {
		err := c.Call(t.Context(), "check", ask, nil)
		var outage *authz.UnavailableError
		if !errors.As(err, &outage) {
			t.Fatalf("a check on a lost store: %v, want unavailable", err)
		}
	}
	if err := local.Call(t.Context(), "_host/plugins", nil, &after); err != nil {
		t.Fatal(err)
	}
	if after.Plugins[0].Restarts != 1 || after.Plugins[0].PID == before.Plugins[0].PID {
		t.Errorf("plugins: %+v", after)
	}
	grant() // writes go on, so that it can be filled again
	call(t, c, "createRole", object{"input": object{"id": "r", "name": "R", "patterns": []string{"docs.*"}}, "provenance": root})
	if err := local.Call(t.Context(), "_host/storage.accept", object{"app": "docs"}, nil); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the host is ready again", h.Ready)
	if call(t, c, "check", ask)["allowed"] != true {
		t.Error("the refilled store does not answer")
	}
}

func TestARestoredContentIsRenewedAndServesOnlyOnceItIsAccepted(t *testing.T) {
	h, _ := open(t, configure(t, ""))
	c, local := caller(h), localCaller(h)
	call(t, c, "createGrant", object{"input": object{"subject": "everyone", "pattern": "docs.files.read", "provenance": root}})
	ask := object{"principal": object{"userId": "u"}, "key": "docs.files.read"}
	var renewed struct{ Incarnation string }
	if err := local.Call(t.Context(), "_host/storage.renew", object{"app": "docs"}, &renewed); err != nil {
		t.Fatal(err)
	}
	var status struct {
		Stores []struct {
			Incarnation string
			Lost        bool
		}
	}
	eventually(t, "the store is open under its new incarnation", func() bool {
		err := local.Call(t.Context(), "_host/storage.status", nil, &status)
		return err == nil && status.Stores[0].Incarnation == renewed.Incarnation && status.Stores[0].Lost
	})
	var outage *authz.UnavailableError
	if err := c.Call(t.Context(), "check", ask, nil); !errors.As(err, &outage) {
		t.Fatalf("a check on content that nobody accepted: %v, want unavailable", err)
	}
	if err := local.Call(t.Context(), "_host/storage.accept", object{"app": "docs"}, nil); err != nil {
		t.Fatal(err)
	}
	if call(t, c, "check", ask)["allowed"] != true {
		t.Error("a renewal must not touch the rows")
	}
	err := local.Call(t.Context(), "_host/storage.renew", object{"app": "other"}, nil)
	if authz.CodeOf(err) != authz.CodeNotFound {
		t.Errorf("an unknown application: %v", err)
	}
}

func TestARestartedPluginThatOnlyCrashesLeavesReadinessFalse(t *testing.T) {
	cfg := configure(t, "")
	broken := filepath.Join(t.TempDir(), "authz-plugin-memory")
	text, err := os.ReadFile(filepath.Join(plugins, "authz-plugin-memory"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(broken, text, 0o700); err != nil {
		t.Fatal(err)
	}
	instance := cfg.Plugins.Instances["main"]
	instance.Plugin = broken
	cfg.Plugins.Instances["main"] = instance
	h, _ := open(t, cfg)
	var list struct{ Plugins []struct{ PID int } }
	if err := localCaller(h).Call(t.Context(), "_host/plugins", nil, &list); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(broken); err != nil {
		t.Fatal(err)
	}
	kill(t, list.Plugins[0].PID)
	eventually(t, "the host notices", func() bool { return !h.Ready() })
	var outage *authz.UnavailableError
	err = caller(h).Call(t.Context(), "check", object{"principal": object{"userId": "u"}, "key": "docs.files.read"}, nil)
	if !errors.As(err, &outage) {
		t.Errorf("a check without a plugin: %v, want unavailable", err)
	}
}

func TestCloseLeavesNothingBehind(t *testing.T) {
	before := runtime.NumGoroutine()
	cfg := configure(t, "")
	for range 2 { // what was left would also keep the second from opening
		h, _ := open(t, cfg)
		call(t, caller(h), "createGrant", object{"input": object{"subject": "everyone", "pattern": "docs.files.read", "provenance": root}})
		call(t, caller(h), "check", object{"principal": object{"userId": "u"}, "key": "docs.files.read"})
		var list struct{ Plugins []struct{ PID int } }
		local := localCaller(h)
		if err := local.Call(t.Context(), "_host/plugins", nil, &list); err != nil {
			t.Fatal(err)
		}
		closeHost(t, h)
		if pid := list.Plugins[0].PID; alive(pid) {
			t.Errorf("the plugin process %d lives on", pid)
		}
		for _, left := range []string{cfg.Socket} {
			if _, err := os.Stat(left); err == nil {
				t.Errorf("%s is left behind", left)
			}
		}
		if found, _ := filepath.Glob(filepath.Join(cfg.RunDir, "plugins", "*")); len(found) > 0 {
			t.Errorf("sockets are left behind: %v", found)
		}
		local.Transport.(*http.Transport).CloseIdleConnections()
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	eventually(t, "all goroutines have ended", func() bool { return runtime.NumGoroutine() <= before })
}

func TestOpenRefusesWithAReasonAndLeavesNothing(t *testing.T) {
	before := runtime.NumGoroutine()
	for name, c := range map[string]struct {
		spoil func(*config.Config)
		want  func(error) bool
		text  string
	}{
		"a plugin that is not there": {
			func(c *config.Config) { edit(c, func(p *config.Plugin) { p.Plugin = "postgres" }) },
			func(err error) bool { var e *pluginhost.StartError; return errors.As(err, &e) }, plugins},
		"a plugin with another checksum": {
			func(c *config.Config) { edit(c, func(p *config.Plugin) { p.SHA256 = strings.Repeat("0", 64) }) },
			func(err error) bool { var e *pluginhost.StartError; return errors.As(err, &e) }, "sha256"},
		"a setting that the plugin does not know": {
			func(c *config.Config) {
				edit(c, func(p *config.Plugin) { p.Config = config.NewSettings(map[string]any{"size": 3}) })
			},
			func(err error) bool { var e *pluginhost.StartError; return errors.As(err, &e) }, "size"},
		"a catalog that cannot be built": {
			func(c *config.Config) {
				path := c.Applications["docs"].Catalog
				text, _ := os.ReadFile(path)
				os.WriteFile(path, append(text, []byte("  shop.items.read: true\n")...), 0o600)
			},
			func(err error) bool { var e *authz.CatalogError; return errors.As(err, &e) }, "shop"},
		"a catalog that is not there": {
			func(c *config.Config) { os.Remove(c.Applications["docs"].Catalog) },
			func(err error) bool { var e *host.CatalogFileError; return errors.As(err, &e) }, "docs.yaml"},
		"an address that is taken": {
			func(c *config.Config) { c.Listen = "192.0.2.1:1" },
			func(err error) bool { return true }, "listen"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := configure(t, "")
			c.spoil(cfg)
			h, err := host.Open(t.Context(), cfg, host.Options{})
			if err == nil {
				closeHost(t, h)
				t.Fatal("the host opened")
			}
			if !c.want(err) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("error %T %v, want it to name %q", err, err, c.text)
			}
		})
	}
	eventually(t, "all goroutines have ended", func() bool { return runtime.NumGoroutine() <= before })
}

func TestReloadTakesOverSecretsAndNamesWhatNeedsARestart(t *testing.T) {
	cfg := configure(t, "")
	h, _ := open(t, cfg)
	next := *cfg
	docs := cfg.Applications["docs"]
	docs.Provider.Secrets = []config.Secret{config.NewSecret("another-secret-of-the-test", "")}
	next.Applications = map[string]config.Application{"docs": docs}
	next.Listen = "127.0.0.1:1"
	restart := h.Reload(&next)
	if len(restart) != 1 || restart[0] != "listen" {
		t.Errorf("needs a restart: %v", restart)
	}
	var transport *provider.TransportError
	if err := caller(h).Call(t.Context(), "ping", nil, nil); !errors.As(err, &transport) || transport.Status != http.StatusUnauthorized {
		t.Errorf("the old secret: %v", err)
	}
	c := caller(h)
	c.Secret = "another-secret-of-the-test"
	call(t, c, "ping", nil)
}

func edit(c *config.Config, change func(*config.Plugin)) {
	p := c.Plugins.Instances["main"]
	change(&p)
	c.Plugins.Instances = map[string]config.Plugin{"main": p}
}

func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(25 * time.Millisecond) {
		if holds() {
			return
		}
	}
	stacks := make([]byte, 1<<18)
	t.Fatalf("never: %s\n%s", what, stacks[:runtime.Stack(stacks, true)])
}

func TestAnOlderKeyIsToldInTheLog(t *testing.T) {
	_, log := open(t, configure(t, "    client: {subject_cache_ttl_ms: 5000}\n"))
	if want := "write subject_cache_ttl: 5s"; !strings.Contains(log.String(), want) {
		t.Errorf("the log does not say %q:\n%s", want, log)
	}
}

func TestAPortThatAnotherProgramHasIsToldWithItsSetting(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	for _, name := range []string{"listen", "ops_listen"} {
		cfg := configure(t, "")
		*map[string]*string{"listen": &cfg.Listen, "ops_listen": &cfg.OpsListen}[name] = taken.Addr().String()
		h, err := host.Open(t.Context(), cfg, host.Options{})
		if err == nil {
			closeHost(t, h)
		}
		if err == nil || !strings.Contains(err.Error(), name+": ") || !strings.Contains(err.Error(), "give "+name+" another address") {
			t.Errorf("%s is taken: %v", name, err)
		}
	}
}
