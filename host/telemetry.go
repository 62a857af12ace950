package host

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/host/pluginhost"
	"github.com/authzhost/authz/host/store"
	"github.com/authzhost/authz/host/telemetry"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/metrics"
)

// observation is what the host tells of itself; each part is nil when it is off.
type observation struct {
	metrics *telemetry.Metrics
	access  *telemetry.AccessLog
	spans   *sdktrace.TracerProvider
}

func (h *Host) openObservation(cfg *config.Config) (err error) {
	if cfg.OpsListen != "" {
		if h.observation.metrics, err = telemetry.NewMetrics(h.options.Version, sorted(cfg.Applications), h.facts); err != nil {
			return err
		}
	}
	if cfg.Log.Access && h.options.AccessLog != nil {
		h.observation.access = telemetry.NewAccessLog(h.options.AccessLog, cfg.Log.Format == "json", h.log.IsInfo)
	}
	if t := cfg.Tracing; t.Endpoint != "" {
		h.observation.spans, err = telemetry.StartTracing(t.Endpoint, t.Insecure, h.options.Version, func(err error) {
			h.log.Warn("spans could not be exported and were dropped", "collector", t.Endpoint, "error", err)
		})
	}
	return err
}

// close comes last: the stop itself is told, too.
func (o *observation) close(ctx context.Context) error {
	if o.access != nil {
		o.access.Flush()
	}
	if o.spans == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, flushTime)
	defer cancel()
	_ = o.spans.Shutdown(ctx) // spans are worth no error
	return nil
}

// flushTime bounds how long a stop waits for a collector.
const flushTime = 2 * time.Second

// observed wraps a listener's handler.
func (h *Host) observed(next http.Handler, cfg *config.Config) http.Handler {
	o := api.ObserveOptions{Sample: cfg.Tracing.Sample, Tracer: h.observation.tracer()}
	m, log := h.observation.metrics, h.observation.access
	o.Done = func(a *api.Answered) {
		if m != nil {
			m.Answered(a)
		}
		if log != nil {
			log.Answered(a)
		}
	}
	return api.NewObserved(next, o)
}

// tracer is nil, not a tracer of nothing, when spans go nowhere.
func (o *observation) tracer() trace.Tracer {
	if o.spans == nil {
		return nil
	}
	return o.spans.Tracer("github.com/authzhost/authz/host")
}

// pluginEnvironment has a plugin export its spans where the host does, unless its
// own environment says otherwise.
func (o *observation) pluginEnvironment(cfg *config.Config, spec pluginhost.Spec) pluginhost.Spec {
	if o.spans == nil {
		return spec
	}
	env := telemetry.PluginEnvironment(cfg.Tracing.Endpoint, cfg.Tracing.Insecure, spec.Name)
	maps.Copy(env, spec.Env)
	spec.Env = env
	return spec
}

// storage hears of a driver's calls; nil when nobody asks.
func (o *observation) storage(app string) func(call, outcome string, took time.Duration) {
	if o.metrics == nil {
		return nil
	}
	return o.metrics.Storage(app)
}

// checks observes the checks of an application for the metrics of the process, for
// its counts unless they are nil, and for observers of the program; nil when nobody asks.
// The metrics alone do not want to know the rows. All take the share for what it stands
// for.
func (o *observation) checks(app string, cfg *config.Config, counts *counting, own []metrics.Observer) *metrics.RecorderOptions {
	share := cfg.Ops.CheckSample
	r := &metrics.RecorderOptions{OmitAttribution: counts == nil && len(own) == 0, Observers: slices.Clone(own)}
	if o.metrics != nil && share > 0 {
		r.Observers, r.GateRate = append(r.Observers, o.metrics.Checks(app)), &share
	}
	if counts != nil {
		r.Observers, r.ScopeInstances = append(r.Observers, counts), cfg.Metrics.ScopeInstances
	}
	if len(r.Observers) == 0 {
		return nil
	}
	return r
}

