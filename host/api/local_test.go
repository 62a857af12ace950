package api_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/directory"
	"github.com/authzhost/authz/host/internal/admission"
	"github.com/authzhost/authz/host/listen"
	"github.com/authzhost/authz/internal/catalogdiff"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/provider"
)

// localApp is the application as the host puts it on the socket.
type localApp struct {
	*application.Application
	client *client.Client
}

func (a localApp) Check(ctx context.Context, p authz.Principal, keys []string, scope string, fresh bool) (bool, error) {
	return evaluator{a.client}.Check(ctx, p, keys, scope, fresh)
}

func (a localApp) Explain(ctx context.Context, q *provider.Explain) (access.Explained, error) {
	return evaluator{a.client}.Explain(ctx, q)
}

func (a localApp) Limiter() *admission.Limiter                  { return nil }
func (a localApp) AuthorityChanged(context.Context, bool) error { return nil }

// hostControl answers fixed facts and notes what it was told to do.
type hostControl struct{ told []string }

func (*hostControl) Status(context.Context) (api.HostStatus, error) {
	return api.HostStatus{Version: "1.2.3", StartedAt: 5, Ready: true, Address: "127.0.0.1:8080"}, nil
}

func (*hostControl) Plugins(context.Context) ([]api.PluginStatus, error) {
	return []api.PluginStatus{{Name: "main", Plugin: "memory", Kinds: []string{"storage"}, State: "running", PID: 7}}, nil
}

func (h *hostControl) RestartPlugin(_ context.Context, name string) error {
	h.told = append(h.told, "restart "+name)
	if name != "main" {
		return authz.Rejected(authz.CodeNotFound, "no plugin %s is configured", spell.Quote(name))
	}
	return nil
}

func (*hostControl) StorageStatus(context.Context) ([]api.StorageStatus, error) { return nil, nil }

func (h *hostControl) RenewStorage(_ context.Context, app string) (string, error) {
	if app != "docs" {
		return "", authz.Rejected(authz.CodeNotFound, "no application %s", app)
	}
	return "another-life", nil
}

func (h *hostControl) AcceptStorage(_ context.Context, app string) error {
	h.told = append(h.told, "accept "+app)
	return nil
}

func (h *hostControl) ReloadCatalogs(_ context.Context, app string, prov authz.Provenance) ([]api.CatalogReload, error) {
	h.told = append(h.told, "reload "+app+" by "+prov.Actor())
	if app == "shop" {
		return nil, authz.Rejected(authz.CodeNotFound, "no application %s", app)
	}
	return []api.CatalogReload{{Application: "docs", File: "docs.yaml", Changes: []catalogdiff.Change{}, Refused: "it does not build"}}, nil
}

func (*hostControl) RekeyService(context.Context) (api.RekeyResult, error) {
	return api.RekeyResult{KeyID: "k2", Resealed: 3, Retired: []string{"k1"}}, nil
}

func (*hostControl) AccountLogs(context.Context) ([]api.AccountLog, error) {
	return []api.AccountLog{{Org: ""}, {Org: "acme", Count: 2, Hash: "ab"}}, nil
}

func (h *hostControl) AccountLog(_ context.Context, org string, after authz.AuditCursor, limit int) ([]authz.AuditEntry, error) {
	h.told = append(h.told, fmt.Sprintf("log %s %+v %d", org, after, limit))
	return nil, nil
}

func (*hostControl) Dashboard(_ context.Context, app string) (api.Dashboard, error) {
	if app != "docs" {
		return api.Dashboard{}, authz.Rejected(authz.CodeNotFound, "no application %s is configured", app)
	}
	return api.Dashboard{URL: "https://authz.example/dashboard", Orgs: []string{"acme"}}, nil
}

func (*hostControl) Directories(context.Context) ([]directory.Status, error) { return nil, nil }

