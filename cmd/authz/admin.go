package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/host/api"
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
	return local.Host(ctx, op, params, result)
}
