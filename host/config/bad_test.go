package config_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/config"
)

// hidden must never be seen in an error.
const hidden = "hunter2-hunter2-hunter2"

func TestEveryProblemIsNamedByPathAndLine(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"short": hidden[:9] + "\n", "empty": " \n", "two": hidden + "\n" + hidden} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	app := func(lines string) string {
		return "plugins: {main: {plugin: memory}}\napplications:\n  acme:\n    catalog: c.yaml\n    storage: {driver: main}\n" + lines
	}
	cases := []struct {
		name string
		file string
		env  []string
		want []string // path, line and a part of each message
	}{
		{"an unknown key suggests the nearest", "listne: 127.0.0.1:1", nil, []string{"line 1: listne: unknown key; did you mean listen?"}},
		{"an unknown key deep in a section", app("    client: {subject_cache_tll: 5s}"), nil,
			[]string{"line 6: applications.acme.client.subject_cache_tll: unknown key; did you mean applications.acme.client.subject_cache_ttl?"}},
		{"a key whose nesting is wrong", "log_level: info", nil, []string{"line 1: log_level: unknown key; did you mean log.level?"}},
		{"a key in the wrong section", app("    secret: env:X"), nil,
			[]string{"line 6: applications.acme.secret: unknown key; did you mean applications.acme.provider.secret?"}},
		{"a key like no other has no suggestion", "frobnicate: 1", nil, []string{"line 1: frobnicate: unknown key"}},
		{"separation of duties is off or reject", app("    sod: {enforce: warn}"), nil, []string{`line 6: applications.acme.sod.enforce: must be one of off, reject, not "warn"`}},
		{"keys of features that do not exist yet are unknown", app("mesh: {partition: x}"), nil, []string{"line 6: mesh: unknown key"}},
		{"a mesh without a partition", app("    mesh: {enabled: true}"), nil, []string{"line 6: applications.acme.mesh.enabled: needs storage.partition"}},
		{"exceptions from imports that are off", strings.Replace(app("    mesh: {enabled: true, except: [zoom]}"), "driver: main", "driver: main, partition: a", 1), nil,
			[]string{"line 6: applications.acme.mesh.except: names exceptions from mesh.imports, which is off"}},
		{"a peer that is no partition", strings.Replace(app("    mesh: {enabled: true, verify: {read: [__service]}}"), "driver: main", "driver: main, partition: a", 1), nil,
			[]string{`line 6: applications.acme.mesh.verify.read: "__service" is no partition of a member`}},
		{"a mesh that is off", app("    mesh: {imports: true, org_root: false}"), nil,
			[]string{"line 6: applications.acme.mesh.imports: does nothing without mesh.enabled", "line 6: applications.acme.mesh.org_root: does nothing without mesh.enabled"}},
		{"an unknown variable is an unknown key", "", []string{"AUTHZ_LISEN=x", "AUTHZ_LOG__LEVLE=x", "AUTHZ_A____B=x"},
			[]string{"a..b: unknown key (from the environment variable AUTHZ_A____B)", "lisen: unknown key (from the environment variable AUTHZ_LISEN); did you mean listen?",
				"log.levle: unknown key (from the environment variable AUTHZ_LOG__LEVLE); did you mean log.level?"}},
		{"a misspelt name of the reserved key among plugins", "plugins: {require_checksums: true}", nil,
			[]string{"line 1: plugins.require_checksums: must be a mapping of keys, not true or false; did you mean plugins.require_checksum?"}},
		{"an instance cannot take the reserved name", "plugins:\n  require_checksum: {plugin: memory}", nil,
			[]string{"line 2: plugins.require_checksum: must be true or false, not a mapping"}},

		{"anchors without a file", "service: {host_keys: [\"env:K\"]}\nplugins: {main: {plugin: memory}}\naudit: {anchor: {interval: 1m}}", []string{"K=" + hostKey},
			[]string{"line 3: audit.anchor.file: is required"}},
		{"anchors that come too often, of nothing", app("audit: {anchor: {file: a, interval: 10ms}}"), nil,
			[]string{"line 6: audit.anchor: has nothing to anchor: set audit.hash_chain: true for an application",
				"line 6: audit.anchor.interval: must be from 1s to 24h0m0s, not 10ms"}},
		{"an unknown key of anchors", app("    audit: {hash_chain: true}\naudit: {anchor: {file: a, every: 1m}}"), nil,
			[]string{"line 7: audit.anchor.every: unknown key"}},

		{"text where a number belongs", "limits: {body: 10MiB}", nil, []string{"line 1: limits.body: must be a whole number, not text"}},
		{"a fraction where a whole number belongs", "limits: {body: 1.5}", nil, []string{"line 1: limits.body: must be a whole number, not a fraction"}},
		{"a number where text belongs", strings.Replace(app(""), "driver: main", "driver: main, partition: 5", 1), nil,
			[]string{"line 5: applications.acme.storage.partition: must be text, not a number"}},
		{"a list where text belongs", "listen: [a]", nil, []string{"line 1: listen: must be text, not a list"}},
		{"text where a section belongs", "tls: yes", nil, []string{"line 1: tls: must be a mapping of keys, not text"}},
		{"a variable where a section belongs", "", []string{"AUTHZ_LOG=debug"}, []string{"log: must be a mapping of keys, not text (from the environment variable AUTHZ_LOG)"}},
		{"a variable and a section of one name", "", []string{"AUTHZ_LOG=debug", "AUTHZ_LOG__LEVEL=debug"},
			[]string{"log: must be a mapping of keys, not text (from the environment variable AUTHZ_LOG)", "log.level: AUTHZ_LOG__LEVEL sets what another variable treats as a section"}},
		{"a word where true or false belongs", "ops: {profiles: yes}", nil, []string{"line 1: ops.profiles: must be true or false, not text"}},
		{"a duration without a unit", "shutdown_timeout: 20", nil, []string{"line 1: shutdown_timeout: must be a duration with its unit, such as 20s or 1m30s, not a number"}},
		{"a duration that is none", "shutdown_timeout: 20 seconds", nil, []string{`line 1: shutdown_timeout: must be a duration with its unit, such as 20s or 1m30s, not "20 seconds"`}},
		{"a negative duration", "drain_delay: -1s", nil, []string{"line 1: drain_delay: must be from 0s to 24h, not -1s"}},
		{"a choice that is none", "log: {level: inof, format: xml}", nil,
			[]string{`line 1: log.format: must be one of text, json, not "xml"`, `line 1: log.level: must be one of trace, debug, info, warn, error, not "inof"; did you mean info?`}},
		{"negative numbers", app("    client: {max_object_cache_entries: -1, subject_cache_ttl: -1s}\n    events: {retention: {max_rows: -1}}\n    group_topology_ttl: 0s"), nil,
			[]string{"line 6: applications.acme.client.max_object_cache_entries: must be from 0 to", "line 6: applications.acme.client.subject_cache_ttl: must be from 0s to", "line 7: applications.acme.events.retention.max_rows: must be from 1 to"}},
		{"an event log that keeps nothing", app("    events: {retention: {max_age: 0s, max_rows: 0}}"), nil,
			[]string{"line 6: applications.acme.events.retention.max_age: must be from 1ms to", "line 6: applications.acme.events.retention.max_rows: must be from 1 to"}},
		{"a default application that is not served", app("    default: true"), nil,
			[]string{"line 6: applications.acme.default: needs a provider.secret"}},
		{"no room for a body", "limits: {body: 0}", nil, []string{"line 1: limits.body: must be from 1 to 1073741824, not 0"}},
		{"a list with a hole", "plugin_dirs: [a, '', 3]", nil, []string{"line 1: plugin_dirs[1]: must not be empty", "line 1: plugin_dirs[2]: must be text, not a number"}},
		{"what cannot be passed to a plugin", "plugins: {main: {plugin: memory, config: {a: 2020-01-02, b: .nan}, env: {X-Y: a, Z: 5}}}", nil,
			[]string{"line 1: plugins.main.config.a: is a date, which cannot be passed to a plugin; quote it to pass text", "line 1: plugins.main.config.b: must be a finite number",
				"line 1: plugins.main.env.X-Y: is no name of an environment variable", "line 1: plugins.main.env.Z: must be text, not a number; quote it"}},

		{"a listen that is no address", "listen: localhost", nil, []string{`line 1: listen: must be an address host:port, such as 127.0.0.1:8080: "localhost" is none`}},
		{"a listen without a value", `listen: ""`, nil, []string{`line 1: listen: must be an address`}},
		{"a port that is none", "listen: 127.0.0.1:http\nops_listen: 127.0.0.1:70000", nil, []string{`"http" is no port`, `"70000" is no port`}},
		{"an address of other machines without TLS", "listen: 0.0.0.0:8080", nil, []string{`line 1: listen: "0.0.0.0:8080" can be reached from other machines: set tls.cert and tls.key, or tls.terminated_upstream: true`}},
		{"all addresses without TLS", `listen: ":8080"`, nil, []string{`can be reached from other machines`}},
		{"a host name without TLS", "listen: authz.example:8080", nil, []string{`can be reached from other machines`}},
		{"two listeners on one address", "ops_listen: 127.0.0.1:8080", nil, []string{"line 1: ops_listen: is the same address as listen"}},
		{"a socket path that no socket can have", "socket: /" + strings.Repeat("x", 107), nil, []string{"line 1: socket: is longer than the 107 bytes"}},
		{"a certificate without its key", "tls: {cert: /nowhere.pem}", nil, []string{"line 1: tls.key: is required with tls.cert"}},
		{"a key without its certificate", "tls: {key: /nowhere.pem, client_ca: /nowhere}", nil,
			[]string{"line 1: tls.cert: is required with tls.key", "line 1: tls.client_ca: needs tls.cert and tls.key", "line 1: tls.client_ca: cannot be read: no such file"}},
		{"TLS files that are not there", "tls:\n  cert: /nowhere.pem\n  key: /nowhere.key", nil, []string{"line 2: tls.cert: cannot be used with tls.key: open /nowhere.pem"}},

		{"an application without what it needs", "applications: {acme: }", nil,
			[]string{"line 1: applications.acme.catalog: is required", "line 1: applications.acme.storage.driver: is required"}},
		{"an empty catalog path", strings.Replace(app(""), "c.yaml", `""`, 1), nil, []string{"line 4: applications.acme.catalog: must not be empty"}},
		{"names outside the grammar", "plugins: {_main: {plugin: memory}, B: {plugin: memory}}\napplications: {_host: {}, a.b: {}}", nil,
			[]string{"line 1: plugins.B: a name holds", "line 1: plugins._main: a name holds", "line 2: applications._host: a name holds", "line 2: applications.a.b: a name holds"}},
		{"a name of 64 characters", "applications: {" + strings.Repeat("a", 64) + ": {}}", nil, []string{"a name holds 1 to 63 of a-z 0-9 _ -"}},
		{"a driver that is not configured", strings.Replace(app(""), "driver: main", "driver: mian", 1), nil,
			[]string{`line 5: applications.acme.storage.driver: no plugin instance is called "mian"; did you mean main?`}},
		{"a sink that is not there, and one twice", "plugins: {prom: {plugin: prometheus}}\nmetrics:\n  sinks: [prom, porm, prom]", nil,
			[]string{`line 3: metrics.sinks[1]: no plugin instance is called "porm"; did you mean prom?`, `line 3: metrics.sinks[2]: "prom" is in the list already: its counts would count twice`}},
		{"windows out of bounds", "metrics: {window: 10ms}", nil, []string{"line 1: metrics.window: must be from 1s to 1h0m0s, not 10ms"}},
		{"an instance that no label can be, a scope type twice", "metrics: {instance: \"a\\nb\", scope_instances: [docs.doc, docs.doc]}", nil,
			[]string{"line 1: metrics.instance: must be at most 128 bytes", `line 1: metrics.scope_instances[1]: "docs.doc" is in the list already`}},
		{"an instance that no window can carry", "", []string{"AUTHZ_METRICS__INSTANCE=web\xff"}, []string{"metrics.instance: must be at most 128 bytes of UTF-8"}},
		{"a misspelt key of metrics", "metrics: {sink: [x]}", nil, []string{"line 1: metrics.sink: unknown key; did you mean metrics.sinks?"}},
		{"no driver configured at all", "applications: {acme: {catalog: c, storage: {driver: main}}}", nil, []string{`no plugin instance is called "main"; none is configured`}},
		{"the reserved name as a driver", "plugins: {require_checksum: false}\napplications: {acme: {catalog: c, storage: {driver: require_checksum}}}", nil, []string{`no plugin instance is called "require_checksum"`}},
		{"partitions outside the grammar", strings.Replace(app(""), "driver: main", "driver: main, partition: a/b", 1), nil,
			[]string{"line 5: applications.acme.storage.partition: a partition's name is 1 to 63 of"}},
		{"reserved partitions", strings.Replace(app(""), "driver: main", "driver: main, partition: __mesh", 1), nil,
			[]string{"line 5: applications.acme.storage.partition: names that begin with __ are reserved"}},
		{"two applications in one partition", app("  beta:\n    catalog: c.yaml\n    storage: {driver: main}"), nil,
			[]string{`line 8: applications.beta.storage.partition: applications.acme already lives in partition "" of driver main`}},
		{"two defaults", app("    provider: {secret: env:S}\n    default: true\n  beta: {catalog: c, storage: {driver: main, partition: b}, provider: {secret: env:S}, default: true}"), []string{"S=" + hidden},
			[]string{"line 8: applications.beta.default: only one application can be the default, and applications.acme is"}},
		{"ancestry of a kind to come", app("    ancestry: {kind: http, url: x}"), nil,
			[]string{`line 6: applications.acme.ancestry.kind: must be one of none, stored, not "http"`, "line 6: applications.acme.ancestry.url: unknown key"}},

		{"a plugin instance without a plugin", "plugins: {main: {}}", nil, []string{"line 1: plugins.main.plugin: is required"}},
		{"a plugin name that is none", "plugins: {main: {plugin: Me Mory}}", nil, []string{`line 1: plugins.main.plugin: is neither a plugin's name (a-z 0-9 _ -) nor a path: "Me Mory"`}},
		{"a checksum that is none", "plugins: {main: {plugin: memory, sha256: abc}}", nil, []string{"line 1: plugins.main.sha256: must be 64 hexadecimal digits"}},
		{"a required checksum left out", "plugins:\n  require_checksum: true\n  main: {plugin: memory}", nil, []string{"line 3: plugins.main.sha256: is required by plugins.require_checksum"}},

		{"a literal secret", app("    provider: {secret: " + hidden + "}"), nil,
			[]string{"line 6: applications.acme.provider.secret: must be a reference, env:NAME or file:PATH: a secret does not belong in the configuration itself."}},
		{"a literal secret in the environment", app(""), []string{"AUTHZ_APPLICATIONS__ACME__PROVIDER__SECRET=" + hidden},
			[]string{"applications.acme.provider.secret: must be a reference, env:NAME or file:PATH"}},
		{"a secret that is no text", app("    provider: {secret: 1234567890123456}"), nil, []string{"line 6: applications.acme.provider.secret: must be text, not a number"}},
		{"a variable that is not set", app("    provider: {secrets: [env:NOPE, env:EMPTY]}"), []string{"EMPTY="},
			[]string{"line 6: applications.acme.provider.secrets[0]: the environment variable NOPE is not set", "line 6: applications.acme.provider.secrets[1]: the environment variable EMPTY is not set"}},
		{"a file that is not there", app("    provider: {secret: file:/nowhere}"), nil, []string{`line 6: applications.acme.provider.secret: the file "/nowhere" cannot be opened: no such file or directory`}},
		{"files that cannot be secrets", app("    provider: {secrets: ['file:" + dir + "', 'file:" + dir + "/empty', 'file:" + dir + "/short', 'file:" + dir + "/two', 'file:']}"), nil,
			[]string{"secrets[0]: the file \"" + dir + "\" is no regular file", "secrets[1]: the file \"" + dir + "/empty\" is empty", "secrets[2]: the secret is shorter than 16 characters", "secrets[3]: the secret holds a line break", "secrets[4]: file: is followed by the path of a file"}},
		{"a secret that is short once trimmed", app("    provider: {secret: env:S}"), []string{"S=" + hidden[:8] + "          "}, []string{"provider.secret: the secret is shorter than 16 characters"}},
		{"both forms of secrets", app("    provider: {secret: env:S, secrets: [env:S]}"), []string{"S=" + hidden}, []string{"line 6: applications.acme.provider.secret: is short for secrets with one member: give one of the two"}},
		{"a secret of two purposes", app("    provider: {secret: env:S, check_secrets: [env:S]}"), []string{"S=" + hidden}, []string{"provider.check_secrets: holds a secret that is in secrets as well, where it opens more: give each purpose its own"}},
		{"no secret in the list", app("    provider: {secrets: []}"), nil, []string{"line 6: applications.acme.provider.secrets: must not be an empty list"}},
		{"references of plugins that lead nowhere", "plugins: {main: {plugin: memory, env: {A: 'env:NOPE'}, config: {a: [1, {b: 'file:/nowhere'}], c: 'env:not a name'}}}", nil,
			[]string{"line 1: plugins.main.config.a[1].b: the file \"/nowhere\" cannot be opened", "line 1: plugins.main.config.c: env: is followed by the name", "line 1: plugins.main.env.A: the environment variable NOPE is not set"}},

		{"a key that stands twice", "listen: 127.0.0.1:1\nlisten: 127.0.0.1:2", nil, []string{"line 2: listen: is given twice, first in line 1"}},
		{"what is no YAML", "listen: [", nil, []string{"is not YAML: yaml: line 1:"}},
		{"a list instead of keys", "- " + hidden, nil, []string{"line 1: must be a mapping of keys, not a list"}},
		{"a value instead of keys", hidden, nil, []string{"line 1: must be a mapping of keys, not a single value"}},
		{"two documents", "listen: 127.0.0.1:1\n---\nlisten: 127.0.0.1:2", nil, []string{"holds more than one YAML document"}},
		{"a file of megabytes", "# " + strings.Repeat("x", 1<<20), nil, []string{"is larger than 1048576 bytes"}},
		{"an anchor inside itself", "plugins: &a {main: *a}", nil, []string{"cannot be read as a mapping of keys"}},
		{"a merge key that merges nothing", "tls: {<<: " + hidden + "}", nil, []string{"cannot be read as a mapping of keys: check its anchors and merge keys"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			expectProblems(t, problems(t, config.Source{Path: write(t, c.file), Environ: c.env}), c.want)
		})
	}
}