func (h *hostControl) RunDirectory(_ context.Context, name string, r directory.Request) (directory.Report, error) {
	h.told = append(h.told, fmt.Sprintf("run %s %+v", name, r))
	return directory.Report{Directory: name}, nil
}

func (h *hostControl) CancelDirectory(_ context.Context, name string) (bool, error) {
	h.told = append(h.told, "cancel "+name)
	return true, nil
}

func (*hostControl) Config(context.Context) (map[string]any, error) {
	return map[string]any{"listen": "127.0.0.1:8080"}, nil
}

// socket serves a world's application on a real administration socket.
type socket struct {
	*world
	host   *hostControl
	client *http.Client
}

func newSocket(t *testing.T) *socket {
	t.Helper()
	return newSocketOf(t, worldOptions{}, nil)
}

// newSocketOf serves what decorate makes of the application; nil leaves it.
func newSocketOf(t *testing.T, o worldOptions, decorate func(localApp) api.LocalBackend) *socket {
	t.Helper()
	w := newWorld(t, o)
	s := &socket{world: w, host: &hostControl{}}
	h, err := api.NewLocalHandler(api.LocalOptions{Host: s.host, ImportBodyLimit: max(o.socketLimit, 5000), BodyLimit: max(o.socketLimit, 2000),
		Applications: func(name string) (api.LocalBackend, bool) {
			app := localApp{w.app, w.client}
			known := name == "docs" || name == "my docs"
			if decorate != nil {
				return decorate(app), known
			}
			return app, known
		}})
	if err != nil {
		t.Fatal(err)
	}
	server, err := listen.NewServer(listen.ServerOptions{Handler: h})
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "authz")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "authz.sock")
	listener, err := listen.Local(path, false)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- listen.Serve(server, listener) }()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}
	s.client = &http.Client{Transport: transport}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := errors.Join(server.Close(), <-done, os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *socket) ask(path, body string) answer {
	s.t.Helper()
	return send(s.t, s.client, "POST", "http://host"+path, body)
}

func (s *socket) mustOK(path, body string) map[string]any {
	s.t.Helper()
	a := s.ask(path, body)
	if a.status != http.StatusOK {
		s.t.Fatalf("%s %s: %d %s", path, body, a.status, a.body)
	}
	return a.decoded(s.t)
}

func TestTheSocketServesEveryOperationWithoutABearer(t *testing.T) {
	s := newSocket(t)
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	wantBy := map[string]any{"kind": "admin", "actorUserId": "local:" + me.Username}
	grant := s.mustOK("/local/v1/docs/createGrant", `{"input":{"subject":"user:u","pattern":"docs.files.read"}}`)["grant"].(map[string]any)
	if diff := cmp.Diff(any(wantBy), grant["provenance"]); diff != "" {
		t.Errorf("provenance that was left out (-want +got):\n%s", diff)
	}
	revoke := s.mustOK("/local/v1/docs/createRevoke", `{"input":{"userId":"x","pattern":"docs.files.read","provenance":{"kind":"system","note":"n"}}}`)["revoke"].(map[string]any)
	if diff := cmp.Diff(any(map[string]any{"kind": "system", "note": "n"}), revoke["provenance"]); diff != "" {
		t.Errorf("provenance that was given (-want +got):\n%s", diff)
	}
	s.mustOK("/local/v1/my%20docs/setUserActive", `{"userId":"u","active":true}`)
	events := s.mustOK("/local/v1/docs/listAuditEvents", `{"filter":{"action":"user.set_active"}}`)["events"].([]any)
	if len(events) != 1 || events[0].(map[string]any)["actor"] != "local:"+me.Username {
		t.Errorf("the audit log: %v", events)
	}
	if allowed := s.mustOK("/local/v1/docs/check", `{"principal":{"userId":"u"},"key":"docs.files.read"}`)["allowed"]; allowed != true {
		t.Errorf("check: %v", allowed)
	}
	if got := s.mustOK("/local/v1/docs/ping", "")["application"]; got != "docs" {
		t.Errorf("ping: %v", got)
	}
	s.ask("/local/v1/docs/setUserActive", `{"userId":"u","active":true,"provenance":{"kind":"bogus"}}`).
		expectValidation(t, `unknown provenance kind "bogus"`)
}

