package totals

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
)

const (
	// DefaultMaxSeries is the bound of a table without one.
	DefaultMaxSeries = 50_000

	// idle is how long an origin is remembered without a window, and how long a
	// series must not have grown before it may make room for another.
	idle = 24 * time.Hour

	// maxOrigins bounds the origins remembered; past it the one that was silent
	// longest is forgotten. Windows are repeated for seconds only.
	maxOrigins = 10_000
)

// Options configures a table. Zero values are the defaults.
type Options struct {
	// Dir is where totals are durable, made when absent; "" keeps them in memory.
	Dir string

	// MaxSeries bounds the series. At the bound series that have not grown for a
	// day make room; else further ones are refused, and counted.
	MaxSeries int

	// OmitRows leaves out the instruments of rows.
	OmitRows bool

	Clock func() time.Time // nil is the machine's clock
	Log   *slog.Logger     // nil is slog.Default
}

// Table holds the totals. It is safe for concurrent use.
type Table struct {
	options Options
	state   *state        // nil: in memory only
	turn    chan struct{} // held by the one who writes
	taken   atomic.Uint64
	closed  atomic.Bool

	mu      sync.RWMutex // over what follows; whoever changes it holds turn as well
	series  map[Key]*Series
	origins map[Origin]*life
	own     int       // series that do not count towards the bound
	swept   time.Time // when room was last sought
	bounded time.Time // when origins were last forgotten
}

// Origin names a writer of windows.
type Origin struct {
	Application string `json:"a"`
	ID          string `json:"o"`
}

// life is what is remembered of an origin.
type life struct {
	Sequence uint64 `json:"q"`
	Seen     int64  `json:"u"` // epoch milliseconds
}

