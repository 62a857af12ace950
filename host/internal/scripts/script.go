package scripts

import (
	"encoding/json"
	"sync/atomic"
)

// Case is what the scripts of app-writes.jsonl, requests.jsonl and
// provider-api.jsonl have in common: an application, and what it is left with.
type Case struct {
	ID             string
	Catalog        json.RawMessage
	ScopeParents   map[string][]string
	Start          int64
	Options        Options
	DriverWithout  []string // methods
	WithoutStorage bool
	Handler        Handler
	Final          Final
}

// Hosted tells whether a host could be made to serve such an application.
func (c Case) Hosted() bool {
	return !c.WithoutStorage && len(c.DriverWithout) == 0 && c.Handler == Handler{}
}

// Final is what a script leaves; an absent member is not compared.
type Final struct {
	Audit []json.RawMessage
	Epoch *struct {
		Head     int64
		SinceMid *struct {
			Seq    int64
			Limit  int
			Result json.RawMessage
		}
	}
	State map[string][]json.RawMessage
}

// Script is one case of app-writes.jsonl or requests.jsonl.
type Script struct {
	Case
	Steps []Step
}

// Step is one operation with what it does.
type Step struct {
	Op string
	Time
	Args    map[string]json.RawMessage
	Setup   bool // succeeds, nothing else is expected
	Created []string
	Events  []json.RawMessage
	Expect  Expectation
}

// Expectation is what a step answers.
type Expectation struct {
	OK    json.RawMessage
	Error *Fault
}

// Time is the clock during a step.
type Time struct {
	At      *int64
	Advance *int64
}

// tick is what the clock moves by where a step does not say it.
const tick = 1000

// Set moves the clock to the step.
func (s Time) Set(now *atomic.Int64) {
	switch {
	case s.At != nil:
		now.Store(*s.At)
	case s.Advance != nil:
		now.Add(*s.Advance)
	default:
		now.Add(tick)
	}
}
