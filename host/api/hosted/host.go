package hosted

import (
	"context"
	"sync"
	"time"

	"github.com/authzhost/authz/host/service"
)

// Host is what runs in this process, as its operator is shown it. What these types
// have no member for is not shown: no path, process id, address or setting, and no
// text that a plugin or its program wrote.
type Host interface {
	// Plugins and Sinks are in the order of their names, and so are names of
	// directories.
	Plugins() []HostPlugin
	Sinks() []HostSink
	Directories() (names []string)

	// Directory is one of them. Where its storage does not answer before ctx ends, it
	// is Stale.
	Directory(ctx context.Context, name string) HostDirectory
}

// HostPlugin is a configured plugin and its process.
type HostPlugin struct {
	Name        string         `json:"name"`   // in the configuration
	Plugin      string         `json:"plugin"` // what it calls itself
	Version     string         `json:"version"`
	Kinds       []string       `json:"kinds" enum:"storage,metrics_sink,directory_importer"`
	Embedded    bool           `json:"embedded"` // the host's own binary carries it
	Needed      bool           `json:"needed"`   // without it the host is not ready
	State       string         `json:"state" enum:"running,unresponsive,restarting,stopped"`
	Since       int64          `json:"since"`
	Restarts    int            `json:"restarts"`
	LastFailure *PluginFailure `json:"lastFailure"`
}

// PluginFailure is the last failure of a plugin's process.
type PluginFailure struct {
	Kind string `json:"kind" enum:"ended,hung,settings_refused,not_started"`
	At   int64  `json:"at"`
}

// HostSink is a plugin that is told the counts of checks, and what became of them.
type HostSink struct {
	Name         string            `json:"name"`
	Plugin       string            `json:"plugin"`
	State        string            `json:"state" enum:"running,unresponsive,restarting,stopped"`
	Applications []SinkApplication `json:"applications"`
}

// SinkApplication is what became of one application's counts on their way to a sink.
type SinkApplication struct {
	Application string       `json:"application"`
	Pending     int          `json:"pending"` // windows in the queue
	Windows     SinkOutcomes `json:"windows"`
	Checks      SinkOutcomes `json:"checks"`
	LastDropped *SinkDrop    `json:"lastDropped"`
}

// SinkOutcomes counts by outcome: all but the delivered are dropped.
type SinkOutcomes struct {
	Delivered   uint64 `json:"delivered"`
	Full        uint64 `json:"full"`
	Refused     uint64 `json:"refused"`
	Unavailable uint64 `json:"unavailable"`
	Unknown     uint64 `json:"unknown"`
	Stopped     uint64 `json:"stopped"`
}

// SinkDrop is the last window that was dropped.
type SinkDrop struct {
	Outcome string `json:"outcome" enum:"full,refused,unavailable,unknown,stopped"`
	At      int64  `json:"at"`
}

// HostDirectory is a configured directory with its last runs.
type HostDirectory struct {
	Name        string        `json:"name"`
	Application string        `json:"application"`
	Importer    string        `json:"importer"` // the plugin's name
	State       string        `json:"state" enum:"idle,running,not_org_root"`
	Stale       bool          `json:"stale"` // storage could not be asked
	NextAt      *int64        `json:"nextAt"`
	Run         *DirectoryRun `json:"run"`         // under way on this host
	Last        *DirectoryEnd `json:"last"`        // of any host
	LastSuccess *DirectoryEnd `json:"lastSuccess"` // of any host
	Runs        DirectoryRuns `json:"runs"`        // of this host since it started
}

// DirectoryRun is a run under way.
type DirectoryRun struct {
	Phase     string `json:"phase" enum:"starting,reading,applying"`
	DryRun    bool   `json:"dryRun"`
	StartedAt int64  `json:"startedAt"`
	Entries   int64  `json:"entries"`
	Expected  *int64 `json:"expected"`
}

// DirectoryEnd is a run that has ended.
type DirectoryEnd struct {
	Result        string  `json:"result" enum:"succeeded,refused,failed,cancelled,skipped,not_org_root"`
	Cause         *string `json:"cause" enum:"late,unavailable,invalid,other"`
	StartedAt     int64   `json:"startedAt"`
	EndedAt       int64   `json:"endedAt"`
	Scheduled     bool    `json:"scheduled"`
	Authoritative bool    `json:"authoritative"`
	Incremental   bool    `json:"incremental"`
	Entries       int     `json:"entries"`
	People        int     `json:"people"`
	Groups        int     `json:"groups"`
	Warnings      int     `json:"warnings"`
	Created       int     `json:"created"`
	Deactivated   int     `json:"deactivated"`
	Commits       int     `json:"commits"`
	Failures      int     `json:"failures"`
}

// DirectoryRuns counts runs by their result.
type DirectoryRuns struct {
	Succeeded  uint64 `json:"succeeded"`
	Refused    uint64 `json:"refused"`
	Failed     uint64 `json:"failed"`
	Cancelled  uint64 `json:"cancelled"`
	Skipped    uint64 `json:"skipped"`
	NotOrgRoot uint64 `json:"notOrgRoot"`
}

type hostPlugins struct {
	Plugins    []HostPlugin `json:"plugins"`
	NextCursor *string      `json:"nextCursor"`
}

type hostSinks struct {
	Sinks      []HostSink `json:"sinks"`
	NextCursor *string    `json:"nextCursor"`
}

type hostDirectories struct {
	Directories []HostDirectory `json:"directories"`
	NextCursor  *string         `json:"nextCursor"`
}

// storagePatience is how long the directories of a page wait for storage.
const storagePatience = 2 * time.Second

func hostRows(t *table) {
	add(t, endpoint{Method: "GET", Path: "/host/plugins", Summary: "The plugins of the host that answers", Gate: service.Operator},
		func(_ context.Context, c *Call, _ struct{ Paging }) (out hostPlugins, err error) {
			var next string
			out.Plugins, next = pageOf(c.host().Plugins(), func(p HostPlugin) string { return p.Name }, c.Page)
			out.NextCursor, err = c.next(next)
			return out, err
		})
	add(t, endpoint{Method: "GET", Path: "/host/sinks", Summary: "The sinks of the host that answers, and what became of their counts", Gate: service.Operator},
		func(_ context.Context, c *Call, _ struct{ Paging }) (out hostSinks, err error) {
			var next string
			out.Sinks, next = pageOf(c.host().Sinks(), func(s HostSink) string { return s.Name }, c.Page)
			out.NextCursor, err = c.next(next)
			return out, err
		})
	add(t, endpoint{Method: "GET", Path: "/host/directories", Summary: "The directories with their last runs", Gate: service.Operator},
		func(ctx context.Context, c *Call, _ struct{ Paging }) (out hostDirectories, err error) {
			names, next := pageOf(c.host().Directories(), func(name string) string { return name }, c.Page)
			out.Directories = make([]HostDirectory, len(names))
			ctx, cancel := context.WithTimeout(ctx, storagePatience)
			defer cancel()
			var asked sync.WaitGroup
			for i, name := range names {
				asked.Go(func() { out.Directories[i] = c.host().Directory(ctx, name) })
			}
			asked.Wait()
			out.NextCursor, err = c.next(next)
			return out, err
		})
}

func (c *Call) host() Host { return c.api.o.Services.Host }