// Open reads what the directory holds. Its error, a *StateError, says why the
// directory cannot be used.
func Open(o Options) (*Table, error) {
	if o.MaxSeries == 0 {
		o.MaxSeries = DefaultMaxSeries
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	t := &Table{options: o, turn: make(chan struct{}, 1), series: map[Key]*Series{}, origins: map[Origin]*life{}}
	for _, i := range []Instrument{SeriesRefused, ChecksRefused} { // told from the start, at zero
		t.set(Series{Key: Key{Instrument: i}, Started: o.Clock().UnixMilli()})
	}
	if o.Dir != "" {
		var err error
		if t.state, err = openState(o.Dir, t.replay); err != nil {
			return nil, err
		}
		if t.state.cut > 0 {
			o.Log.Warn("the end of the state file was cut off: a write that was never answered", "bytes", t.state.cut)
		}
		t.boundOrigins(o.Clock())
	}
	return t, nil
}

// Durable reports whether totals outlive the process.
func (t *Table) Durable() bool { return t.state != nil }

// Taken counts the windows taken in this life of the process.
func (t *Table) Taken() uint64 { return t.taken.Load() }

// Write takes a window: all of it or nothing, and nothing twice. Errors are those
// of metrics.Sink. What the disk does when ctx has ended is of unknown outcome.
func (t *Table) Write(ctx context.Context, w metrics.Window) error {
	if err := w.Validate(); err != nil {
		return err
	}
	select {
	case t.turn <- struct{}{}:
	case <-ctx.Done():
		return unavailable(authz.OutcomeNotApplied, ctx.Err(), "the sink was busy for too long")
	}
	if t.state == nil {
		defer t.release()
		return t.take(&w)
	}
	done := make(chan error, 1)
	go func() {
		defer t.release()
		done <- t.take(&w)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return unavailable(authz.OutcomeUnknown, ctx.Err(), "the state was not written in time")
	}
}

func (t *Table) release() { <-t.turn }

// take runs with the turn.
func (t *Table) take(w *metrics.Window) error {
	if t.closed.Load() {
		return unavailable(authz.OutcomeNotApplied, nil, "the sink is closed")
	}
	now := t.options.Clock()
	origin := Origin{w.Application, w.Origin}
	if known := t.origins[origin]; known != nil && w.Sequence <= known.Sequence {
		return nil // taken before
	}
	grown, evicted := t.add(Points(w, !t.options.OmitRows), now)
	is := life{w.Sequence, now.UnixMilli()}
	if t.state != nil {
		if err := t.record(origin, is, grown); err != nil {
			return err
		}
	}
	t.mu.Lock()
	for i := range grown {
		t.set(grown[i])
	}
	t.origins[origin] = &is
	t.mu.Unlock()
	t.taken.Add(1)
	t.boundOrigins(now)
	if t.state != nil && (evicted || t.state.long()) {
		t.compact()
	}
	return nil
}

// add answers the series as they will be. Nothing but room is changed yet.
func (t *Table) add(points []Point, now time.Time) (grown []Series, evicted bool) {
	at := make(map[Key]int, len(points))
	fresh, refused, checks := 0, 0.0, 0.0
	grow := func(p Point) {
		i, ok := at[p.Key]
		if !ok {
			s := Series{Key: p.Key, Started: now.UnixMilli()}
			if known := t.series[p.Key]; known != nil {
				s = *known
			}
			i = len(grown)
			at[p.Key] = i
			grown = append(grown, s)
		}
		grown[i].Total = min(grown[i].Total+p.Value, math.MaxFloat64) // which JSON can say
		grown[i].Grew = now.UnixMilli()
	}
	for _, p := range points {
		_, again := at[p.Key]
		if t.series[p.Key] == nil && !again {
			if len(t.series)-t.own+fresh >= t.options.MaxSeries && t.makeRoom(now, points) {
				evicted = true
			}
			if len(t.series)-t.own+fresh >= t.options.MaxSeries {
				refused++
				if p.Instrument == Checks {
					checks += p.Value
				}
				continue
			}
			fresh++
		}
		grow(p)
	}
	if refused > 0 {
		grow(Point{Key{Instrument: SeriesRefused}, refused})
	}
	if checks > 0 {
		grow(Point{Key{Instrument: ChecksRefused}, checks})
	}
	return grown, evicted
}

// makeRoom forgets the series that have not grown for a day, but for those that a
// window is about to grow. It looks for them once a minute.
func (t *Table) makeRoom(now time.Time, points []Point) bool {
	if since := now.Sub(t.swept); since >= 0 && since < time.Minute {
		return false
	}
	t.swept = now
	kept := make(map[Key]bool, len(points))
	for _, p := range points {
		kept[p.Key] = true
	}
	before := len(t.series)
	t.mu.Lock()
	defer t.mu.Unlock()
	for k, s := range t.series {
		if !kept[k] && !k.own() && now.UnixMilli()-s.Grew >= idle.Milliseconds() {
			delete(t.series, k)
		}
	}
	return len(t.series) < before
}

// set runs under mu.
func (t *Table) set(s Series) {
	known := t.series[s.Key]
	if known == nil {
		known = &Series{}
		t.series[s.Key] = known
		if s.own() {
			t.own++
		}
	}
	*known = s
}

// boundOrigins forgets origins that are long silent: once an hour, or when there
// are too many.
func (t *Table) boundOrigins(now time.Time) {
	if since := now.Sub(t.bounded); len(t.origins) <= maxOrigins && since >= 0 && since < time.Hour {
		return
	}
	t.bounded = now
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.origins, func(_ Origin, l *life) bool { return now.UnixMilli()-l.Seen >= idle.Milliseconds() })
	if len(t.origins) <= maxOrigins {
		return
	}
	byAge := slices.SortedFunc(maps.Keys(t.origins), func(a, b Origin) int { return cmp.Compare(t.origins[a].Seen, t.origins[b].Seen) })
	for _, name := range byAge[:len(byAge)-maxOrigins] {
		delete(t.origins, name)
	}
}

// Series answers a copy of all totals at one instant between two windows, in no order.
func (t *Table) Series() []Series {
	t.mu.RLock()
	defer t.mu.RUnlock()
	all := make([]Series, 0, len(t.series))
	for _, s := range t.series {
		all = append(all, *s)
	}
	return all
}

// Close lets the directory go; when ctx ends before a write to it does, then once
// that has. Either way no further window is taken. Totals can still be read.
func (t *Table) Close(ctx context.Context) error {
	if t.closed.Swap(true) {
		return nil
	}
	if t.state == nil {
		t.turn <- struct{}{} // nobody holds it for long
		t.release()
		return nil
	}
	select {
	case t.turn <- struct{}{}:
		defer t.release()
		return t.state.close()
	default:
	}
	done := make(chan error, 1)
	go func() {
		t.turn <- struct{}{}
		defer t.release()
		done <- t.state.close()
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return unavailable(authz.OutcomeUnknown, ctx.Err(), "the state was still being written")
	}
}

func unavailable(outcome authz.Outcome, cause error, message string) error {
	return &authz.UnavailableError{Message: message, Outcome: outcome, Cause: cause}
}
