package directory_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/directory"
	"github.com/authzhost/authz/sdk/authz"
	sdk "github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/storage"
)

func TestARunAppliesWhatItRead(t *testing.T) {
	w := newWorld(t)
	d := w.open()
	w.importer.says("ann", "bob")
	report, err := d.Run(t.Context(), directory.Request{})
	must(t, err)
	if diff := cmp.Diff(map[string]bool{"ann": true, "bob": true}, w.users()); diff != "" {
		t.Error(diff)
	}
	if report.Directory != "staff" || report.Entries != 4 || report.People != 2 || report.Plan.CreatedPeople.Count != 2 || report.Audit == nil || report.Audit.Import == "" || report.EndedAt < report.StartedAt {
		t.Errorf("%+v", report)
	}
	s := w.open().Status(t.Context()) // another host
	if s.Last == nil || s.Last.Result != directory.Succeeded || s.Last.AuditID != report.Audit.Import || s.LastSuccess == nil || s.Last.Host != "h1" || s.Last.People != 2 || !s.Resumes || s.State != directory.StateIdle {
		t.Errorf("%+v", s)
	}
}

func TestADryRunChangesNothing(t *testing.T) {
	w := newWorld(t)
	d := w.open(authoritative)
	w.importer.says(numbered(10)...)
	_, err := d.Run(t.Context(), directory.Request{})
	must(t, err)
	users, audited, before := w.users(), w.audited(), d.Status(t.Context())
	w.importer.says()
	report, err := d.Run(t.Context(), directory.Request{DryRun: true})
	must(t, err)
	if report.Plan.DeactivatedPeople.Count != 10 || !strings.Contains(report.Plan.Refusal, "no people at all") || report.Audit != nil || !report.DryRun {
		t.Errorf("%+v", report)
	}
	if !cmp.Equal(users, w.users()) || audited != w.audited() {
		t.Error("a dry run wrote")
	}
	if diff := cmp.Diff(before, d.Status(t.Context())); diff != "" {
		t.Errorf("a dry run is remembered: %s", diff)
	}
}

func TestADirectoryThatComesBackEmptyOrHalfEmptyDeactivatesNobody(t *testing.T) {
	for name, left := range map[string][]string{"empty": {}, "half empty": numbered(50), "a little emptier than it may be": numbered(89)} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			d := w.open(authoritative)
			w.importer.says(numbered(100)...)
			_, err := d.Run(t.Context(), directory.Request{})
			must(t, err)
			users, audited := w.users(), w.audited()
			w.importer.says(left...)
			_, err = d.Run(t.Context(), directory.Request{})
			if code(err) != authz.CodeConflict || !strings.Contains(err.Error(), "Nothing was changed") {
				t.Fatalf("%v", err)
			}
			if !cmp.Equal(users, w.users()) || audited != w.audited() {
				t.Error("a refused run wrote")
			}
			s := d.Status(t.Context())
			if s.Last.Result != directory.Refused || s.Last.Code != authz.CodeConflict || s.LastSuccess.Result != directory.Succeeded || s.Runs[directory.Refused] != 1 {
				t.Errorf("%+v", s)
			}
			_, err = d.Run(t.Context(), directory.Request{Confirmed: true})
			must(t, err)
			active := 0
			for _, a := range w.users() {
				if a {
					active++
				}
			}
			if active != len(left) {
				t.Errorf("%d are active after the confirmation, want %d", active, len(left))
			}
		})
	}
}

