package api

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/authzhost/authz/host/directory"
	"github.com/authzhost/authz/internal/catalogdiff"
	"github.com/authzhost/authz/sdk/authz"
)

// HostControl is what the administration socket asks of the host itself.
type HostControl interface {
	Status(ctx context.Context) (HostStatus, error)
	Plugins(ctx context.Context) ([]PluginStatus, error)

	// RestartPlugin stops and starts the process of a configured plugin; a name
	// that is not configured is a refusal with CodeNotFound.
	RestartPlugin(ctx context.Context, name string) error
	StorageStatus(ctx context.Context) ([]StorageStatus, error)

	// RenewStorage gives the content of an application's store a new incarnation,
	// after a restore from a backup. The application is lost until it is accepted.
	RenewStorage(ctx context.Context, app string) (incarnation string, err error)

	// AcceptStorage takes the content of an application's store as it is now for
	// the application's own, after it was found to be another than before; an
	// unknown application is a refusal with CodeNotFound.
	AcceptStorage(ctx context.Context, app string) error

	// ReloadCatalogs reads the catalog file of an application again, or of all where app
	// is ""; an unknown application is a refusal with CodeNotFound.
	ReloadCatalogs(ctx context.Context, app string, prov authz.Provenance) ([]CatalogReload, error)

	// RekeyService seals the secrets of the hosted service with its newest host key;
	// without a hosted service it is a refusal with CodeUnsupported.
	RekeyService(ctx context.Context) (RekeyResult, error)

	// AccountLogs are the account logs of the hosted service, AccountLog at most limit
	// entries of one after a position; org "" is the log that belongs to no org.
	// Without a hosted service both are a refusal with CodeUnsupported.
	AccountLogs(ctx context.Context) ([]AccountLog, error)
	AccountLog(ctx context.Context, org string, after authz.AuditCursor, limit int) ([]authz.AuditEntry, error)

	// Dashboard is where people look at an application of this host; an unknown one is a
	// refusal with CodeNotFound.
	Dashboard(ctx context.Context, app string) (Dashboard, error)

	// Directories are the configured directories with their runs.
	Directories(ctx context.Context) ([]directory.Status, error)

	// RunDirectory reads a directory and applies it; a name that is not configured
	// is a refusal with CodeNotFound, as for CancelDirectory, which ends a reading
	// under way on this host and reports whether there was a run.
	RunDirectory(ctx context.Context, name string, r directory.Request) (directory.Report, error)
	CancelDirectory(ctx context.Context, name string) (bool, error)

	// Config is the effective configuration, secrets redacted.
	Config(ctx context.Context) (map[string]any, error)
}

// HostStatus is the host at a glance. StartedAt is in epoch milliseconds, Address
// where the public listener was bound.
type HostStatus struct {
	Version      string   `json:"version"`
	StartedAt    int64    `json:"startedAt"`
	Ready        bool     `json:"ready"`
	Address      string   `json:"address"`
	Checks       []Check  `json:"checks"`
	Applications []string `json:"applications"`
}

// Check is one condition of readiness. Message says what is wrong. An optional one
// is told and makes nobody unready.
type Check struct {
	Name     string `json:"name"`
	OK       bool   `json:"ok"`
	Optional bool   `json:"optional,omitempty"`
	Message  string `json:"message,omitempty"`
}

// Ready reports whether every check holds that is not optional.
func Ready(checks []Check) bool {
	return !slices.ContainsFunc(checks, func(c Check) bool { return !c.OK && !c.Optional })
}

// PluginStatus is one configured plugin and its process.
type PluginStatus struct {
	Name     string   `json:"name"`   // in the configuration
	Plugin   string   `json:"plugin"` // what the binary calls itself
	Version  string   `json:"version,omitempty"`
	Kinds    []string `json:"kinds"`
	Path     string   `json:"path,omitempty"`
	Embedded bool     `json:"embedded,omitempty"` // the host's own binary carries it
	State    string   `json:"state"`              // such as "running" or "restarting"
	PID      int      `json:"pid,omitempty"`
	Restarts int      `json:"restarts"`
	Error    string   `json:"error,omitempty"` // of the last start or run that failed

	// Counts is what became of each application's counts on their way to a sink.
	Counts []SinkCounts `json:"counts,omitempty"`
}

