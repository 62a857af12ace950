package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/authzhost/authz/host/internal/admission"
)

// Facts are what a host knows of itself at the moment that somebody asks.
type Facts struct {
	Ready   bool
	Plugins []Plugin
	Apps    []App

	// ReloadRefused: something of what the host last read again was refused.
	ReloadRefused bool

	// CertificateEnds is when the certificate that listen shows expires, in seconds since
	// the epoch; nil without TLS.
	CertificateEnds *float64

	// Service is the admission of the hosted API; nil when it is off.
	Service []admission.Facts

	Directories []Directory
}

// Directory is one outside directory, as this host knows it. What is told of a
// reading is told of the last one that was applied, by any host.
type Directory struct {
	Name         string
	Runs         map[string]uint64 // by result
	LastDuration float64           // seconds, of the last run
	Succeeded    bool              // once at least
	LastSuccess  float64           // seconds since the epoch
	People       int
	Groups       int
	Warnings     int
}

// Plugin is one plugin process.
type Plugin struct {
	Name     string
	State    string // one of States
	Restarts int
}

// States are those of a plugin.
var States = []string{"running", "unresponsive", "restarting", "stopped"}

// App is one application.
type App struct {
	Name         string
	StorageReady bool
	Admission    []admission.Facts
	StorageLost  bool
	ClockAhead   *float64 // seconds; nil when the driver does not tell
	Caches       []Cache

	UnknownScopeTypes uint64  // checks
	Events            *Events // nil without a log of events
	UsageDropped      *uint64 // windows; nil without stored usage
	Sinks             []Sink
}

// Sink is what became of the windows of an application's counts on their way to one
// sink.
type Sink struct {
	Name     string
	Outcomes []Outcome
	Repeated uint64
	Pending  int
}

// Outcome counts windows of one fate, and the checks in them.
type Outcome struct {
	Name            string
	Windows, Checks uint64
}

// Cache is one side of an application's client.
type Cache struct {
	Name         string
	Hits, Misses uint64
	Entries      int
}

// Events says how far an application has followed its log.
type Events struct {
	Cursor, Head int64
	SinceLook    float64 // seconds since a look succeeded, negative before the first
	Failures     uint64
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("authz_"+name, help, labels, nil)
}

var (
	descReady       = desc("ready", "1 when every check of readiness holds.")
	descReload      = desc("reload_refused", "1 when the configuration or a catalog was refused the last time that the host read it again.")
	descCertificate = desc("tls_certificate_expiry_timestamp_seconds", "When the certificate of listen expires.")
	descPlugin      = desc("plugin_state", "1 for the state that a plugin is in.", "plugin", "state")
	descRestarts    = desc("plugin_restarts_total", "Processes started in the place of an earlier one.", "plugin")
	descStorage     = desc("storage_ready", "1 when an application's store is open and not lost.", "app")
	descLost        = desc("storage_lost", "1 while the content of an application's store is gone, or another one that nobody accepted.", "app")
	descClock       = desc("storage_clock_ahead_seconds", "By how much the clock of an application's database is ahead of this host's, of drivers that tell.", "app")
	descHits        = desc("cache_hits_total", "Lookups that a cache answered.", "app", "cache")
	descMisses      = desc("cache_misses_total", "Lookups that a cache could not answer.", "app", "cache")
	descEntries     = desc("cache_entries", "Entries in a cache.", "app", "cache")
	descScopeTypes  = desc("checks_unknown_scope_type_total", "Checks that named a scope of a type which the catalog does not declare, answered or refused.", "app")
	descCursor      = desc("events_cursor", "Number of the last event taken over from the log.", "app")
	descLag         = desc("events_lag", "Events in the log, as last seen, that were not taken over yet.", "app")
	descLook        = desc("events_since_look_seconds", "Time since the log was last read, -1 before the first time.", "app")
	descLimit       = desc("admission_limit", "How much of a class runs at once; of checks, how much of everything.", "app", "class")
	descRunning     = desc("admission_running", "Work of a class that runs and counts against the limit; of checks, everything in flight.", "app", "class")
	descLong        = desc("admission_long", "Work of a class that has run so long that it no longer counts against the limit.", "app", "class")
	descWaiting     = desc("admission_waiting", "Work of a class that waits for room.", "app", "class")
	descAdmitted    = desc("admission_admitted_total", "Work of a class that was let in.", "app", "class")
	descRefused     = desc("admission_refused_total", "Work of a class that was refused because there was too much.", "app", "class")
	descRuns        = desc("directory_runs_total", "Runs of a directory on this host, by result; dry ones apart.", "directory", "outcome")
	descSuccess     = desc("directory_last_success_timestamp_seconds", "When a run of a directory last succeeded, on any host.", "directory")
	descRunTime     = desc("directory_last_duration_seconds", "How long the last run of a directory took.", "directory")
	descPeople      = desc("directory_people", "People told by the last reading that was applied.", "directory")
	descGroups      = desc("directory_groups", "Groups told by the last reading that was applied.", "directory")
	descWarnings    = desc("directory_warnings", "Warnings of the last run that succeeded.", "directory")
	descUsage       = desc("usage_windows_dropped_total", "Windows of stored usage that were not sent because too many were pending.", "app")
	descWindows     = desc("sink_windows_total", "Windows of counts by what became of them on their way to a sink.", "app", "sink", "outcome")
	descSinkChecks  = desc("sink_checks_total", "Checks observed in the windows of sink_windows_total.", "app", "sink", "outcome")
	descRepeats     = desc("sink_repeats_total", "Times that a window was sent to a sink again.", "app", "sink")
	descPending     = desc("sink_windows_pending", "Windows that wait for a sink or are on their way to it.", "app", "sink")
	descLookFailure = desc("events_look_failures_total", "Looks at the log that failed.", "app")
)

