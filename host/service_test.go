package host_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/host"
	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/host/pluginhost"
	"github.com/authzhost/authz/host/service/keyring"
	"github.com/authzhost/authz/internal/testlog"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/plugins/prometheus/prometheus"
	"github.com/authzhost/authz/plugins/sqlite/sqlite"
	"github.com/authzhost/authz/sdk/plugin"
	"github.com/authzhost/authz/sdk/storage"
)

const (
	serviceOwner  = "olga"
	serviceSecret = "a-bootstrap-secret-of-the-host-tests"
	newSecret     = "another-bootstrap-secret-of-the-tests"
)

// asPlugin makes this binary the plugin that the next argument names.
const asPlugin = "be-the-plugin"

var ownPlugins = map[string]func(version string) plugin.Plugin{"sqlite": sqlite.Plugin, "norecords": withoutRecords, "ledger": ledgerPlugin, "prometheus": prometheus.Plugin, "busy": busyPlugin, "skewed": skewedPlugin}

func embedded(t testing.TB) map[string]pluginhost.Command {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	commands := map[string]pluginhost.Command{}
	for name := range ownPlugins {
		commands[name] = pluginhost.Command{Path: own, Args: []string{asPlugin, name}}
	}
	return commands
}

// withoutRecords is the memory driver that keeps no records.
func withoutRecords(version string) plugin.Plugin {
	p := memory.Plugin(version)
	p.Name = "norecords"
	p.Storage.Capabilities = lessRecords(p.Storage.Capabilities)
	configure := p.Storage.Configure
	p.Storage.Configure = func(ctx context.Context, settings map[string]any) (storage.Driver, error) {
		d, err := configure(ctx, settings)
		return recordless{d}, err
	}
	return p
}

func lessRecords(all storage.Capabilities) storage.Capabilities {
	return slices.DeleteFunc(slices.Clone(all), func(c storage.Capability) bool { return c == storage.CapRecords })
}

type recordless struct{ storage.Driver }

func (d recordless) Open(ctx context.Context, partition string) (storage.Store, error) {
	s, err := d.Driver.Open(ctx, partition)
	return recordlessStore{s}, err
}

type recordlessStore struct{ storage.Store }

func (s recordlessStore) Info() storage.StoreInfo {
	info := s.Store.Info()
	info.Capabilities = lessRecords(info.Capabilities)
	return info
}

// hostKey is a host key of its own for every letter.
func hostKey(letter byte) config.Secret {
	key := []byte("0123456789abcdef0123456789abcde ")
	key[31] = letter
	return config.NewSecret(base64.StdEncoding.EncodeToString(key), "")
}

// serve configures a service whose rows and account data survive its plugin, with
// the application docs, which acme may link.
func serve(t *testing.T, change func(*config.Config)) *config.Config {
	t.Helper()
	key := filepath.Join(t.TempDir(), "host.key")
	write(t, key, hostKey('a').Reveal())
	bootstrap := filepath.Join(t.TempDir(), "bootstrap")
	write(t, bootstrap, serviceSecret)
	cfg := configure(t, `
service:
  host_keys: ["file:`+key+`"]
  bootstrap: {user_id: `+serviceOwner+`, secret: "file:`+bootstrap+`"}
  local: {acme: [docs]}
  relay: {allow_loopback: true}
`)
	edit(cfg, func(p *config.Plugin) {
		p.Plugin, p.Config = "sqlite", config.NewSettings(map[string]any{"path": filepath.Join(cfg.Dir, "authz.db")})
	})
	if change != nil {
		change(cfg)
	}
	return cfg
}

func tryServe(t *testing.T, cfg *config.Config) (*host.Host, *testlog.Log, error) {
	t.Helper()
	log := &testlog.Log{}
	h, err := host.Open(t.Context(), cfg, host.Options{Version: "test", Embedded: embedded(t),
		Logger: hclog.New(&hclog.LoggerOptions{Output: log, Level: hclog.Debug})})
	if err == nil {
		t.Cleanup(func() { closeHost(t, h) })
	}
	return h, log, err
}

