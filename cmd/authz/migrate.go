package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/sdk/plugin"
	"github.com/authzhost/authz/sdk/storage"
)

// migrateSetting is the boolean setting by which a driver is allowed to migrate
// a database that an earlier version left.
const migrateSetting = "migrate"

// migrationTimeout bounds a driver that migrates while it is being configured.
const migrationTimeout = 24 * time.Hour

// The results of migrating one driver.
const (
	resultNothing  = "nothing to migrate" // the driver knows no migration
	resultUpToDate = "up to date"
	resultMigrated = "migrated"
	resultDeclined = "declined"
	resultFailed   = "failed"
)

// migration is what became of one driver's database.
type migration struct {
	Plugin     string               `json:"plugin"`
	Driver     string               `json:"driver"`
	Result     string               `json:"result"`
	Partitions []migrationPartition `json:"partitions"`
}

// migrationPartition: a version is absent when nobody told it. Refusal is why the
// store could not be opened before.
type migrationPartition struct {
	Partition     string `json:"partition"`
	BeforeVersion *int   `json:"beforeVersion,omitempty"`
	Refusal       string `json:"refusal,omitempty"`
	AfterVersion  *int   `json:"afterVersion,omitempty"`
	Error         string `json:"error,omitempty"`
}

type migrateCommand struct {
	configFlags
	outputFlag
	plugin string
	yes    bool
	in     *bufio.Reader // one for all questions: it reads ahead
	errs   io.Writer
}

func newStorageMigrate() *cobra.Command {
	m := &migrateCommand{}
	c := &cobra.Command{
		Use:   "migrate --config FILE",
		Short: "Bring databases of an earlier version up to the drivers' own",
		Long: `Start each configured storage plugin and see whether its stores can be opened. Where a driver
refuses a database of another version, start it once more with its setting "migrate", which
allows it to migrate, and open every configured store. First stop the hosts of that database
and make a backup. If a migration was cut short, run it again to complete it.`,
		Example: `  authz storage migrate --config host.yaml
  authz storage migrate --config host.yaml --plugin main --yes`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			m.in, m.errs = bufio.NewReader(c.InOrStdin()), c.ErrOrStderr()
			return m.run(c.Context(), c.OutOrStdout())
		},
	}
	m.addConfig(c, "")
	m.outputFlag.add(c)
	c.Flags().StringVar(&m.plugin, "plugin", "", "only this plugin instance of the configuration")
	c.Flags().BoolVarP(&m.yes, "yes", "y", false, "do not ask before a database is changed")
	needs(c, "config")
	return c
}

func (m *migrateCommand) run(ctx context.Context, out io.Writer) error {
	if err := m.check(); err != nil {
		return err
	}
	cfg, err := m.load(nil)
	if err != nil {
		return err
	}
	instances := storageInstances(cfg)
	if m.plugin != "" {
		if !slices.Contains(instances, m.plugin) {
			return usageError{fmt.Errorf("no application keeps its rows in a plugin instance %q, only in %s", m.plugin, strings.Join(instances, ", "))}
		}
		instances = []string{m.plugin}
	}
	report := struct {
		Plugins []migration `json:"plugins"`
	}{[]migration{}}
	err = offline(ctx, func(ctx context.Context) error {
		for _, instance := range instances {
			one, err := m.migrate(ctx, cfg, instance)
			report.Plugins = append(report.Plugins, one)
			if err != nil {
				return err
			}
		}
		return ctx.Err()
	})
	// What was done is told also when the rest was not.
	printed := m.print(out, report, func(w io.Writer) { printMigrations(w, report.Plugins) })
	if err := errors.Join(err, printed); err != nil {
		return err
	}
	if slices.ContainsFunc(report.Plugins, func(one migration) bool { return one.Result == resultFailed }) {
		return fmt.Errorf("not every store could be opened at its driver's version")
	}
	return nil
}

// migrate looks first with the permission withheld, also from a driver that the
// configuration gives it to, so that it can tell what it changes.
func (m *migrateCommand) migrate(ctx context.Context, cfg *config.Config, instance string) (migration, error) {
	before := visit(ctx, cfg, instance, visitOptions{switches: map[string]bool{migrateSetting: false}, logs: m.errs, openTimeout: callTimeout})
	result := migration{Plugin: instance, Driver: before.name(cfg), Partitions: []migrationPartition{}}
	refusals, other := 0, 0
	for _, s := range before.stores {
		p := migrationPartition{Partition: s.partition}
		if s.err == nil {
			p.BeforeVersion = &s.info.SchemaVersion
			p.AfterVersion = p.BeforeVersion
		} else if p.Refusal = reasonFor(s.err); storage.CodeOf(s.err) == storage.CodeUnsupported {
			refusals++
			var refusal *storage.Error
			if errors.As(s.err, &refusal) && refusal.Version > 0 {
				p.BeforeVersion = new(int(refusal.Version))
			}
		} else {
			other++
			p.Error = p.Refusal
		}
		result.Partitions = append(result.Partitions, p)
	}
	knows := before.description.Declares(migrateSetting, plugin.TypeBoolean)
	switch {
	case other > 0:
		result.Result = resultFailed
		return result, nil
	case refusals == 0 && !knows:
		result.Result = resultNothing
		return result, nil
	case refusals == 0:
		result.Result = resultUpToDate
		return result, nil
	case before.refused == nil && !knows:
		result.fail(before)
		return result, nil
	}
	if err := m.confirm(ctx, instance, result); err != nil {
		result.Result = resultDeclined
		return result, err
	}
	after := visit(ctx, cfg, instance, visitOptions{switches: map[string]bool{migrateSetting: true}, logs: m.errs, startTimeout: migrationTimeout})
	result.Driver, result.Result = after.name(cfg), resultMigrated
	for i, s := range after.stores {
		if s.err == nil {
			result.Partitions[i].AfterVersion = &s.info.SchemaVersion
		}
	}
	result.fail(after)
	return result, nil
}

// fail takes over the reasons of stores that did not open.
func (r *migration) fail(v visited) {
	for i, s := range v.stores {
		if s.err != nil {
			r.Result, r.Partitions[i].Error = resultFailed, reasonFor(s.err)
		}
	}
}

func (v visited) name(cfg *config.Config) string {
	if v.driver.Name != "" {
		return v.driver.Name
	}
	return cfg.Plugins.Instances[v.instance].Plugin
}

func (m *migrateCommand) confirm(ctx context.Context, instance string, r migration) error {
	if m.yes {
		return nil
	}
	for _, p := range r.Partitions {
		if p.Refusal != "" {
			fmt.Fprintf(m.errs, "partition %s: %s\n", partitionText(p.Partition), p.Refusal)
		}
	}
	question := fmt.Sprintf("Migrate the database of the plugin %s? Stop its hosts and have a backup first.", instance)
	if confirm(ctx, m.in, m.errs, question) {
		return nil
	}
	return usageError{fmt.Errorf("%w in the database of the plugin %s", errDeclined, instance)}
}

func printMigrations(w io.Writer, list []migration) {
	rows := [][]string{{"PLUGIN", "DRIVER", "PARTITION", "BEFORE", "AFTER", "RESULT"}}
	version := func(v *int) string {
		if v == nil {
			return "-"
		}
		return strconv.Itoa(*v)
	}
	for _, one := range list {
		for _, p := range one.Partitions {
			result := one.Result
			if p.Error != "" {
				result = resultFailed + ": " + p.Error
			}
			rows = append(rows, []string{one.Plugin, one.Driver, partitionText(p.Partition), version(p.BeforeVersion), version(p.AfterVersion), result})
		}
	}
	table(w, rows)
}
