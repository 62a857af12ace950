package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/authzhost/authz/host"
	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/host/pluginhost"
	"github.com/authzhost/authz/sdk/plugin"
)

func newConfig() *cobra.Command {
	c := &cobra.Command{Use: "config", Short: "Check and show a host's configuration", Args: cobra.NoArgs, RunE: showHelp}
	c.AddCommand(newConfigCheck(), newConfigPrint())
	return c
}

func newConfigCheck() *cobra.Command {
	f := &configFlags{}
	c := &cobra.Command{
		Use:   "check --config FILE",
		Short: "Validate a configuration and its catalogs without starting anything",
		Long: `Validate a configuration: every key and value, every reference, the catalog of each
application, and the settings of plugins that this program carries. Everything that is
wrong is reported at once; the exit code is 2 then. Files that other users may write, plugins
among them, and secrets that they may read are wrong too; with insecure_permissions: allow
they are warnings.`,
		Example: `  authz config check --config host.yaml`,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := f.load(nil)
			if cfg != nil {
				_, catalogs := host.LoadCatalogs(cfg)
				exposed := exposedPlugins(cfg, err)
				if cfg.AllowsInsecure() {
					for _, one := range append(cfg.Exposed, exposed...) {
						fmt.Fprintf(c.ErrOrStderr(), "warning: insecure_permissions allows this: %v\n", one)
					}
					exposed = nil
				}
				err = errors.Join(err, catalogs, checkSettings(cfg, err))
				if len(exposed) > 0 {
					err = errors.Join(err, usageError{fmt.Errorf("%w; or set insecure_permissions: %s", errors.Join(exposed...), config.InsecureAllow)})
				}
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "%s is valid: %d applications, %d plugins\n", f.path, len(cfg.Applications), len(cfg.Plugins.Instances))
			return nil
		},
	}
	f.add(c, "")
	needs(c, "config")
	return c
}

// checkSettings judges the settings of plugins that this program carries; others
// judge theirs when they start. Those with a fault of their own already are left out.
func checkSettings(cfg *config.Config, told error) error {
	var bad *config.Error
	errors.As(told, &bad)
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(cfg.Plugins.Instances)) {
		spec := host.PluginSpec(cfg, name)
		made, ok := carried[spec.Plugin]
		if !ok || bad != nil && slices.ContainsFunc(bad.Problems, func(p config.Problem) bool { return strings.HasPrefix(p.Path, "plugins."+name+".") }) ||
			slices.ContainsFunc(cfg.PluginDirs, func(dir string) bool { return exists(filepath.Join(dir, plugin.BinaryPrefix+spec.Plugin)) }) {
			continue
		}
		if err := plugin.CheckSettings(made(version).ConfigSchema, spec.Config); err != nil {
			wrong = append(wrong, fmt.Errorf("plugins.%s.config: %w", name, err))
		}
	}
	return errors.Join(wrong...)
}

// exposedPlugins are the plugins that other users may write or replace, each told once.
func exposedPlugins(cfg *config.Config, told error) (exposed []error) {
	carried, err := embedded()
	if err != nil {
		return []error{err}
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Plugins.Instances)) {
		err := pluginhost.Exposed(cfg.Plugins.Instances[name].Plugin, cfg.PluginDirs, carried)
		if err == nil || told != nil && strings.Contains(told.Error(), err.Error()) {
			continue
		}
		exposed = append(exposed, fmt.Errorf("plugins.%s.plugin: %w", name, err))
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
