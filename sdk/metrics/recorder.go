package metrics

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/authzhost/authz/sdk/authz"
)

// EveryScopeType in RecorderOptions.ScopeInstances stands for all scope types.
const EveryScopeType = authz.Global

// observerTimeout is how long a check waits for an observer that may block. Only
// tests change it.
var observerTimeout = 10 * time.Millisecond

// RecorderOptions is the option metrics of a client.
type RecorderOptions struct {
	// Observers all receive each observation, in this order. At least one.
	Observers []Observer

	// GateRate and VisibilityRate are the probabilities that a check is
	// observed, clamped to [0, 1]; what is not finite is 1. A nil GateRate is 1,
	// a nil VisibilityRate is the gate's.
	GateRate       *float64
	VisibilityRate *float64

	// Random answers in [0, 1) and is safe for concurrent use; nil is the
	// process's randomness. It is asked only at rates between 0 and 1.
	Random func() float64

	// ScopeInstances lists the scope types whose observations carry the whole
	// scope id, a cardinality of the caller's choosing. EveryScopeType is all,
	// nil none.
	ScopeInstances []string

	// OmitAttribution leaves the rows out of observations of a gate of one key:
	// finding them costs far more than the check. For observers that only count.
	OmitAttribution bool

	// OnError hears of observers that fail, panic or hang; nil ignores them.
	OnError func(error)

	// ObserverTimeout (10 ms) is how long a check waits for an observer that is
	// not NonBlocking, and for OnError.
	ObserverTimeout time.Duration
}

// Recorder decides which checks are observed and delivers the observations. A
// nil Recorder observes nothing. It is safe for concurrent use.
type Recorder struct {
	gate, visibility float64
	random           func() float64
	everyInstance    bool
	omitAttribution  bool
	instances        []string
	observers        []*guarded
	errors           *errorHook
}

// NewRecorder checks the options.
func NewRecorder(o RecorderOptions) (*Recorder, error) {
	switch {
	case len(o.Observers) == 0:
		return nil, errors.New("metrics: RecorderOptions.Observers is required")
	case o.ObserverTimeout < 0:
		return nil, fmt.Errorf("metrics: RecorderOptions.ObserverTimeout must not be negative: %v", o.ObserverTimeout)
	case o.ObserverTimeout == 0:
		o.ObserverTimeout = observerTimeout
	}
	r := &Recorder{gate: rate(o.GateRate, 1), random: o.Random, instances: slices.Clone(o.ScopeInstances), omitAttribution: o.OmitAttribution,
		everyInstance: slices.Contains(o.ScopeInstances, EveryScopeType),
		errors:        &errorHook{onError: o.OnError, timeout: o.ObserverTimeout}}
	r.visibility = rate(o.VisibilityRate, r.gate)
	if r.random == nil {
		r.random = rand.Float64
	}
	for i, observer := range o.Observers {
		if observer == nil {
			return nil, fmt.Errorf("metrics: RecorderOptions.Observers[%d] is nil", i)
		}
		_, direct := observer.(NonBlocking)
		r.observers = append(r.observers, &guarded{observer: observer, name: fmt.Sprintf("observer %d (%T)", i, observer),
			direct: direct, timeout: o.ObserverTimeout, errors: r.errors})
	}
	return r, nil
}

func rate(p *float64, fallback float64) float64 {
	switch {
	case p == nil:
		return fallback
	case math.IsNaN(*p) || math.IsInf(*p, 0):
		return 1
	}
	return min(max(*p, 0), 1)
}

// DrawGate makes the one draw of a can or require, after its names were verified
// and before it is evaluated. It answers the rate that keeps the check, in
// (0, 1], or 0: not observed, nothing is to be built.
func (r *Recorder) DrawGate() float64 {
	if r == nil {
		return 0
	}
	return r.draw(r.gate)
}

// DrawVisibility is DrawGate for canAny, requireAny, holds and heldKeys.
func (r *Recorder) DrawVisibility() float64 {
	if r == nil {
		return 0
	}
	return r.draw(r.visibility)
}

func (r *Recorder) draw(rate float64) float64 {
	if rate <= 0 || rate >= 1 {
		return rate
	}
	if !r.kept(rate) {
		return 0
	}
	return rate
}

// kept: a source of randomness that panics keeps nothing.
func (r *Recorder) kept(rate float64) (kept bool) {
	defer func() {
		if v := recover(); v != nil {
			r.errors.report(&PanicError{In: "Random", Value: v})
		}
	}()
	return r.random() < rate
}

// OmitsAttribution says that nobody asks for the rows.
func (r *Recorder) OmitsAttribution() bool { return r.omitAttribution }

// ScopeOf answers the members ScopeType and Scope for the scope of a check; ""
// means "*".
func (r *Recorder) ScopeOf(scope string) (scopeType, instance string) {
	if scope == "" || scope == authz.Global {
		return GlobalScopeType, ""
	}
	if scopeType = authz.ScopeType(scope); scopeType == "" {
		scopeType = UnparsedScopeType
	}
	if r.everyInstance || slices.Contains(r.instances, scopeType) {
		instance = scope
	}
	return scopeType, instance
}

// Deliver hands an observation to every observer. When it returns each has seen
// it, except one that failed or is taking too long.
func (r *Recorder) Deliver(o CheckObservation) {
	for _, g := range r.observers {
		g.deliver(o)
	}
}

// Dropped counts the observations that observers missed while an earlier one
// held them up.
func (r *Recorder) Dropped() uint64 {
	if r == nil {
		return 0
	}
	var n uint64
	for _, g := range r.observers {
		n += g.dropped.Load()
	}
	return n
}
