package authzprometheus

import observer "github.com/authzhost/authz/sdk/metrics/prometheus"

// Options configures an observer. Zero values are the defaults.
type Options = observer.Options

// Observer counts checks; register it as a collector. It is safe for concurrent
// use.
type Observer = observer.Observer

// New builds the counters. It registers nothing.
func New(o Options) (*Observer, error) { return observer.New(o) }