func TestABadReadingChangesNothing(t *testing.T) {
	users := sdk.Begin{Datasets: []sdk.ImporterCapability{sdk.CapUsers}}
	hungUp := &authz.UnavailableError{Message: "the directory hung up"}
	tell := func(err error, entries ...sdk.Entry) func(context.Context, sdk.Request, func(sdk.Entry, error) bool) {
		return func(_ context.Context, _ sdk.Request, yield func(sdk.Entry, error) bool) {
			for _, e := range entries {
				if !yield(e, nil) {
					return
				}
			}
			if err != nil {
				yield(nil, err)
			}
		}
	}
	for name, c := range map[string]struct {
		tell func(context.Context, sdk.Request, func(sdk.Entry, error) bool)
		want string
	}{
		"nothing at all":            {tell(nil), "empty"},
		"no End":                    {tell(nil, users, sdk.User{UserID: "new"}), "no End"},
		"an error in the middle":    {tell(hungUp, users, sdk.User{UserID: "new"}), "hung up"},
		"an error behind the End":   {tell(hungUp, users, sdk.User{UserID: "new"}, sdk.End{}), "hung up"},
		"an id that is too long":    {tell(nil, users, sdk.User{UserID: strings.Repeat("x", 2000)}, sdk.End{}), "longer than"},
		"a dataset nobody promised": {tell(nil, users, sdk.Group{ID: "g"}, sdk.End{}), "does not list"},
		"changes unasked":           {tell(nil, sdk.Begin{Datasets: users.Datasets, Incremental: true}, sdk.User{UserID: "new"}, sdk.End{}), "changes only"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			d := w.open(authoritative)
			w.importer.says(numbered(3)...)
			_, err := d.Run(t.Context(), directory.Request{})
			must(t, err)
			before, audited := w.users(), w.audited()
			w.importer.does(c.tell)
			_, err = d.Run(t.Context(), directory.Request{Confirmed: true})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v, want %q", err, c.want)
			}
			if !cmp.Equal(before, w.users()) || audited != w.audited() {
				t.Error("a bad reading wrote")
			}
			s, cause := d.Status(t.Context()), directory.CauseInvalid
			if c.want == "hung up" {
				cause = directory.CauseUnavailable
			}
			if s.Last.Result != directory.Failed || !strings.Contains(s.Last.Error, c.want) || s.Last.Cause != cause || s.LastSuccess.Entries != 5 || s.Stale {
				t.Errorf("%+v", s.Last)
			}
		})
	}
}

func TestOnlyChangesAreAskedForWhereAbsenceMeansNothing(t *testing.T) {
	w := newWorld(t)
	d := w.open()
	w.importer.says("ann", "bob")
	run := func(r directory.Request) directory.Report {
		t.Helper()
		report, err := d.Run(t.Context(), r)
		must(t, err)
		return report
	}
	run(directory.Request{})
	w.importer.does(func(_ context.Context, r sdk.Request, yield func(sdk.Entry, error) bool) {
		_ = yield(sdk.Begin{Datasets: []sdk.ImporterCapability{sdk.CapUsers}, Incremental: r.Cursor != ""}, nil) &&
			yield(sdk.User{UserID: "eve"}, nil) && yield(sdk.End{Cursor: "later"}, nil)
	})
	if report := run(directory.Request{}); !report.Incremental || report.Authoritative {
		t.Errorf("%+v", report)
	}
	run(directory.Request{DryRun: true})
	run(directory.Request{Full: true})
	if report := run(directory.Request{Authoritative: true, Confirmed: true}); report.Incremental || !report.Authoritative {
		t.Errorf("%+v", report)
	}
	if diff := cmp.Diff([]string{"", "after 1", "later", "", ""}, w.importer.asked()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]bool{"ann": false, "bob": false, "eve": true}, w.users()); diff != "" {
		t.Error(diff)
	}
	other := w.open(func(o *directory.Options) { o.ImporterName = "another" })
	_, err := other.Run(t.Context(), directory.Request{})
	must(t, err)
	if asked := w.importer.asked(); asked[len(asked)-1] != "" {
		t.Errorf("another importer was given the cursor %q", asked[len(asked)-1])
	}
}

func TestARunThatFailsKeepsTheCursor(t *testing.T) {
	w := newWorld(t)
	d := w.open()
	w.importer.says("ann")
	_, err := d.Run(t.Context(), directory.Request{})
	must(t, err)
	w.importer.does(func(_ context.Context, _ sdk.Request, yield func(sdk.Entry, error) bool) {
		yield(nil, &authz.UnavailableError{Message: "down"})
	})
	if _, err := d.Run(t.Context(), directory.Request{}); err == nil {
		t.Fatal("no error")
	}
	w.importer.says("ann")
	_, err = d.Run(t.Context(), directory.Request{})
	must(t, err)
	if diff := cmp.Diff([]string{"", "after 1", "after 1"}, w.importer.asked()); diff != "" {
		t.Error(diff)
	}
}

