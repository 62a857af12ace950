package host

import (
	"context"
	"os"

	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/sdk/metrics"
)

func usageOptions(cfg *config.Metrics) *application.Metrics {
	if cfg == nil {
		return nil
	}
	return &application.Metrics{BucketMs: cfg.BucketMs, RetentionMs: cfg.RetentionMs}
}

// reporter stores by the application as it is now: one whose place was taken no
// longer prunes.
type reporter struct{ app *served }

func (r reporter) ReportMetrics(ctx context.Context, b metrics.Batch) error {
	return r.app.current.Load().ReportMetrics(ctx, b)
}

// usageSink stores what this host's own checks used, nil with metrics off. Its
// instance is the machine: batches of several hosts add up in the store.
func usageSink(a *served, log hclog.Logger) (*metrics.ProviderSink, error) {
	if !a.current.Load().HasMetrics() {
		return nil, nil
	}
	instance, err := os.Hostname()
	if err != nil {
		instance = "" // the sink's default
	}
	o := metrics.ProviderSinkOptions{Accepts: func(ctx context.Context) (bool, error) {
		c, err := a.current.Load().Capabilities(ctx)
		return c.Metrics, err
	}}
	o.InstanceID = instance
	o.OnError = func(err error) { log.Warn("usage of permissions was lost", "error", err) }
	return metrics.NewProviderSink(reporter{a}, o)
}

// stopUsage delivers the window that is open, within the sink's own bound.
func (a *served) stopUsage() {
	if a.usage != nil {
		a.usage.Stop()
	}
}
