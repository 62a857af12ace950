package sink

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/authzhost/authz/conformance/runner"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
)

// world is one backend of a case, with a sink over it.
type world struct {
	*runner.Record

	ctx      context.Context
	backend  Backend
	sink     metrics.Sink
	name     string // begins all that the case counts
	patience time.Duration
	markers  map[Key]float64 // of settled

	mu   sync.Mutex
	last map[string]uint64 // the newest sequence that each origin has sent
}

var (
	worldNumber atomic.Int64

	// runName tells the counts of this run from those of others.
	runName = fmt.Sprintf("%x", time.Now().UnixNano()&0xffffffffff)
)

const (
	// soon is how long after its context has ended a call may still take.
	soon = 3 * time.Second

	// usual bounds a call that nothing keeps from ending.
	usual = 20 * time.Second

	// unhurried bounds a write of the largest window. It is some MiB, of which a sink
	// makes text several times over: on a busy machine, under the race detector, that
	// has taken more than usual.
	unhurried = 4 * usual
)

func newWorld(ctx context.Context, r *runner.Record, t Target) *world {
	w := &world{Record: r, ctx: ctx, patience: t.Patience, markers: map[Key]float64{}, last: map[string]uint64{}, name: fmt.Sprintf("c%sn%d", runName, worldNumber.Add(1))}
	if w.patience <= 0 {
		w.patience = DefaultPatience
	}
	w.backend = runner.Fresh(ctx, r, t.New)
	w.sink = w.connect()
	return w
}

// check skips the case when its target lacks what it needs.
func (w *world) check(c sinkCase) {
	if c.Needs != "" && !has(w.sink, c.Needs) {
		w.Skip(fmt.Sprintf("the sink lacks the capability %q", c.Needs))
	}
	for _, a := range c.Abilities {
		w.Require(w.backend, offers[a])
	}
}

func has(s metrics.Sink, c metrics.SinkCapability) bool {
	for _, declared := range s.Info().Capabilities {
		if declared == c {
			return true
		}
	}
	return false
}

// connect starts a sink.
func (w *world) connect() metrics.Sink {
	s, err := w.backend.Connect(w.ctx)
	if err != nil {
		w.Want("a sink started", "%v", err)
	}
	w.Step("start a sink → %s", s.Info().Name)
	return s
}

// window is a window of the case; counts are the allowed checks of permissions.
func (w *world) window(origin string, sequence uint64, counts map[string]int64) metrics.Window {
	start := int64(1764547200000) + int64(sequence)*60_000
	win := metrics.Window{Application: w.name, Origin: w.name + origin, Sequence: sequence, Batch: metrics.Batch{
		InstanceID: "conformance", WindowStart: start, WindowEnd: start + 60_000,
		Principals: metrics.PrincipalsCount{Distinct: int64(len(counts))},
	}}
	for permission, n := range counts {
		win.Checks = append(win.Checks, metrics.CheckCounter{Permission: w.permission(permission), Decision: metrics.Allow, Shape: metrics.ShapeCan, Gate: true,
			ScopeType: "docs.doc", Observed: n, Estimated: float64(n)})
		row := metrics.RowCounter{RowID: w.name + permission, Matched: n, EstimatedMatched: float64(n), RecentPrincipals: []string{"user:u1"}}
		win.Grants, win.Roles = append(win.Grants, row), append(win.Roles, row)
	}
	return win
}

func (w *world) permission(name string) string { return w.name + "." + name }

func (w *world) key(permission string) Key {
	return Key{Application: w.name, Permission: w.permission(permission), Decision: metrics.Allow}
}

// write writes a window in limited time.
func (w *world) write(s metrics.Sink, win metrics.Window, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(w.ctx, limit)
	defer cancel()
	w.mu.Lock()
	w.last[win.Origin] = max(w.last[win.Origin], win.Sequence)
	w.mu.Unlock()
	start := time.Now()
	err := s.Write(ctx, win)
	w.Step("write window %d of %s, %d checks, %d rows, within %v → %s", win.Sequence, win.Origin, len(win.Checks),
		len(win.Grants)+len(win.Revokes)+len(win.Roles), limit, told(err))
	if took := time.Since(start); took > limit+soon && w.ctx.Err() == nil {
		w.Want(fmt.Sprintf("an answer soon after the %v that the call had", limit), "it took %v", took.Round(time.Millisecond))
	}
	return err
}