// collector asks for the facts at each scrape: nothing is kept up between them.
type collector struct{ facts func() Facts }

func (collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descReady, descReload, descCertificate, descPlugin, descRestarts, descStorage, descLost, descClock, descHits, descMisses, descEntries, descScopeTypes,
		descCursor, descLag, descLook, descLookFailure, descUsage, descWindows, descSinkChecks, descRepeats, descPending,
		descLimit, descRunning, descLong, descWaiting, descAdmitted, descRefused, descRuns, descSuccess, descRunTime, descPeople, descGroups, descWarnings} {
		to <- d
	}
}

func (c collector) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	counter := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
	}
	f := c.facts()
	gauge(descReady, flag(f.Ready))
	gauge(descReload, flag(f.ReloadRefused))
	if f.CertificateEnds != nil {
		gauge(descCertificate, *f.CertificateEnds)
	}
	for _, p := range f.Plugins {
		for _, state := range States {
			gauge(descPlugin, flag(p.State == state), p.Name, state)
		}
		counter(descRestarts, float64(p.Restarts), p.Name)
	}
	admitted := func(app string, classes []admission.Facts) {
		for _, c := range classes {
			class := c.Class.String()
			gauge(descLimit, float64(c.Limit), app, class)
			gauge(descRunning, float64(c.Running), app, class)
			gauge(descLong, float64(c.Long), app, class)
			gauge(descWaiting, float64(c.Waiting), app, class)
			counter(descAdmitted, float64(c.Admitted), app, class)
			counter(descRefused, float64(c.Refused), app, class)
		}
	}
	admitted("__service", f.Service)
	for _, a := range f.Apps {
		admitted(a.Name, a.Admission)
		gauge(descStorage, flag(a.StorageReady), a.Name)
		gauge(descLost, flag(a.StorageLost), a.Name)
		if a.ClockAhead != nil {
			gauge(descClock, *a.ClockAhead, a.Name)
		}
		for _, side := range a.Caches {
			counter(descHits, float64(side.Hits), a.Name, side.Name)
			counter(descMisses, float64(side.Misses), a.Name, side.Name)
			gauge(descEntries, float64(side.Entries), a.Name, side.Name)
		}
		counter(descScopeTypes, float64(a.UnknownScopeTypes), a.Name)
		if e := a.Events; e != nil {
			gauge(descCursor, float64(e.Cursor), a.Name)
			gauge(descLag, float64(max(0, e.Head-e.Cursor)), a.Name)
			gauge(descLook, e.SinceLook, a.Name)
			counter(descLookFailure, float64(e.Failures), a.Name)
		}
		if a.UsageDropped != nil {
			counter(descUsage, float64(*a.UsageDropped), a.Name)
		}
		for _, s := range a.Sinks {
			for _, o := range s.Outcomes {
				counter(descWindows, float64(o.Windows), a.Name, s.Name, o.Name)
				counter(descSinkChecks, float64(o.Checks), a.Name, s.Name, o.Name)
			}
			counter(descRepeats, float64(s.Repeated), a.Name, s.Name)
			gauge(descPending, float64(s.Pending), a.Name, s.Name)
		}
	}
	for _, d := range f.Directories {
		for outcome, n := range d.Runs {
			counter(descRuns, float64(n), d.Name, outcome)
		}
		gauge(descRunTime, d.LastDuration, d.Name)
		if d.Succeeded {
			gauge(descSuccess, d.LastSuccess, d.Name)
			gauge(descPeople, float64(d.People), d.Name)
			gauge(descGroups, float64(d.Groups), d.Name)
			gauge(descWarnings, float64(d.Warnings), d.Name)
		}
	}
}

func flag(on bool) float64 {
	if on {
		return 1
	}
	return 0
}
