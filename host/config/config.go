package config

import (
	"net"
	"time"
)

// Config is a whole, checked configuration. Paths in it are absolute.
type Config struct {
	Listen    string `koanf:"listen"`
	OpsListen string `koanf:"ops_listen"` // "" is off
	RunDir    string `koanf:"run_dir"`
	Socket    string `koanf:"socket"`
	TLS       TLS    `koanf:"tls"`

	// InsecurePermissions is refuse or allow; Exposed is what it then allowed, for
	// the log.
	InsecurePermissions string  `koanf:"insecure_permissions"`
	Exposed             []error `koanf:"-"`

	Log             Log           `koanf:"log"`
	ShutdownTimeout time.Duration `koanf:"shutdown_timeout"`
	DrainDelay      time.Duration `koanf:"drain_delay"`
	Limits          Limits        `koanf:"limits"`
	Ops             Ops           `koanf:"ops"`
	Tracing         Tracing       `koanf:"tracing"`
	PluginDirs      []string      `koanf:"plugin_dirs"`
	Plugins         Plugins       `koanf:"plugins"`

	// Outdated are the keys that were given under older names, for the log.
	Outdated []Problem `koanf:"-"`

	// Dir is where relative paths of the file start: its directory, or the
	// working directory when there is none. Plugins run there, so that relative
	// paths among their settings start there too.
	Dir string `koanf:"-"`

	// File is where the configuration was read from, "" when there was none, and
	// Lines says where its keys stand: for faults that only show later.
	File  string `koanf:"-"`
	Lines Lines  `koanf:"-"`

	// TrustedProxies are the networks whose X-Forwarded-For is believed, in the
	// form that netip.ParsePrefix reads.
	TrustedProxies []string `koanf:"trusted_proxies"`

	// Audit is about the audit logs of every application and account.
	Audit AuditLogs `koanf:"audit,omitempty"`

	// Metrics is where the counts of checks go beside stored usage.
	Metrics Observation `koanf:"metrics"`

	// Service is the hosted service; nil is off.
	Service *Service `koanf:"service"`

	// Applications by name.
	Applications map[string]Application `koanf:"applications"`

	// Directories by name.
	Directories map[string]Directory `koanf:"directories,omitempty"`
}

// TLS of Listen. It is on when Cert is set.
type TLS struct {
	Cert               string `koanf:"cert"`
	Key                string `koanf:"key"`
	ClientCA           string `koanf:"client_ca"` // "" asks for no client certificate
	TerminatedUpstream bool   `koanf:"terminated_upstream"`
}

// The values of Config.InsecurePermissions.
const (
	InsecureRefuse = "refuse"
	InsecureAllow  = "allow"
)

// AllowsInsecure reports whether files are used that other users may write or read.
func (c *Config) AllowsInsecure() bool { return c.InsecurePermissions == InsecureAllow }

// OpsTLS reports whether OpsListen does TLS, with the files of TLS: it does beyond
// loopback.
func (c *Config) OpsTLS() bool {
	host, _, err := net.SplitHostPort(c.OpsListen)
	return err == nil && !loopback(host) && c.TLS.Cert != ""
}

// Log of the host and its plugins.
type Log struct {
	Level  string `koanf:"level"`  // trace, debug, info, warn, error
	Format string `koanf:"format"` // text, json
	Access bool   `koanf:"access"` // a line a request
}

// Tracing exports spans over OTLP/gRPC. It is on when Endpoint is set.
type Tracing struct {
	Endpoint string  `koanf:"endpoint"`
	Insecure bool    `koanf:"insecure"` // plaintext
	Sample   float64 `koanf:"sample"`   // share of the requests whose caller keeps no trace
}

// Limits bound what a caller may send.
type Limits struct {
	Body            int64 `koanf:"body"`              // bytes
	OrgSnapshotBody int64 `koanf:"org_snapshot_body"` // bytes, of applyOrgSnapshot
	InFlight        int   `koanf:"in_flight"`         // requests of one application
}

// Ops belongs to OpsListen.
type Ops struct {
	Profiles    bool    `koanf:"profiles"`
	CheckSample float64 `koanf:"check_sample"` // share of the checks that are counted
}

// Plugins are the configured plugin instances, by name. RequireChecksum says
// that every one of them has a SHA256.
type Plugins struct {
	RequireChecksum bool              `koanf:"require_checksum"`
	Instances       map[string]Plugin `koanf:",remain"`
}

// Plugin is one plugin instance: one process.
type Plugin struct {
	// Plugin is a name to be found as authz-plugin-<name> in PluginDirs, else
	// among the plugins that the host's binary carries, or, when it holds a path
	// separator, an absolute path.
	Plugin string `koanf:"plugin"`

	SHA256 string            `koanf:"sha256"` // 64 lower-case hex digits; "" is not pinned
	Env    map[string]Secret `koanf:"env"`    // the whole environment of the process
	Config Settings          `koanf:"config"`

	StartTimeout time.Duration `koanf:"start_timeout"` // 0 is the plugin host's default
	HangTimeout  time.Duration `koanf:"hang_timeout"`  // 0 never asks whether the process is alive
}

