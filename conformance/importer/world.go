package importer

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/authzhost/authz/conformance/runner"
	"github.com/authzhost/authz/sdk/directory"
)

// world is one backend of a case, with an importer over it.
type world struct {
	*runner.Record

	ctx      context.Context
	backend  Backend
	importer directory.Importer
}

const (
	// soon is how long after its context has ended a reading may still go on.
	soon = 3 * time.Second

	// inFlight is how many entries may be on their way to a reader: they may still
	// come after the reading was cut off, and more the importer must not be ahead. Of
	// the shortest ones, of a dozen bytes, the sdk's windows and buffers hold as many.
	inFlight = 1 << 14
)

func newWorld(ctx context.Context, r *runner.Record, t Target) *world {
	w := &world{Record: r, ctx: ctx}
	w.backend = runner.Fresh(ctx, r, t.New)
	w.importer = w.connect()
	return w
}

// check skips the case when its target lacks what it needs.
func (w *world) check(c importerCase) {
	if c.Needs != "" && !w.declares(c.Needs) {
		w.Skip(fmt.Sprintf("the importer lacks the capability %q", c.Needs))
	}
	for _, a := range c.Abilities {
		w.Require(w.backend, offers[a])
	}
}

func (w *world) declares(c directory.ImporterCapability) bool {
	return slices.Contains(w.importer.Info().Capabilities, c)
}

// connect starts an importer.
func (w *world) connect() directory.Importer {
	i, err := w.backend.Connect(w.ctx)
	if err != nil {
		w.Want("an importer started", "%v", err)
	}
	w.Step("start an importer → %s", i.Info().Name)
	return i
}

// within expects that f ends soon after the limit that its context has.
func (w *world) within(limit time.Duration, what string, f func()) {
	start := time.Now()
	f()
	if took := time.Since(start); took > limit+soon && w.ctx.Err() == nil {
		w.Want(fmt.Sprintf("%s to end soon after %v", what, limit), "it took %v", took.Round(time.Millisecond))
	}
}

// limited is a context for a reading of limited time.
func (w *world) limited(limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(w.ctx, limit)
}
