package otlp

import (
	"context"
	"errors"
	"sync"

	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"

	"github.com/authzhost/authz/plugins/internal/outbound"
	"github.com/authzhost/authz/plugins/internal/totals"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
	"github.com/authzhost/authz/sdk/plugin/otlp/upload"
)

// Open connects to nobody yet: a collector that is not there is no reason to keep a
// host from starting. Its errors are *plugin.ConfigError.
func Open(o Options) (metrics.Sink, error) {
	o, e, to, err := o.prepared()
	if err != nil {
		return nil, err
	}
	if o.Temporality == TemporalityDelta {
		e.temporality = metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA
		return newDelta(o, e, to), nil
	}
	table, err := totals.Open(totals.Options{Dir: o.StateDir, MaxSeries: o.MaxSeries, OmitRows: o.OmitAttribution, Clock: o.Clock, Log: o.Log})
	if err != nil {
		_ = to.Close()
		return nil, wrong(settingStateDir, "%s", err)
	}
	c := &cumulative{options: o, encoder: e, to: to, table: table}
	c.sending = outbound.Start(o.Interval, o.Timeout, c.send, c.told)
	return c, nil
}

// prepared is what can be made of the options without touching anything but the
// files of authorities.
func (o Options) prepared() (Options, encoder, upload.Uploader, error) {
	o, err := o.filled()
	if err != nil {
		return o, encoder{}, nil, err
	}
	e := encoder{prefix: o.Prefix, version: o.Version, limit: o.MaxMessage, temporality: metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE}
	if e.resource, err = o.resource(); err != nil {
		return o, e, nil, err
	}
	to, err := o.uploader()
	return o, e, to, err
}

// cumulative sends totals at an interval.
type cumulative struct {
	options Options
	encoder encoder
	to      upload.Uploader
	table   *totals.Table
	sending *outbound.Loop
	failing bool // of the loop's

	close  sync.Once
	closed error
}

// Info implements metrics.Sink.
func (c *cumulative) Info() metrics.SinkInfo {
	info := metrics.SinkInfo{Name: name}
	if c.table.Durable() {
		info.Capabilities = []metrics.SinkCapability{metrics.SinkRecognises}
	}
	return info
}

// Write implements metrics.Sink: what it takes is sent with the next totals.
func (c *cumulative) Write(ctx context.Context, w metrics.Window) error { return c.table.Write(ctx, w) }

// Close implements metrics.Sink: the totals are sent once more.
func (c *cumulative) Close(ctx context.Context) error {
	c.close.Do(func() {
		c.closed = c.table.Close(ctx)
		if err := c.sending.Close(ctx); err != nil {
			c.closed = errors.Join(c.closed, &authz.UnavailableError{Message: "the last counts could not be exported: " + err.Error(), Outcome: authz.OutcomeUnknown})
		}
		c.closed = errors.Join(c.closed, c.to.Close())
	})
	return c.closed
}

// send exports all totals as they are.
func (c *cumulative) send(ctx context.Context) error {
	now := c.options.Clock().UnixMilli()
	series := c.table.Series()
	points := make([]point, len(series))
	for i, s := range series {
		points[i] = point{s.Key, s.Total, s.Started, now}
	}
	messages, _ := c.encoder.messages(points)
	var refused error // of a message, which keeps no other from the collector
	for _, m := range messages {
		partial, err := c.to.Upload(ctx, upload.Metrics, m)
		failure := (*upload.Error)(nil)
		switch errors.As(err, &failure); {
		case err == nil && partial.Rejected > 0:
			refused = errRejected
		case err == nil:
		case failure != nil && failure.Retry:
			return &outbound.Retry{Err: err, After: failure.After}
		case failure != nil && failure.Invalid:
			refused = err
		default:
			return err
		}
	}
	return refused
}

var errRejected = errors.New("the collector refused some of the points")

// told logs the first failure of several.
func (c *cumulative) told(err error) {
	switch {
	case err != nil && !c.failing:
		c.options.Log.Warn("totals could not be exported; the newest are tried again", "error", err)
	case err == nil && c.failing:
		c.options.Log.Info("totals are exported again")
	}
	c.failing = err != nil
}
