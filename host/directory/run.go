package directory

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
	"time"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	sdk "github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/storage"
)

// Request asks for one run. The zero value is a run as configured.
type Request struct {
	DryRun        bool // read and plan, change nothing
	Authoritative bool // also when the configuration does not say so
	Confirmed     bool // what the guard refused is wanted
	Full          bool // the whole directory, also where changes would do
}

// The phases of a run.
const (
	PhaseStarting = "starting" // its turn has not come
	PhaseReading  = "reading"
	PhaseApplying = "applying" // planning it counts
)

var (
	errBusy      = errors.New("another host is running it")
	errSkipped   = errors.New("another run began since this one was due")
	errCancelled = errors.New("cancelled")
	errLate      = errors.New("the time is over")
)

// run is one run under way.
type run struct {
	d       *Directory
	request Request
	due     time.Time          // zero for one that was asked for
	cancel  context.CancelFunc // ends it, whatever it does
	started time.Time

	phase    atomic.Value // string
	entries  atomic.Int64
	expected atomic.Int64
	applied  atomic.Pointer[sdk.Progress]
	told     time.Time // when the log last said how far it is

	report   Report
	warnings []string
	cursor   string
}

func (r *run) progress() *Progress {
	phase, _ := r.phase.Load().(string)
	return &Progress{Phase: phase, DryRun: r.request.DryRun, StartedAt: r.started.UnixMilli(), Entries: r.entries.Load(), Expected: r.expected.Load(),
		Applied: r.applied.Load()}
}

// Run reads the directory and applies it, and says what that did. A run that is
// refused or fails before it applies has changed nothing. One that ends while it
// applies, as with ctx, is made good by the next.
func (d *Directory) Run(ctx context.Context, r Request) (Report, error) {
	return d.run(ctx, r, time.Time{})
}

// run ends with ctx and by Cancel; the host's stop ends it until it applies.
func (d *Directory) run(ctx context.Context, request Request, due time.Time) (Report, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &run{d: d, request: request, due: due, cancel: cancel, started: d.o.Clock()}
	r.phase.Store(PhaseStarting)
	if err := d.begin(r); err != nil {
		return Report{}, err
	}
	defer d.running.Done()
	err := storageFailed(r.do(ctx))
	d.ended(r, err)
	return r.report, err
}

// storageFailed is what a caller may see of a store that did not answer.
func storageFailed(err error) error {
	var e *storage.Error
	if !errors.As(err, &e) || errors.As(err, new(*authz.UnavailableError)) || errors.As(err, new(*authz.WriteRejectedError)) {
		return err
	}
	return &authz.UnavailableError{Message: "the application's storage is unavailable", Outcome: authz.OutcomeNotApplied, Cause: err}
}

// begin makes r the run under way.
func (d *Directory) begin(r *run) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return &authz.UnavailableError{Message: "the host is stopping", Outcome: authz.OutcomeNotApplied}
	case d.current != nil:
		return authz.Rejected(authz.CodeConflict, "a run of the directory %s is under way", spell.Quote(d.o.Name))
	}
	d.current = r
	d.running.Add(1)
	return nil
}

func (r *run) do(whole context.Context) error {
	d := r.d
	ctx, stop := context.WithCancel(whole)
	defer stop()
	defer context.AfterFunc(d.life, stop)()
	orgRoot, err := d.o.Application().StoredOrgRoot(ctx)
	if err != nil {
		return err
	}
	d.mu.Lock()
	d.orgRoot = orgRoot
	d.mu.Unlock()
	if !orgRoot {
		return authz.Rejected(authz.CodeNotOrgRoot,
			"the application %s is not the org root: its people and groups come from there, and a directory is imported there", spell.Quote(d.o.ApplicationName))
	}
	if r.request.DryRun {
		return r.inside(whole, ctx, ctx)
	}
	return d.exclusively(ctx, func(section context.Context) error {
		known, err := d.load(section)
		if err != nil {
			return err
		}
		if last := known.Last; !r.due.IsZero() && last != nil && last.StartedAt >= r.due.UnixMilli() {
			return errSkipped
		}
		err = r.inside(whole, ctx, section)
		if saveErr := d.save(section, known, r.outcome(err), r.cursor); saveErr != nil {
			d.log.Warn("the result of the run could not be stored; the next run reads the same again", "error", saveErr)
		}
		return err
	})
}

