package config_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/config"
)

const secret = "correct-horse-battery-staple"

// small is a whole configuration of one application.
const small = `plugins:
  main: {plugin: memory}
applications:
  acme:
    catalog: acme.yaml
    storage: {driver: main, partition: acme}
    provider: {secret: "env:ACME_SECRET"}
`

var environ = []string{"ACME_SECRET=" + secret, "HOME=/root"}

// write puts a configuration file into a directory of its own.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "authz.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func load(t *testing.T, text string, env ...string) *config.Config {
	t.Helper()
	cfg, err := config.Load(config.Source{Path: write(t, text), Environ: append(environ, env...)})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func problems(t *testing.T, src config.Source) []config.Problem {
	t.Helper()
	cfg, err := config.Load(src)
	var bad *config.Error
	if !errors.As(err, &bad) {
		t.Fatalf("Load = %v, %v; want a *config.Error and nothing else", cfg, err)
	}
	return bad.Problems
}

func TestDefaultsAreThoseOfTheSpec(t *testing.T) {
	cfg := load(t, small, "XDG_RUNTIME_DIR=/run/user/7")
	dir := filepath.Dir(cfg.Applications["acme"].Catalog)
	app := cfg.Applications["acme"]
	if got := app.Provider.Secrets; len(got) != 1 || got[0].Reveal() != secret || got[0].Reference() != "env:ACME_SECRET" {
		t.Errorf("secret %q from %q", got[0].Reveal(), got[0].Reference())
	}
	app.Provider.Secrets = nil
	want := config.Application{
		Catalog: filepath.Join(dir, "acme.yaml"), Storage: config.Storage{Driver: "main", Partition: "acme"},
		Ancestry: config.Ancestry{Kind: "none"}, Events: config.Events{Retention: config.Retention{MaxAge: 7 * 24 * time.Hour, MaxRows: 100000}},
		GroupTopologyTTL: 30 * time.Second, SoD: config.SoD{Enforce: "off"}, OrgRoot: true,
		Client: config.Client{SubjectCacheTTL: 30 * time.Second, ObjectCacheTTL: time.Minute, MaxSubjectCacheEntries: 10000, MaxObjectCacheEntries: 10000, ExternalPermissions: "error", UnknownScopeTypes: "answer"},
	}
	if d := cmp.Diff(want, app); d != "" {
		t.Error(d)
	}
	cfg.Applications, cfg.Plugins = nil, config.Plugins{}
	top := &config.Config{
		Listen: "127.0.0.1:8080", OpsListen: "127.0.0.1:9090", RunDir: "/run/user/7/authz", Socket: "/run/user/7/authz/authz.sock",
		Log: config.Log{Level: "info", Format: "text", Access: true}, ShutdownTimeout: 20 * time.Second,
		Ops: config.Ops{CheckSample: 1}, Tracing: config.Tracing{Sample: 0.01}, Metrics: config.Observation{Window: time.Minute},
		Limits: config.Limits{Body: 10 << 20, OrgSnapshotBody: 256 << 20, InFlight: 4096}, PluginDirs: []string{filepath.Join(dir, "bin")}, Dir: dir,
		Directories: map[string]config.Directory{}, InsecurePermissions: "refuse",
	}
	top.File, top.Lines = cfg.File, cfg.Lines
	if d := cmp.Diff(top, cfg, cmp.AllowUnexported(config.Secret{})); d != "" {
		t.Error(d)
	}
}

