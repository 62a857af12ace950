package config_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/authzhost/authz/host/config"
)

const hostKey, otherKey, bootstrap = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=", "ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA=", "hunter2-hunter2-hunter2-hunter2-hunter2"

// keys are the variables that the service of full names, and others.
func keys(more ...string) []string {
	return append([]string{"HOST_KEY=" + hostKey, "OLD_HOST_KEY=" + otherKey, "BOOTSTRAP=" + bootstrap, "OIDC_SECRET=" + secret}, more...)
}

// full sets something in every section.
const full = `listen: 127.0.0.1:1
plugin_dirs: [/bin]
plugins:
  main:
    plugin: memory
    env: {A: env:ACME_SECRET, B: hunter2-in-env}
    config: {dsn: env:ACME_SECRET, literal: hunter2-in-config, list: [hunter2-in-list, 3], size: 7, warm: true}
trusted_proxies: [10.1.2.3/8, 192.0.2.7, "::1"]
audit: {anchor: {file: /anchors.ndjson, interval: 10m}}
metrics: {sinks: [main], window: 30s, instance: web-3, scope_instances: [docs.doc]}
service:
  public_url: https://Authz.example:8443/
  host_keys: [env:HOST_KEY, env:OLD_HOST_KEY]
  storage: {driver: main}
  org_creation: session
  bootstrap: {user_id: u_1, secret: env:BOOTSTRAP, keep: true}
  oidc: {issuer: "https://idp.example/tenant", client_id: authz, client_secret: env:OIDC_SECRET, scopes: [openid, email], user_id_claim: email}
  session: {lifetime: 8h, idle: 30m}
  relay: {allow_loopback: true, allowed_networks: [10.0.0.0/8]}
  local: {acme-inc: [acme]}
directories:
  staff: {importer: main, application: acme, source: hr, schedule: "0 3 * * *", jitter: 5m, authoritative: true, max_deactivations: 0.25, timeout: 1h}
applications:
  acme:
    catalog: /acme.yaml
    storage: {driver: main, partition: acme}
    provider: {secrets: [env:ACME_SECRET, env:OLD]}
    ancestry: {kind: stored}
    events: {persist: true}
    metrics: {}
    default: true
    mesh: {enabled: true, imports: true, except: [zoom], verify: {read: [billing], write: [hq]}, org_root: true}
`

func TestPrintedConfigurationShowsReferencesAndNoSecret(t *testing.T) {
	cfg := load(t, full, keys("OLD=hunter2-hunter2-old")...)
	printed, err := yaml.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	asJSON, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	redacted, err := json.Marshal(cfg.Redacted())
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "cfg", cfg, "s", cfg.Applications["acme"].Provider.Secrets[0], "c", cfg.Plugins.Instances["main"].Config)
	all := map[string]string{
		"yaml": string(printed), "json": string(asJSON), "redacted": string(redacted), "slog": log.String(),
		"v": fmt.Sprintf("%v", cfg), "+v": fmt.Sprintf("%+v", *cfg), "#v": fmt.Sprintf("%#v", cfg.Plugins), "s": fmt.Sprintf("%s %x", cfg.Applications["acme"].Provider.Secrets, cfg.Plugins.Instances["main"].Env),
		"one": fmt.Sprint(cfg.Applications["acme"].Provider.Secrets[0]) + cfg.Applications["acme"].Provider.Secrets[0].String(),
	}
	for how, text := range all {
		if strings.Contains(text, "hunter2") || strings.Contains(text, hostKey) || strings.Contains(text, otherKey) || strings.Contains(text, secret) || strings.Contains(text, fmt.Sprintf("%x", secret)) {
			t.Errorf("%s shows a secret: %s", how, text)
		}
	}
	for _, want := range []string{"dsn: env:ACME_SECRET", "literal: '[redacted]'", "size: 7", "A: env:ACME_SECRET", "B: '[redacted]'", "- env:OLD", "shutdown_timeout: 20s", "max_rows: 100000"} {
		if !strings.Contains(all["yaml"], want) {
			t.Errorf("%q is not in\n%s", want, printed)
		}
	}
	if !strings.HasPrefix(all["yaml"], "listen: 127.0.0.1:1\nops_listen:") {
		t.Error("the order is that of the reference: ", all["yaml"])
	}
}

func TestPrintedConfigurationLoadsToTheSame(t *testing.T) {
	literal := strings.NewReplacer("B: hunter2-in-env", "", "literal: hunter2-in-config, list: [hunter2-in-list, 3], ", "").Replace(full)
	cfg := load(t, literal, keys("OLD="+secret)...)
	printed, err := yaml.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	again := load(t, string(printed), keys("OLD="+secret)...)
	again.Dir, again.File, again.Lines = cfg.Dir, cfg.File, cfg.Lines // those of the file, which is another one
	if d := cmp.Diff(cfg, again, cmp.AllowUnexported(config.Secret{}, config.Settings{})); d != "" {
		t.Error(d)
	}
	if d := cfg.Diff(again); len(d.Reload)+len(d.Restart) > 0 {
		t.Error(d)
	}
}