func TestPathsOfTheSocket(t *testing.T) {
	s := newSocket(t)
	for path, message := range map[string]string{
		"/v1/ping":                "expected a path of the form /local/v1/{app}/{op}",
		"/local/v1/docs":          "expected a path of the form /local/v1/{app}/{op}",
		"/local/v1/docs/":         "expected a path of the form /local/v1/{app}/{op}",
		"/local/v1//ping":         "expected a path of the form /local/v1/{app}/{op}",
		"/local/v1/nobody/ping":   `unknown application "nobody"`,
		"/local/v1/docs/nope":     `unknown operation "nope"`,
		"/local/v1/docs/ping/x":   `unknown operation "ping/x"`,
		"/local/v1/docs/status":   `unknown operation "status"`,
		"/local/v1/_host/ping":    `unknown operation "ping"`,
		"/local/v1/_host/explain": `unknown operation "explain"`,
	} {
		s.ask(path, "{}").expectError(t, 404, apiName, "unknown_op", message)
	}
	send(t, s.client, "GET", "http://host/local/v1/docs/ping", "").expectError(t, 405, apiName, "method_not_allowed", "POST only")
	s.ask("/local/v1/docs/ping", "[]").expectError(t, 400, apiName, "bad_request", "")
	s.ask("/local/v1/docs/ping", strings.Repeat(" ", 2001)).expectError(t, 413, apiName, "payload_too_large", "")
	s.ask("/local/v1/docs/importDirectory", "{"+strings.Repeat(" ", 2001)+"}").expectValidation(t, `importDirectory requires the "snapshot" field`)
	s.ask("/local/v1/docs/importDirectory", strings.Repeat(" ", 5001)).expectError(t, 413, apiName, "payload_too_large", "")
}

func TestExplainNamesTheRowsThatDecided(t *testing.T) {
	s := newSocket(t)
	grant := s.mustOK("/local/v1/docs/createGrant", `{"input":{"subject":"user:u","pattern":"docs.files.*"}}`)["grant"].(map[string]any)
	got := s.mustOK("/local/v1/docs/explain", `{"principal":{"userId":"u"},"key":"docs.files.read"}`)
	matched := got["matchedGrants"].([]any)
	if got["allowed"] != true || got["active"] != true || len(matched) != 1 || matched[0].(map[string]any)["id"] != grant["id"] {
		t.Errorf("%v", got)
	}
	for _, member := range []string{"matchedRevokes", "objectClosure", "implied", "impliedBy"} {
		if _, ok := got[member]; !ok {
			t.Errorf("%s is missing: %v", member, got)
		}
	}
	s.ask("/local/v1/docs/explain", `{"principal":{"userId":"u"}}`).expectValidation(t, `explain requires the "key" field`)
	s.ask("/local/v1/docs/explain", `{"principal":{"userId":"u"},"key":["docs.files.read"]}`).expectValidation(t, `explain: "key" must be a string`)
	s.ask("/local/v1/docs/explain", `{"principal":{"userId":"u"},"key":"docs.files.read","scope":"x"}`).expectValidation(t, "scope ids are")
	s.ask("/local/v1/docs/explain", `{"principal":{},"key":"docs.files.read"}`).expectValidation(t, "exactly one")
	s.ask("/local/v1/docs/explain", `{"principal":{"userId":"u"},"key":"docs.files.raed"}`).expectError(t, 500, "UnknownPermissionError", "", "")
}

