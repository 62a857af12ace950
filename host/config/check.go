package config

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/authzhost/authz/host/files"
	"github.com/authzhost/authz/internal/spell"
)

// maxSocketPath is what a unix socket's address holds.
const maxSocketPath = 107

// check judges what needs more than one value, or more than a type.
func (l *loader) check(c *Config) {
	l.checkListeners(c)
	l.checkTLS(c.TLS)
	for i, dir := range c.PluginDirs {
		l.judge([]string{"plugin_dirs", index(i)}, dir, files.Trusted)
	}
	for _, name := range sortedKeys(c.Plugins.Instances) {
		l.checkPlugin(c, name)
	}
	l.checkApplications(c)
	l.checkAudit(c)
	l.checkMetrics(c)
	l.checkService(c)
	l.checkDirectories(c)
}

func (l *loader) checkListeners(c *Config) {
	host, port, err := net.SplitHostPort(c.Listen)
	if err == nil && !loopback(host) && c.TLS.Cert == "" && !c.TLS.TerminatedUpstream {
		l.problem([]string{"listen"}, "%s can be reached from other machines: set tls.cert and tls.key, or tls.terminated_upstream: true when a proxy in front does TLS", spell.Quote(c.Listen))
	}
	if c.OpsListen != "" && c.OpsListen == c.Listen && port != "0" {
		l.problem([]string{"ops_listen"}, "is the same address as listen")
	}
	if host, _, err := net.SplitHostPort(c.OpsListen); err == nil && !loopback(host) {
		if c.TLS.Cert == "" && !c.TLS.TerminatedUpstream {
			l.problem([]string{"ops_listen"}, "%s can be reached from other machines: set tls.cert and tls.key, or tls.terminated_upstream: true when a proxy in front does TLS", spell.Quote(c.OpsListen))
		}
		if c.Ops.Profiles {
			l.problem([]string{"ops", "profiles"}, "profiles show what is in memory, and are served on loopback only: ops_listen is %s", spell.Quote(c.OpsListen))
		}
	}
	for path, value := range map[string]string{"run_dir": c.RunDir, "socket": c.Socket} {
		if len(value) > maxSocketPath {
			l.problem([]string{path}, "is longer than the %d bytes that the address of a unix socket holds", maxSocketPath)
		}
	}
}

// loopback is true for what only this machine can reach.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// checkTLS loads the files, so that a wrong one is found before the start.
func (l *loader) checkTLS(t TLS) {
	section := func(key string) []string { return []string{"tls", key} }
	switch {
	case t.Cert == "" && t.Key != "":
		l.problem(section("cert"), "is required with tls.key")
	case t.Cert != "" && t.Key == "":
		l.problem(section("key"), "is required with tls.cert")
	case t.Cert != "":
		l.judge(section("cert"), t.Cert, files.Trusted)
		l.judge(section("key"), t.Key, files.Secret)
		if _, err := tls.LoadX509KeyPair(t.Cert, t.Key); err != nil {
			l.problem(section("cert"), "cannot be used with tls.key: %v", err)
		}
	}
	if t.ClientCA == "" {
		return
	}
	if t.Cert == "" {
		l.problem(section("client_ca"), "needs tls.cert and tls.key")
	}
	l.judge(section("client_ca"), t.ClientCA, files.Trusted)
	pem, err := os.ReadFile(t.ClientCA)
	if err != nil {
		l.problem(section("client_ca"), "cannot be read: %v", reason(err))
	} else if !x509.NewCertPool().AppendCertsFromPEM(pem) {
		l.problem(section("client_ca"), "holds no certificate in PEM")
	}
}

func (l *loader) checkPlugin(c *Config, name string) {
	path := []string{"plugins", name, "sha256"}
	p := c.Plugins.Instances[name]
	if strings.ContainsRune(p.Plugin, '/') {
		l.judge([]string{"plugins", name, "plugin"}, p.Plugin, files.Trusted)
	}
	switch {
	case p.SHA256 == "":
		if c.Plugins.RequireChecksum {
			l.problem(path, "is required by plugins.require_checksum")
		}
	case len(p.SHA256) != 64 || strings.Trim(strings.ToLower(p.SHA256), "0123456789abcdef") != "":
		l.problem(path, "must be 64 hexadecimal digits")
	default:
		p.SHA256 = strings.ToLower(p.SHA256)
		c.Plugins.Instances[name] = p
	}
}

// checkSecrets refuses a secret of two purposes: it would have the wider one.
func (l *loader) checkSecrets(p Provider, at func(...string) []string) {
	seen := map[string]string{}
	for _, list := range []struct {
		key     string
		secrets []Secret
	}{{"secrets", p.Secrets}, {"read_secrets", p.ReadSecrets}, {"check_secrets", p.CheckSecrets}} {
		for _, s := range list.secrets {
			if other, twice := seen[s.Reveal()]; twice && other != list.key {
				l.problem(at("provider", list.key), "holds a secret that is in %s as well, where it opens more: give each purpose its own", other)
			}
			seen[s.Reveal()] = list.key
		}
	}
}

