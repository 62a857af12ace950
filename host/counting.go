package host

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/host/pluginhost"
	"github.com/authzhost/authz/sdk/metrics"
)

func usageOptions(cfg *config.Metrics) *application.Metrics {
	if cfg == nil {
		return nil
	}
	return &application.Metrics{Bucket: cfg.Bucket, Retention: cfg.Retention}
}

// reporter stores by the application as it is now: one whose place was taken no
// longer prunes.
type reporter struct{ app *served }

func (r reporter) ReportMetrics(ctx context.Context, b metrics.Batch) error {
	return r.app.current.Load().ReportMetrics(ctx, b)
}

// openSinks finds the sinks among the plugins that were started.
func openSinks(cfg *config.Config, plugins map[string]*pluginhost.Plugin) ([]countSink, error) {
	var sinks []countSink
	for i, name := range cfg.Metrics.Sinks {
		p := plugins[name]
		sink, err := p.Sink()
		if err != nil {
			return nil, fmt.Errorf("metrics.sinks[%d]: %w", i, err)
		}
		sinks = append(sinks, countSink{name: name, sink: sink, await: p.AwaitRunning})
	}
	return sinks, nil
}

// countSink is a plugin that is told the counts of checks.
type countSink struct {
	name  string
	sink  metrics.Sink
	await func(context.Context) error
}

// counting folds this host's own checks of one application, and takes the windows
// to stored usage and to every sink.
type counting struct {
	*metrics.ProviderSink
	stored     bool
	sinks      []string
	forwarders []*metrics.Forwarder // beside sinks
}

// openCounting is nil when nobody wants to know. Its instance is the machine:
// counts of several hosts add up.
func openCounting(a *served, name string, cfg *config.Config, sinks []countSink, log hclog.Logger) (*counting, error) {
	c := &counting{stored: a.current.Load().HasMetrics()}
	if !c.stored && len(sinks) == 0 {
		return nil, nil
	}
	for _, s := range sinks {
		f, err := metrics.NewForwarder(s.sink, metrics.ForwarderOptions{Application: name, Await: s.await,
			OnError: func(err error) { log.Warn("counts of checks were lost", "sink", s.name, "error", err) }})
		if err != nil {
			return nil, err
		}
		c.sinks, c.forwarders = append(c.sinks, s.name), append(c.forwarders, f)
	}
	o := metrics.ProviderSinkOptions{Accepts: func(ctx context.Context) (bool, error) {
		can, err := a.current.Load().Capabilities(ctx)
		return can.Metrics, err
	}}
	o.Window, o.Forwarders = cfg.Metrics.Window, c.forwarders
	if o.InstanceID = cfg.Metrics.Instance; o.InstanceID == "" {
		o.InstanceID, _ = os.Hostname() // "" is the aggregator's default
	}
	o.OnError = func(err error) { log.Warn("usage of permissions was lost", "error", err) }
	var to metrics.Reporter
	if c.stored {
		to = reporter{a}
	}
	var err error
	c.ProviderSink, err = metrics.NewProviderSink(to, o)
	return c, err
}

// stop delivers the window that is open, to all at once, each within its own bound
// and ctx.
func (c *counting) stop(ctx context.Context) {
	if c == nil {
		return
	}
	c.Aggregator().Flush()
	var stopping sync.WaitGroup
	stopping.Go(c.Stop)
	for _, f := range c.forwarders {
		stopping.Go(func() { f.Stop(ctx) })
	}
	stopping.Wait()
}

// tellSinks says what was lost at the end, when nobody asks for metrics any more.
func (c *counting) tellSinks(log hclog.Logger) {
	if c == nil {
		return
	}
	for i, f := range c.forwarders {
		counts := f.Counts()
		if dropped := counts.Dropped(); dropped.Windows > 0 {
			log.Warn("a sink did not get the counts of all checks", "sink", c.sinks[i], "checks_delivered", counts.Delivered.Checks,
				"checks_dropped", dropped.Checks, "windows_dropped", dropped.Windows, "outcomes", outcomes(&counts))
		}
	}
}

func outcomes(c *metrics.Forwarded) string {
	var list []string
	for _, o := range metrics.Outcomes()[1:] {
		if n := c.Of(o).Windows; n > 0 {
			list = append(list, fmt.Sprintf("%s: %d", o, n))
		}
	}
	return strings.Join(list, ", ")
}