func TestValidateGrantableAt(t *testing.T) {
	s := newSocket(t)
	if got := s.mustOK("/local/v1/docs/validateGrantableAt", `{"pattern":"docs.files.read","scope":"docs.doc:1"}`); got["reason"] != nil {
		t.Errorf("%v", got)
	}
	got := s.mustOK("/local/v1/docs/validateGrantableAt", `{"pattern":"docs.files.delete","scope":"docs.doc:1"}`)
	if reason, _ := got["reason"].(string); !strings.Contains(reason, "not grantable") {
		t.Errorf("%v", got)
	}
	s.ask("/local/v1/docs/validateGrantableAt", `{"pattern":"a..b","scope":"*"}`).expectValidation(t, "invalid segment")
	s.ask("/local/v1/docs/validateGrantableAt", `{"pattern":"*","scope":"x"}`).expectValidation(t, "scope ids are")
}

func TestValidateKnownPattern(t *testing.T) {
	s := newSocket(t)
	for _, known := range []string{"*", "docs.files.read", "docs.files.*"} {
		if got := s.mustOK("/local/v1/docs/validateKnownPattern", `{"pattern":"`+known+`"}`); got["reason"] != nil {
			t.Errorf("%s: %v", known, got)
		}
	}
	got := s.mustOK("/local/v1/docs/validateKnownPattern", `{"pattern":"docs.files.raed"}`)
	if reason, _ := got["reason"].(string); !strings.Contains(reason, "references nothing in the catalog") {
		t.Errorf("%v", got)
	}
	s.ask("/local/v1/docs/validateKnownPattern", `{"pattern":"a..b"}`).expectValidation(t, "invalid segment")
}

func TestNotifyScopeMovedReachesTheListeners(t *testing.T) {
	s := newSocket(t)
	var heard []authz.Event
	defer s.app.OnInvalidate(func(e authz.Event) { heard = append(heard, e) })()
	s.mustOK("/local/v1/docs/notifyScopeMoved", `{"scope":"docs.doc:1"}`)
	if diff := cmp.Diff([]authz.Event{authz.ScopeEvent("docs.doc:1")}, heard); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	s.ask("/local/v1/docs/notifyScopeMoved", `{"scope":"*"}`).expectValidation(t, "")
	s.ask("/local/v1/docs/notifyScopeMoved", `{"scope":"x"}`).expectValidation(t, "scope ids are")
}

func TestImportDirectoryTellsAbsentFromEmpty(t *testing.T) {
	s := newSocket(t)
	result := s.mustOK("/local/v1/docs/importDirectory", `{"source":"hr","snapshot":{
		"groups":[{"id":"a","name":"A"},{"id":"b","name":"B","parents":["a"]}],
		"memberships":{"u1":["b"],"__proto__":["a"]},"reportingEdges":{"u1":"u2"},"orgs":{"u1":["o"]},
		"users":[{"userId":"u1"},{"userId":"u3","active":false}]}}`)
	if len(result["warnings"].([]any)) != 0 {
		t.Errorf("%v", result)
	}
	closure := s.mustOK("/local/v1/docs/getSubjectAccess", `{"principal":{"userId":"u1"}}`)["closure"]
	want := []any{"user:u1", "group:b", "group:a", "directs:u2", "orgof:u2", "org:o", "everyone"}
	if diff := cmp.Diff(any(want), closure); diff != "" {
		t.Errorf("closure (-want +got):\n%s", diff)
	}
	// Absent datasets are untouched even where the import is authoritative.
	s.mustOK("/local/v1/docs/importDirectory", `{"source":"hr","snapshot":{"users":null},"options":{"authoritative":true}}`)
	if got := s.mustOK("/local/v1/docs/getSubjectAccess", `{"principal":{"userId":"u1"}}`)["active"]; got != true {
		t.Error("an absent dataset deactivated a user")
	}
	s.mustOK("/local/v1/docs/importDirectory", `{"source":"hr","snapshot":{"users":[]},"options":{"authoritative":true}}`)
	if got := s.mustOK("/local/v1/docs/getSubjectAccess", `{"principal":{"userId":"u1"}}`)["active"]; got != false {
		t.Error("an empty authoritative list of users deactivates everybody")
	}
}

