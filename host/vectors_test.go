package host_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/authzhost/authz/conformance/vectors"
	"github.com/authzhost/authz/host"
	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/host/internal/scripts"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// The scripts of host/application and host/api once more: each on an application
// of a running host, over the wire, with its rows in a plugin process. What these
// hold and those held says that nobody can tell a hosted application from a local
// one.

func TestVectorsAppWritesHosted(t *testing.T) { replayScripts(t, "app-writes.jsonl") }

func TestVectorsRequestsHosted(t *testing.T) { replayScripts(t, "requests.jsonl") }

func replayScripts(t *testing.T, file string) {
	apps, left := map[string]scripted{}, 0
	for _, s := range vectors.Cases[scripts.Script](t, file) {
		if !s.Hosted() {
			left++
			continue
		}
		apps[s.ID] = asScripted(s.Case)
	}
	on := openScripted(t, apps)
	vectors.Replay(t, file, func(s scripts.Script) bool { return on.serves(s.ID) }, func(t *testing.T, s scripts.Script) {
		scripts.Run(t, s, on.surface(t, s.ID, s.ScopeParents))
	})
	t.Logf("%d cases are left to host/application: no host is made like that", left)
}

// asScripted is the application that a case asks for.
func asScripted(c scripts.Case) scripted {
	o := c.Options
	a := scripted{catalog: c.Catalog, sod: o.SoD, metrics: o.Metrics, persist: o.Events.Persist, hashChain: o.Audit.HashChain}
	if o.OrgRoot != nil {
		a.orgRoot = fmt.Append(nil, *o.OrgRoot)
	}
	return a
}

func TestVectorsUsageHosted(t *testing.T) {
	apps := map[string]scripted{}
	usage := func(raw json.RawMessage) (c scripts.Usage) {
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatal(err)
		}
		return c
	}
	for _, raw := range vectors.Cases[json.RawMessage](t, "metrics.jsonl") {
		if scripts.IsUsage(raw) {
			c := usage(raw)
			apps[c.ID] = scripted{catalog: json.RawMessage(`{"namespaces":["docs"],"permissions":{"docs.files.read":true}}`), metrics: c.Options.Metrics}
		}
	}
	on := openScripted(t, apps)
	vectors.Replay(t, "metrics.jsonl", scripts.IsUsage, func(t *testing.T, raw json.RawMessage) {
		c := usage(raw)
		scripts.RunUsage(t, c, &on.now, on.surface(t, c.ID, nil).Provider)
	})
}

func TestVectorsProviderAPIHosted(t *testing.T) {
	apps, left := map[string]scripted{}, 0
	for _, c := range vectors.Cases[scripts.Wire](t, "provider-api.jsonl") {
		if !hostable(c) {
			left++
			continue
		}
		apps[c.ID] = asScripted(c.Case)
	}
	on := openScripted(t, apps)
	vectors.Replay(t, "provider-api.jsonl", func(c scripts.Wire) bool { return on.serves(c.ID) }, func(t *testing.T, c scripts.Wire) {
		surface := scripts.WireSurface{Surface: on.surface(t, c.ID, c.ScopeParents)}
		base := "http://" + on.host.Address() + "/apps/" + c.ID
		surface.Send = func(t testing.TB, method, path, body string, authorization ...string) scripts.WireAnswer {
			return send(t, method, base+path, strings.NewReader(body), authorization, c.ID)
		}
		scripts.RunWire(t, c, surface)
	})
	t.Logf("%d cases are left to host/api: their handler is built as no host builds one", left)
}

func send(t testing.TB, method, url string, body io.Reader, authorization []string, app string) scripts.WireAnswer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	if len(authorization) > 0 {
		req.Header["Authorization"] = authorization
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	// The cases know the application by another name.
	renamed := strings.ReplaceAll(string(text), `"application":"`+app+`"`, `"application":"`+scripts.WireApplication+`"`)
	return scripts.WireAnswer{Status: resp.StatusCode, ContentType: resp.Header.Get("Content-Type"), Body: []byte(renamed)}
}

// hostable leaves out what no host can be made to be: mounted below a path of the
// application's own, without storage, or deaf to authority that moves.
func hostable(c scripts.Wire) bool {
	for _, s := range c.Steps {
		fault, _ := s.Expect.OK.Body["error"].(map[string]any)
		message, _ := fault["message"].(string)
		if !strings.HasPrefix(s.Args.Path, "/v1/") || strings.HasPrefix(message, "this handler cannot accept an authority transfer") {
			return false
		}
	}
	return c.Hosted()
}

