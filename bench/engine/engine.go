// Package engine says what the comparison asks of an engine. It holds no engine
// and knows none: each has a package of its own beside this one.
package engine

import (
	"context"

	"github.com/authzhost/authz/bench/workload"
)

// Engine holds the rows of one world. It is safe for concurrent use.
type Engine interface {
	// Ask translates the users, keys and scopes of questions into the
	// identifiers that a program using the engine would hold, and returns what
	// asks them. Whatever else the engine wants built of those identifiers is
	// built in each check and belongs to its cost.
	Ask(ctx context.Context, questions []workload.Question) (Check, error)

	// Close ends the engine's goroutines and drops its rows.
	Close()
}

// Lister is an engine that answers whole lists too, in any order.
type Lister interface {
	Engine

	// Who lists the users who may use a key at a scope.
	Who(ctx context.Context, key string, at workload.ScopeID) ([]string, error)

	// Where lists the scopes at which a user may use a key.
	Where(ctx context.Context, user, key string) ([]workload.ScopeID, error)
}

// Check answers the i-th of the questions asked.
type Check func(i int) (bool, error)

// Peer is one line of the comparison.
type Peer struct {
	Name   string // unique
	Module string // the Go module that answers, for its version
	Model  string // how the rows are held, in a line

	// Load gives the engine all rows of a world, the way that it takes bulk data.
	Load func(ctx context.Context, w *workload.World) (Engine, error)
}
