package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/host/pluginhost"
	"github.com/authzhost/authz/sdk/plugin"
	"github.com/authzhost/authz/sdk/storage"
)

// CheckOptions is what CheckPlugins is given beside a configuration.
type CheckOptions struct {
	// Embedded are the plugins that the program's own binary carries, by name.
	Embedded map[string]pluginhost.Command

	// Connect configures the plugins as a start does, which reaches their databases
	// and directories.
	Connect bool

	// Skip are instances that have a fault of their own already.
	Skip func(instance string) bool

	// Logger takes what plugins log; nil discards it.
	Logger hclog.Logger
}

// CheckPlugins finds what Open would refuse of plugins: each is found, verified,
// launched, asked to judge its settings, and stopped; then the parts of the
// configuration are held to what the plugins serve. No store is opened, and no host
// that runs with the same configuration is disturbed.
func CheckPlugins(ctx context.Context, cfg *config.Config, o CheckOptions) ([]config.Problem, error) {
	runDir, err := os.MkdirTemp("", "authz-") // sockets of its own
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(runDir)
	plugins, err := pluginhost.New(pluginhost.Options{
		Dirs: cfg.PluginDirs, Embedded: o.Embedded, RunDir: runDir, RequireChecksum: cfg.Plugins.RequireChecksum,
		InsecurePermissions: cfg.AllowsInsecure(), Logger: o.Logger,
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkPatience)
		defer cancel()
		_ = plugins.Close(patience) // what it could not remove goes with the directory
	}()
	c := pluginCheck{cfg: cfg, described: map[string]plugin.Description{}}
	for _, name := range sorted(cfg.Plugins.Instances) {
		if o.Skip != nil && o.Skip(name) {
			continue
		}
		d, err := plugins.Check(ctx, PluginSpec(cfg, name), o.Connect)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if d.Name != "" {
			c.described[name] = d
		}
		if err != nil {
			c.refused(name, err)
		}
	}
	c.roles()
	return c.problems, nil
}

const checkPatience = 10 * time.Second

type pluginCheck struct {
	cfg       *config.Config
	described map[string]plugin.Description // of those that came so far
	problems  []config.Problem
}

func (c *pluginCheck) problem(path []string, format string, args ...any) {
	c.problems = append(c.problems, c.cfg.Problem(path, format, args...))
}

func (c *pluginCheck) refused(name string, err error) {
	at := []string{"plugins", name}
	var setting *plugin.ConfigError
	var start *pluginhost.StartError
	var typed interface{ ErrorCode() string } // it ran, and said so itself
	switch {
	case errors.As(err, &setting):
		p := c.cfg.Problem(append(at, "config", setting.Field), "%v", setting)
		p.Path = strings.Join(append(at, "config"), ".") // the message names the setting
		c.problems = append(c.problems, p)
	case errors.As(err, &start):
		text := start.Reason
		if start.Path != "" && !strings.Contains(text, start.Path) && !errors.As(err, &typed) {
			text = start.Path + ": " + text
		}
		for _, line := range start.LastOutput {
			text += "\n      " + line
		}
		c.problem(at, "%s", text)
	default:
		c.problem(at, "%v", err)
	}
}

// roles holds the parts that plugins play to what the plugins serve.
func (c *pluginCheck) roles() {
	for _, name := range sorted(c.cfg.Applications) {
		a := c.cfg.Applications[name]
		at := func(keys ...string) []string { return append([]string{"applications", name}, keys...) }
		driver := c.serves(at("storage", "driver"), a.Storage.Driver, plugin.KindStorage)
		if a.Metrics != nil {
			driver.has(at("metrics"), storage.CapMetrics, "which stored usage needs: leave the section out, or choose another driver")
		}
		if a.Ancestry.Kind == config.AncestryStored {
			driver.has(at("ancestry", "kind"), storage.CapAncestry, "which stored ancestry needs: choose another driver")
		}
		if a.Events.Persist != nil && *a.Events.Persist {
			driver.has(at("events", "persist"), storage.CapEvents, "which a stored event log needs: leave the key out, or choose another driver")
		}
	}
	if s := c.cfg.Service; s != nil {
		at := []string{"service", "storage", "driver"}
		c.serves(at, s.Storage.Driver, plugin.KindStorage).has(at, storage.CapRecords, "which account data is made of: choose another driver")
	}
	for i, sink := range c.cfg.Metrics.Sinks {
		c.serves([]string{"metrics", fmt.Sprintf("sinks[%d]", i)}, sink, plugin.KindSink)
	}
	for _, name := range sorted(c.cfg.Directories) {
		c.serves([]string{"directories", name, "importer"}, c.cfg.Directories[name].Importer, plugin.KindImporter)
	}
}

// role is a part that an instance plays; one that cannot play it has nil
// capabilities and was told.
type role struct {
	check        *pluginCheck
	instance     string
	capabilities []string
	known        bool
}

// serves expects that an instance serves a kind.
func (c *pluginCheck) serves(path []string, instance, kind string) role {
	d, known := c.described[instance]
	if !known {
		return role{} // it was told already
	}
	for _, k := range d.Kinds {
		if k.Name == kind {
			return role{c, instance, k.Capabilities, true}
		}
	}
	var able []string
	for _, other := range sorted(c.described) {
		if c.described[other].Serves(kind) {
			able = append(able, other)
		}
	}
	kinds := make([]string, len(d.Kinds))
	for i, k := range d.Kinds {
		kinds[i] = k.Name
	}
	advice := "no configured plugin does"
	if len(able) > 0 {
		advice = "name " + strings.Join(able, " or ")
	}
	c.problem(path, "the plugin %s of the instance %s serves %s and not %s: %s", d.Name, instance, strings.Join(kinds, ", "), kind, advice)
	return role{}
}

// has expects a capability. What a plugin says of itself is what its stores have at
// most.
func (r role) has(path []string, capability storage.Capability, why string) {
	if r.known && !slices.Contains(r.capabilities, string(capability)) {
		r.check.problem(path, "the driver of %s lacks the capability %q, %s", r.instance, capability, why)
	}
}
