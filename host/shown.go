package host

import (
	"context"
	"slices"
	"strings"

	"github.com/authzhost/authz/host/api/hosted"
	"github.com/authzhost/authz/host/directory"
	"github.com/authzhost/authz/host/pluginhost"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/metrics"
	"github.com/authzhost/authz/sdk/plugin"
)

// shown is the host as the hosted API shows it to its operator (spec: hosted-api §8.7).
// The API is on the network: each member is named here, so that one which the
// administration socket gains is not shown by itself.
type shown struct{ host *Host }

func (s shown) Plugins() []hosted.HostPlugin {
	needed := s.host.config.Load().Drivers()
	list := []hosted.HostPlugin{}
	for _, p := range s.statuses() {
		one := hosted.HostPlugin{
			Name: p.Name, Plugin: spell.Echo(p.Plugin), Version: spell.Echo(p.Version), Embedded: p.Embedded, Needed: needed[p.Name],
			Kinds: slices.DeleteFunc(plugin.Kinds(), func(kind string) bool { return !slices.Contains(p.Kinds, kind) }),
			State: string(p.State), Since: p.Since, Restarts: p.Restarts,
		}
		if p.LastFailure != "" {
			one.LastFailure = &hosted.PluginFailure{Kind: string(p.LastFailure), At: p.FailedAt}
		}
		list = append(list, one)
	}
	return list
}

// statuses are in the order of the plugins' names.
func (s shown) statuses() []pluginhost.Status {
	list := []pluginhost.Status{}
	for _, p := range s.host.plugins.Plugins() {
		list = append(list, p.Status())
	}
	slices.SortFunc(list, func(a, b pluginhost.Status) int { return strings.Compare(a.Name, b.Name) })
	return list
}

func (s shown) Sinks() []hosted.HostSink {
	list := []hosted.HostSink{}
	for _, p := range s.statuses() {
		if !slices.ContainsFunc(s.host.sinks, func(sink countSink) bool { return sink.name == p.Name }) {
			continue
		}
		one := hosted.HostSink{Name: p.Name, Plugin: spell.Echo(p.Plugin), State: string(p.State), Applications: []hosted.SinkApplication{}}
		for application, forwarder := range s.host.forwarders(p.Name) {
			one.Applications = append(one.Applications, sinkShown(application, forwarder))
		}
		list = append(list, one)
	}
	return list
}

func sinkShown(application string, f *metrics.Forwarder) hosted.SinkApplication {
	counts := f.Counts()
	of := func(count func(metrics.Tally) uint64) hosted.SinkOutcomes {
		return hosted.SinkOutcomes{Delivered: count(counts.Delivered), Full: count(counts.Full), Refused: count(counts.Refused),
			Unavailable: count(counts.Unavailable), Unknown: count(counts.Unknown), Stopped: count(counts.Stopped)}
	}
	one := hosted.SinkApplication{Application: application, Pending: counts.Pending,
		Windows: of(func(t metrics.Tally) uint64 { return t.Windows }), Checks: of(func(t metrics.Tally) uint64 { return t.Checks })}
	if outcome, at := f.LastDropped(); outcome != "" {
		one.LastDropped = &hosted.SinkDrop{Outcome: string(outcome), At: at.UnixMilli()}
	}
	return one
}

func (s shown) Directories() (names []string) {
	for _, d := range s.host.dirs {
		names = append(names, d.Name())
	}
	return names
}

func (s shown) Directory(ctx context.Context, name string) hosted.HostDirectory {
	d, _ := s.host.Directory(name) // the host has those that it names
	status := d.Status(ctx)
	one := hosted.HostDirectory{
		Name: status.Name, Application: status.Application, Importer: status.Importer, State: status.State, Stale: status.Stale,
		Last: endShown(status.Last), LastSuccess: endShown(status.LastSuccess),
		Runs: hosted.DirectoryRuns{Succeeded: status.Runs[directory.Succeeded], Refused: status.Runs[directory.Refused], Failed: status.Runs[directory.Failed],
			Cancelled: status.Runs[directory.Cancelled], Skipped: status.Runs[directory.Skipped], NotOrgRoot: status.Runs[directory.NotOrgRoot]},
	}
	if status.Next != 0 {
		one.NextAt = &status.Next
	}
	if r := status.Run; r != nil {
		one.Run = &hosted.DirectoryRun{Phase: r.Phase, DryRun: r.DryRun, StartedAt: r.StartedAt, Entries: r.Entries}
		if r.Expected != 0 {
			one.Run.Expected = &r.Expected
		}
	}
	return one
}

func endShown(o *directory.Outcome) *hosted.DirectoryEnd {
	if o == nil {
		return nil
	}
	end := &hosted.DirectoryEnd{
		Result: string(o.Result), StartedAt: o.StartedAt, EndedAt: o.EndedAt, Scheduled: o.Scheduled, Authoritative: o.Authoritative, Incremental: o.Incremental,
		Entries: o.Entries, People: o.People, Groups: o.Groups, Warnings: o.Warnings, Created: o.Created, Deactivated: o.Lost, Commits: o.Commits, Failures: o.Failures,
	}
	if o.Cause != "" {
		end.Cause = new(string(o.Cause))
	}
	return end
}
