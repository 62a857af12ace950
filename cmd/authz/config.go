package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/authzhost/authz/host"
	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/host/listen"
	"github.com/authzhost/authz/host/pluginhost"
)

func newConfig() *cobra.Command {
	c := &cobra.Command{Use: "config", Short: "Check and show a host's configuration", Args: cobra.NoArgs, RunE: showHelp}
	c.AddCommand(newConfigCheck(), newConfigPrint())
	return c
}

func newConfigCheck() *cobra.Command {
	f := &configFlags{}
	var connect bool
	c := &cobra.Command{
		Use:   "check --config FILE",
		Short: "Find what would keep a host from starting with a configuration",
		Long: `Find everything that would keep a host from starting with a configuration: every key and
value, every reference, the catalog of each application, and the plugins. Each plugin is
found, verified, started, asked to judge its own settings, and stopped; what it serves is
compared with what the configuration has it do. Everything that is wrong is reported at once;
the exit code is 2 then. Files that other users may write, plugins among them, and secrets
that they may read are wrong too; with insecure_permissions: allow they are warnings.

With --connect plugins are configured as at a start: databases and directories must answer,
and an empty database is given its tables. No store is opened either way, and a running host
is not disturbed.`,
		Example: `  authz config check --config host.yaml
  authz config check --config host.yaml --connect`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := f.load(nil)
			if cfg != nil {
				err = checkConfig(c, cfg, err, connect)
			}
			if err != nil {
				return err
			}
			if len(cfg.Applications) == 0 && cfg.Service == nil {
				fmt.Fprintf(c.ErrOrStderr(), "warning: %s configures neither applications nor the service: a host would answer nothing\n", f.path)
			}
			fmt.Fprintf(c.OutOrStdout(), "%s is valid: applications %d, plugins %d\n", f.path, len(cfg.Applications), len(cfg.Plugins.Instances))
			return nil
		},
	}
	f.add(c, "")
	c.Flags().BoolVar(&connect, "connect", false, "reach the databases and directories of the plugins too")
	needs(c, "config")
	return c
}

// checkConfig goes on looking where reading the configuration ended.
func checkConfig(c *cobra.Command, cfg *config.Config, loaded error, connect bool) error {
	built, catalogs := host.LoadCatalogs(cfg)
	_, conditions := host.LoadConditions(cfg, built)
	carried, err := embedded()
	if err != nil {
		return err
	}
	for _, p := range cfg.Outdated {
		fmt.Fprintf(c.ErrOrStderr(), "warning: %s\n", p)
	}
	exposed := exposedPlugins(cfg, carried)
	if cfg.AllowsInsecure() {
		for _, one := range cfg.Exposed {
			fmt.Fprintf(c.ErrOrStderr(), "warning: insecure_permissions allows this: %v\n", one)
		}
		for _, name := range slices.Sorted(maps.Keys(exposed)) {
			fmt.Fprintf(c.ErrOrStderr(), "warning: insecure_permissions allows this: plugins.%s.plugin: %v\n", name, exposed[name])
		}
		exposed = nil
	}
	var found []config.Problem
	if pair, err := tls.LoadX509KeyPair(cfg.TLS.Cert, cfg.TLS.Key); err == nil { // loading told what is wrong
		if text := listen.Expiring(pair.Leaf, time.Now()); text != "" {
			fmt.Fprintf(c.ErrOrStderr(), "warning: tls.cert: %s\n", text)
		}
	}
	for name, err := range exposed {
		if loaded == nil || !strings.Contains(loaded.Error(), err.Error()) {
			found = append(found, cfg.Problem([]string{"plugins", name, "plugin"}, "%v; or set insecure_permissions: %s", err, config.InsecureAllow))
		}
	}
	var bad *config.Error
	errors.As(loaded, &bad)
	err = offline(c.Context(), func(ctx context.Context) error {
		problems, err := host.CheckPlugins(ctx, cfg, host.CheckOptions{Embedded: carried, Connect: connect, Skip: func(name string) bool {
			// A setting that could not be read is missing from what the plugin would judge.
			return exposed[name] != nil || bad != nil && slices.ContainsFunc(bad.Problems, func(p config.Problem) bool { return strings.HasPrefix(p.Path, "plugins."+name+".") })
		}})
		found = append(found, problems...)
		return err
	})
	return errors.Join(cfg.Refuse(loaded, found...), catalogs, conditions, err)
}

// exposedPlugins are the plugins that other users may write or replace, by instance.
func exposedPlugins(cfg *config.Config, carried map[string]pluginhost.Command) map[string]error {
	exposed := map[string]error{}
	for _, name := range slices.Sorted(maps.Keys(cfg.Plugins.Instances)) {
		if err := pluginhost.Exposed(cfg.Plugins.Instances[name].Plugin, cfg.PluginDirs, carried); err != nil {
			exposed[name] = err
		}
	}
	return exposed
}

func newConfigPrint() *cobra.Command {
	f, o := &configFlags{}, &outputFlag{}
	c := &cobra.Command{
		Use:   "print --config FILE",
		Short: "Show the effective configuration, secrets redacted",
		Long: `Show every key with its effective value, defaults included. References are shown as
references, secrets never.`,
		Example: `  authz config print --config host.yaml`,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			cfg, err := f.load(nil)
			if err != nil {
				return err
			}
			text, err := yaml.Marshal(cfg)
			if err != nil {
				return err
			}
			return o.print(c.OutOrStdout(), cfg.Redacted(), func(w io.Writer) { fmt.Fprint(w, string(text)) })
		},
	}
	f.add(c, "")
	o.add(c)
	needs(c, "config")
	return c
}