func TestAnAuthoritativeReadingMakesNobodyWhomItDoesNotTell(t *testing.T) {
	w := newWorld(t)
	d := w.open(authoritative)
	w.importer.does(func(_ context.Context, _ sdk.Request, yield func(sdk.Entry, error) bool) {
		_ = yield(sdk.Begin{Datasets: sdk.Datasets()}, nil) && yield(sdk.User{UserID: "ann"}, nil) && yield(sdk.Group{ID: "g", Name: "G"}, nil) &&
			yield(sdk.Membership{UserID: "ann", Groups: []string{"g"}}, nil) && yield(sdk.Membership{UserID: "ghost", Groups: []string{"g"}}, nil) &&
			yield(sdk.ReportingEdge{UserID: "phantom", ManagerID: "ann"}, nil) && yield(sdk.ReportingEdge{UserID: "ann", ManagerID: "outsider"}, nil) && yield(sdk.End{}, nil)
	})
	report, err := d.Run(t.Context(), directory.Request{})
	must(t, err)
	if diff := cmp.Diff(map[string]bool{"ann": true}, w.users()); diff != "" || report.Reading.Count != 2 {
		t.Errorf("%v %s", report.Reading, diff)
	}
}

func TestAnApplicationThatIsNotTheOrgRootIsToldSo(t *testing.T) {
	w := newWorld(t)
	w.store = notRoot(t, w)
	d := w.open()
	w.importer.says("ann")
	for _, dry := range []bool{false, true} {
		if _, err := d.Run(t.Context(), directory.Request{DryRun: dry}); code(err) != authz.CodeNotOrgRoot {
			t.Errorf("%v", err)
		}
	}
	if s := d.Status(t.Context()); s.State != directory.StateNotOrgRoot || s.Runs[directory.NotOrgRoot] != 1 || len(w.importer.asked()) > 0 {
		t.Errorf("%+v, readings %v", s, w.importer.asked())
	}
}

var cancellations = map[string]func(*directory.Directory, context.CancelFunc){
	"by who asked for it": func(_ *directory.Directory, leave context.CancelFunc) { leave() },
	"by anybody":          func(d *directory.Directory, _ context.CancelFunc) { d.Cancel() },
	"by the host's stop":  func(d *directory.Directory, _ context.CancelFunc) { _ = d.Close(context.Background()) },
}

func TestARunCanBeCancelledWhileItReads(t *testing.T) {
	for name, cancel := range cancellations {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			d := w.open()
			w.importer.does(func(ctx context.Context, _ sdk.Request, yield func(sdk.Entry, error) bool) {
				if yield(sdk.Begin{Datasets: sdk.Datasets(), Expected: 7}, nil) {
					<-ctx.Done()
					yield(nil, ctx.Err())
				}
			})
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			ended := make(chan error, 1)
			go func() {
				_, err := d.Run(ctx, directory.Request{})
				ended <- err
			}()
			eventually(t, "it reads", func() bool {
				s := d.Known()
				return s.Run != nil && s.State == directory.StateRunning && s.Run.Phase == directory.PhaseReading && s.Run.Expected == 7
			})
			if _, err := d.Run(t.Context(), directory.Request{}); code(err) != authz.CodeConflict || !strings.Contains(err.Error(), "under way") {
				t.Errorf("a second run: %v", err)
			}
			cancel(d, leave)
			var outage *authz.UnavailableError
			if err := <-ended; !errors.As(err, &outage) || outage.Outcome != authz.OutcomeNotApplied || !strings.Contains(err.Error(), "cancelled") {
				t.Errorf("%v", err)
			}
			if s := d.Known(); s.Last.Result != directory.Cancelled || s.Run != nil || d.Cancel() {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestARunCanBeCancelledWhileItApplies: what it wrote stands and is told, while it runs and
// afterwards, and the next run does the rest.
func TestARunCanBeCancelledWhileItApplies(t *testing.T) {
	for name, cancel := range cancellations {
		if name == "by the host's stop" {
			continue // which waits
		}
		for _, where := range []string{"within a commit", "between two"} {
			t.Run(name+", "+where, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					const people = 3000
					w := newWorld(t)
					w.importer.says(numbered(people)...)
					held := &holding{Store: w.store, reached: make(chan struct{}), through: where == "between two"}
					app, err := application.New(t.Context(), application.Options{Catalog: w.app.Catalog(), Store: held})
					must(t, err)
					t.Cleanup(func() { must(t, app.Close()) })
					d := w.open(func(o *directory.Options) { o.Application = func() directory.Target { return app } })
					ctx, leave := context.WithCancel(t.Context())
					defer leave()
					ended := make(chan error, 1)
					go func() {
						_, err := d.Run(ctx, directory.Request{})
						ended <- err
					}()
					<-held.reached
					run := d.Known().Run
					if run == nil || run.Phase != directory.PhaseApplying || run.Applied == nil || run.Applied.Commits != 1 || run.Applied.OfPeople != people ||
						run.Applied.People == 0 || run.Applied.Left == 0 {
						t.Errorf("%+v", run)
					}
					cancel(d, leave)
					var outage *authz.UnavailableError
					err = <-ended
					stand := len(w.users())
					if !errors.As(err, &outage) || outage.Outcome != authz.OutcomeUnknown || stand == 0 || stand == people ||
						!strings.Contains(err.Error(), fmt.Sprintf("cancelled; %d of %d people were written", stand, people)) {
						t.Errorf("%d people stand: %v", stand, err)
					}
					if last := d.Known().Last; last.Result != directory.Cancelled || last.Commits == 0 || d.Known().Resumes {
						t.Errorf("%+v", last)
					}
					report, err := w.open().Run(t.Context(), directory.Request{})
					must(t, err)
					if len(w.users()) != people || report.Plan.CreatedPeople.Count != people-stand || report.Applied.People != people-stand {
						t.Errorf("%d people, %+v", len(w.users()), report.Applied)
					}
				})
			})
		}
	}
}

