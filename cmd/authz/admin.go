package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/sdk/directory"
)

func newPlugin() *cobra.Command {
	c := &cobra.Command{Use: "plugin", Short: "Look at the plugins of a running host", Args: cobra.NoArgs, RunE: showHelp}
	t, o := &target{}, &outputFlag{}
	list := &cobra.Command{
		Use:   "list",
		Short: "List the configured plugins and their processes",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			var result struct {
				Plugins []api.PluginStatus `json:"plugins"`
			}
			if err := askHost(c.Context(), t, o, "plugins", nil, &result); err != nil {
				return err
			}
			return o.print(c.OutOrStdout(), result, func(w io.Writer) {
				rows := [][]string{{"NAME", "PLUGIN", "VERSION", "KINDS", "STATE", "PID", "RESTARTS", "ERROR"}}
				for _, p := range result.Plugins {
					rows = append(rows, []string{p.Name, p.Plugin, p.Version, strings.Join(p.Kinds, ","), p.State,
						fmt.Sprint(p.PID), fmt.Sprint(p.Restarts), p.Error})
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

func newStorage() *cobra.Command {
	c := &cobra.Command{Use: "storage", Short: "Look at the stores of a running host", Args: cobra.NoArgs, RunE: showHelp}
	t, o := &target{}, &outputFlag{}
	status := &cobra.Command{
		Use:   "status",
		Short: "Show the store of each application",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			var result struct {
				Stores []api.StorageStatus `json:"stores"`
			}
			if err := askHost(c.Context(), t, o, "storage.status", nil, &result); err != nil {
				return err
			}
			return o.print(c.OutOrStdout(), result, func(w io.Writer) {
				rows := [][]string{{"APPLICATION", "DRIVER", "PARTITION", "DURABLE", "INCARNATION", "STATE"}}
				for _, s := range result.Stores {
					rows = append(rows, []string{s.Application, s.Driver, s.Partition, durable(s.Durable), s.Incarnation, storeState(s)})
				}
				table(w, rows)
			})
		},
	}
	t.addSocket(status)
	o.add(status)

	accepting := &target{}
	accept := &cobra.Command{
		Use:   "accept APPLICATION",
		Short: "Take a store whose content was replaced for the application's own",
		Long: `A host that finds another content in a store than the one it had open answers no check
from it: revokes and deactivations may have vanished with the old content. When you have
filled or restored the store, accept ends that state.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			local, err := accepting.local()
			if err != nil {
				return err
			}
			if err := local.host(c.Context(), "storage.accept", map[string]string{"app": args[0]}, nil); err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "the store of %s is accepted as it is now\n", args[0])
			return nil
		},
	}
	accepting.addSocket(accept)
	c.AddCommand(status, accept)
	return c
}

func durable(d *bool) string {
	if d == nil {
		return "not declared"
	}
	return fmt.Sprint(*d)
}

func storeState(s api.StorageStatus) string {
	switch {
	case s.Lost:
		return "LOST: " + s.Error + " (fill it again, then: authz storage accept " + s.Application + ")"
	case s.Error != "":
		return "unavailable: " + s.Error
	}
	return "ready"
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
			snapshot, err := readSnapshot(c.InOrStdin(), file)
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

// maxSnapshot bounds a snapshot file.
const maxSnapshot = 256 << 20

// readSnapshot reads JSON or YAML, of which JSON is a part, into JSON.
func readSnapshot(in io.Reader, file string) (json.RawMessage, error) {
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, usageError{err}
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, maxSnapshot+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxSnapshot {
		return nil, usageError{errors.New("the snapshot is larger than 256 MiB")}
	}
	if json.Valid(text) {
		return text, nil
	}
	var tree map[string]any
	if err := yaml.Unmarshal(text, &tree); err != nil {
		return nil, usageError{fmt.Errorf("%s is neither JSON nor YAML: %w", file, err)}
	}
	return json.Marshal(tree)
}
