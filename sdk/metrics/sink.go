package metrics

import "context"

// Sink takes closed windows to another system: to Prometheus, to a collector. A
// plugin of kind metrics_sink serves one. Methods may be called concurrently, but
// windows of one origin come one at a time, in the order of their sequence.
type Sink interface {
	Info() SinkInfo

	// Write takes one window; nil says that its counts are taken, so that an
	// orderly stop does not lose them, and neither does a kill of a sink that
	// recognises. It takes all of a window or nothing. What it refuses for good is
	// an *authz.WriteRejectedError; an *authz.UnavailableError says by its Outcome
	// whether the window may have been taken all the same. It returns soon after
	// ctx ends. It must not change w, which other sinks are given too.
	Write(ctx context.Context, w Window) error

	// Close passes on what was taken and ends the sink; ctx bounds it.
	Close(ctx context.Context) error
}

// SinkInfo is what a configured sink says of itself.
type SinkInfo struct {
	Name         string
	Capabilities []SinkCapability
}

// SinkCapability is what a sink can do beyond taking windows.
type SinkCapability string

// SinkRecognises is the capability to take a window once, however often it is sent
// by the same origin and sequence, also when the sink's process was killed in
// between. Writers repeat a window whose fate they do not know for such a sink
// alone; any other may then have lost it, and it counts as dropped.
const SinkRecognises SinkCapability = "recognises"

// SinkCapabilities lists every capability.
func SinkCapabilities() []SinkCapability { return []SinkCapability{SinkRecognises} }

// Window is a closed window on its way to a sink. Its counts are those of this
// window alone: a sink that tells totals adds them up.
type Window struct {
	Application string // whose checks they are

	// Origin is one writer of windows in one life of its process: letters, digits,
	// "-" and "_", at most 64. Sequence counts its windows from 1 and only grows;
	// windows that were dropped leave gaps.
	Origin   string
	Sequence uint64

	Batch
}