// scripted is an application that a case asks for: its catalog, and options as
// the case writes them.
type scripted struct {
	catalog               json.RawMessage
	orgRoot, sod, metrics json.RawMessage
	persist               *bool
	hashChain             bool
}

// scriptHost is one host with an application for each case.
type scriptHost struct {
	host *host.Host
	now  atomic.Int64
	apps map[string]scripted
}

func (o *scriptHost) serves(id string) bool {
	_, ok := o.apps[id]
	return ok
}

func openScripted(t *testing.T, apps map[string]scripted) *scriptHost {
	t.Helper()
	dir, err := os.MkdirTemp("", "authz") // short: sockets live below it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	write(t, filepath.Join(dir, "secret"), scripts.WireSecret)
	var text strings.Builder
	fmt.Fprintf(&text, "listen: 127.0.0.1:0\nops_listen: \"\"\nrun_dir: run\nplugin_dirs: [%s]\nplugins: {main: {plugin: memory}}\napplications:\n", plugins)
	on := &scriptHost{apps: apps}
	for id, a := range apps {
		in, err := catalog.ParseJSON(a.catalog)
		if err == nil {
			_, err = catalog.Build(in)
		}
		if err != nil {
			t.Logf("%s is left to host/application: no host starts with its catalog: %v", id, err)
			delete(apps, id)
			continue
		}
		write(t, filepath.Join(dir, id+".json"), string(a.catalog))
		fmt.Fprintf(&text, "  %s:\n    catalog: %s.json\n    storage: {driver: main, partition: %s}\n    provider: {secret: \"file:secret\"}\n    ancestry: {kind: stored}\n", id, id, id)
		for key, value := range map[string]json.RawMessage{"org_root": a.orgRoot, "sod": a.sod, "metrics": a.metrics} {
			if value != nil {
				fmt.Fprintf(&text, "    %s: %s\n", key, inSnakeCase.Replace(string(value)))
			}
		}
		if a.hashChain {
			text.WriteString("    audit: {hash_chain: true}\n")
		}
		if a.persist != nil {
			fmt.Fprintf(&text, "    events: {persist: %t}\n", *a.persist)
		}
	}
	path := filepath.Join(dir, "authz.yaml")
	write(t, path, text.String())
	cfg, err := config.Load(config.Source{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	on.host, err = host.Open(t.Context(), cfg, host.Options{Clock: on.now.Load, IDs: scripts.IDs()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeHost(t, on.host) })
	return on
}

// inSnakeCase writes the options of a case as the configuration does.
var inSnakeCase = strings.NewReplacer("bucketMs", "bucket_ms", "retentionMs", "retention_ms", `":`, `": `)

// surface is the application of a case, with the parents of its scopes recorded.
func (o *scriptHost) surface(t *testing.T, id string, scopeParents map[string][]string) scripts.Surface {
	t.Helper()
	app, ok := o.host.Application(id)
	if !ok {
		t.Fatalf("the host has no application %s", id)
	}
	var recorded []storage.Change
	for scope, parents := range scopeParents {
		recorded = append(recorded, storage.PutScopeParents{Scope: scope, Parents: parents})
	}
	if len(recorded) > 0 {
		if _, err := app.Store().Commit(t.Context(), storage.Commit{ID: "scopes", At: 1, Changes: recorded}); err != nil {
			t.Fatal(err)
		}
	}
	hosted, err := provider.NewHosted(provider.HostedOptions{URL: "http://" + o.host.Address() + "/apps/" + id, Secret: scripts.WireSecret})
	if err != nil {
		t.Fatal(err)
	}
	base := "http://" + o.host.Address() + "/apps/" + id
	call := func(t testing.TB, op string, body json.RawMessage) scripts.WireAnswer {
		return send(t, http.MethodPost, base+"/v1/"+op, bytes.NewReader(body), []string{"Bearer " + scripts.WireSecret}, id)
	}
	on := scripts.Surface{Call: call, Provider: hosted, Local: socket{localCaller(o.host), id}, Store: app.Store(), Now: &o.now}
	if app.EventLog() == nil {
		on.Heard = scripts.Told(app) // no other process could hear of it
	} else {
		on.Heard = scripts.Logged(t, hosted.EventLog())
	}
	return on
}