func (l *loader) checkApplications(c *Config) {
	def := ""
	taken := map[Storage]string{}
	for _, name := range sortedKeys(c.Applications) {
		app := c.Applications[name]
		at := func(keys ...string) []string { return append([]string{"applications", name}, keys...) }
		if app.Default {
			if def != "" {
				l.problem(at("default"), "only one application can be the default, and applications.%s is", def)
			}
			def = name
			if section := join(at("provider")); !app.Provider.Opened() && !l.faulty(section) {
				l.problem(at("default"), "needs a provider.secret: without one the provider API of the application is not served")
			}
		}
		l.checkSecrets(app.Provider, at)
		if app.Catalog != "" {
			l.judge(at("catalog"), app.Catalog, files.Trusted)
		}
		if app.Conditions != "" {
			l.judge(at("conditions"), app.Conditions, files.Trusted)
		}
		where := app.Storage
		l.checkDriver(c, at("storage", "driver"), where.Driver)
		if why := partitionProblem(where.Partition); why != "" {
			l.problem(at("storage", "partition"), "%s", why)
		}
		l.checkMesh(app, at)
		where.Incarnation = ""
		if other, twice := taken[where]; twice && where.Driver != "" {
			l.problem(at("storage", "partition"), "applications.%s already lives in partition %s of driver %s", other, spell.Quote(where.Partition), where.Driver)
		} else {
			taken[where] = name
		}
	}
}

// checkMesh refuses what cannot mean what its author thinks.
func (l *loader) checkMesh(app Application, at func(keys ...string) []string) {
	m := app.Mesh
	if m.Enabled {
		if app.Storage.Partition == "" {
			l.problem(at("mesh", "enabled"), "needs storage.partition: the unpartitioned dataset is in no mesh")
		}
		if len(m.Except) > 0 && !m.Imports {
			l.problem(at("mesh", "except"), "names exceptions from mesh.imports, which is off")
		}
		for key, partitions := range map[string][]string{"read": m.Verify.Read, "write": m.Verify.Write} {
			for _, p := range partitions {
				if why := partitionProblem(p); p == "" || why != "" {
					l.problem(at("mesh", "verify", key), "%s is no partition of a member", spell.Quote(p))
				}
			}
		}
		return
	}
	for key, given := range map[string]bool{"imports": m.Imports, "except": len(m.Except) > 0, "org_root": m.OrgRoot != nil,
		"verify": len(m.Verify.Read)+len(m.Verify.Write) > 0} {
		if given {
			l.problem(at("mesh", key), "does nothing without mesh.enabled")
		}
	}
}

func (l *loader) checkDriver(c *Config, path []string, driver string) {
	if driver == "" || l.named(driver) {
		return
	}
	l.problem(path, "no plugin instance is called %s%s", spell.Quote(driver), hintOf(driver, sortedKeys(c.Plugins.Instances)))
}

// hintOf says which of the configured names may have been meant.
func hintOf(name string, configured []string) string {
	if near := spell.Nearest(name, configured); near != "" {
		return "; did you mean " + near + "?"
	}
	if len(configured) > 0 {
		return "; configured are " + strings.Join(configured, ", ")
	}
	return "; none is configured"
}

// told reports that something is wrong with the key already.
func (l *loader) told(path []string) bool {
	return slices.ContainsFunc(l.problems, func(p Problem) bool { return p.Path == join(path) })
}

// faulty reports that something is wrong in a section already.
func (l *loader) faulty(section string) bool {
	return slices.ContainsFunc(l.problems, func(p Problem) bool { return strings.HasPrefix(p.Path, section+".") })
}

// named reports that a plugin instance of that name is given, also one with
// problems of its own.
func (l *loader) named(instance string) bool {
	return instance != "require_checksum" && l.given("plugins", instance)
}

// given reports that a section holds that name, right or wrong.
func (l *loader) given(section, name string) bool {
	return slices.ContainsFunc(l.layers, func(one layer) bool {
		members, _ := one.tree[section].(map[string]any)
		_, ok := members[name]
		return ok
	})
}

func partitionProblem(p string) string {
	switch {
	case p == "":
		return ""
	case len(p) > 63 || strings.Trim(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") != "":
		return "a partition's name is 1 to 63 of A-Z a-z 0-9 _ -"
	case strings.HasPrefix(p, "__"):
		return "names that begin with __ are reserved"
	}
	return ""
}

// validName is the grammar of applications, plugins and their instances:
// [a-z0-9][a-z0-9_-]{0,62}.
func validName(s string) bool {
	return s != "" && len(s) <= 63 && s[0] != '_' && s[0] != '-' && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}

// validVariable is the portable grammar of environment variables.
func validVariable(s string) bool {
	for i, r := range s {
		letter := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != "" && len(s) <= 255
}

func addressProblem(s string) string {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return spell.Quote(s) + " is none"
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || strconv.FormatUint(n, 10) != port {
		return spell.Quote(port) + " is no port"
	}
	if host != "" && net.ParseIP(host) == nil && !validHost(host) {
		return spell.Quote(host) + " is no host"
	}
	return ""
}

// validHost admits names and zones; whether they exist shows when listening.
func validHost(s string) bool {
	return len(s) <= 253 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:%") == ""
}