func TestImportDirectoryRefusesWrongTypes(t *testing.T) {
	s := newSocket(t)
	for snapshot, message := range map[string]string{
		`[]`:                                       `importDirectory: "snapshot" must be an object`,
		`{"groups":{}}`:                            `groups must be a list of objects`,
		`{"groups":[{"id":"a"}]}`:                  `name must be a string`,
		`{"groups":[{"name":"A"}]}`:                `id must be a string`,
		`{"memberships":[]}`:                       `memberships must be an object of lists of strings`,
		`{"memberships":{"u":"a"}}`:                `memberships must be an object of lists of strings`,
		`{"memberships":{"u":null}}`:               `memberships must be an object of lists of strings`,
		`{"memberships":{"u":["a",5]}}`:            `memberships must be an object of lists of strings`,
		`{"reportingEdges":{"u":null}}`:            `reportingEdges must be an object of strings`,
		`{"orgs":{"u":{}}}`:                        `orgs must be an object of lists of strings`,
		`{"users":[{"userId":5}]}`:                 `userId must be a string`,
		`{"users":[{"active":true}]}`:              `userId must be a string`,
		`{"users":[{"userId":"u"},5]}`:             `users must be a list of objects`,
		`{"users":[{"userId":"u","active":"no"}]}`: `active must be a boolean`,
	} {
		s.ask("/local/v1/docs/importDirectory", `{"source":"hr","snapshot":`+snapshot+`}`).expectValidation(t, message)
	}
	s.ask("/local/v1/docs/importDirectory", `{"source":"hr","snapshot":{},"options":{"authoritative":"yes"}}`).expectValidation(t, "authoritative must be a boolean")
	s.ask("/local/v1/docs/importDirectory", `{"source":5,"snapshot":{}}`).expectValidation(t, `importDirectory: "source" must be a string`)
	s.ask("/local/v1/docs/importDirectory", `{"source":"","snapshot":{}}`).expectValidation(t, `source`)
	if head := s.mustOK("/local/v1/docs/epoch.head", "")["seq"]; head != 0.0 {
		t.Errorf("a refused import wrote something: %v", head)
	}
}