// Observation is how the checks of every application are counted, and where the
// counts go. Each application's own section metrics stores them.
type Observation struct {
	Sinks          []string      `koanf:"sinks"` // names of plugin instances, each once
	Window         time.Duration `koanf:"window"`
	Instance       string        `koanf:"instance"`        // "" is the machine's name
	ScopeInstances []string      `koanf:"scope_instances"` // scope types, "*" is every one
}

// Application is one application served by the host.
type Application struct {
	Catalog          string        `koanf:"catalog"`
	Conditions       string        `koanf:"conditions"`
	Storage          Storage       `koanf:"storage"`
	Provider         Provider      `koanf:"provider"`
	Ancestry         Ancestry      `koanf:"ancestry"`
	Events           Events        `koanf:"events"`
	Audit            Audit         `koanf:"audit"`
	Metrics          *Metrics      `koanf:"metrics"`            // nil is off
	GroupTopologyTTL time.Duration `koanf:"group_topology_ttl"` // 0: no cache
	SoD              SoD           `koanf:"sod"`
	OrgRoot          bool          `koanf:"org_root"`
	Default          bool          `koanf:"default"`
	Client           Client        `koanf:"client"`
	Mesh             Mesh          `koanf:"mesh"`
}

// Drivers are the plugin instances that keep rows, of an application or of the
// hosted service.
func (c *Config) Drivers() map[string]bool {
	names := map[string]bool{}
	for _, a := range c.Applications {
		names[a.Storage.Driver] = true
	}
	if c.Service != nil {
		names[c.Service.Storage.Driver] = true
	}
	return names
}

// Storage says where an application's rows live. No two applications have driver
// and partition alike.
type Storage struct {
	Driver    string `koanf:"driver"`    // the name of a plugin instance
	Partition string `koanf:"partition"` // "" is the unpartitioned dataset

	// Incarnation is the only one of the content that the host starts with; "" is
	// any.
	Incarnation string `koanf:"incarnation"`
}

// Provider is the provider API of an application. The first secret is current,
// the others are still accepted; without any nobody can authenticate. ReadSecrets and
// CheckSecrets open less; CheckLookups opens the lookups to the latter.
type Provider struct {
	Secrets      []Secret `koanf:"secrets,omitempty"`
	ReadSecrets  []Secret `koanf:"read_secrets,omitempty"`
	CheckSecrets []Secret `koanf:"check_secrets,omitempty"`
	CheckLookups bool     `koanf:"check_lookups"`
	AuditOptIn   bool     `koanf:"audit_opt_in"`
}

// Opened tells whether anybody can authenticate.
func (p Provider) Opened() bool { return len(p.Secrets)+len(p.ReadSecrets)+len(p.CheckSecrets) > 0 }

// The kinds of Ancestry.
const (
	AncestryNone   = "none"
	AncestryStored = "stored"
)

// Ancestry says where an application's resource hierarchy comes from.
type Ancestry struct {
	Kind string `koanf:"kind"`
}

// Events is the event log of an application. A nil Persist is on exactly when
// the driver has the capability.
type Events struct {
	Persist   *bool     `koanf:"persist"`
	Retention Retention `koanf:"retention"`
}

// Audit is the audit log of an application.
type Audit struct {
	HashChain bool `koanf:"hash_chain"`
}

// Metrics is the stored usage of an application.
type Metrics struct {
	Bucket    time.Duration `koanf:"bucket"`
	Retention time.Duration `koanf:"retention"`
}

// Retention bounds the event log.
type Retention struct {
	MaxAge  time.Duration `koanf:"max_age"`
	MaxRows int64         `koanf:"max_rows"`
}

// SoD is what becomes of the catalog's separation of duties.
type SoD struct {
	Enforce string `koanf:"enforce"` // off, reject
}

// Mesh is what an application has of the other partitions of its driver. It is on with
// Enabled.
type Mesh struct {
	Enabled bool       `koanf:"enabled"`
	Imports bool       `koanf:"imports"`
	Except  []string   `koanf:"except"` // imported namespaces that stay vocabulary
	Verify  MeshVerify `koanf:"verify"`
	OrgRoot *bool      `koanf:"org_root"` // nil takes either
}

// MeshVerify names the partitions that the application will open as peers.
type MeshVerify struct {
	Read  []string `koanf:"read"`
	Write []string `koanf:"write"`
}

// Client is the checking client that the host runs for an application.
type Client struct {
	SubjectCacheTTL        time.Duration `koanf:"subject_cache_ttl"`
	ObjectCacheTTL         time.Duration `koanf:"object_cache_ttl"`
	MaxSubjectCacheEntries int           `koanf:"max_subject_cache_entries"`
	MaxObjectCacheEntries  int           `koanf:"max_object_cache_entries"`
	ExternalPermissions    string        `koanf:"external_permissions"` // error, warn, allow
	UnknownScopeTypes      string        `koanf:"unknown_scope_types"`  // error, answer
}
