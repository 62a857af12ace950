package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/host"
	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/host/pluginhost"
	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/sdk/plugin"
	"github.com/authzhost/authz/sdk/storage"
)

// visited is what one plugin, started without a host around it, said of itself
// and of the stores that the configuration names.
type visited struct {
	instance    string
	description plugin.Description
	driver      storage.DriverInfo
	stores      []opening
	refused     error // it did not start; stores then hold the same
}

// opening is one partition that was opened and closed again.
type opening struct {
	partition string
	info      storage.StoreInfo
	err       error
}

type visitOptions struct {
	switches     map[string]bool
	startTimeout time.Duration                              // 0 is the configured one
	openTimeout  time.Duration                              // of each store; 0 is none
	only         *string                                    // one partition instead of all
	use          func(context.Context, storage.Store) error // what to do with an open store
	logs         io.Writer
}

// offline runs work that starts plugins without a host; a signal ends it in
// order.
func offline(ctx context.Context, work func(context.Context) error) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	return work(ctx)
}

// storageInstances are the plugin instances that applications keep their rows
// in.
func storageInstances(cfg *config.Config) []string {
	var names []string
	for _, a := range cfg.Applications {
		names = append(names, a.Storage.Driver)
	}
	if cfg.Service != nil {
		names = append(names, cfg.Service.Storage.Driver)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// partitionsOf are the partitions of one instance, with the application in each.
func partitionsOf(cfg *config.Config, instance string) (partitions []string, application map[string]string) {
	application = map[string]string{}
	for name, a := range cfg.Applications {
		if a.Storage.Driver == instance {
			partitions = append(partitions, a.Storage.Partition)
			application[a.Storage.Partition] = name
		}
	}
	if cfg.Service != nil && cfg.Service.Storage.Driver == instance {
		partitions = append(partitions, account.Partition)
		application[account.Partition] = account.Partition // as a running host calls it
	}
	slices.Sort(partitions)
	return partitions, application
}

// visit starts a plugin, opens its stores one after another and stops it. Its
// sockets live in a directory of their own, so that a host may be running.
func visit(ctx context.Context, cfg *config.Config, instance string, o visitOptions) visited {
	v := visited{instance: instance}
	partitions, _ := partitionsOf(cfg, instance)
	if o.only != nil {
		partitions = []string{*o.only}
	}
	refuse := func(err error) visited {
		v.refused = err
		for _, p := range partitions[len(v.stores):] {
			v.stores = append(v.stores, opening{partition: p, err: err})
		}
		return v
	}
	err := driven(ctx, cfg, instance, o, func(p *pluginhost.Plugin, driver storage.Driver) error {
		v.description, v.driver = p.Description(), driver.Info()
		for _, partition := range partitions {
			v.stores = append(v.stores, openOnce(ctx, driver, partition, o))
		}
		return nil
	})
	if err != nil {
		return refuse(err)
	}
	return v
}

// driven starts the storage plugin of an instance, hands it out and stops it.
func driven(ctx context.Context, cfg *config.Config, instance string, o visitOptions, use func(*pluginhost.Plugin, storage.Driver) error) error {
	runDir, err := os.MkdirTemp("", "authz-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(runDir)
	carried, err := embedded()
	if err != nil {
		return err
	}
	plugins, err := pluginhost.New(pluginhost.Options{
		Dirs: cfg.PluginDirs, Embedded: carried, RunDir: runDir, RequireChecksum: cfg.Plugins.RequireChecksum, InsecurePermissions: cfg.AllowsInsecure(),
		Logger: hclog.New(&hclog.LoggerOptions{Name: "authz", Level: hclog.Warn, Output: o.logs}),
	})
	if err != nil {
		return err
	}
	defer func() {
		patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), pluginPatience)
		defer cancel()
		_ = plugins.Close(patience) // what it could not remove goes with the directory
	}()
	spec := host.PluginSpec(cfg, instance)
	spec.Switches = o.switches
	if o.startTimeout > 0 {
		spec.StartTimeout = o.startTimeout
	}
	p, err := plugins.Start(ctx, spec)
	if err != nil {
		return err
	}
	driver, err := p.Storage()
	if err != nil {
		return err
	}
	return use(p, driver)
}

func openOnce(ctx context.Context, driver storage.Driver, partition string, o visitOptions) opening {
	if o.openTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.openTimeout)
		defer cancel()
	}
	s, err := driver.Open(ctx, partition)
	if err != nil {
		return opening{partition: partition, err: err}
	}
	one := opening{partition: partition, info: s.Info()}
	if o.use != nil {
		one.err = o.use(ctx, s)
	}
	_ = s.Close() // what was to be durable is
	return one
}

// reasonFor is why a store or plugin was refused, without the decoration that a
// table has columns for.
func reasonFor(err error) string {
	var typed *storage.Error
	var start *pluginhost.StartError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &typed):
		return typed.Message
	case errors.As(err, &start):
		return strings.Join(append([]string{start.Reason}, start.LastOutput...), "; ")
	}
	return err.Error()
}

// statuses are the stores as a host would show them.
func (v visited) statuses(cfg *config.Config) []api.StorageStatus {
	_, application := partitionsOf(cfg, v.instance)
	list := make([]api.StorageStatus, len(v.stores))
	for i, s := range v.stores {
		list[i] = api.StorageStatus{
			Application: application[s.partition], Driver: v.driver.Name, Partition: s.partition, Durable: v.driver.Durable,
			CrossProcess: v.driver.CrossProcess, Incarnation: s.info.Incarnation, SchemaVersion: s.info.SchemaVersion,
			Capabilities: []string{}, Error: reasonFor(s.err),
		}
		if list[i].Driver == "" {
			list[i].Driver = cfg.Plugins.Instances[v.instance].Plugin
		}
		for _, c := range s.info.Capabilities {
			list[i].Capabilities = append(list[i].Capabilities, string(c))
		}
	}
	return list
}
