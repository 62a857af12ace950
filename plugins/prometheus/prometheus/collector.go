package prometheus

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/authzhost/authz/plugins/internal/totals"
)

// metricNames is the name of every instrument's counter.
func metricNames(prefix string) map[totals.Instrument]string {
	names := map[totals.Instrument]string{}
	for _, i := range totals.Instruments() {
		names[i] = prefix + strings.ReplaceAll(string(i), ".", "_") + "_total"
	}
	return names
}

const writeFailures = "sink_remote_write_failures_total"

// collector tells the totals to a registry.
type collector struct {
	sink     *Sink
	counters map[totals.Instrument]*prometheus.Desc
	failures *prometheus.Desc
}

func newCollector(s *Sink) *collector {
	constant := prometheus.Labels{}
	for _, l := range s.labels {
		constant[l.name] = l.value
	}
	c := &collector{sink: s, counters: map[totals.Instrument]*prometheus.Desc{},
		failures: prometheus.NewDesc(s.options.Prefix+writeFailures, "Attempts to write all counters to the remote-write endpoint that failed.", nil, constant)}
	for i, name := range s.names {
		c.counters[i] = prometheus.NewDesc(name, i.Help(), i.Labels(), constant)
	}
	return c
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range c.counters {
		to <- d
	}
	to <- c.failures
}

// Collect implements prometheus.Collector. It tells one instant between two windows.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	for _, s := range c.sink.table.Series() {
		to <- prometheus.MustNewConstMetricWithCreatedTimestamp(c.counters[s.Instrument], prometheus.CounterValue, s.Total,
			time.UnixMilli(s.Started), s.Values()...)
	}
	if c.sink.options.WriteURL != "" {
		to <- prometheus.MustNewConstMetric(c.failures, prometheus.CounterValue, float64(c.sink.failures.Load()))
	}
}