func TestEveryKeyIsPrinted(t *testing.T) {
	limited := strings.Replace(full, "env:OLD]}", "env:OLD], read_secrets: [env:READ], check_secrets: [env:CHECK]}", 1)
	printed := load(t, limited, keys("OLD="+secret, "READ="+secret+"-r", "CHECK="+secret+"-c")...).Redacted()
	for _, k := range config.Keys() {
		if k.Path == "applications.<name>.provider.secret" {
			continue // printed as secrets
		}
		var at any = printed
		for _, segment := range strings.Split(strings.NewReplacer("service.local.<name>", "service.local.acme-inc", "plugins.<name>", "plugins.main", "applications.<name>", "applications.acme", "directories.<name>", "directories.staff").Replace(k.Path), ".") {
			section, _ := at.(map[string]any)
			at = section[segment]
		}
		if at == nil {
			t.Errorf("%s is not printed", k.Path)
		}
	}
}

func TestWhatAReloadTakesOverIsToldFromWhatNeedsARestart(t *testing.T) {
	cert, key := certificate(t)
	pair := "tls: {cert: " + cert + ", key: " + key + "}\n"
	base := full + pair
	running := load(t, base, keys("OLD="+secret)...)
	cases := []struct {
		name string
		text string
		env  string
		want config.Changes
	}{
		{"nothing", base, "OLD=" + secret, config.Changes{}},
		{"a secret's value", base, "OLD=hunter2-hunter2-new", config.Changes{Reload: []string{"applications.acme.provider.secrets"}}},
		{"log level and format", base + "log: {level: warn, format: json}", "OLD=" + secret, config.Changes{Reload: []string{"log.level"}, Restart: []string{"log.format"}}},
		{"clients must show a certificate", strings.Replace(base, "key: "+key, "key: "+key+", client_ca: "+cert, 1), "OLD=" + secret, config.Changes{Reload: []string{"tls.client_ca"}}},
		{"where counts go", strings.Replace(base, "sinks: [main], window: 30s", "sinks: [], window: 30s", 1), "OLD=" + secret, config.Changes{Restart: []string{"metrics.sinks"}}},
		{"TLS off", full, "OLD=" + secret, config.Changes{Restart: []string{"tls.cert", "tls.key"}}},
		{"a plugin's settings and another plugin", strings.Replace(base, "size: 7", "size: 8", 1) + "limits: {body: 9}\n", "OLD=" + secret, config.Changes{Restart: []string{"limits.body", "plugins.main.config"}}},
		{"another application", strings.Replace(base, "  acme:", "  beta: {catalog: /c, storage: {driver: main, partition: b}}\n  acme:", 1), "OLD=" + secret, config.Changes{Restart: []string{"applications.beta"}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, running.Diff(load(t, c.text, keys(c.env)...))); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestASecretOfTheServiceIsTakenOverForItsOwnerOnly(t *testing.T) {
	changed := keys("OLD="+secret, "BOOTSTRAP="+bootstrap+"-next", "OIDC_SECRET="+secret+"-next")
	running := load(t, full, keys("OLD="+secret)...)
	both := []string{"service.bootstrap.secret", "service.oidc.client_secret"}
	if d := cmp.Diff(config.Changes{Reload: both}, running.Diff(load(t, full, changed...))); d != "" {
		t.Error(d)
	}
	others := strings.NewReplacer("user_id: u_1", "user_id: u_2", "client_id: authz", "client_id: other").Replace(full)
	want := config.Changes{Restart: []string{both[0], "service.bootstrap.user_id", "service.oidc.client_id", both[1]}}
	if d := cmp.Diff(want, running.Diff(load(t, others, changed...))); d != "" {
		t.Error(d)
	}
}

func TestTheFirstSecretOfAnApplicationNeedsARestart(t *testing.T) {
	served := strings.Replace(full, "    default: true\n", "", 1)
	alone := strings.Replace(served, "    provider: {secrets: [env:ACME_SECRET, env:OLD]}\n", "", 1)
	with, without := load(t, served, keys("OLD="+secret)...), load(t, alone, keys("OLD="+secret)...)
	key := []string{"applications.acme.provider.secrets"}
	if d := cmp.Diff(config.Changes{Restart: key}, without.Diff(with)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(config.Changes{Reload: key}, with.Diff(without)); d != "" {
		t.Error(d)
	}
}

func TestValuesGivenInCodeAreKeptAndHidden(t *testing.T) {
	s := config.NewSettings(map[string]any{"dsn": "hunter2", "n": 1})
	if d := cmp.Diff(map[string]any{"dsn": "hunter2", "n": 1}, s.Reveal()); d != "" {
		t.Error(d)
	}
	if got := fmt.Sprint(s, config.NewSecret("hunter2", "")); strings.Contains(got, "hunter2") {
		t.Error(got)
	}
}

var update = flag.Bool("update", false, "rewrite the table in docs/configuration.md")

func TestTheDocumentedKeysAreTheKeys(t *testing.T) {
	const path, begin, end = "../../docs/configuration.md", "<!-- keys -->\n", "<!-- end of keys -->\n"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	table, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatal("the marks around the table are gone")
	}
	if *update {
		if err := os.WriteFile(path, []byte(before+begin+config.Reference()+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(config.Reference(), table); d != "" {
		t.Errorf("run go test ./host/config -update: %s", d)
	}
}