// exclusively runs fn in the directory's section, which one host has at a time. ctx
// ends the wait for it; once fn runs, only its loss ends the section, so that what
// outlives its caller is still alone.
func (d *Directory) exclusively(ctx context.Context, fn func(section context.Context) error) error {
	waiting, giveUp := context.WithCancelCause(context.WithoutCancel(ctx))
	defer giveUp(nil)
	stay := context.AfterFunc(ctx, func() { giveUp(context.Cause(ctx)) })
	defer stay()
	patience := time.AfterFunc(d.o.Patience, func() { giveUp(errBusy) })
	defer patience.Stop()
	entered := false
	err := storage.RunExclusive(waiting, d.o.Store, "directory:"+d.o.Name, func(section context.Context) error {
		if !patience.Stop() {
			return errBusy
		}
		if !stay() {
			return ctx.Err()
		}
		entered = true
		return fn(section)
	})
	switch {
	case entered, err == nil:
		return err
	case ctx.Err() != nil:
		return d.brokenOff(ctx, err)
	case errors.Is(err, errBusy), errors.Is(context.Cause(waiting), errBusy):
		return &busyError{authz.Rejected(authz.CodeConflict, "a run of the directory %s is under way on another host", spell.Quote(d.o.Name))}
	}
	return err
}

// busyError is a run that another host's keeps from beginning.
type busyError struct{ error }

func (e *busyError) Unwrap() error { return e.error }

// inside is a run whose turn has come. It ends with its section, with ctx while it reads,
// and with whole also while it applies.
func (r *run) inside(whole, ctx, section context.Context) error {
	d := r.d
	reading, leave := context.WithCancelCause(section)
	defer leave(nil)
	defer context.AfterFunc(ctx, func() { leave(context.Cause(ctx)) })()
	collected, err := r.read(reading)
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return d.brokenOff(ctx, nil)
	case section.Err() != nil:
		return d.brokenOff(section, nil)
	}
	r.phase.Store(PhaseApplying)
	o := sdk.Options{
		Authoritative:    (d.o.Authoritative || r.request.Authoritative) && !collected.Begin.Incremental,
		MaxDeactivations: &d.o.MaxDeactivations, Confirmed: r.request.Confirmed,
	}
	if o.Authoritative {
		r.leaveOut(&collected)
	}
	r.report = Report{
		Directory: d.o.Name, Application: d.o.ApplicationName, Source: d.o.Source, DryRun: r.request.DryRun,
		Authoritative: o.Authoritative, Incremental: collected.Begin.Incremental, StartedAt: r.started.UnixMilli(), Entries: collected.Entries,
		People: len(collected.Snapshot.Users), Groups: len(collected.Snapshot.Groups), Reading: some(append(collected.Warnings, r.warnings...)),
	}
	applying, cancel := context.WithTimeoutCause(context.WithoutCancel(section), d.o.Timeout, errLate)
	defer cancel()
	defer context.AfterFunc(whole, cancel)()
	defer context.AfterFunc(d.hard, cancel)()
	if r.request.DryRun {
		r.report.Plan, err = d.o.Application().PlanImport(applying, collected.Snapshot, d.o.Source, o)
	} else {
		var done sdk.Report
		done, err = d.o.Application().RunImport(applying, collected.Snapshot, d.o.Source, o, r.hears)
		r.report.Applied = r.applied.Load()
		if err == nil {
			r.report.Plan, r.report.Audit = done.Plan, &done.Audit
			r.cursor = collected.End.Cursor
		}
	}
	r.report.EndedAt = d.o.Clock().UnixMilli()
	if err != nil && applying.Err() != nil {
		return r.leftOff(applying, err)
	}
	return err
}

// progressEvery is how often the log says how far a run is.
const progressEvery = 10 * time.Second

