package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/sdk/directory"
)

func newPlugin() *cobra.Command {
	c := &cobra.Command{Use: "plugin", Short: "Look at the plugins of a running host", Args: cobra.NoArgs, RunE: showHelp}
	t, o := &target{}, &outputFlag{}
	list := &cobra.Command{
		Use:     "list",
		Short:   "List the configured plugins and their processes",
		Example: `  authz plugin list`,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			var result struct {
				Plugins []api.PluginStatus `json:"plugins"`
			}
			if err := askHost(c.Context(), t, o, "plugins", nil, &result); err != nil {
				return err
			}
			return o.print(c.OutOrStdout(), result, func(w io.Writer) {
				rows := [][]string{{"NAME", "PLUGIN", "FROM", "VERSION", "KINDS", "STATE", "PID", "RESTARTS", "CHECKS TOLD", "DROPPED", "ERROR"}}
				for _, p := range result.Plugins {
					from := p.Path
					if p.Embedded {
						from = "embedded in " + p.Path
					}
					told, dropped := "", ""
					if len(p.Counts) > 0 {
						var delivered, lost uint64
						for i := range p.Counts {
							delivered += p.Counts[i].Checks[api.OutcomeDelivered]
							lost += p.Counts[i].Dropped()
						}
						told, dropped = fmt.Sprint(delivered), fmt.Sprint(lost)
					}
					rows = append(rows, []string{p.Name, p.Plugin, from, p.Version, strings.Join(p.Kinds, ","), p.State,
						fmt.Sprint(p.PID), fmt.Sprint(p.Restarts), told, dropped, p.Error})
				}
				table(w, rows)
			})
		},
	}
	t.addSocket(list)
	o.add(list)
	c.AddCommand(list)
	return c
}

func askHost(ctx context.Context, t *target, o *outputFlag, op string, params, result any) error {
	if err := o.check(); err != nil {
		return err
	}
	local, err := t.local()
	if err != nil {
		return err
	}
	return local.host(ctx, op, params, result)
}

func newDirectory() *cobra.Command {
	c := &cobra.Command{Use: "directory", Short: "Bring people and groups from an outside directory", Args: cobra.NoArgs, RunE: showHelp}
	t, o := &target{}, &outputFlag{}
	var file, source string
	var authoritative bool
	apply := &cobra.Command{
		Use:   "apply -f FILE",
		Short: "Apply a directory snapshot to an application",
		Long: `Apply a snapshot of groups, memberships, reporting edges, orgs and users (JSON or YAML).
What the snapshot leaves out is left alone, unless --authoritative.`,
		Example: `  authz directory apply -f people.yaml --source okta
  export-people | authz directory apply -f - --source okta --authoritative`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			snapshot, err := readJSON(c.InOrStdin(), file)
			if err != nil {
				return err
			}
			local, err := t.local()
			if err != nil {
				return err
			}
			app, err := local.onlyApp(c.Context(), t.app)
			if err != nil {
				return err
			}
			var result directory.Result
			err = local.call(c.Context(), app, "importDirectory", map[string]any{
				"snapshot": snapshot, "source": source, "options": directory.Options{Authoritative: authoritative},
			}, &result)
			if err != nil {
				return err
			}
			return o.print(c.OutOrStdout(), result, func(w io.Writer) {
				fmt.Fprintf(w, "applied to %s\n", app)
				for _, warning := range result.Warnings {
					fmt.Fprintln(w, "warning: "+warning)
				}
				if authoritative {
					fmt.Fprintf(w, "deactivated %d users\n", len(result.DeactivatedUsers))
				}
			})
		},
	}
	t.addSocket(apply)
	t.addApp(apply)
	o.add(apply)
	apply.Flags().StringVarP(&file, "file", "f", "", "the snapshot, - for standard input (required)")
	apply.Flags().StringVar(&source, "source", "", "what the audit log calls the directory (required)")
	apply.Flags().BoolVar(&authoritative, "authoritative", false, "take away what the snapshot's datasets leave out")
	_ = apply.MarkFlagFilename("file", "json", "yaml", "yml")
	needs(apply, "file", "source")
	c.AddCommand(apply)
	return c
}