// holding is a store that holds the second commit of an import until its caller leaves.
type holding struct {
	storage.Store
	reached chan struct{}
	through bool // it is applied all the same
	commits int
}

func (s *holding) Commit(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
	if len(c.Changes) < 2 {
		return s.Store.Commit(ctx, c)
	}
	if s.commits++; s.commits != 2 {
		time.Sleep(50 * time.Millisecond) // from which is told how much time is left
		return s.Store.Commit(ctx, c)
	}
	close(s.reached)
	<-ctx.Done()
	if s.through {
		return s.Store.Commit(context.WithoutCancel(ctx), c)
	}
	return storage.CommitResult{}, ctx.Err()
}

// TestARunThatWaitsForItsTurnCanBeCancelled: that is no outage of the storage.
func TestARunThatWaitsForItsTurnCanBeCancelled(t *testing.T) {
	for name, cancel := range cancellations {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			must(t, storage.RunExclusive(t.Context(), w.store, "directory:staff", func(context.Context) error { // another host
				d := w.open()
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				ended := make(chan error, 1)
				go func() {
					_, err := d.Run(ctx, directory.Request{})
					ended <- err
				}()
				eventually(t, "it waits", func() bool { return d.Known().Run != nil })
				cancel(d, leave)
				var outage *authz.UnavailableError
				if err := <-ended; !errors.As(err, &outage) || outage.Outcome != authz.OutcomeNotApplied || !strings.Contains(err.Error(), "cancelled") {
					t.Errorf("%v", err)
				}
				if runs := d.Known().Runs; runs[directory.Cancelled] != 1 || len(runs) != 1 || len(w.importer.asked()) > 0 {
					t.Errorf("%v", runs)
				}
				return nil
			}))
		})
	}
}

func TestAReadingThatTakesTooLongEnds(t *testing.T) {
	w := newWorld(t)
	d := w.open(func(o *directory.Options) { o.Timeout = 50 * time.Millisecond })
	w.importer.does(func(ctx context.Context, _ sdk.Request, yield func(sdk.Entry, error) bool) {
		<-ctx.Done()
		yield(nil, ctx.Err())
	})
	_, err := d.Run(t.Context(), directory.Request{})
	if err == nil || !strings.Contains(err.Error(), "not read within 50ms") || d.Known().Last.Result != directory.Failed || d.Known().Last.Cause != directory.CauseLate {
		t.Errorf("%v", err)
	}
}