// hears keeps how far the import is.
func (r *run) hears(p sdk.Progress) {
	before := r.applied.Swap(&p)
	failed := p.Failures > 0 && (before == nil || before.Failures < p.Failures)
	if now := time.Now(); failed || now.Sub(r.told) >= progressEvery && before != nil {
		r.told = now
		line := []any{"people", p.People, "of", p.OfPeople, "commits", p.Commits, "left", time.Duration(p.Left) * time.Millisecond}
		if p.Failures > 0 {
			line = append(line, "failures", p.Failures, "failure", p.Failure)
		}
		r.d.log.Info("the directory is being applied", line...)
	} else if before == nil {
		r.told = now
	}
}

// leftOff is the error of a run whose context ended while it applied.
func (r *run) leftOff(ctx context.Context, err error) error {
	outcome, stands := authz.OutcomeNotApplied, "nothing was changed"
	if p := r.applied.Load(); p != nil && p.Commits > 0 {
		outcome = authz.OutcomeUnknown
		stands = fmt.Sprintf("%d of %d people were written in %d commits and stand, the next run does the rest", p.People, p.OfPeople, p.Commits)
	} else if down := (*authz.UnavailableError)(nil); errors.As(err, &down) && down.Outcome == authz.OutcomeUnknown {
		outcome, stands = authz.OutcomeUnknown, "storage did not say what became of its first commit"
	}
	cause, message := context.Cause(ctx), "the run was cancelled"
	if errors.Is(cause, errLate) {
		message = fmt.Sprintf("the directory was not applied within %s", r.d.o.Timeout)
	} else {
		cause = errCancelled
	}
	return &authz.UnavailableError{Message: message + "; " + stands, Outcome: outcome, Cause: errors.Join(cause, err)}
}

// read collects the whole reading.
func (r *run) read(ctx context.Context) (sdk.Collected, error) {
	d := r.d
	r.phase.Store(PhaseReading)
	d.mu.Lock()
	cursor := d.cursor(r.request)
	d.mu.Unlock()
	reading, cancel := context.WithTimeoutCause(ctx, d.o.Timeout, errLate)
	defer cancel()
	collected, err := sdk.Collect(r.watched(d.o.Importer.Import(reading, sdk.Request{Cursor: cursor})), func(n int) { r.entries.Store(int64(n)) })
	switch {
	case err != nil && reading.Err() != nil:
		return collected, d.brokenOff(reading, err)
	case err == nil && collected.Begin.Incremental && cursor == "":
		return collected, authz.Validation("the importer told changes only, and was asked for the whole directory")
	}
	return collected, err
}

// brokenOff is the error of a run whose context ended before it applied anything;
// what the importer made of that is no news.
func (d *Directory) brokenOff(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	message := "the run of the directory lost its turn to another host"
	switch {
	case errors.Is(cause, errLate):
		message = fmt.Sprintf("the directory was not read within %s", d.o.Timeout)
	case errors.Is(cause, context.DeadlineExceeded):
		message = "the directory was not read in time"
	case errors.Is(cause, context.Canceled):
		message, cause = "the run was cancelled", errCancelled
	}
	return &authz.UnavailableError{Message: message + "; nothing was changed", Outcome: authz.OutcomeNotApplied, Cause: errors.Join(cause, err)}
}

// watched notes what the Begin says of the entries that will come.
func (r *run) watched(entries iter.Seq2[sdk.Entry, error]) iter.Seq2[sdk.Entry, error] {
	return func(yield func(sdk.Entry, error) bool) {
		for e, err := range entries {
			if begin, ok := e.(sdk.Begin); ok && err == nil {
				r.expected.Store(int64(begin.Expected))
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// cursor is where the next reading may start, "" for all of the directory: absence
// means something only there. Callers hold mu.
func (d *Directory) cursor(r Request) string {
	incremental := slices.Contains(d.o.Importer.Info().Capabilities, sdk.CapIncremental)
	if r.Full || r.Authoritative || d.o.Authoritative || !incremental || d.state.CursorOf != d.o.ImporterName {
		return ""
	}
	return d.state.Cursor
}