// SinkCounts are the windows of one application's counts, and the checks in them, by
// what became of them: delivered, or why they were dropped.
type SinkCounts struct {
	Application string            `json:"application"`
	Windows     map[string]uint64 `json:"windows"`
	Checks      map[string]uint64 `json:"checks"`
	Pending     int               `json:"pending"`
}

// Dropped adds up the checks that were not delivered.
func (c *SinkCounts) Dropped() (checks uint64) {
	for outcome, n := range c.Checks {
		if outcome != OutcomeDelivered {
			checks += n
		}
	}
	return checks
}

// OutcomeDelivered is the outcome of windows that a sink took.
const OutcomeDelivered = "delivered"

// StorageStatus is the store of one application. Lost says that its content was
// found to be another than the one that had been open.
type StorageStatus struct {
	Application   string   `json:"application"`
	Driver        string   `json:"driver"`
	Partition     string   `json:"partition"`
	Incarnation   string   `json:"incarnation"`
	Durable       *bool    `json:"durable,omitempty"`
	CrossProcess  bool     `json:"crossProcess"`
	SchemaVersion int      `json:"schemaVersion"`
	Capabilities  []string `json:"capabilities"`
	Lost          bool     `json:"lost"`
	Error         string   `json:"error,omitempty"`
}

// CatalogReload is what became of one catalog file that was read again. Refused says why
// the catalog stays as it is; without it the changes are in force.
type CatalogReload struct {
	Application string               `json:"application"`
	File        string               `json:"file"`
	Changes     []catalogdiff.Change `json:"changes"`
	Refused     string               `json:"refused,omitempty"`
}

// RekeyResult tells the id of the newest host key, how much had been sealed with
// another, and the ids of those that nothing is sealed with any more.
type RekeyResult struct {
	KeyID    string   `json:"keyId"`
	Resealed int      `json:"resealed"`
	Retired  []string `json:"retired"`
}

// AccountLog is the head of one account log's hash chain: how many entries are part of
// it, and the hash of the last. Count 0 is that nothing is chained yet.
type AccountLog struct {
	Org   string `json:"org"`
	Count int64  `json:"count"`
	Hash  string `json:"hash,omitempty"`
}

// Dashboard is the address of the host's dashboard as browsers reach it, "" without one,
// and the orgs there that have an application linked.
type Dashboard struct {
	URL  string   `json:"url"`
	Orgs []string `json:"orgs"`
}

// hostEntries are the operations on the host itself.
func hostEntries() []entry {
	return []entry{
		own(reading("status"), hostStatus),
		own(reading("plugins"), hostPlugins),
		own(writing("plugin.restart"), restartPlugin),
		own(reading("storage.status"), storageStatus),
		own(writing("storage.accept"), acceptStorage),
		own(writing("storage.renew"), renewStorage),
		own(writing("catalog.reload"), reloadCatalogs),
		own(writing("service.rekey"), rekeyService),
		own(reading("service.logs"), accountLogs),
		own(reading("service.log"), accountLog),
		own(reading("dashboard"), hostDashboard),
		own(reading("directories"), hostDirectories),
		own(writing("directory.run"), runDirectory).lasting(directoryTimeout),
		own(writing("directory.cancel"), cancelDirectory),
		own(reading("config"), hostConfig),
	}
}

type (
	nameIn struct {
		Name string `json:"name" read:"required,nonempty"`
	}
	appIn struct {
		App string `json:"app" read:"required,nonempty"`
	}
	reloadIn struct {
		App        string           `json:"app,omitempty" read:"nonempty"`
		Provenance authz.Provenance `json:"provenance" read:"required"`
	}
	reloadsResult struct {
		Applications []CatalogReload `json:"applications"`
	}
)

func hostStatus(ctx context.Context, c *call, _ *none) (HostStatus, error) {
	status, err := c.host.Status(ctx)
	status.Checks = orEmpty(status.Checks)
	status.Applications = orEmpty(status.Applications)
	return status, err
}

func hostPlugins(ctx context.Context, c *call, _ *none) (pluginsResult, error) {
	plugins, err := c.host.Plugins(ctx)
	return pluginsResult{orEmpty(plugins)}, err
}

