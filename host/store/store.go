package store

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/storage"
)

// Options of a Store. Zero values stand for the defaults named.
type Options struct {
	// Application is the name that an operator accepts new content by, for
	// messages. "" is the partition's.
	Application string

	// Incarnation is the only one of the content that Open takes; "" is any.
	Incarnation string

	Logger hclog.Logger // nil logs nothing

	ReadTimeout   time.Duration // of one read, or of one row of a list; 10 s
	CommitTimeout time.Duration // of one attempt at a commit, which has four in all; 30 s

	// ReopenWait is how long a call that finds no handle waits for one before it
	// is unavailable; 2 s. A commit that was sent waits all its time.
	ReopenWait time.Duration

	// ReopenMin and ReopenMax bound the backoff between attempts to reopen,
	// which doubles and is jittered; 50 ms and 5 s.
	ReopenMin, ReopenMax time.Duration

	// CompareEvery is how often the incarnation that is stored is compared with
	// the one that is open: somebody else may have renewed or restored the
	// content; 5 s, the window that caches are vouched for in.
	CompareEvery time.Duration

	// HealthEvery is how often the driver is asked how its database is, so that one that
	// is lost is noticed without a call of anybody's; 500 ms. Drivers that do not tell
	// are not asked again.
	HealthEvery time.Duration

	// Observe hears of every call of the driver, Watch apart: its name, "ok" or the
	// code of its error, and how long it took. It must not block. nil hears none.
	Observe func(call, outcome string, took time.Duration)

	// OnLost is called when the content was taken away or lost events, and when it
	// came back as another life, before the log tells of it and before anything is
	// answered from it: drop every cache here. It must not call the Store.
	OnLost func()
}

func (o *Options) fillIn(partition string) {
	either := func(d *time.Duration, def time.Duration) {
		if *d <= 0 {
			*d = def
		}
	}
	either(&o.ReadTimeout, 10*time.Second)
	either(&o.CommitTimeout, 30*time.Second)
	either(&o.ReopenWait, 2*time.Second)
	either(&o.ReopenMin, 50*time.Millisecond)
	either(&o.ReopenMax, 5*time.Second)
	either(&o.CompareEvery, 5*time.Second)
	either(&o.HealthEvery, 500*time.Millisecond)
	o.ReopenMax = max(o.ReopenMin, o.ReopenMax)
	if o.Application == "" {
		o.Application = partition
	}
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	if o.OnLost == nil {
		o.OnLost = func() {}
	}
}

// Store is one partition behind whichever handle is open at the moment.
type Store struct {
	driver     storage.Driver
	driverName string
	partition  string
	opts       Options

	// life ends with Close; background is everything that runs for the store.
	life       context.Context
	end        context.CancelFunc
	background sync.WaitGroup
	kick       chan struct{} // hurries a reopening

	// losing is held from the moment that the store is lost until OnLost has run, and
	// until what was opened anew is current. It is taken before mu.
	losing sync.Mutex

	mu         sync.Mutex
	closed     bool
	handles    map[*handle]struct{} // not closed yet
	current    *handle              // nil while reopening
	info       storage.StoreInfo    // of the newest handle
	changed    chan struct{}        // closed when current, or closed, changes
	since      time.Time            // of ready or reopening
	reason     string               // of reopening
	clockAhead *time.Duration       // of the database, as it was told last
	lost       *loss                // nil unless lost
	condemned  string               // the incarnation that lost events; "" for none
	sections   map[storage.Fence]*section
	reopening  bool
}

// loss is another life of the content, or one that lost events, that nobody has
// accepted. taken says that the driver itself told so, of content that went away
// under an open handle: until a handle is open again there is nothing to accept.
type loss struct {
	since  time.Time
	reason string
	taken  bool
}

var _ storage.Store = (*Store)(nil)

