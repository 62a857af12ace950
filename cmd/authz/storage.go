package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/internal/adminsocket"
	"github.com/authzhost/authz/sdk/storage"
)

func newStorage() *cobra.Command {
	c := &cobra.Command{Use: "storage", Short: "Look after the stores of the applications", Args: cobra.NoArgs, RunE: showHelp}
	c.AddCommand(newStorageStatus(), newStorageAccept(), newStorageRenew(), newStorageMigrate())
	return c
}

// storesReport is what storage status prints. Offline says that the stores were
// opened for the report, because no host is running.
type storesReport struct {
	Offline bool                `json:"offline"`
	Stores  []api.StorageStatus `json:"stores"`
}

func newStorageStatus() *cobra.Command {
	t, o := &target{offline: true}, &outputFlag{}
	c := &cobra.Command{
		Use:   "status",
		Short: "Show the store of each application",
		Long: `Show the store of each application: of the host that is running, or with --config and no
host running, by starting the configured plugins and opening every store. The exit code is
1 when a store could not be opened; the reason is shown.`,
		Example: `  authz storage status
  authz storage status --config host.yaml -o json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			report, err := storageStatus(c.Context(), t, o, c.ErrOrStderr())
			if err != nil {
				return err
			}
			if err := o.print(c.OutOrStdout(), report, func(w io.Writer) { printStores(w, report) }); err != nil || !report.Offline {
				return err
			}
			refused := 0
			for _, s := range report.Stores {
				if s.Error != "" {
					refused++
				}
			}
			if refused > 0 {
				return fmt.Errorf("%d of %d stores could not be opened", refused, len(report.Stores))
			}
			return nil
		},
	}
	t.addSocket(c)
	o.add(c)
	return c
}

// hostOf finds the host that is running: what it has open is what counts. When a
// configuration is given and its host does not run, host is nil and there is the
// configuration.
func hostOf(ctx context.Context, t *target) (host *adminsocket.Client, cfg *config.Config, err error) {
	if t.config == "" {
		host, err = t.local()
		return host, nil, err
	}
	if cfg, err = (&configFlags{path: t.config}).load(nil); err != nil {
		return nil, nil, err
	}
	socket := t.socket
	if socket == "" {
		socket = cfg.Socket
		if err := ownSocket(socket); err != nil {
			return nil, nil, err
		}
	}
	host = adminsocket.NewOf(socket, t.configOf(socket))
	if found, err := host.Answers(ctx); err != nil || !found {
		return nil, cfg, err
	}
	return host, cfg, nil
}

func storageStatus(ctx context.Context, t *target, o *outputFlag, logs io.Writer) (storesReport, error) {
	var report storesReport
	if err := o.check(); err != nil {
		return report, err
	}
	host, cfg, err := hostOf(ctx, t)
	if err != nil {
		return report, err
	}
	if host != nil {
		return report, host.Host(ctx, "storage.status", nil, &report)
	}
	report.Offline, report.Stores = true, []api.StorageStatus{}
	err = offline(ctx, func(ctx context.Context) error {
		for _, instance := range storageInstances(cfg) {
			v := visit(ctx, cfg, instance, visitOptions{logs: logs, openTimeout: callTimeout})
			report.Stores = append(report.Stores, v.statuses(cfg)...)
		}
		return ctx.Err()
	})
	return report, err
}

func printStores(w io.Writer, report storesReport) {
	rows := [][]string{{"APPLICATION", "DRIVER", "PARTITION", "DURABLE", "CROSS-PROCESS", "SCHEMA", "CAPABILITIES", "INCARNATION", "STATE"}}
	for _, s := range report.Stores {
		schema, crossProcess := strconv.Itoa(s.SchemaVersion), strconv.FormatBool(s.CrossProcess)
		if report.Offline && s.Error != "" {
			schema, crossProcess = "-", "-"
		}
		rows = append(rows, []string{s.Application, s.Driver, partitionText(s.Partition), durable(s.Durable), crossProcess, schema,
			capabilities(s.Capabilities), orDash(s.Incarnation), storeState(s, report.Offline)})
	}
	table(w, rows)
}

func partitionText(p string) string {
	if p == "" {
		return `""`
	}
	return p
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func durable(d *bool) string {
	if d == nil {
		return "not declared"
	}
	return fmt.Sprint(*d)
}

// capabilities names what is missing when that is shorter.
func capabilities(have []string) string {
	var missing []string
	for _, c := range storage.AllCapabilities {
		found := false
		for _, h := range have {
			found = found || h == string(c)
		}
		if !found {
			missing = append(missing, string(c))
		}
	}
	switch {
	case len(have) == 0:
		return "-"
	case len(missing) == 0:
		return "all"
	case len(missing) < len(have):
		return "all but " + strings.Join(missing, ",")
	}
	return strings.Join(have, ",")
}

func storeState(s api.StorageStatus, offline bool) string {
	switch {
	case s.Lost:
		return "LOST: " + s.Error + " (fill it again, then: authz storage accept " + s.Application + ")"
	case s.Error != "" && offline:
		return "REFUSED: " + s.Error
	case s.Error != "":
		return "unavailable: " + s.Error
	}
	return "ready"
}

func newStorageAccept() *cobra.Command {
	t := &target{}
	c := &cobra.Command{
		Use:   "accept APPLICATION",
		Short: "Take a store whose content was replaced for the application's own",
		Long: `A host that finds another content in a store than the one it had open answers no check
from it: revokes and deactivations may have vanished with the old content. When you have
filled or restored the store, accept ends that state.`,
		Example: `  authz storage accept docs`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			local, err := t.local()
			if err != nil {
				return err
			}
			if err := local.Host(c.Context(), "storage.accept", map[string]string{"app": args[0]}, nil); err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "the store of %s is accepted as it is now\n", args[0])
			return nil
		},
	}
	t.addSocket(c)
	return c
}

func newStorageRenew() *cobra.Command {
	t, o := &target{offline: true}, &outputFlag{}
	c := &cobra.Command{
		Use:   "renew APPLICATION",
		Short: "Give a restored store a new incarnation",
		Long: `Give the content of an application's store a new incarnation. It belongs to every restore
from a backup: hosts that still know the content from before the restore then notice that
it is another one, empty their caches and answer no check from it until you accept it on
each. The host that is asked notices at once; others look every 5 s, and until then go on
answering checks and writing. Where that is too late, stop them first.

It asks the host that is running; with --config and no host running, it starts the
application's storage plugin for it.`,
		Example: `  authz storage renew docs && authz storage accept docs
  authz storage renew docs --config host.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			result, err := renewStorage(c.Context(), t, args[0], c.ErrOrStderr())
			if err != nil {
				return err
			}
			return o.print(c.OutOrStdout(), result, func(w io.Writer) {
				fmt.Fprintf(w, "the store of %s has the new incarnation %s\n", args[0], result.Incarnation)
				if !result.Offline {
					fmt.Fprintf(w, "no check is answered from it until: authz storage accept %s\n", args[0])
				}
			})
		},
	}
	t.addSocket(c)
	o.add(c)
	return c
}

type renewal struct {
	Offline     bool   `json:"offline"`
	Incarnation string `json:"incarnation"`
}

func renewStorage(ctx context.Context, t *target, app string, logs io.Writer) (renewal, error) {
	var result renewal
	host, cfg, err := hostOf(ctx, t)
	if err != nil {
		return result, err
	}
	if host != nil {
		return result, host.Host(ctx, "storage.renew", map[string]string{"app": app}, &result)
	}
	where, ok := cfg.Applications[app]
	if !ok {
		return result, usageError{fmt.Errorf("the configuration has no application %q", app)}
	}
	result.Offline = true
	return result, offline(ctx, func(ctx context.Context) error {
		v := visit(ctx, cfg, where.Storage.Driver, visitOptions{logs: logs, openTimeout: callTimeout, only: &where.Storage.Partition,
			use: func(ctx context.Context, s storage.Store) error {
				result.Incarnation, err = s.Renew(ctx, "")
				return err
			}})
		if err := v.stores[0].err; err != nil {
			return fmt.Errorf("the store of %s was not renewed: %s", app, reasonFor(err))
		}
		return nil
	})
}

var errDeclined = errors.New("nothing was changed")
