package prometheus

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// The messages of remote-write 1.0 by their field numbers. They are written out
// because the published types of this version come with the server's whole module,
// and the small library for clients has those of version 2 only, which few servers
// accept.
const (
	requestSeries = 1 // WriteRequest.timeseries

	seriesLabels  = 1 // TimeSeries.labels
	seriesSamples = 2 // TimeSeries.samples

	labelNameField  = 1 // Label.name
	labelValueField = 2 // Label.value

	sampleValue     = 1 // Sample.value, a double
	sampleTimestamp = 2 // Sample.timestamp, epoch milliseconds
)

// sample is a value at an instant, in epoch milliseconds.
type sample struct {
	value float64
	at    int64
}

// appendSeries adds a series to a WriteRequest. Labels are sorted by name, the
// metric's own name among them; samples are in order of time.
func appendSeries(request []byte, labels []label, samples ...sample) []byte {
	var series []byte
	for _, l := range labels {
		var m []byte
		m = appendText(m, labelNameField, l.name)
		m = appendText(m, labelValueField, l.value)
		series = appendMessage(series, seriesLabels, m)
	}
	for _, s := range samples {
		var m []byte
		m = protowire.AppendTag(m, sampleValue, protowire.Fixed64Type)
		m = protowire.AppendFixed64(m, math.Float64bits(s.value))
		m = protowire.AppendTag(m, sampleTimestamp, protowire.VarintType)
		m = protowire.AppendVarint(m, uint64(s.at))
		series = appendMessage(series, seriesSamples, m)
	}
	return appendMessage(request, requestSeries, series)
}

func appendText(to []byte, field protowire.Number, text string) []byte {
	return protowire.AppendString(protowire.AppendTag(to, field, protowire.BytesType), text)
}

func appendMessage(to []byte, field protowire.Number, message []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, field, protowire.BytesType), message)
}