func TestTheHostAnswersForItself(t *testing.T) {
	s := newSocket(t)
	for op, want := range map[string]string{
		"status":         `{"version":"1.2.3","startedAt":5,"ready":true,"address":"127.0.0.1:8080","checks":[],"applications":[]}`,
		"service.logs":   `{"logs":[{"org":"","count":0},{"org":"acme","count":2,"hash":"ab"}]}`,
		"service.rekey":  `{"keyId":"k2","resealed":3,"retired":["k1"]}`,
		"plugins":        `{"plugins":[{"name":"main","plugin":"memory","kinds":["storage"],"state":"running","pid":7,"restarts":0}]}`,
		"storage.status": `{"stores":[]}`,
		"directories":    `{"directories":[]}`,
		"config":         `{"config":{"listen":"127.0.0.1:8080"}}`,
	} {
		if a := s.ask("/local/v1/_host/"+op, ""); a.status != 200 || a.body != want {
			t.Errorf("%s: %d %s\nwant %s", op, a.status, a.body, want)
		}
	}
	s.mustOK("/local/v1/_host/plugin.restart", `{"name":"main"}`)
	s.mustOK("/local/v1/_host/storage.accept", `{"app":"docs"}`)
	s.ask("/local/v1/_host/plugin.restart", `{"name":"other"}`).expectError(t, 404, refusedName, "not_found", `no plugin "other"`)
	s.ask("/local/v1/_host/plugin.restart", `{}`).expectValidation(t, `plugin.restart requires the "name" field`)
	if got := s.mustOK("/local/v1/_host/storage.renew", `{"app":"docs"}`); got["incarnation"] != "another-life" {
		t.Errorf("renewed to %v", got)
	}
	if a := s.ask("/local/v1/_host/dashboard", `{"app":"docs"}`); a.status != 200 || a.body != `{"url":"https://authz.example/dashboard","orgs":["acme"]}` {
		t.Errorf("dashboard: %d %s", a.status, a.body)
	}
	s.ask("/local/v1/_host/dashboard", `{"app":"other"}`).expectError(t, 404, refusedName, "not_found", "no application other")
	s.ask("/local/v1/_host/dashboard", `{}`).expectValidation(t, `dashboard requires the "app" field`)
	s.ask("/local/v1/_host/storage.renew", `{"app":"other"}`).expectError(t, 404, refusedName, "not_found", "no application")
	s.ask("/local/v1/_host/storage.accept", `{"app":5}`).expectValidation(t, `storage.accept: "app" must be a string`)
	s.ask("/local/v1/_host/storage.accept", `{"app":""}`).expectValidation(t, `storage.accept: "app" must be a non-empty string`)
	if got := s.mustOK("/local/v1/_host/directory.run", `{"name":"staff","dryRun":true,"confirm":true}`); got["directory"] != "staff" {
		t.Errorf("%v", got)
	}
	s.ask("/local/v1/_host/directory.run", `{"dryRun":true}`).expectValidation(t, `directory.run requires the "name" field`)
	s.ask("/local/v1/_host/directory.run", `{"name":"staff","authoritative":"yes"}`).expectValidation(t, `directory.run: "authoritative" must be a boolean`)
	if got := s.mustOK("/local/v1/_host/directory.cancel", `{"name":"staff"}`); got["cancelled"] != true {
		t.Errorf("%v", got)
	}
	s.mustOK("/local/v1/_host/service.log", `{"org":"acme","after":{"at":5,"id":"e"},"limit":7}`)
	s.mustOK("/local/v1/_host/service.log", `{"org":""}`)
	s.ask("/local/v1/_host/service.log", `{}`).expectValidation(t, `service.log requires the "org" field`)
	s.ask("/local/v1/_host/service.log", `{"org":"acme","after":5}`).expectValidation(t, `service.log: "after" must be an object with the members at and id`)
	if a := s.ask("/local/v1/_host/catalog.reload", ""); a.body != `{"applications":[{"application":"docs","file":"docs.yaml","changes":[],"refused":"it does not build"}]}` {
		t.Errorf("catalogs reloaded: %s", a.body)
	}
	s.mustOK("/local/v1/_host/catalog.reload", `{"app":"docs","provenance":{"kind":"admin","actorUserId":"ci"}}`)
	s.ask("/local/v1/_host/catalog.reload", `{"app":"shop"}`).expectError(t, 404, refusedName, "not_found", "no application")
	s.ask("/local/v1/_host/catalog.reload", `{"app":""}`).expectValidation(t, `catalog.reload: "app" must be a non-empty string`)
	login, _ := user.Current()
	told := []string{"restart main", "accept docs", "restart other",
		"run staff {DryRun:true Authoritative:false Confirmed:true Full:false}", "cancel staff",
		"log acme {At:5 ID:e} 7", "log  {At:0 ID:} 1000",
		"reload  by local:" + login.Username, "reload docs by ci", "reload shop by local:" + login.Username}
	if diff := cmp.Diff(told, s.host.told); diff != "" {
		t.Errorf("the host was told (-want +got):\n%s", diff)
	}
}

func TestWhereThePeerIsUnknownProvenanceIsRequired(t *testing.T) {
	w := newWorld(t, worldOptions{})
	h, err := api.NewLocalHandler(api.LocalOptions{Host: &hostControl{},
		Applications: func(string) (api.LocalBackend, bool) { return localApp{w.app, w.client}, true }})
	if err != nil {
		t.Fatal(err)
	}
	w.server.Config.Handler = h // on TCP, without NewServer
	w.send("POST", "/local/v1/docs/setUserActive", `{"userId":"u","active":true}`).
		expectValidation(t, `setUserActive requires the "provenance" field`)
}
