package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
)

// Type says what a key holds.
type Type string

// The types of keys.
const (
	TypeText       Type = "text"
	TypeInteger    Type = "integer"
	TypeBoolean    Type = "boolean"
	TypeFraction   Type = "fraction, 0 to 1"
	TypeDuration   Type = "duration" // as Go writes it: 20s, 1m30s; or whole days: 7d
	TypeAddress    Type = "address"  // host:port
	TypePath       Type = "path"
	TypePaths      Type = "list of paths"
	TypeProgram    Type = "name or path" // a path when it holds a separator
	TypeChoice     Type = "choice"
	TypeReference  Type = "reference"          // env:NAME or file:PATH
	TypeReferences Type = "list of references" // the same
	TypeTextMap    Type = "map of text"        // values may be references
	TypeSettings   Type = "free-form"          // strings in it may be references
	TypeTexts      Type = "list of text"
	TypeNetworks   Type = "list of networks" // 10.0.0.0/8, or an address alone
	TypeURL        Type = "URL"              // https, or http of this machine
)

// Key documents one key. A segment "<name>" of Path stands for any name.
type Key struct {
	Path     string
	Older    string // the name of its last segment until 1.0, in whole milliseconds
	Type     Type
	Values   []string // of TypeChoice
	Min, Max int64    // of TypeInteger; of TypeDuration in milliseconds, no Max being 24h
	Default  string   // as written in the file; "" is none, see Meaning
	Required bool     // wherever its section is present
	Reload   bool     // taken over by SIGHUP; other keys need a restart
	Switch   bool     // its section is off unless it is given, {} being enough
	Meaning  string
}

// tenYears in milliseconds: more is a slip of the keyboard, and would not fit a
// time.Duration much further on.
const tenYears = 10 * 366 * 24 * 60 * 60 * 1000

