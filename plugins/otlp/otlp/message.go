package otlp

import (
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"

	"github.com/authzhost/authz/plugins/internal/totals"
	"github.com/authzhost/authz/sdk/plugin/otlp/upload"
)

const scopeName = "github.com/authzhost/authz/plugins/otlp"

// point is a value of a series over a span of time, in epoch milliseconds.
type point struct {
	key         totals.Key
	value       float64
	start, time int64
}

// encoder makes messages of points.
type encoder struct {
	prefix      string
	resource    []*commonpb.KeyValue
	version     string
	temporality metricspb.AggregationTemporality
	limit       int // bytes of a message
}

// envelope is about what a message holds beside its points, names and help included.
const envelope = 8 << 10

// messages are as few as the limit allows, with the number of points of each.
func (e *encoder) messages(points []point) (all []*metricspb.MetricsData, counts []int) {
	var sums map[totals.Instrument]*metricspb.Sum
	size := 0
	for _, p := range points {
		data := p.encode()
		length := atMost(data)
		if sums == nil || size+length > e.limit {
			message := e.message()
			sums, size = map[totals.Instrument]*metricspb.Sum{}, envelope+upload.Size(message)
			all, counts = append(all, message), append(counts, 0)
		}
		sum := sums[p.key.Instrument]
		if sum == nil {
			sum = &metricspb.Sum{AggregationTemporality: e.temporality, IsMonotonic: true}
			sums[p.key.Instrument] = sum
			scope := all[len(all)-1].ResourceMetrics[0].ScopeMetrics[0]
			scope.Metrics = append(scope.Metrics, &metricspb.Metric{Name: e.prefix + string(p.key.Instrument), Description: p.key.Instrument.Help(),
				Unit: unit(p.key.Instrument), Data: &metricspb.Metric_Sum{Sum: sum}})
		}
		sum.DataPoints = append(sum.DataPoints, data)
		counts[len(counts)-1]++
		size += length
	}
	return all, counts
}

// atMost bounds the length of a point on the wire: its numbers, its texts, and no more
// than 16 bytes of tags and lengths about each of them.
func atMost(data *metricspb.NumberDataPoint) int {
	length := 64
	for _, a := range data.Attributes {
		length += len(a.Key) + len(a.Value.GetStringValue()) + 16
	}
	return length
}

func (e *encoder) message() *metricspb.MetricsData {
	return &metricspb.MetricsData{ResourceMetrics: []*metricspb.ResourceMetrics{{
		Resource:     &resourcepb.Resource{Attributes: e.resource},
		ScopeMetrics: []*metricspb.ScopeMetrics{{Scope: &commonpb.InstrumentationScope{Name: scopeName, Version: e.version}}},
	}}}
}

func (p point) encode() *metricspb.NumberDataPoint {
	const millisecond = 1_000_000
	data := &metricspb.NumberDataPoint{TimeUnixNano: uint64(max(0, p.time)) * millisecond, Value: &metricspb.NumberDataPoint_AsDouble{AsDouble: p.value},
		// A span without length is not one: the point would be read as of no time.
		StartTimeUnixNano: uint64(max(0, min(p.start, p.time-1))) * millisecond}
	names, values := p.key.Instrument.Labels(), p.key.Values()
	for i, name := range names {
		switch {
		case name == totals.LabelGate:
			data.Attributes = append(data.Attributes, &commonpb.KeyValue{Key: name,
				Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_BoolValue{BoolValue: p.key.Gate}}})
		case values[i] != "":
			data.Attributes = append(data.Attributes, text(name, values[i]))
		}
	}
	return data
}

func text(name, value string) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: name, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: value}}}
}

func unit(i totals.Instrument) string {
	switch i {
	case totals.Dropped:
		return "{count}"
	case totals.SeriesRefused:
		return "{counter}"
	}
	return "{check}"
}