func expectProblems(t *testing.T, found []config.Problem, want []string) {
	t.Helper()
	if len(found) != len(want) {
		t.Fatalf("%d problems, want %d: %v", len(found), len(want), found)
	}
	for i, want := range want {
		if got := found[i].String(); !strings.Contains(got, want) {
			t.Errorf("problem %d is %q, want %q in it", i, got, want)
		}
		for _, secret := range []string{hidden[:8], hostKey, bootstrap} {
			if strings.Contains(found[i].String(), secret) {
				t.Errorf("problem %d shows a secret: %s", i, found[i])
			}
		}
	}
}

func TestAllProblemsComeAtOnceInTheOrderOfTheFile(t *testing.T) {
	path := write(t, "listen: nowhere\nfoo: 1\nlog: {level: loud}\napplications: {acme: {storage: {driver: x}}}\n")
	found := problems(t, config.Source{Path: path, Environ: []string{"AUTHZ_DRAIN_DELAY=soon"}, Overrides: map[string]any{"ops.profiles": 3, "ops.profiles.x": 1}})
	var got []string
	for _, p := range found {
		got = append(got, p.Path)
	}
	want := []string{"listen", "foo", "log.level", "applications.acme.catalog", "applications.acme.storage.driver", "drain_delay", "ops.profiles", "ops.profiles.x"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	text := (&config.Error{File: path, Problems: found}).Error()
	if !strings.HasPrefix(text, "invalid configuration "+path+":\n  - line 1: listen: ") || strings.Count(text, "\n") != len(want) {
		t.Error(text)
	}
}

// FuzzLoad looks for texts that make Load panic, hang, or fail in another way
// than by naming problems.
func FuzzLoad(f *testing.F) {
	for _, seed := range []string{small, full, "a: *b", "<<: [{a: 1}]", "? [x]\n: y", "plugins: {a: {config: {1: {2: 0x10}}}}", "\xff", "a: !!binary x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		cfg, err := config.Load(config.Source{Path: write(t, text), Environ: environ})
		var bad *config.Error
		if err != nil && (!errors.As(err, &bad) || len(bad.Problems) == 0) {
			t.Fatal(cfg, err)
		}
	})
}