func restartPlugin(ctx context.Context, c *call, in *nameIn) (void, error) {
	return void{}, c.host.RestartPlugin(ctx, in.Name)
}

func storageStatus(ctx context.Context, c *call, _ *none) (storesResult, error) {
	stores, err := c.host.StorageStatus(ctx)
	return storesResult{orEmpty(stores)}, err
}

func reloadCatalogs(ctx context.Context, c *call, in *reloadIn) (reloadsResult, error) {
	list, err := c.host.ReloadCatalogs(ctx, in.App, in.Provenance)
	return reloadsResult{orEmpty(list)}, err
}

func acceptStorage(ctx context.Context, c *call, in *appIn) (void, error) {
	return void{}, c.host.AcceptStorage(ctx, in.App)
}

func renewStorage(ctx context.Context, c *call, in *appIn) (renewResult, error) {
	incarnation, err := c.host.RenewStorage(ctx, in.App)
	return renewResult{incarnation}, err
}

func rekeyService(ctx context.Context, c *call, _ *none) (RekeyResult, error) {
	result, err := c.host.RekeyService(ctx)
	result.Retired = orEmpty(result.Retired)
	return result, err
}

func accountLogs(ctx context.Context, c *call, _ *none) (accountLogsResult, error) {
	logs, err := c.host.AccountLogs(ctx)
	return accountLogsResult{orEmpty(logs)}, err
}

// accountLogPage is how many entries service.log answers unless it is told.
const accountLogPage = 1000

type accountLogIn struct {
	Org   string             `json:"org" read:"required"`
	Limit int                `json:"limit" read:"page"`
	After *authz.AuditCursor `json:"after" read:"filter"`
}

func accountLog(ctx context.Context, c *call, in *accountLogIn) (accountLogResult, error) {
	after := authz.AuditCursor{}
	if in.After != nil {
		after = *in.After
	}
	events, err := c.host.AccountLog(ctx, in.Org, after, cmp.Or(in.Limit, accountLogPage))
	return accountLogResult{orEmpty(events)}, err
}

func hostDashboard(ctx context.Context, c *call, in *appIn) (Dashboard, error) {
	d, err := c.host.Dashboard(ctx, in.App)
	d.Orgs = orEmpty(d.Orgs)
	return d, err
}

// directoryTimeout is beyond what a directory may be configured to take, to be read
// and to be applied: the run itself ends it.
const directoryTimeout = 13 * time.Hour

func hostDirectories(ctx context.Context, c *call, _ *none) (directoriesResult, error) {
	list, err := c.host.Directories(ctx)
	return directoriesResult{orEmpty(list)}, err
}

type runDirectoryIn struct {
	Name          string `json:"name" read:"required,nonempty"`
	DryRun        bool   `json:"dryRun"`
	Authoritative bool   `json:"authoritative"`
	Confirm       bool   `json:"confirm"`
	Full          bool   `json:"full"`
}

func runDirectory(ctx context.Context, c *call, in *runDirectoryIn) (directory.Report, error) {
	return c.host.RunDirectory(ctx, in.Name,
		directory.Request{DryRun: in.DryRun, Authoritative: in.Authoritative, Confirmed: in.Confirm, Full: in.Full})
}

func cancelDirectory(ctx context.Context, c *call, in *nameIn) (cancelResult, error) {
	cancelled, err := c.host.CancelDirectory(ctx, in.Name)
	return cancelResult{cancelled}, err
}

func hostConfig(ctx context.Context, c *call, _ *none) (configResult, error) {
	config, err := c.host.Config(ctx)
	return configResult{config}, err
}

type (
	pluginsResult struct {
		Plugins []PluginStatus `json:"plugins"`
	}
	storesResult struct {
		Stores []StorageStatus `json:"stores"`
	}
	renewResult struct {
		Incarnation string `json:"incarnation"`
	}
	accountLogsResult struct {
		Logs []AccountLog `json:"logs"`
	}
	accountLogResult struct {
		Events []authz.AuditEntry `json:"events"`
	}
	directoriesResult struct {
		Directories []directory.Status `json:"directories"`
	}
	cancelResult struct {
		Cancelled bool `json:"cancelled"`
	}
	configResult struct {
		Config map[string]any `json:"config"`
	}
)

// orEmpty makes lists cross as lists, never as null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
