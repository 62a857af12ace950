package upload

import (
	"context"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// Signal is a kind of data of OTLP.
type Signal int

// The signals that are sent.
const (
	Traces Signal = iota
	Metrics
)

func (s Signal) method() string {
	if s == Traces {
		return "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
	}
	return "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"
}

// Path is where a collector takes the signal over HTTP.
func (s Signal) Path() string {
	if s == Traces {
		return "/v1/traces"
	}
	return "/v1/metrics"
}

// Uploader sends messages. It is safe for concurrent use.
type Uploader interface {
	// Upload sends TracesData or MetricsData, which are the request of their
	// service on the wire: resources are field 1 of both. Its error is an *Error.
	Upload(ctx context.Context, s Signal, m proto.Message) (Partial, error)

	Close() error
}

// Partial is what a collector refused of a message that it took.
type Partial struct{ Rejected int64 }

// Error is a message that was not taken, as far as is known.
type Error struct {
	Reason string // by whom or why; nothing that the collector said

	Untaken bool          // the collector has not taken it for sure
	Invalid bool          // the collector refuses this message whenever it comes
	Retry   bool          // another attempt may succeed
	After   time.Duration // not before
}

func (e *Error) Error() string { return e.Reason }

// Size is how long a message is on the wire.
func Size(m proto.Message) int { return proto.Size(m) }

// maxAnswer bounds what a collector may answer.
const maxAnswer = 64 << 10

// partial reads an Export…ServiceResponse: partial_success is field 1, and of it the
// number of what was rejected field 1, whatever the signal. What is no such response
// says nothing.
func partial(response []byte) Partial {
	var p Partial
	if within, ok := field(response, 1, protowire.BytesType); ok {
		if inner, n := protowire.ConsumeBytes(within); n >= 0 {
			if number, ok := field(inner, 1, protowire.VarintType); ok {
				if v, n := protowire.ConsumeVarint(number); n >= 0 {
					p.Rejected = max(0, int64(v))
				}
			}
		}
	}
	return p
}

// field finds the value of a field, where it begins.
func field(m []byte, want protowire.Number, of protowire.Type) ([]byte, bool) {
	for len(m) > 0 {
		number, kind, n := protowire.ConsumeTag(m)
		if n < 0 {
			return nil, false
		}
		if m = m[n:]; number == want && kind == of {
			return m, true
		}
		if n = protowire.ConsumeFieldValue(number, kind, m); n < 0 {
			return nil, false
		}
		m = m[n:]
	}
	return nil, false
}