func TestAFileThatIsNotThere(t *testing.T) {
	found := problems(t, config.Source{Path: filepath.Join(t.TempDir(), "none.yaml")})
	if d := cmp.Diff([]config.Problem{{Message: "cannot be opened: no such file or directory"}}, found); d != "" {
		t.Error(d)
	}
}

func TestAListenerOfOtherMachinesNeedsTLSOrAProxyThatDoesIt(t *testing.T) {
	cert, key := certificate(t)
	for name, text := range map[string]string{
		"a certificate":       "listen: 0.0.0.0:8443\ntls: {cert: " + cert + ", key: " + key + ", client_ca: " + cert + "}",
		"a proxy in front":    "listen: ':8080'\ntls: {terminated_upstream: true}",
		"loopback":            "listen: 127.9.9.9:1",
		"loopback, version 6": "listen: '[::1]:1'",
		"localhost":           "listen: localhost:1",
	} {
		t.Run(name, func(t *testing.T) { load(t, text) })
	}
	found := problems(t, config.Source{Path: write(t, "tls: {cert: "+key+", key: "+key+", client_ca: "+key+"}")})
	if len(found) != 2 || found[0].Path != "tls.cert" || found[1].Message != "holds no certificate in PEM" {
		t.Error(found)
	}
}

// certificate writes a self-signed pair.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "EC PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}