func (o *observation) metricsHandler() http.Handler {
	if o.metrics == nil {
		return nil
	}
	return o.metrics.Handler()
}

// facts answers a scrape.
func (h *Host) facts() telemetry.Facts {
	f := telemetry.Facts{Ready: h.Ready(), ReloadRefused: h.refused.config.Load() || h.refused.catalogs.Load(), Directories: h.directoryFacts()}
	if c := h.certificate.Load(); c != nil {
		f.CertificateEnds = new(float64(c.NotAfter.Unix()))
	}
	if h.plugins != nil {
		for _, p := range h.plugins.Plugins() {
			s := p.Status()
			f.Plugins = append(f.Plugins, telemetry.Plugin{Name: s.Name, State: string(s.State), Restarts: s.Restarts})
		}
	}
	if h.service != nil {
		f.Service = h.service.limiter.Facts()
	}
	for _, name := range sorted(h.apps) {
		a := h.apps[name]
		used := a.statistics()
		app := telemetry.App{Name: name, StorageReady: a.store.State().State == store.StateReady,
			Caches:            []telemetry.Cache{cacheFacts("subjects", used.Subjects), cacheFacts("chains", used.Chains)},
			UnknownScopeTypes: used.UnknownScopeTypes, Admission: a.limiter.Facts()}
		app.StorageLost = a.store.State().State == store.StateLost
		if ahead, _ := a.store.Clock(); ahead != nil {
			app.ClockAhead = new(ahead.Seconds())
		}
		if s, following := a.followed(); following {
			app.Events = &telemetry.Events{Cursor: s.Cursor, Head: s.Head, Failures: s.Failures, SinceLook: -1}
			if !s.LastLook.IsZero() {
				app.Events.SinceLook = time.Since(s.LastLook).Seconds()
			}
		}
		if c := a.counts; c != nil {
			if c.stored {
				app.UsageDropped = new(c.DroppedBatches())
			}
			for i, forwarder := range c.forwarders {
				app.Sinks = append(app.Sinks, sinkFacts(c.sinks[i], forwarder.Counts()))
			}
		}
		f.Apps = append(f.Apps, app)
	}
	return f
}

func cacheFacts(name string, s client.CacheStatistics) telemetry.Cache {
	return telemetry.Cache{Name: name, Hits: s.Hits, Misses: s.Misses, Entries: s.Entries}
}

func sinkFacts(name string, counts metrics.Forwarded) telemetry.Sink {
	s := telemetry.Sink{Name: name, Repeated: counts.Repeated, Pending: counts.Pending}
	for _, o := range metrics.Outcomes() {
		s.Outcomes = append(s.Outcomes, telemetry.Outcome{Name: string(o), Windows: counts.Of(o).Windows, Checks: counts.Of(o).Checks})
	}
	return s
}

// pastClients are the counters of clients that reloaded catalogs took the place of, so
// that what is counted never falls.
type pastClients struct {
	mu   sync.Mutex
	used client.Statistics
}

// succeed puts an application with a client of its own in the place of another.
func (a *served) succeed(before, successor *Application) {
	a.past.mu.Lock()
	defer a.past.mu.Unlock()
	a.past.used = together(a.past.used, before.client.Statistics())
	a.current.Store(successor)
}

func (a *served) statistics() client.Statistics {
	a.past.mu.Lock()
	defer a.past.mu.Unlock()
	return together(a.past.used, a.current.Load().client.Statistics())
}

// together adds what was counted before to what is counted now; entries are those of now.
func together(before, now client.Statistics) client.Statistics {
	now.Subjects.Hits += before.Subjects.Hits
	now.Subjects.Misses += before.Subjects.Misses
	now.Chains.Hits += before.Chains.Hits
	now.Chains.Misses += before.Chains.Misses
	now.UnknownScopeTypes += before.UnknownScopeTypes
	return now
}