// Keys lists every key of this version in the order of the reference.
func Keys() []Key {
	const app = "applications.<name>."
	const plugin = "plugins.<name>."
	const most = authz.MaxInstant
	return slices.Concat([]Key{
		{Path: "listen", Type: TypeAddress, Default: "127.0.0.1:8080", Meaning: "Address of the provider API and of `/healthz`, `/readyz`. An address that is not loopback needs `tls.cert`, or `tls.terminated_upstream`."},
		{Path: "ops_listen", Type: TypeAddress, Default: "127.0.0.1:9090", Meaning: "Address of metrics, the verbose readiness report and profiles. `\"\"` switches it off. An address that is not loopback is served with `tls.cert`, and needs it or `tls.terminated_upstream`."},
		{Path: "run_dir", Type: TypePath, Meaning: "Directory of the host's own sockets, mode 0700; it must belong to the host's user. Default: `$XDG_RUNTIME_DIR/authz`; else `/run/user/<uid>/authz` or `/run/authz`, where this user may make it; else `authz-<uid>` in the system's directory for temporary files."},
		{Path: "socket", Type: TypePath, Meaning: "The local administration socket, mode 0600. Default: `authz.sock` in `run_dir`."},

		{Path: "tls.cert", Type: TypePath, Reload: true, Meaning: "Certificate chain of `listen`, PEM. Reread when the file changes."},
		{Path: "tls.key", Type: TypePath, Reload: true, Meaning: "Private key of `tls.cert`, PEM."},
		{Path: "tls.client_ca", Type: TypePath, Reload: true, Meaning: "Authorities, PEM. Clients must then show a certificate of one of them."},
		{Path: "tls.terminated_upstream", Type: TypeBoolean, Default: "false", Meaning: "A proxy in front of the host does TLS. This allows a `listen` that is not loopback without `tls.cert`."},

		{Path: "insecure_permissions", Type: TypeChoice, Values: []string{InsecureRefuse, InsecureAllow}, Default: InsecureRefuse, Meaning: "What happens to plugin directories, plugins, catalogs, TLS files and the configuration file when other users may write them, and to secrets when others may read them ([rules](operations.md#who-may-write-and-read-the-files)). `allow` uses them, each with a warning in the log. For the configuration file itself only `AUTHZ_INSECURE_PERMISSIONS=allow` does."},

		{Path: "log.level", Type: TypeChoice, Values: []string{"trace", "debug", "info", "warn", "error"}, Default: "info", Reload: true, Meaning: "The least important lines that the host writes."},
		{Path: "log.format", Type: TypeChoice, Values: []string{"text", "json"}, Default: "text", Meaning: "How they are written."},
		{Path: "log.access", Type: TypeBoolean, Default: "true", Meaning: "One line a request of `listen` and `socket`, at level `info`: method, path without query, application, operation, status, bytes, duration, request id, peer. Never a body or a header."},
		{Path: "shutdown_timeout", Type: TypeDuration, Default: "20s", Meaning: "How long a stop waits for running requests, and for what imports of directories have begun to write; `0s` waits for none."},
		{Path: "drain_delay", Type: TypeDuration, Default: "0s", Meaning: "How long the host is not ready but still serves before it stops accepting, so that load balancers notice."},
		{Path: "limits.body", Type: TypeInteger, Min: 1, Max: 1 << 30, Default: "10485760", Meaning: "Largest request body, bytes."},
		{Path: "limits.org_snapshot_body", Type: TypeInteger, Min: 1, Max: 1 << 30, Default: "268435456", Meaning: "Largest request body of `applyOrgSnapshot`, bytes."},
		{Path: "limits.in_flight", Type: TypeInteger, Min: 64, Max: 1 << 20, Default: "4096", Meaning: "Most requests of one application, and of the hosted API, that are in progress at once. The host refuses a check beyond it, reads at three quarters of it, writes at half, lists at a quarter. Below that it measures and adapts how many reads, writes and lists run at once ([how](operations.md#more-work-than-can-be-done))."},
		{Path: "ops.profiles", Type: TypeBoolean, Default: "false", Meaning: "Serve profiles on `ops_listen`, which must then be loopback."},
		{Path: "ops.check_sample", Type: TypeFraction, Default: "1", Meaning: "Share of the checks that `authz_checks_total` counts; each stands for `1/check_sample`. 0 counts none. While it is above 0 and `ops_listen` is on, stored usage (`metrics` of an application) and sinks get the counts of the same share; else they get those of every check."},
		{Path: "tracing.endpoint", Type: TypeAddress, Meaning: "Collector to which the host and its plugins send spans over OTLP/gRPC, such as `127.0.0.1:4317`. Left out: no spans."},
		{Path: "tracing.insecure", Type: TypeBoolean, Default: "false", Meaning: "Send them in plaintext; otherwise TLS by the system's roots."},
		{Path: "tracing.sample", Type: TypeFraction, Default: "0.01", Meaning: "Share of the requests without a `traceparent` that the host traces. It follows the decision of a caller that sends one."},

		{Path: "trusted_proxies", Type: TypeNetworks, Meaning: "Networks of the proxies in front, such as `10.0.0.0/8`. Only from there the host believes `X-Forwarded-For`, for the client's address in limits, sessions and the audit log."},
		{Path: "plugin_dirs", Type: TypePaths, Default: "./bin", Meaning: "Directories in which the host looks for `authz-plugin-<name>`, in this order."},
		{Path: "plugins.require_checksum", Type: TypeBoolean, Default: "false", Meaning: "Refuse every plugin without `sha256`. The name `require_checksum` is therefore no plugin instance's."},
		{Path: plugin + "plugin", Type: TypeProgram, Required: true, Meaning: "Which plugin the instance runs. A name: the host looks in `plugin_dirs`, then among the plugins that its own binary carries. A path: it holds a `/`."},
		{Path: plugin + "sha256", Type: TypeText, Meaning: "SHA-256 of the plugin's binary, hexadecimal: the host refuses any other binary. For a plugin that the host's binary carries it is the SHA-256 of that binary. `\"\"` pins nothing."},
		{Path: plugin + "env", Type: TypeTextMap, Meaning: "Environment variables of the plugin's process; it gets no others. Values may be `env:` and `file:` references."},
		{Path: plugin + "config", Type: TypeSettings, Meaning: "Settings passed to the plugin, which checks them itself. Strings that begin with `env:` or `file:` are references."},
		{Path: plugin + "start_timeout", Type: TypeDuration, Min: 1, Default: "15s", Meaning: "How long each step of the plugin's start may take: its handshake, its description, its configuration."},
		{Path: plugin + "hang_timeout", Type: TypeDuration, Default: "15s", Meaning: "The host asks the plugin's process whether it is alive. After this long without an answer it kills the process and starts it again; `0s` never asks."},

		{Path: "audit.anchor.file", Type: TypePath, Required: true, Switch: true, Meaning: "File to which the host appends the heads of the hash chains, a line each, for `authz audit verify --anchors`: of every application with `audit.hash_chain`, and of every account log ([how](operations.md#anchors)). It must have mode 0600, belong to the host's user and be no link."},
		{Path: "audit.anchor.interval", Type: TypeDuration, Default: "5m", Switch: true, Meaning: "How often, from `1s` to `24h`, and at a clean stop. A log that has not grown gets no line."},

		{Path: "metrics.sinks", Type: TypeTexts, Meaning: "Names of plugin instances of kind `metrics_sink`: each gets the counts of every application's checks, window by window, whatever becomes of the others ([how](metrics.md)). Each at most once."},
		{Path: "metrics.window", Type: TypeDuration, Default: "1m", Meaning: "How long the host counts checks before it sends the counts to sinks and to stored usage; from `1s` to `1h`."},
		{Path: "metrics.instance", Type: TypeText, Meaning: "The name of this host in its counts, at most 128 bytes. Default: the machine's name."},
		{Path: "metrics.scope_instances", Type: TypeTexts, Meaning: "Scope types whose checks the host counts for each scope by itself; `*` is every type. Each scope is then a counter in every sink, so list only types with few and lasting scopes."},

		{Path: app + "catalog", Type: TypePath, Required: true, Meaning: "The permission catalog, YAML or JSON."},
		{Path: app + "conditions", Type: TypePath, Meaning: "Conditions in CEL for keys that the catalog declares `requiresCondition`, YAML or JSON ([conditions](conditions.md)). `check` over the network evaluates them after the rows. Without them such keys are a `MissingConditionError` there."},
		{Path: app + "storage.driver", Type: TypeText, Required: true, Meaning: "Name of the plugin instance that keeps the rows."},
		{Path: app + "storage.partition", Type: TypeText, Meaning: "Partition in that driver: 1 to 63 of `A-Z a-z 0-9 _ -`, not beginning with `__`. Left out: the driver's unpartitioned dataset. No two applications share driver and partition."},
		{Path: app + "storage.incarnation", Type: TypeText, Meaning: "Incarnation of the content, as `authz storage status` shows it. If it is given, the host refuses to start over any other content: content that vanished, was restored, or lost events at a failover. Left out: it starts over whatever is there."},
		{Path: app + "provider.secret", Type: TypeReference, Reload: true, Meaning: "Bearer secret of the application's provider API, at least 16 characters: short for a `secrets` of one. Without either, nobody can authenticate over the network."},
		{Path: app + "provider.secrets", Type: TypeReferences, Reload: true, Meaning: "Several: the first is current, and the host still accepts the others (rotation without downtime)."},
		{Path: app + "provider.read_secrets", Type: TypeReferences, Reload: true, Meaning: "Secrets for every operation that changes nothing, except `exportOrgSnapshot`. Other operations answer `forbidden`."},
		{Path: app + "provider.check_secrets", Type: TypeReferences, Reload: true, Meaning: "Secrets for `check`, `explain` without rows, `ping` and `capabilities` alone: for programs that guard something and need to know nothing else. Other operations answer `forbidden`."},
		{Path: app + "provider.check_lookups", Type: TypeBoolean, Default: "false", Reload: true, Meaning: "`check_secrets` also open `listSubjects`, `listScopes`, `listKeys` and the rows of `explain`."},
		{Path: app + "provider.audit_opt_in", Type: TypeBoolean, Default: "false", Meaning: "What `ping` says about the audit log; the hosted service copies the log only when it is `true`. It guards nothing: holders of the secret can read the log either way."},
		{Path: app + "ancestry.kind", Type: TypeChoice, Values: []string{AncestryNone, AncestryStored}, Default: AncestryNone, Meaning: "Where the resource hierarchy comes from: `stored` keeps parent edges in the driver, written by `setScopeParents`; with `none` every resource stands alone."},
		{Path: app + "events.persist", Type: TypeBoolean, Meaning: "Keep the event log. Default: on exactly when the driver can. The host refuses `true` over a driver that cannot."},
		{Path: app + "events.retention.max_age", Older: "max_age_ms", Type: TypeDuration, Min: 1, Max: tenYears, Default: "7d", Meaning: "The host may prune events older than this."},
		{Path: app + "events.retention.max_rows", Type: TypeInteger, Min: 1, Max: most, Default: "100000", Meaning: "The host may prune events beyond this many of the newest."},
		{Path: app + "audit.hash_chain", Type: TypeBoolean, Default: "false", Meaning: "Link every new audit entry to the one before it by a hash, so that a change to the log shows (`verifyAuditChain`). Writes then wait for one another."},
		{Path: app + "metrics.bucket", Older: "bucket_ms", Type: TypeDuration, Min: 1, Max: tenYears, Default: "24h", Switch: true, Meaning: "The length of one bucket of stored usage. The host stores usage when the section `metrics` is given; `{}` is enough. The driver must have the capability."},
		{Path: app + "metrics.retention", Older: "retention_ms", Type: TypeDuration, Min: 1, Max: tenYears, Default: "90d", Switch: true, Meaning: "The host deletes usage older than this."},
		{Path: app + "group_topology_ttl", Older: "group_topology_ttl_ms", Type: TypeDuration, Max: tenYears, Default: "30s", Meaning: "How long the host caches the map of group parents; `0s`: not at all."},
		{Path: app + "sod.enforce", Type: TypeChoice, Values: []string{"off", "reject"}, Default: "off", Meaning: "What happens to a grant to a user that newly breaks a constraint of the catalog's `constraints.sod`: with `reject` the host refuses it, with `off` the report finds it."},
		{Path: app + "mesh.enabled", Type: TypeBoolean, Default: "false", Meaning: "Join the mesh of the applications that share the driver ([how](mesh.md)). It needs `storage.partition` and a registry that has it as a member."},
		{Path: app + "mesh.imports", Type: TypeBoolean, Default: "false", Meaning: "Let live rows of the members that own imported namespaces take part in checks. Without it imports are vocabulary."},
		{Path: app + "mesh.except", Type: TypeTexts, Meaning: "Imported namespaces that stay vocabulary, because no member owns them."},
		{Path: app + "mesh.verify.read", Type: TypeTexts, Meaning: "Partitions that the application must be able to read as peers, or it does not start."},
		{Path: app + "mesh.verify.write", Type: TypeTexts, Meaning: "Partitions that it must be able to write."},
		{Path: app + "mesh.org_root", Type: TypeBoolean, Meaning: "`true`: the application starts only as its own org root (or as holder of the organization). `false`: only when it is not. Left out: whatever is stored."},
		{Path: app + "org_root", Type: TypeBoolean, Default: "true", Meaning: "Whether the application owns its organization's data. This is only the first value, which the first start stores."},
		{Path: app + "default", Type: TypeBoolean, Default: "false", Meaning: "Serve this application at `/v1` too. One application at most; a single application is the default anyway."},
		{Path: app + "client.subject_cache_ttl", Older: "subject_cache_ttl_ms", Type: TypeDuration, Max: tenYears, Default: "30s", Meaning: "Lifetime of a cached principal; `0s` caches none."},
		{Path: app + "client.object_cache_ttl", Older: "object_cache_ttl_ms", Type: TypeDuration, Max: tenYears, Default: "60s", Meaning: "Lifetime of a cached chain of scopes; `0s` caches none."},
		{Path: app + "client.max_subject_cache_entries", Type: TypeInteger, Max: 1 << 30, Default: "10000", Meaning: "Most principals cached; `0` caches none."},
		{Path: app + "client.max_object_cache_entries", Type: TypeInteger, Max: 1 << 30, Default: "10000", Meaning: "Most chains cached; `0` caches none."},
		{Path: app + "client.external_permissions", Type: TypeChoice, Values: []string{"error", "warn", "allow"}, Default: "error", Meaning: "What happens to permissions of a namespace that the catalog neither owns nor imports."},
		{Path: app + "client.unknown_scope_types", Type: TypeChoice, Values: []string{"error", "answer"}, Default: "answer", Meaning: "What happens to checks at a scope whose type the catalog does not declare, though it declares others. `error` (recommended) is `UnknownScopeTypeError` with the nearest names. `answer` lets rows at `*` decide, logs each type once and counts (`authz_checks_unknown_scope_type_total`). The administration socket, and so `authz check` and `authz explain`, always answers with the error."},

		{Path: "service.public_url", Type: TypeURL, Switch: true, Meaning: "Where browsers reach the host, such as `https://authz.example`: the origin of the hosted API, of its cookies and of the sign-in's redirect. The host never takes it from `Host` headers. Default: the address of `listen` when that is loopback; otherwise it is required."},
		{Path: "service.host_keys", Type: TypeReferences, Required: true, Switch: true, Meaning: "Keys with which the service encrypts its secrets, newest first, each 32 random bytes in base64 (`openssl rand -base64 32`); the same on every host. To replace a key: put a new one in front, run `authz service rekey`, then take the old one out."},
		{Path: "service.storage.driver", Type: TypeText, Meaning: "Name of the plugin instance that keeps the account data, in partition `__service`; it must keep records. Default: the only plugin instance."},
		{Path: "service.storage.incarnation", Type: TypeText, Meaning: "As `applications.NAME.storage.incarnation`, for the account data."},
		{Path: "service.org_creation", Type: TypeChoice, Values: []string{OrgCreationBootstrap, OrgCreationSession}, Default: OrgCreationBootstrap, Switch: true, Meaning: "Who may create orgs: the bootstrap user alone, or everybody signed in, for themselves."},
		{Path: "service.strict_escalation", Type: TypeBoolean, Default: "false", Switch: true, Meaning: "Refuse `cloud.*` rights for groups and orgs, because an application or a directory decides who is in them. And let nobody confer `authz_internal.*` rights over the hosted API that they do not hold. Without it the first is a warning, and the second is allowed."},
		{Path: "service.dashboard", Type: TypeBoolean, Default: "true", Switch: true, Meaning: "Serve the [dashboard](dashboard.md) below `/dashboard/`. `false`: its paths answer 404."},
		{Path: "service.bootstrap.user_id", Type: TypeText, Required: true, Switch: true, Meaning: "The one user who may sign in with `service.bootstrap.secret`: as an owner, or while there is no org."},
		{Path: "service.bootstrap.secret", Type: TypeReference, Required: true, Reload: true, Switch: true, Meaning: "That user's secret, at least 32 characters."},
		{Path: "service.bootstrap.keep", Type: TypeBoolean, Default: "false", Switch: true, Meaning: "Accept it also when `service.oidc` is configured, for when the provider is down."},
		{Path: "service.oidc.issuer", Type: TypeURL, Required: true, Switch: true, Meaning: "The OpenID provider that people sign in with, exactly as it names itself in its tokens."},
		{Path: "service.oidc.client_id", Type: TypeText, Required: true, Switch: true, Meaning: "What the provider calls this host. Its redirect URI there is `<public_url>/api/v1/auth/oidc/callback`."},
		{Path: "service.oidc.client_secret", Type: TypeReference, Reload: true, Switch: true, Meaning: "Its secret there. Left out: a public client; PKCE is used either way."},
		{Path: "service.oidc.scopes", Type: TypeTexts, Default: "openid", Switch: true, Meaning: "The scopes that the host asks for; `openid` must be among them."},
		{Path: "service.oidc.user_id_claim", Type: TypeText, Default: "sub", Switch: true, Meaning: "The claim that holds the user id. `email` counts only when verified. The host refuses claims that a provider may give to another person later."},
		{Path: "service.session.lifetime", Type: TypeDuration, Default: "12h", Meaning: "How long a session lives at most, up to `24h`."},
		{Path: "service.session.idle", Type: TypeDuration, Default: "60m", Meaning: "How long a session lives without a request, up to `8h`."},
		{Path: "service.relay.allow_loopback", Type: TypeBoolean, Default: "false", Meaning: "For development: link applications at plain `http` on this machine, while the host has one org."},
		{Path: "service.relay.allowed_networks", Type: TypeNetworks, Meaning: "Networks that are not public, in which the host links applications all the same. A link-local or metadata address counts only when it is listed by itself."},
		{Path: "service.local.<name>", Type: TypeTexts, Meaning: "Applications of this host that the org of that id may link as `local:<name>`, without the network, each to the entry with the application's own id."},
	}, directoryKeys())
}

// Reference renders Keys as a Markdown table.
func Reference() string {
	var b strings.Builder
	b.WriteString("| Key | Type | Default | On `SIGHUP` | Meaning |\n| --- | --- | --- | --- | --- |\n")
	for _, k := range Keys() {
		def := ""
		switch {
		case k.Required:
			def = "required"
		case k.Default != "":
			def = "`" + k.Default + "`"
		}
		reload := "restart"
		if k.Reload {
			reload = "taken over"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", k.Path, k.typeText(), def, reload, k.Meaning)
	}
	return b.String()
}

func (k Key) typeText() string {
	switch k.Type {
	case TypeChoice:
		return "`" + strings.Join(k.Values, "`, `") + "`"
	case TypeInteger:
		if k.Max != authz.MaxInstant && k.Max != tenYears {
			return fmt.Sprintf("integer, %d to %d", k.Min, k.Max)
		}
		if k.Min == 0 {
			return "integer, not negative"
		}
		if k.Min == 1 {
			return "integer, positive"
		}
	}
	return string(k.Type)
}