// Open opens the partition once: a driver that cannot is a reason not to start.
// The driver stays the caller's; it must reach a restarted process through the
// same value.
func Open(ctx context.Context, driver storage.Driver, partition string, opts Options) (*Store, error) {
	opts.fillIn(partition)
	s := &Store{
		driver: driver, driverName: driver.Info().Name, partition: partition, opts: opts, kick: make(chan struct{}, 1),
		handles: map[*handle]struct{}{}, changed: make(chan struct{}), since: time.Now(), sections: map[storage.Fence]*section{},
	}
	ctx, cancel := bounded(ctx, opts.CommitTimeout) // opening may finish pending commits
	defer cancel()
	h, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	if want := opts.Incarnation; want != "" && want != h.info.Incarnation {
		_ = h.store.Close() // the error that matters is the next
		return nil, storage.Unavailable("", nil, "the content of partition %s has the incarnation %s and not %s, which storage.incarnation asks for: it vanished, was restored or lost events. Once it is complete, put the new one there",
			spell.Quote(partition), h.info.Incarnation, want)
	}
	s.life, s.end = context.WithCancel(context.Background())
	s.handles[h] = struct{}{}
	s.current, s.info = h, h.info
	s.background.Go(s.compare)
	s.background.Go(s.askHealth)
	return s, nil
}

// Info returns the facts of the newest handle.
func (s *Store) Info() storage.StoreInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.info
}

// CommitTimeout is how long one attempt at a commit may take.
func (s *Store) CommitTimeout() time.Duration { return s.opts.CommitTimeout }

// Close ends every handle and with them the sections held, stops reopening and
// waits for what runs in the background. Calls in flight end; later ones are
// unavailable. A second Close does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	open := s.handles
	s.handles, s.current = nil, nil
	close(s.changed)
	s.mu.Unlock()
	s.end()
	var first error
	for h := range open {
		if err := h.store.Close(); err != nil && first == nil {
			first = typed(context.Background(), err, "")
		}
	}
	s.background.Wait()
	return first
}

// State says whether the store can be relied on.
type State string

// The states. StateLost wins over StateReopening: it needs an operator.
const (
	StateReady     State = "ready"
	StateReopening State = "reopening"
	StateLost      State = "lost"
)

// Condition is a state, since when (epoch milliseconds) and why.
type Condition struct {
	State  State  `json:"state"`
	Since  int64  `json:"since"`
	Reason string `json:"reason,omitempty"`
}

// Status is what storage.status shows of an application's storage.
type Status struct {
	DriverName    string               `json:"driverName"`
	Durable       *bool                `json:"durable,omitempty"`
	CrossProcess  bool                 `json:"crossProcess"`
	Partition     string               `json:"partition"`
	Incarnation   string               `json:"incarnation"`
	SchemaVersion int                  `json:"schemaVersion"`
	Capabilities  storage.Capabilities `json:"capabilities"`
	Condition
}

// State returns the present condition.
func (s *Store) State() Condition {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.condition()
}

func (s *Store) condition() Condition {
	switch {
	case s.lost != nil:
		return Condition{StateLost, s.lost.since.UnixMilli(), s.lost.reason}
	case s.closed:
		return Condition{StateReopening, s.since.UnixMilli(), "the store is closed"}
	case s.current == nil:
		return Condition{StateReopening, s.since.UnixMilli(), s.reason}
	}
	return Condition{State: StateReady, Since: s.since.UnixMilli()}
}

// Status returns the condition with the facts of driver and store.
func (s *Store) Status() Status {
	driver := s.driver.Info()
	s.mu.Lock()
	defer s.mu.Unlock()
	return Status{
		DriverName: driver.Name, Durable: driver.Durable, CrossProcess: driver.CrossProcess,
		Partition: s.partition, Incarnation: s.info.Incarnation, SchemaVersion: s.info.SchemaVersion,
		Capabilities: s.info.Capabilities, Condition: s.condition(),
	}
}

// Accept takes the present content for the application's and ends the state
// lost. It reports whether it did: not when the store was not lost, nor while there is
// no content to accept. A loss that is being told ends first.
func (s *Store) Accept() bool {
	s.losing.Lock()
	defer s.losing.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost == nil || s.lost.taken && s.current == nil {
		return false
	}
	s.lost, s.condemned = nil, ""
	if s.current != nil {
		s.since = time.Now()
	}
	s.opts.Logger.Warn("new content accepted", "application", s.opts.Application, "partition", s.partition, "incarnation", s.info.Incarnation)
	return true
}

// lostError is the answer of what must not be read from content that nobody
// accepted; nil when the store is not lost. Callers hold mu.
func (s *Store) lostError() error {
	if s.lost == nil {
		return nil
	}
	return storage.Unavailable("", errRefused, "%s; once it is complete: authz storage accept %s", s.lost.reason, spell.Echo(s.opts.Application))
}