func TestMetricsAreOnWhenTheirSectionIsThere(t *testing.T) {
	for _, c := range []struct {
		text string
		env  []string
		want *config.Metrics
	}{
		{"", nil, nil},
		{"    metrics:\n", nil, nil},
		{"    metrics: {}\n", nil, &config.Metrics{Bucket: 24 * time.Hour, Retention: 90 * 24 * time.Hour}},
		{"    metrics: {bucket: 1h}\n", nil, &config.Metrics{Bucket: time.Hour, Retention: 90 * 24 * time.Hour}},
		{"    metrics: {bucket_ms: }\n", nil, &config.Metrics{Bucket: 24 * time.Hour, Retention: 90 * 24 * time.Hour}},
		{"    metrics: {bucket_ms: 3600000}\n", nil, &config.Metrics{Bucket: time.Hour, Retention: 90 * 24 * time.Hour}},
		{"", []string{"AUTHZ_APPLICATIONS__ACME__METRICS__RETENTION_MS=5"}, &config.Metrics{Bucket: 24 * time.Hour, Retention: 5 * time.Millisecond}},
	} {
		cfg := load(t, small+c.text, c.env...)
		if d := cmp.Diff(c.want, cfg.Applications["acme"].Metrics); d != "" {
			t.Errorf("%q %v: %s", c.text, c.env, d)
		}
		apps, _ := cfg.Redacted()["applications"].(map[string]any)
		if _, shown := apps["acme"].(map[string]any)["metrics"]; shown != (c.want != nil) {
			t.Errorf("%q %v: printed %v", c.text, c.env, shown)
		}
	}
	for _, text := range []string{"    metrics: {bucket: 0s}\n", "    metrics: {bucket: 10us}\n", "    metrics: {bucket: 1500us}\n", "    metrics: {retention: 11y}\n", "    metrics: {retention: 4000d}\n", "    metrics: {bucket_ms: 0}\n", "    metrics: {retention_ms: -1}\n", "    metrics: true\n", "    metrics: {grain: 1}\n"} {
		if got := problems(t, config.Source{Path: write(t, small+text), Environ: environ}); len(got) != 1 {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestWithoutAnythingThereAreOnlyDefaults(t *testing.T) {
	for _, text := range []string{"", "---\n", "# nothing\n", "tls:\nplugins:\nlisten:\n"} {
		cfg := load(t, text)
		if cfg.Listen != "127.0.0.1:8080" || len(cfg.Applications) != 0 || len(cfg.Plugins.Instances) != 0 {
			t.Errorf("%q: %+v", text, cfg)
		}
	}
	cfg, err := config.Load(config.Source{})
	if err != nil {
		t.Fatal(err)
	}
	wd, _ := os.Getwd()
	if d := cmp.Diff([]string{filepath.Join(wd, "bin")}, cfg.PluginDirs); d != "" {
		t.Error("without a file, paths are relative to the working directory: ", d)
	}
	if cfg.Dir != wd {
		t.Errorf("without a file, plugins run in %s", cfg.Dir)
	}
}

func TestEnvironmentWinsOverTheFileAndOverridesOverBoth(t *testing.T) {
	path := write(t, small+"listen: 127.0.0.1:1\nlog: {level: debug, format: json}\nplugin_dirs: [./plugins]\nsocket: here.sock\n")
	cfg, err := config.Load(config.Source{
		Path: path,
		Environ: append(environ,
			"AUTHZ_LISTEN=127.0.0.1:2", "AUTHZ_LOG__LEVEL=warn", "AUTHZ_LIMITS__BODY=77", "AUTHZ_OPS_LISTEN=",
			"AUTHZ_OPS__PROFILES=true", "AUTHZ_DRAIN_DELAY=1m30s", "AUTHZ_PLUGIN_DIRS=a, /b", "AUTHZ_RUN_DIR=run",
			"AUTHZ_APPLICATIONS__ACME__EVENTS__PERSIST=false", "AUTHZ_PLUGINS__MAIN__CONFIG__POOL__SIZE=5",
			`AUTHZ_PLUGINS__MAIN__CONFIG__NAME="5"`, "AUTHZ_PLUGINS__MAIN__CONFIG__DSN=env:ACME_SECRET", "AUTHZ_PLUGINS__MAIN__CONFIG__NOTE=a: b, c"),
		Overrides: map[string]any{"listen": "127.0.0.1:3", "shutdown_timeout": 3 * time.Second, "limits.body": "78", "applications.acme.default": true, "tls.cert": ""},
	})
	if err != nil {
		t.Fatal(err)
	}
	wd, _ := os.Getwd()
	app := cfg.Applications["acme"]
	got := map[string]any{
		"listen": cfg.Listen, "level": cfg.Log.Level, "format": cfg.Log.Format, "body": cfg.Limits.Body, "ops": cfg.OpsListen,
		"profiles": cfg.Ops.Profiles, "drain": cfg.DrainDelay, "stop": cfg.ShutdownTimeout, "dirs": cfg.PluginDirs,
		"run_dir": cfg.RunDir, "socket": cfg.Socket, "persist": app.Events.Persist != nil && !*app.Events.Persist, "default": app.Default,
		"config": cfg.Plugins.Instances["main"].Config.Reveal(),
	}
	want := map[string]any{
		"listen": "127.0.0.1:3", "level": "warn", "format": "json", "body": int64(78), "ops": "",
		"profiles": true, "drain": 90 * time.Second, "stop": 3 * time.Second, "dirs": []string{filepath.Join(wd, "a"), "/b"},
		"run_dir": filepath.Join(wd, "run"), "socket": filepath.Join(filepath.Dir(path), "here.sock"), "persist": true, "default": true,
		"config": map[string]any{"pool": map[string]any{"size": 5}, "name": "5", "dsn": secret, "note": "a: b, c"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestPathsInTheFileAreRelativeToIt(t *testing.T) {
	path := write(t, strings.Replace(small, "env:ACME_SECRET", "file:keys/acme", 1)+"plugin_dirs: [bin, ../bin]\n")
	dir := filepath.Dir(path)
	if err := os.Mkdir(filepath.Join(dir, "keys"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "keys", "acme"), []byte("  "+secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Source{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	got := cfg.Applications["acme"].Provider.Secrets[0]
	if got.Reveal() != secret || got.Reference() != "file:"+filepath.Join(dir, "keys", "acme") {
		t.Errorf("secret from %s, trimmed: %v", got.Reference(), got.Reveal() == secret)
	}
	if d := cmp.Diff([]string{filepath.Join(dir, "bin"), filepath.Join(filepath.Dir(dir), "bin")}, cfg.PluginDirs); d != "" {
		t.Error(d)
	}
}

func TestPluginInstances(t *testing.T) {
	sum := strings.Repeat("aB", 32)
	cfg := load(t, `plugins:
  require_checksum: true
  main:
    plugin: ./drivers/mine
    sha256: "`+sum+`"
    hang_timeout: 0s
    env: {PGPASSWORD: "env:ACME_SECRET", TZ: UTC}
    config: {dsn: "env:ACME_SECRET", pool: {size: 4, warm: true, hosts: [a, "env:ACME_SECRET", 1.5, null]}}
  other: {plugin: sqlite, sha256: "`+sum+`"}
`)
	main := cfg.Plugins.Instances["main"]
	if main.StartTimeout != 15*time.Second || main.HangTimeout != 0 {
		t.Errorf("timeouts %s and %s", main.StartTimeout, main.HangTimeout)
	}
	if !cfg.Plugins.RequireChecksum || main.SHA256 != strings.ToLower(sum) || !filepath.IsAbs(main.Plugin) || cfg.Plugins.Instances["other"].Plugin != "sqlite" {
		t.Errorf("%+v", cfg.Plugins)
	}
	if main.Env["PGPASSWORD"].Reveal() != secret || main.Env["TZ"].Reveal() != "UTC" {
		t.Error("the environment of a plugin resolves references and keeps text")
	}
	want := map[string]any{"dsn": secret, "pool": map[string]any{"size": 4, "warm": true, "hosts": []any{"a", secret, 1.5, nil}}}
	if d := cmp.Diff(want, main.Config.Reveal()); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]any{}, cfg.Plugins.Instances["other"].Config.Reveal()); d != "" {
		t.Error(d)
	}
}

func TestSecretsMayBeRotated(t *testing.T) {
	cfg := load(t, strings.Replace(small, `secret: "env:ACME_SECRET"`, `secrets: ["env:NEW", "env:ACME_SECRET"], audit_opt_in: true`, 1), "NEW=0123456789abcdef")
	p := cfg.Applications["acme"].Provider
	if !p.AuditOptIn || len(p.Secrets) != 2 || p.Secrets[0].Reveal() != "0123456789abcdef" || p.Secrets[1].Reveal() != secret {
		t.Errorf("%d secrets", len(p.Secrets))
	}
}

func TestVariablesThatAreNoKeysAreLeftAlone(t *testing.T) {
	cfg := load(t, strings.Replace(small, "ACME_SECRET", "AUTHZ_ACME__SECRET", 1),
		"AUTHZ_ACME__SECRET="+secret, "AUTHZ_TEST_MONGODB_URI=x", "AUTHZ_VECTORS=x", "AUTHZ_CONFIG=x", "AUTHZ_TOKEN_FILE=x", "AUTHZ_SERVICE_KEYS=x", "AUTHZ_VERIFY_CONFIG=x", "AUTHZ_FULL=1", "OTHER=1", "AUTHZ_LISTEN=[::1]:0")
	if cfg.Listen != "[::1]:0" || cfg.Applications["acme"].Provider.Secrets[0].Reveal() != secret {
		t.Error(cfg.Listen)
	}
}

func TestTheServiceSampleLoads(t *testing.T) {
	text, err := os.ReadFile("../../configs/service.yaml")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	files := map[string]string{"authz.yaml": strings.ReplaceAll(string(text), "file:/etc/authz/", "file:"), "postgres.dsn": "postgres://", "host.key": hostKey,
		"oidc.secret": secret, "bootstrap.secret": bootstrap, "docs.secret": secret}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := config.Load(config.Source{Path: filepath.Join(root, "authz.yaml")})
	if err != nil {
		t.Fatal(err)
	}
	s := cfg.Service
	got := []any{s.PublicURL, s.Storage.Driver, s.OIDC.ClientSecret.Reveal(), s.Bootstrap.Keep, s.Bootstrap.Secret.Reveal(), s.Local, cfg.TrustedProxies}
	want := []any{"https://authz.example", "main", secret, true, bootstrap, map[string][]string{"acme": {"docs"}}, []string{"10.0.0.0/28"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestTheDirectorySamplesLoad(t *testing.T) {
	for sample, c := range map[string]struct {
		file, instance, setting string
		directories             []string
	}{
		"ldap":      {"corp.password", "corp", "bind_password", []string{"corp"}},
		"importers": {"scim.token", "staff", "token", []string{"contractors", "staff"}},
	} {
		t.Run(sample, func(t *testing.T) {
			text, err := os.ReadFile("../../configs/" + sample + ".yaml")
			if err != nil {
				t.Fatal(err)
			}
			root := t.TempDir()
			files := map[string]string{"authz.yaml": strings.ReplaceAll(string(text), "file:/etc/authz/", "file:"), c.file: secret + "\n"}
			for name, content := range files {
				if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			cfg, err := config.Load(config.Source{Path: filepath.Join(root, "authz.yaml")})
			if err != nil {
				t.Fatal(err)
			}
			if cfg.Plugins.Instances[c.instance].Config.Reveal()[c.setting] != secret {
				t.Errorf("%s of %s was not read", c.setting, c.instance)
			}
			if got := slices.Sorted(maps.Keys(cfg.Directories)); !slices.Equal(got, c.directories) {
				t.Errorf("directories %q", got)
			}
			for name, d := range cfg.Directories {
				if d.Importer != name || d.Application != "docs" || d.Schedule == "" {
					t.Errorf("%s: %+v", name, d)
				}
			}
		})
	}
}

func TestQuickstartLoads(t *testing.T) {
	text, err := os.ReadFile("../../configs/quickstart.yaml")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for name, content := range map[string]string{"authz.yaml": string(text), "acme.secret": secret + "\n", "host.key": hostKey + "\n", "owner.secret": bootstrap + "\n"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := config.Load(config.Source{Path: filepath.Join(root, "authz.yaml")})
	if err != nil {
		t.Fatal(err)
	}
	acme := cfg.Applications["acme"]
	main := cfg.Plugins.Instances["main"]
	got := []any{cfg.Listen, cfg.PluginDirs, main.Plugin, main.Config.Reveal()["path"], cfg.Dir, cfg.Socket,
		acme.Catalog, acme.Storage, acme.Ancestry.Kind, acme.Default, len(acme.Provider.Secrets)}
	want := []any{"127.0.0.1:8080", []string{}, "sqlite", "authz.db", root, filepath.Join(root, "run/authz.sock"), filepath.Join(root, "acme.catalog.yaml"),
		config.Storage{Driver: "main", Partition: "acme"}, "stored", true, 1}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// Until 1.0 the older names of durations are read, in milliseconds, and told.
func TestOlderNamesOfDurationsAreReadAndTold(t *testing.T) {
	cfg := load(t, small+"    client: {subject_cache_ttl_ms: 1500}\n    group_topology_ttl_ms: -1\n    events: {retention: {max_age_ms: 60000}}\n",
		"AUTHZ_APPLICATIONS__ACME__CLIENT__OBJECT_CACHE_TTL_MS=250")
	a := cfg.Applications["acme"]
	got := []time.Duration{a.Client.SubjectCacheTTL, a.Client.ObjectCacheTTL, a.GroupTopologyTTL, a.Events.Retention.MaxAge}
	if diff := cmp.Diff([]time.Duration{1500 * time.Millisecond, 250 * time.Millisecond, 0, time.Minute}, got); diff != "" {
		t.Error(diff)
	}
	var told []string
	for _, p := range cfg.Outdated {
		told = append(told, p.String())
	}
	slices.Sort(told)
	want := []string{
		"line 10: applications.acme.events.retention.max_age_ms: is an older name, read until 1.0: write max_age: 1m",
		"line 8: applications.acme.client.object_cache_ttl_ms: is an older name, read until 1.0: write object_cache_ttl: 250ms (from the environment variable AUTHZ_APPLICATIONS__ACME__CLIENT__OBJECT_CACHE_TTL_MS)",
		"line 8: applications.acme.client.subject_cache_ttl_ms: is an older name, read until 1.0: write subject_cache_ttl: 1.5s",
		"line 9: applications.acme.group_topology_ttl_ms: is an older name, read until 1.0: write group_topology_ttl: 0s",
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Error(diff)
	}
	for text, says := range map[string]string{
		"    client: {subject_cache_ttl_ms: 1, subject_cache_ttl: 1s}\n": "is the older name of subject_cache_ttl: give one of the two",
		"    client: {subject_cache_ttl_ms: 1s}\n":                       "must be a whole number of milliseconds, not text; write subject_cache_ttl with its unit instead",
		"    client: {subject_cache_ttl_ms: -1}\n":                       "must be from 0 to",
	} {
		if got := problems(t, config.Source{Path: write(t, small+text), Environ: environ}); len(got) != 1 || !strings.Contains(got[0].Message, says) {
			t.Errorf("%s: %v", text, got)
		}
	}
}