func openService(t *testing.T, cfg *config.Config) (*host.Host, *testlog.Log) {
	t.Helper()
	h, log, err := tryServe(t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return h, log
}

// browser is somebody at the hosted API.
type browser struct {
	t            *testing.T
	base, origin string
	csrf         string
	cookie       *http.Cookie
}

func browse(t *testing.T, h *host.Host) *browser {
	base := "http://" + h.Address()
	return &browser{t: t, base: base, origin: base}
}

func (b *browser) ask(method, path string, body object) (status int, answer object, header http.Header) {
	b.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		b.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.base+"/api/v1"+path, bytes.NewReader(text))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Host = "elsewhere.example" // nothing is to be made of it
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Origin", b.origin)
	if method == http.MethodGet {
		r.Body, r.ContentLength = http.NoBody, 0
	}
	if b.cookie != nil {
		r.AddCookie(b.cookie)
		r.Header.Set("X-Authz-Csrf", b.csrf)
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer got.Body.Close()
	if got.StatusCode != http.StatusNoContent {
		if err := json.NewDecoder(got.Body).Decode(&answer); err != nil {
			b.t.Fatalf("%s %s: %s, %v", method, path, got.Status, err)
		}
	}
	for _, c := range got.Cookies() {
		if strings.HasSuffix(c.Name, "authz_session") {
			b.cookie = c
		}
	}
	return got.StatusCode, answer, got.Header
}

// want asks and holds the answer to a status.
func (b *browser) want(status int, method, path string, body object) object {
	b.t.Helper()
	got, answer, _ := b.ask(method, path, body)
	if got != status {
		b.t.Fatalf("%s %s: %d %v, want %d", method, path, got, answer, status)
	}
	return answer
}

func (b *browser) refused(code, method, path string, body object) {
	b.t.Helper()
	status, answer, _ := b.ask(method, path, body)
	told, _ := answer["error"].(object)
	if status < 400 || told["code"] != code {
		b.t.Errorf("%s %s: %d %v, want it refused as %s", method, path, status, answer, code)
	}
}

func proof(org, secret string) object {
	body := object{"userId": serviceOwner, "proof": object{"kind": "bootstrap", "secret": secret}}
	if org != "" {
		body["org"] = org
	}
	return body
}

func (b *browser) signIn(org, secret string) {
	b.t.Helper()
	b.cookie = nil
	b.csrf, _ = b.want(200, "POST", "/auth/sign-in", proof(org, secret))["csrfToken"].(string)
}

// found makes orgs and enters the first.
func (b *browser) found(orgs ...string) {
	b.t.Helper()
	b.signIn("", serviceSecret)
	for _, org := range orgs {
		b.want(201, "POST", "/orgs", object{"id": org, "name": org, "ownerUserId": serviceOwner})
	}
	b.signIn(orgs[0], serviceSecret)
}

func (b *browser) register(org string) string {
	b.t.Helper()
	b.want(201, "POST", "/orgs/"+org+"/applications", object{"id": "docs", "name": "Docs", "namespaces": []string{"docs"}})
	return "/orgs/" + org + "/applications/docs"
}

func TestAServiceThatCannotKeepItsSecretsOrRecordsDoesNotStart(t *testing.T) {
	kept := serve(t, nil)
	h, _ := openService(t, kept)
	closeHost(t, h)
	kept.Service.HostKeys = []config.Secret{hostKey('b')}
	_, _, err := tryServe(t, kept)
	var missing *keyring.MissingKeyError
	if !errors.As(err, &missing) || !strings.Contains(err.Error(), "service.host_keys") {
		t.Errorf("with another host key: %v", err)
	}
	none := serve(t, func(c *config.Config) { c.Service.HostKeys = nil })
	if _, _, err := tryServe(t, none); err == nil {
		t.Error("it started without a host key")
	}
	recordless := serve(t, func(c *config.Config) {
		edit(c, func(p *config.Plugin) { p.Plugin, p.Config = "norecords", config.Settings{} })
	})
	_, _, err = tryServe(t, recordless)
	if err == nil || !strings.Contains(err.Error(), "the driver of main keeps no records") || !strings.Contains(err.Error(), "service.storage.driver") {
		t.Errorf("over a driver without records: %v", err)
	}
}

func TestWithoutAPublicURLTheOriginIsWhereTheHostListens(t *testing.T) {
	h, _ := openService(t, serve(t, nil))
	b := browse(t, h)
	b.signIn("", serviceSecret)
	if b.cookie == nil || b.cookie.Name != "authz_session" || b.cookie.Secure {
		t.Errorf("the cookie of plain loopback: %v", b.cookie)
	}
	status, _, header := b.ask("POST", "/orgs", object{"id": "acme", "name": "Acme", "ownerUserId": serviceOwner})
	if want := b.base + "/api/v1/orgs/acme"; status != 201 || header.Get("Location") != want {
		t.Errorf("%d, Location %q, want %q", status, header.Get("Location"), want)
	}
	b.origin = "http://elsewhere.example"
	b.refused("csrf_failed", "POST", "/auth/sign-in", proof("acme", serviceSecret))
}

func TestALocalApplicationIsLinkedOnlyWhereTheConfigurationListsIt(t *testing.T) {
	h, _ := openService(t, serve(t, nil))
	b := browse(t, h)
	b.found("acme", "beta")
	local := object{"relayUrl": "local:docs"}
	b.refused("relay_url_rejected", "POST", b.register("beta")+"/link", local)
	docs := b.register("acme")
	b.refused("application_mismatch", "POST", docs+"/link", object{"relayUrl": "local:__service"})
	b.want(201, "POST", "/orgs/acme/applications", object{"id": "wiki", "name": "Wiki", "namespaces": []string{"wiki"}})
	b.refused("application_mismatch", "POST", "/orgs/acme/applications/wiki/link", local)
	b.refused("not_linked", "GET", "/orgs/acme/applications/wiki/grants", nil)
	linked := b.want(200, "POST", docs+"/link", local)
	if secret, told := linked["providerSecret"]; !told || secret != nil {
		t.Errorf("an application of this host needs no secret: %v", linked)
	}
	me := b.want(200, "GET", "/orgs/acme/me", nil)
	if d := me["orgRoot"].(object); d["home"] != "application" || d["reachable"] != true {
		t.Errorf("me: %v", d)
	}
	call(t, caller(h), "createGrant", object{"input": object{"subject": "user:" + serviceOwner, "pattern": "authz_internal.*", "provenance": root}})
	made := b.want(201, "POST", "/orgs/acme/org/grants", object{"subject": "user:u", "pattern": "docs.files.read"})
	if made["grant"].(object)["provenance"].(object)["actorUserId"] != serviceOwner {
		t.Errorf("grant: %v", made)
	}
	if call(t, caller(h), "check", object{"principal": object{"userId": "u"}, "key": "docs.files.read"})["allowed"] != true {
		t.Error("a grant made over the hosted API does not take effect")
	}
}

func TestTheDashboardIsServedUntilItIsSwitchedOff(t *testing.T) {
	stay := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for _, on := range []bool{true, false} {
		h, _ := openService(t, serve(t, func(c *config.Config) { c.Service.Dashboard = on }))
		for path, want := range map[string]int{"/": 303, "/dashboard": 303, "/dashboard/": 200, "/dashboard/orgs/acme": 200, "/dashboard/assets/none.js": 404, "/dashboards": 404, "/x": 404} {
			if !on {
				want = 404
			}
			got, err := stay.Get("http://" + h.Address() + path)
			if err != nil {
				t.Fatal(err)
			}
			got.Body.Close()
			if got.StatusCode != want {
				t.Errorf("service.dashboard %t: %s answers %d, want %d", on, path, got.StatusCode, want)
			}
		}
	}
	without, _ := open(t, configure(t, ""))
	got, err := stay.Get("http://" + without.Address() + "/dashboard/")
	if err != nil {
		t.Fatal(err)
	}
	got.Body.Close()
	if got.StatusCode != 404 {
		t.Errorf("a host without the service answers %d", got.StatusCode)
	}
}

func TestAnApplicationTellsWhatLiesAroundAnExplanation(t *testing.T) {
	far, _ := open(t, configure(t, ""))
	h, _ := openService(t, serve(t, nil))
	b := browse(t, h)
	b.found("acme")
	docs := b.register("acme")
	for _, at := range []struct {
		link string
		*host.Host
	}{{"local:docs", h}, {"http://" + far.Address() + "/apps/docs", far}} {
		t.Run(at.link[:5], func(t *testing.T) {
			b.t = t
			call(t, caller(at.Host), "createGrant", object{"input": object{"subject": "user:" + serviceOwner, "pattern": "authz_internal.*", "provenance": root}})
			call(t, caller(at.Host), "publishCatalog", object{"document": json.RawMessage(documentOf(t, "docs", "docs.files.read")), "provenance": root})
			if secret, ok := b.want(200, "POST", docs+"/link", object{"relayUrl": at.link})["providerSecret"].(string); ok {
				far.Reload(withSecret(far, t, secret))
			}
			b.want(201, "POST", "/orgs/acme/org/grants", object{"subject": "user:u", "pattern": "docs.files.read"})
			allowed := b.want(200, "GET", "/orgs/acme/org/explain?userId=u&key=docs.files.read&scope=*", nil)
			if paths, _ := allowed["paths"].([]any); len(paths) != 1 || paths[0].(object)["pattern"] != "docs.files.read" {
				t.Errorf("no way from the grant to the key: %v", allowed)
			}
			denied := b.want(200, "GET", "/orgs/acme/org/explain?userId=nobody&key=docs.files.read&scope=*", nil)
			if near, _ := denied["near"].(object); near["grantAt"] != "*" {
				t.Errorf("nothing around a denial: %v", denied)
			}
		})
	}
}

func TestWhatAnApplicationLoggedIsRetainedByTheHostItself(t *testing.T) {
	h, _ := openService(t, serve(t, func(c *config.Config) {
		docs := c.Applications["docs"]
		docs.Provider.AuditOptIn = true
		c.Applications["docs"] = docs
	}))
	b := browse(t, h)
	b.found("acme")
	docs := b.register("acme")
	b.want(200, "POST", docs+"/link", object{"relayUrl": "local:docs"})
	call(t, caller(h), "createGrant", object{"input": object{"subject": "everyone", "pattern": "docs.files.read", "provenance": root}})
	b.want(200, "POST", docs+"/audit-optin", object{"optIn": true})
	if err := h.DoDuties(t.Context()); err != nil {
		t.Fatal(err)
	}
	events := b.want(200, "GET", "/orgs/acme/retention?action=grant.create", nil)["events"].([]any)
	if len(events) != 1 || events[0].(object)["application"] != "docs" {
		t.Errorf("retained: %v", events)
	}
	if health := b.want(200, "GET", docs, nil)["application"].(object)["health"].(object); health["status"] != "healthy" {
		t.Errorf("the health of a linked application: %v", health)
	}
}

func TestARekeyLetsTheOldHostKeyGo(t *testing.T) {
	far, _ := open(t, configure(t, ""))
	cfg := serve(t, nil)
	h, log := openService(t, cfg)
	b := browse(t, h)
	b.found("acme")
	docs := b.register("acme")
	secret, _ := b.want(200, "POST", docs+"/link", object{"relayUrl": "http://" + far.Address() + "/apps/docs"})["providerSecret"].(string)
	far.Reload(withSecret(far, t, secret))
	healthy := func(b *browser) {
		t.Helper()
		if health := b.want(200, "POST", docs+"/probe", object{})["health"].(object); health["status"] != "healthy" {
			t.Fatalf("health: %v", health)
		}
	}
	healthy(b)
	rekey := func(h *host.Host) (r struct {
		KeyID    string
		Resealed int
		Retired  []string
	}) {
		t.Helper()
		if err := localCaller(h).Call(t.Context(), "_host/service.rekey", nil, &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := rekey(h); r.Resealed != 0 || len(r.Retired) != 0 {
		t.Errorf("with nothing to do: %+v", r)
	}
	closeHost(t, h)

	cfg.Service.HostKeys = []config.Secret{hostKey('b'), hostKey('a')}
	both, _ := openService(t, cfg)
	if r := rekey(both); r.Resealed != 1 || len(r.Retired) != 1 {
		t.Errorf("one secret under the old key: %+v", r)
	}
	closeHost(t, both)

	cfg.Service.HostKeys = []config.Secret{hostKey('b')}
	h, _ = openService(t, cfg)
	b = browse(t, h)
	b.signIn("acme", serviceSecret)
	healthy(b)
	for _, s := range []string{secret, serviceSecret, hostKey('a').Reveal(), b.cookie.Value, b.csrf} {
		if strings.Contains(log.String(), s) {
			t.Error("a secret is in the log")
		}
	}
	closeHost(t, h)
	cfg.Service.HostKeys = []config.Secret{hostKey('a')}
	if _, _, err := tryServe(t, cfg); !errors.As(err, new(*keyring.MissingKeyError)) {
		t.Errorf("with the key that went: %v", err)
	}
}

// withSecret is the configuration of a host whose application docs has another
// provider secret.
func withSecret(h *host.Host, t *testing.T, secret string) *config.Config {
	t.Helper()
	next := *h.Configuration()
	docs := next.Applications["docs"]
	docs.Provider.Secrets = []config.Secret{config.NewSecret(secret, "")}
	next.Applications = map[string]config.Application{"docs": docs}
	return &next
}

func TestReloadTakesOverTheSecretOfTheSameBootstrapUser(t *testing.T) {
	cfg := serve(t, nil)
	h, _ := openService(t, cfg)
	b := browse(t, h)
	next := *cfg
	change := func(userID string) []string {
		s := *cfg.Service
		s.Bootstrap = &config.Bootstrap{UserID: userID, Secret: config.NewSecret(newSecret, "")}
		next.Service = &s
		return h.Reload(&next)
	}
	if got, want := fmt.Sprint(change("mallory")), "[service.bootstrap.secret service.bootstrap.user_id]"; got != want {
		t.Errorf("another user needs a restart: %v, want %v", got, want)
	}
	b.refused("sign_in_failed", "POST", "/auth/sign-in", proof("", newSecret))
	b.signIn("", serviceSecret)
	if got := change(serviceOwner); len(got) != 0 {
		t.Errorf("needs a restart: %v", got)
	}
	b.refused("sign_in_failed", "POST", "/auth/sign-in", proof("", serviceSecret))
	b.signIn("", newSecret)
	next.Service = nil
	if got := fmt.Sprint(h.Reload(&next)); got != "[service]" {
		t.Errorf("without a service: %v", got)
	}
	b.signIn("", newSecret)
}

func TestWithoutAServiceItsPathsAreUnknownAsAnyOther(t *testing.T) {
	h, _ := open(t, configure(t, ""))
	b := browse(t, h)
	status, answer, _ := b.ask("GET", "/orgs", nil)
	if told, _ := answer["error"].(object); status != 404 || told["name"] != "ProviderApiError" || told["code"] != "unknown_op" {
		t.Errorf("%d %v", status, answer)
	}
	if err := localCaller(h).Call(t.Context(), "_host/service.rekey", nil, nil); err == nil || !strings.Contains(err.Error(), "service is not configured") {
		t.Errorf("rekey: %v", err)
	}
}