func TestAStatusSaysThatStorageCouldNotBeAsked(t *testing.T) {
	w := newWorld(t)
	d := w.open()
	w.importer.says("ann")
	_, err := d.Run(t.Context(), directory.Request{})
	must(t, err)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if s := d.Status(gone); !s.Stale || s.Last == nil || s.Last.Result != directory.Succeeded {
		t.Errorf("%+v", s)
	}
	if s := d.Status(t.Context()); s.Stale {
		t.Errorf("%+v", s)
	}
}

// TestAStatusThatWasReadBeforeARunEndedIsNotWhatIsKnownAfterIt: readiness and metrics
// tell what is known without asking.
func TestAStatusThatWasReadBeforeARunEndedIsNotWhatIsKnownAfterIt(t *testing.T) {
	w := newWorld(t)
	late := &lateRecords{Store: w.store, read: make(chan struct{}), tell: make(chan struct{})}
	d := w.open(func(o *directory.Options) { o.Store = late })
	w.importer.says("ann")
	late.late.Store(true)
	asked := make(chan directory.Status)
	go func() { asked <- d.Status(context.Background()) }()
	<-late.read
	late.late.Store(false)
	_, err := d.Run(t.Context(), directory.Request{})
	must(t, err)
	close(late.tell)
	<-asked
	if s := d.Known(); s.Last == nil || s.Last.Result != directory.Succeeded || !s.Resumes {
		t.Errorf("%+v", s.Last)
	}
}

// TestAStatusThatWasReadBeforeARunBeganDoesNotCostItsOutcome when another host stored
// one in between.
func TestAStatusThatWasReadBeforeARunBeganDoesNotCostItsOutcome(t *testing.T) {
	w := newWorld(t)
	w.importer.says("ann")
	late := &lateRecords{Store: w.store, read: make(chan struct{}), tell: make(chan struct{})}
	d := w.open(func(o *directory.Options) { o.Store = late })
	late.late.Store(true)
	asked := make(chan directory.Status)
	go func() { asked <- d.Status(context.Background()) }()
	<-late.read
	late.late.Store(false)
	_, err := w.open().Run(t.Context(), directory.Request{})
	must(t, err)
	w.importer.does(func(_ context.Context, _ sdk.Request, yield func(sdk.Entry, error) bool) {
		close(late.tell)
		<-asked
		_ = yield(sdk.Begin{}, nil) && yield(sdk.End{Cursor: "ours"}, nil)
	})
	_, err = d.Run(t.Context(), directory.Request{})
	must(t, err)
	w.importer.says("ann")
	_, err = w.open().Run(t.Context(), directory.Request{})
	must(t, err)
	if asked := w.importer.asked(); asked[len(asked)-1] != "ours" {
		t.Errorf("the next host went on from %q", asked)
	}
}

// lateRecords tells records late once they were read.
type lateRecords struct {
	storage.Store
	late       atomic.Bool
	read, tell chan struct{}
}

func (s *lateRecords) GetRecord(ctx context.Context, collection, id string) (storage.Record, bool, error) {
	row, found, err := s.Store.GetRecord(ctx, collection, id)
	if s.late.Load() {
		close(s.read)
		<-s.tell
	}
	return row, found, err
}

func TestWithoutRecordsTheStateLivesInMemory(t *testing.T) {
	w := newWorld(t)
	w.store = forgetful{w.store}
	d := w.open()
	w.importer.says("ann")
	for range 2 {
		_, err := d.Run(t.Context(), directory.Request{})
		must(t, err)
	}
	if diff := cmp.Diff([]string{"", "after 1"}, w.importer.asked()); diff != "" {
		t.Error(diff)
	}
	if other := w.open().Status(t.Context()); other.Last != nil {
		t.Errorf("%+v", other)
	}
}

// forgetful keeps no records.
type forgetful struct{ storage.Store }

func (s forgetful) Info() storage.StoreInfo {
	info := s.Store.Info()
	var kept storage.Capabilities
	for _, c := range info.Capabilities {
		if c != storage.CapRecords {
			kept = append(kept, c)
		}
	}
	info.Capabilities = kept
	return info
}

func (s forgetful) GetRecord(context.Context, string, string) (storage.Record, bool, error) {
	return storage.Record{}, false, storage.Unsupported(storage.CapRecords)
}
