package sqlite

import (
	"context"
	"time"

	"github.com/authzhost/authz/sdk/plugin"
	"github.com/authzhost/authz/sdk/storage"
)

// The names of the settings.
const (
	settingPath        = "path"
	settingLock        = "lock"
	settingLease       = "lease"
	settingBusyTimeout = "busy_timeout"
	settingWatchPoll   = "watch_poll"
	settingReaders     = "readers"
	settingMigrate     = "migrate"
)

// Plugin is the driver as a plugin binary serves it.
func Plugin(version string) plugin.Plugin {
	return plugin.Plugin{
		Name:    driverName,
		Version: version,
		Storage: plugin.StorageKind{
			Capabilities: storage.AllCapabilities,
			Configure: func(ctx context.Context, config map[string]any) (storage.Driver, error) {
				return Open(ctx, optionsOf(config))
			},
		},
		Check: func(config map[string]any) error {
			o, err := optionsOf(config).filled()
			if err != nil {
				return err
			}
			return judgeFile(o.Path)
		},
		ConfigSchema: []plugin.Setting{
			{Name: settingPath, Type: plugin.TypeString, Required: true,
				Description: "The database file. Its directory is created when missing; both are made readable by their owner only. Not on a network file system."},
			{Name: settingLock, Type: plugin.TypeString, Default: string(LockTable),
				Description: `How exclusive sections are held: "table" between all processes that share the file, "none" within this process only.`},
			{Name: settingLease, Type: plugin.TypeDuration, Default: storage.DefaultLease,
				Description: "How long a section outlives a holder that no longer renews it."},
			{Name: settingBusyTimeout, Type: plugin.TypeDuration, Default: defaultBusyTimeout,
				Description: "How long a call waits, within its own deadline, for another process that writes."},
			{Name: settingWatchPoll, Type: plugin.TypeDuration, Default: defaultWatchPoll,
				Description: "How often a watcher looks for events that another process wrote."},
			{Name: settingReaders, Type: plugin.TypeInteger, Default: int64(defaultReaders),
				Description: "The most connections that read at the same time."},
			{Name: settingMigrate, Type: plugin.TypeBoolean, Default: false,
				Description: "Change a database of an older schema version to the present one before it is opened. Without it such a database is refused."},
		},
	}
}

// optionsOf reads settings that were checked against the schema.
func optionsOf(config map[string]any) Options {
	text := func(name string) string { s, _ := config[name].(string); return s }
	duration := func(name string) time.Duration { d, _ := config[name].(time.Duration); return d }
	readers, _ := config[settingReaders].(int64)
	migrate, _ := config[settingMigrate].(bool)
	return Options{
		Path:        text(settingPath),
		Lock:        Lock(text(settingLock)),
		Lease:       duration(settingLease),
		BusyTimeout: duration(settingBusyTimeout),
		WatchPoll:   duration(settingWatchPoll),
		Readers:     int(min(max(readers, -1), maxReaders+1)),
		Migrate:     migrate,
	}
}
