package directory

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/sdk/authz"
	sdk "github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/storage"
)

// Target is what people and groups are brought into.
type Target interface {
	// StoredOrgRoot: an application that is not the org root owns no people.
	StoredOrgRoot(ctx context.Context) (bool, error)

	PlanImport(ctx context.Context, s sdk.Snapshot, source string, o sdk.Options) (sdk.Plan, error)
	RunImport(ctx context.Context, s sdk.Snapshot, source string, o sdk.Options, watch func(sdk.Progress)) (sdk.Report, error)
}

// Schedule says when a run is due: the first instant after t, the zero time when
// there is none. Hosts that share a directory must agree on it.
type Schedule interface{ Next(t time.Time) time.Time }

// Options configures a Directory. Name to Timeout, Importer, Application and Store
// are required.
type Options struct {
	Name             string
	ApplicationName  string
	Source           string // what the audit log calls it
	ImporterName     string // a cursor belongs to it
	Authoritative    bool
	MaxDeactivations float64
	Timeout          time.Duration // of reading, and again of applying

	Schedule Schedule // nil is by request only
	Cron     string   // the schedule as it was written, shown to people
	Jitter   time.Duration

	// Patience is how long a run waits for one of another host. The default
	// outlives the lease of a host that died.
	Patience time.Duration

	Importer    sdk.Importer
	Application func() Target // as it is now
	Store       storage.Store // the application's

	Host   string // what the state calls this host
	Logger hclog.Logger
	Clock  func() time.Time
}

// Directory is one directory with its runs. Methods may be called concurrently.
type Directory struct {
	o    Options
	log  hclog.Logger
	life context.Context // ends when Close begins
	end  context.CancelFunc
	hard context.Context // ends when Close cannot wait any more
	kill context.CancelFunc

	mu       sync.Mutex
	closed   bool
	current  *run // nil when none is under way
	state    state
	saves    int // of this host; a state read before the newest is out of date
	orgRoot  bool
	next     time.Time
	outcomes map[Result]uint64
	running  sync.WaitGroup
}

// Open reads the state and keeps the schedule until Close.
func Open(ctx context.Context, o Options) *Directory {
	d := &Directory{o: o, log: o.Logger, orgRoot: true, outcomes: map[Result]uint64{}}
	if d.log == nil {
		d.log = hclog.NewNullLogger()
	}
	if d.o.Clock == nil {
		d.o.Clock = time.Now
	}
	if d.o.Patience <= 0 {
		d.o.Patience = storage.DefaultLease + 2*time.Second
	}
	d.life, d.end = context.WithCancel(context.Background())
	d.hard, d.kill = context.WithCancel(context.Background())
	if _, err := d.load(ctx); err != nil {
		d.log.Warn("the result of the last run could not be read", "error", err)
	}
	if o.Schedule != nil {
		d.running.Go(d.keepSchedule)
	}
	return d
}

// Close ends a reading that is under way and waits for what is being applied; when ctx
// ends first, that is broken off, which the next run makes good.
func (d *Directory) Close(ctx context.Context) error {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.end()
	defer d.kill()
	done := make(chan struct{})
	go func() {
		d.running.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		d.kill()
		<-done
		return errors.Join(errors.New("directory "+d.o.Name+": a run was broken off"), ctx.Err())
	}
}

// Name is the directory's name in the configuration.
func (d *Directory) Name() string { return d.o.Name }

// Cancel ends the run under way, also in the middle of what it applies: what its commits
// have written stands, and the next run does the rest. It reports whether there was one.
func (d *Directory) Cancel() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.current == nil {
		return false
	}
	d.current.cancel()
	return true
}

// Status is what the directory is and does, and what became of its last run.
type Status struct {
	Name             string  `json:"name"`
	Application      string  `json:"application"`
	Source           string  `json:"source"`
	Importer         string  `json:"importer"`
	Authoritative    bool    `json:"authoritative"`
	MaxDeactivations float64 `json:"maxDeactivations"`
	Schedule         string  `json:"schedule,omitempty"`
	State            string  `json:"state"`          // one of the States
	Next             int64   `json:"next,omitempty"` // when the next run is due, epoch milliseconds

	Run         *Progress `json:"run,omitempty"`         // of this host
	Last        *Outcome  `json:"last,omitempty"`        // of any host
	LastSuccess *Outcome  `json:"lastSuccess,omitempty"` // of any host

	// Resumes says that the next run may ask for changes only.
	Resumes bool `json:"resumes"`

	// Stale says that storage could not be asked: this is what this host knew.
	Stale bool `json:"stale,omitempty"`

	// Runs counts those of this host since it started, dry ones apart.
	Runs map[Result]uint64 `json:"runs"`
}

// The states of a directory.
const (
	StateIdle       = "idle"
	StateRunning    = "running"
	StateNotOrgRoot = string(authz.CodeNotOrgRoot) // its application owns no people
)

// Progress is how far a run is.
type Progress struct {
	Phase     string `json:"phase"` // one of the Phases
	DryRun    bool   `json:"dryRun,omitempty"`
	StartedAt int64  `json:"startedAt"`
	Entries   int64  `json:"entries"`            // read so far
	Expected  int64  `json:"expected,omitempty"` // about how many will come

	// Applied is how far a run is that has begun to write.
	Applied *sdk.Progress `json:"applied,omitempty"`
}

// Status reads the state that other hosts may have written; when that fails, it
// tells what this host knows.
func (d *Directory) Status(ctx context.Context) Status {
	_, err := d.load(ctx)
	orgRoot, rootErr := d.o.Application().StoredOrgRoot(ctx)
	if rootErr == nil {
		d.mu.Lock()
		d.orgRoot = orgRoot
		d.mu.Unlock()
	}
	s := d.Known()
	if err := errors.Join(err, rootErr); err != nil {
		d.log.Debug("the state could not be read", "error", err)
		s.Stale = true
	}
	return s
}

// Known is Status without asking anybody.
func (d *Directory) Known() Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := Status{
		Name: d.o.Name, Application: d.o.ApplicationName, Source: d.o.Source, Importer: d.o.ImporterName,
		Authoritative: d.o.Authoritative, MaxDeactivations: d.o.MaxDeactivations, Schedule: d.o.Cron, State: StateIdle,
		Last: d.state.Last, LastSuccess: d.state.LastSuccess, Resumes: d.cursor(Request{}) != "", Runs: maps.Clone(d.outcomes),
	}
	if !d.next.IsZero() {
		s.Next = d.next.UnixMilli()
	}
	switch {
	case d.current != nil:
		s.State, s.Run = StateRunning, d.current.progress()
	case !d.orgRoot:
		s.State = StateNotOrgRoot
	}
	return s
}