func told(err error) string {
	if err == nil {
		return "taken"
	}
	text := fmt.Sprintf("%T: %v", err, err)
	var gone *authz.UnavailableError
	if errors.As(err, &gone) {
		text += " (" + string(gone.Outcome) + ")"
	}
	return runner.Clip(text, 300)
}

// take writes a window that must be taken.
func (w *world) take(s metrics.Sink, win metrics.Window) { w.takeWithin(usual, s, win) }

func (w *world) takeWithin(limit time.Duration, s metrics.Sink, win metrics.Window) {
	if err := w.write(s, win, limit); err != nil {
		w.Want("the window taken", "%s", told(err))
	}
}

// unavailable expects an *authz.UnavailableError with one of the outcomes.
func (w *world) unavailable(err error, outcomes ...authz.Outcome) {
	var gone *authz.UnavailableError
	if !errors.As(err, &gone) {
		w.Want("an *authz.UnavailableError", "%s", told(err))
	}
	for _, o := range outcomes {
		if gone.Outcome == o {
			return
		}
	}
	w.Want(fmt.Sprintf("one of the outcomes %q", outcomes), "%s", told(err))
}

// either are the outcomes of a window that may or may not have been taken.
var either = []authz.Outcome{authz.OutcomeUnknown, authz.OutcomeNotApplied}

// counts reads what the target system counted of the case.
func (w *world) counts() (map[Key]float64, error) {
	ctx, cancel := context.WithTimeout(w.ctx, usual)
	defer cancel()
	all, err := w.backend.(Counter).Counts(ctx)
	if err != nil {
		return nil, err
	}
	own := map[Key]float64{}
	for key, n := range all {
		if len(key.Permission) > len(w.name) && key.Permission[:len(w.name)+1] == w.name+"." {
			own[key] += n
		}
	}
	return own, nil
}

// counted waits until the target system has counted want, and no more. A count is
// final once a later window's has arrived: settled says when.
func (w *world) counted(want map[Key]float64) {
	end := time.Now().Add(w.patience)
	var (
		got map[Key]float64
		err error
	)
	for {
		if got, err = w.counts(); err == nil && maps.Equal(got, want) {
			w.Step("counted: %s", described(got))
			return
		}
		for key, n := range got {
			if n > want[key] {
				w.Want(described(want), "%s", described(got))
			}
		}
		if time.Now().After(end) || w.ctx.Err() != nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err != nil {
		w.Want(described(want), "the counts cannot be read: %v", err)
	}
	w.Want(fmt.Sprintf("%s, within %v", described(want), w.patience), "%s", described(got))
}

// settled writes one more window of every origin and waits for their counts, so
// that those before have arrived too, and then expects want of the others.
func (w *world) settled(s metrics.Sink, want map[Key]float64) {
	w.mu.Lock()
	last := maps.Clone(w.last)
	w.mu.Unlock()
	for _, origin := range slices.Sorted(maps.Keys(last)) {
		marker := fmt.Sprintf("marker-%s-%d", origin, last[origin]+1)
		win := w.window("", last[origin]+1, map[string]int64{marker: 1})
		win.Origin = origin
		w.take(s, win)
		w.markers[w.key(marker)] = 1
	}
	all := maps.Clone(want)
	maps.Copy(all, w.markers)
	w.counted(all)
}

// waitFor waits until a key has its count.
func (w *world) waitFor(key Key, n float64) {
	for end := time.Now().Add(w.patience); ; time.Sleep(50 * time.Millisecond) {
		got, err := w.counts()
		if err == nil && got[key] == n {
			return
		}
		if time.Now().After(end) || w.ctx.Err() != nil {
			w.Want(described(map[Key]float64{key: n}), "%s, error %v", described(got), err)
		}
	}
}

func described(counts map[Key]float64) string {
	if len(counts) == 0 {
		return "no counts"
	}
	text := ""
	for key, n := range counts {
		text += fmt.Sprintf("%v %s of %s %sed, ", n, key.Permission, key.Application, key.Decision)
	}
	return runner.Clip(text[:len(text)-2], 1000)
}
