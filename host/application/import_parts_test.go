package application_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/store"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// slow is a driver whose commits take their time for each change, and roll back when
// their caller does not wait for it.
type slow struct {
	storage.Driver
	commit time.Duration // beside that of its changes
	change time.Duration
	sent   atomic.Int64
	most   atomic.Int64 // changes of a commit that was applied
}

func (d *slow) Open(ctx context.Context, partition string) (storage.Store, error) {
	s, err := d.Driver.Open(ctx, partition)
	return slowStore{s, d}, err
}

type slowStore struct {
	storage.Store
	driver *slow
}

func (s slowStore) Commit(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
	s.driver.sent.Add(1)
	select {
	case <-time.After(s.driver.commit + time.Duration(len(c.Changes))*s.driver.change):
		s.driver.most.Store(max(s.driver.most.Load(), int64(len(c.Changes))))
		return s.Store.Commit(ctx, c)
	case <-ctx.Done():
		return storage.CommitResult{}, ctx.Err()
	}
}

func openSlow(t *testing.T, change, deadline time.Duration) (*slow, *store.Store) {
	t.Helper()
	d := &slow{Driver: memory.New(memory.Options{}), change: change}
	t.Cleanup(func() { _ = d.Close() })
	s, err := store.Open(t.Context(), d, "test", store.Options{CommitTimeout: deadline})
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return d, s
}

func crowd(n int) (s directory.Snapshot) {
	for i := range n {
		s.Users = append(s.Users, directory.User{UserID: fmt.Sprintf("u%05d", i)})
	}
	return s
}

func TestAnImportThatOutlivesTheDeadlineInOneCommitIsWrittenInParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const people = 700 // 1.4 s in one commit
		driver, s := openSlow(t, 2*time.Millisecond, 400*time.Millisecond)
		app := newApp(t, application.Options{Store: s})
		var last directory.Progress
		told := 0
		report, err := app.RunImport(t.Context(), crowd(people), "hr", directory.Options{}, func(p directory.Progress) {
			if p.People < last.People || p.Commits < last.Commits {
				t.Errorf("went back from %+v to %+v", last, p)
			}
			last = p
			told++
		})
		must(t, err)
		if n := len(usersOf(t, s)); n != people || report.Plan.CreatedPeople.Count != people {
			t.Errorf("%d people stand, the plan was %d", n, report.Plan.CreatedPeople.Count)
		}
		if last.People != people || last.OfPeople != people || last.Commits < 5 || last.Failures < 1 || last.Left != 0 || told < last.Commits {
			t.Errorf("told %d times, at last %+v", told, last)
		}
		if most := driver.most.Load(); most > 200 {
			t.Errorf("%d changes in a commit: more than the deadline has room for", most)
		}
		entries := rows(t, app.ListAuditEvents(t.Context(), provider.AuditQuery{}))
		if len(entries) != 1 || entries[0].Action != "directory.import" || report.Audit.Import != entries[0].ID {
			t.Errorf("audit %+v, the report says %+v", entries, report.Audit)
		}
	})
}

func TestPartsGrowWhileThereIsRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		driver, s := openSlow(t, 10*time.Microsecond, 30*time.Second)
		app := newApp(t, application.Options{Store: s})
		var commits int
		_, err := app.RunImport(t.Context(), crowd(10_000), "hr", directory.Options{}, func(p directory.Progress) { commits = p.Commits })
		must(t, err)
		if most := driver.most.Load(); most < 2000 || commits > 8 {
			t.Errorf("%d commits, the largest of %d changes", commits, most)
		}
	})
}

// TestPartsStayLargeWhereSmallOnesAreNoFaster: on a busy machine a commit takes its time
// whatever it holds.
func TestPartsStayLargeWhereSmallOnesAreNoFaster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		driver, s := openSlow(t, 0, 2*time.Second)
		app := newApp(t, application.Options{Store: s})
		driver.commit = 150 * time.Millisecond // a part is meant to take 100 ms
		var commits int
		_, err := app.RunImport(t.Context(), crowd(5000), "hr", directory.Options{}, func(p directory.Progress) { commits = p.Commits })
		must(t, err)
		if most := driver.most.Load(); most < 1000 || commits > 20 {
			t.Errorf("%d commits, the largest of %d changes", commits, most)
		}
	})
}

// fenced lets hook see the commits of parts, and passes on the others.
func fenced(s storage.Store, hook func(ctx context.Context, n int, c storage.Commit) (storage.CommitResult, error)) *faulty {
	f, n := &faulty{Store: s}, 0
	f.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
		if len(c.Fences) < 2 {
			return s.Commit(ctx, c)
		}
		n++
		return hook(ctx, n, c)
	}
	return f
}

func TestAPartIsNotSentForEver(t *testing.T) {
	s := openStore(t)
	sent, silent := 0, false
	f := &faulty{Store: s}
	f.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
		if silent {
			sent++
			return storage.CommitResult{}, unknownOutcome()
		}
		return s.Commit(ctx, c)
	}
	app := newApp(t, application.Options{Store: f})
	silent = true
	var last directory.Progress
	_, err := app.RunImport(t.Context(), crowd(10), "hr", directory.Options{}, func(p directory.Progress) { last = p })
	isUnavailable(authz.OutcomeUnknown)(t, err)
	if sent != 2 || last.Failures != 1 || last.Failure == "" || strings.Contains(err.Error(), driverText) {
		t.Errorf("sent %d times, told %+v: %v", sent, last, err)
	}
	if !strings.Contains(err.Error(), "did not say whether importDirectory was applied: its commit of 10 changes had no answer within") {
		t.Error(err)
	}
}

func TestAPartThatIsAlwaysTooSlowIsNotSentForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		sizes := []int{}
		f := fenced(s, func(ctx context.Context, _ int, c storage.Commit) (storage.CommitResult, error) {
			sizes = append(sizes, len(c.Changes))
			return storage.CommitResult{}, unknownOutcome()
		})
		_, err := newApp(t, application.Options{Store: f}).ImportDirectory(t.Context(), crowd(1000), "hr", directory.Options{})
		isUnavailable(authz.OutcomeNotApplied)(t, err)
		if diff := cmp.Diff([]int{500, 125, 31, 20}, sizes); diff != "" {
			t.Error(diff)
		}
		if !strings.Contains(err.Error(), "gave no answer") || !strings.Contains(err.Error(), "commit of 20 changes") {
			t.Error(err)
		}
	})
}

// TestACommitThatWasGivenUpNeverArrives: whatever a slow network still holds.
func TestACommitThatWasGivenUpNeverArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		var held storage.Commit
		f := fenced(s, func(ctx context.Context, n int, c storage.Commit) (storage.CommitResult, error) {
			if n == 1 {
				held = c
				return storage.CommitResult{}, unknownOutcome()
			}
			return s.Commit(ctx, c)
		})
		app := newApp(t, application.Options{Store: f})
		_, err := app.ImportDirectory(t.Context(), crowd(1000), "hr", directory.Options{})
		must(t, err)
		held.Fences = nil // as if nobody had had the sections since
		if _, err := s.Commit(t.Context(), held); storage.CodeOf(err) != storage.CodeConflict {
			t.Errorf("%v", err)
		}
		if entries := rows(t, app.ListAuditEvents(t.Context(), provider.AuditQuery{})); len(entries) != 1 {
			t.Errorf("%d audit entries", len(entries))
		}
	})
}

// TestAPartWhoseAnswerWasLostCounts: it stands, and is not written again.
func TestAPartWhoseAnswerWasLostCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		changes := 0
		f := fenced(s, func(ctx context.Context, n int, c storage.Commit) (storage.CommitResult, error) {
			result, err := s.Commit(ctx, c)
			if !result.Replayed {
				changes += len(c.Changes)
			}
			if n == 1 && err == nil {
				err = unknownOutcome()
			}
			return result, err
		})
		app := newApp(t, application.Options{Store: f})
		var heard []authz.Event
		app.OnInvalidate(func(e authz.Event) { heard = append(heard, e) })
		_, err := app.ImportDirectory(t.Context(), crowd(600), "hr", directory.Options{})
		must(t, err)
		head, err := app.EventLog().Head(t.Context())
		must(t, err)
		if changes != 600 || len(heard) != int(head.Seq) {
			t.Errorf("%d changes were sent, %d events heard of %d", changes, len(heard), head.Seq)
		}
	})
}

func TestAnImportCanBeBrokenOff(t *testing.T) {
	for _, where := range []string{"within a commit", "between two"} {
		t.Run(where, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := openStore(t)
				ctx, leave := context.WithCancel(t.Context())
				f := fenced(s, func(ctx context.Context, n int, c storage.Commit) (storage.CommitResult, error) {
					if n == 2 {
						leave()
						if where == "within a commit" {
							<-ctx.Done() // as a driver does that rolls back
							return storage.CommitResult{}, ctx.Err()
						}
					}
					return s.Commit(context.WithoutCancel(ctx), c)
				})
				app := newApp(t, application.Options{Store: f})
				_, err := app.ImportDirectory(ctx, crowd(20_000), "hr", directory.Options{})
				isUnavailable(authz.OutcomeUnknown)(t, err)
				stand := len(usersOf(t, s))
				if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "broken off") || !strings.Contains(err.Error(), "stand") || stand < 500 || stand > 1500 {
					t.Errorf("%d people stand: %v", stand, err)
				}
				report, err := app.RunImport(t.Context(), crowd(20_000), "hr", directory.Options{}, nil)
				must(t, err)
				if n := len(usersOf(t, s)); n != 20_000 || report.Plan.CreatedPeople.Count != 20_000-stand {
					t.Errorf("%d people stand, the second import created %d", n, report.Plan.CreatedPeople.Count)
				}
			})
		})
	}
}

// TestOthersHaveTheirTurnBetweenTwoParts: the second part waits for a membership that is
// set after the first.
func TestOthersHaveTheirTurnBetweenTwoParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		var app *application.Application
		set, setting := make(chan error, 1), sync.Once{}
		f := fenced(s, func(ctx context.Context, n int, c storage.Commit) (storage.CommitResult, error) {
			setting.Do(func() { go func() { set <- app.SetGroupMembership(t.Context(), "u00000", nil, root) }() })
			if n > 2 {
				must(t, <-set)
				set <- nil
			}
			return s.Commit(ctx, c)
		})
		app = newApp(t, application.Options{Store: f})
		_, err := app.ImportDirectory(t.Context(), crowd(10_000), "hr", directory.Options{})
		must(t, err)
	})
}

// between runs write after the first part of an import of n people and before its second
// is planned again.
func between(t *testing.T, s storage.Store, snapshot directory.Snapshot, o directory.Options, write func(*application.Application)) (*application.Application, directory.Report, error) {
	t.Helper()
	var app *application.Application
	f := &betweenParts{Store: s}
	app = newApp(t, application.Options{Store: f})
	f.write = func() { write(app) }
	report, err := app.RunImport(t.Context(), snapshot, "hr", o, nil)
	if !f.done {
		t.Fatal("there was no second part")
	}
	return app, report, err
}

// betweenParts is a store that lets somebody write when the sections of the first part of an
// import have been given up.
type betweenParts struct {
	storage.Store
	write  func()
	landed bool
	done   bool
}

func (s *betweenParts) Commit(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
	result, err := s.Store.Commit(ctx, c)
	s.landed = s.landed || err == nil && len(c.Fences) > 1
	return result, err
}

func (s *betweenParts) Acquire(ctx context.Context, key string) (storage.Section, error) {
	if s.landed && !s.done && key == "groups" {
		s.done = true
		s.write()
	}
	return s.Store.Acquire(ctx, key)
}

func TestWhatOthersWriteBetweenTwoPartsIsKept(t *testing.T) {
	const n = 2000
	last := func(i int) string { return fmt.Sprintf("u%05d", n-i) } // of the last part
	stored := func(change func(*authz.User)) storage.Store {
		s := openStore(t)
		c := storage.Commit{ID: "people", At: now, Changes: []storage.Change{
			storage.UpsertGroup{Group: authz.Group{ID: "a", Name: "A"}}, storage.UpsertGroup{Group: authz.Group{ID: "local", Name: "L"}}}}
		for i := range n {
			u := authz.User{UserID: fmt.Sprintf("u%05d", i), Active: true, GroupIDs: []string{"a"}}
			change(&u)
			c.Changes = append(c.Changes, storage.UpsertUser{User: u})
		}
		_, err := s.Commit(t.Context(), c)
		must(t, err)
		return s
	}
	as := func(*authz.User) {}

	t.Run("a membership, of whom the import sweeps", func(t *testing.T) {
		s := stored(as)
		_, _, err := between(t, s, snapshotOf(`{"groups":[{"id":"a","name":"A"}],"memberships":{}}`), optionsOf(true), func(a *application.Application) {
			must(t, a.SetGroupMembership(t.Context(), last(1), []string{"a", "local"}, root))
		})
		must(t, err)
		users := usersOf(t, s)
		if diff := cmp.Diff([]string{"local"}, users[last(1)].GroupIDs); diff != "" || len(users[last(2)].GroupIDs) > 0 {
			t.Errorf("%v, %s", users[last(2)].GroupIDs, diff)
		}
	})

	t.Run("who was removed stays removed", func(t *testing.T) {
		s := stored(as)
		_, report, err := between(t, s, snapshotOf(`{"users":[]}`), optionsOf(true), func(a *application.Application) {
			_, err := a.DeleteSubject(t.Context(), "user:"+last(1), root)
			must(t, err)
		})
		must(t, err)
		if _, found := usersOf(t, s)[last(1)]; found || len(report.Result.DeactivatedUsers) != n-1 {
			t.Errorf("back: %v, %d deactivated", found, len(report.Result.DeactivatedUsers))
		}
	})

	for _, o := range []directory.Options{{}, optionsOf(true)} {
		t.Run(fmt.Sprintf("an edge, which one of the import would close to a ring, authoritative %t", o.Authoritative), func(t *testing.T) {
			s := stored(as)
			edges := map[string]string{}
			for i := range n - 1 {
				edges[fmt.Sprintf("u%05d", i)] = "chief"
			}
			edges[last(1)] = last(2)
			delete(edges, last(2))
			_, report, err := between(t, s, directory.Snapshot{ReportingEdges: edges}, o, func(a *application.Application) {
				must(t, a.SetReportingEdge(t.Context(), last(2), last(1), root))
			})
			must(t, err)
			users := usersOf(t, s)
			if w := report.Result.Warnings; len(w) != 1 || !strings.Contains(w[0], "reporting cycle skipped: "+last(1)+" → "+last(2)+" → "+last(1)) {
				t.Errorf("warnings %q", w)
			}
			want := map[bool]string{false: last(1), true: ""}[o.Authoritative] // cleared: it is not in the snapshot
			if users[last(1)].ManagerUserID != "" || users[last(2)].ManagerUserID != want || users[last(3)].ManagerUserID != "chief" {
				t.Errorf("%+v %+v %+v", users[last(1)], users[last(2)], users[last(3)])
			}
		})
	}

	t.Run("a guard that would no longer let it", func(t *testing.T) {
		s := stored(func(u *authz.User) { u.Active = u.UserID == last(1) })
		snapshot := directory.Snapshot{Orgs: map[string][]string{}}
		for i := range n - 1 {
			id := fmt.Sprintf("u%05d", i)
			snapshot.Users = append(snapshot.Users, directory.User{UserID: id, Active: ptr(false)})
			snapshot.Orgs[id] = []string{"o"}
		}
		snapshot.Users = append(snapshot.Users, directory.User{UserID: last(1)})
		_, _, err := between(t, s, snapshot, guarded(0.5, true), func(a *application.Application) {
			must(t, a.SetUserActive(t.Context(), last(2), true, root))
			must(t, a.SetUserActive(t.Context(), last(3), true, root))
		})
		isRefused(authz.CodeConflict)(t, err)
		if said := err.Error(); !strings.Contains(said, "make 2 of 3") || !strings.Contains(said, "stand") {
			t.Error(said)
		}
		if users := usersOf(t, s); !users[last(2)].Active || len(users["u00000"].OrgIDs) == 0 {
			t.Errorf("%+v %+v", users[last(2)], users["u00000"])
		}
	})
}

// TestAnAtomicWriteThatStorageHasNoTimeForIsNotSentForEver: what is one commit by its
// nature cannot be made smaller.
func TestAnAtomicWriteThatStorageHasNoTimeForIsNotSentForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		driver, s := openSlow(t, 0, 100*time.Millisecond)
		app := newApp(t, application.Options{Store: s})
		driver.commit = time.Minute
		driver.sent.Store(0)
		_, err := app.CreateGrants(t.Context(), slices.Repeat([]provider.GrantInput{{Subject: "user:u", Pattern: "docs.*"}}, 1500), root)
		isUnavailable(authz.OutcomeUnknown)(t, err)
		if n := driver.sent.Load(); n != 4 || !strings.Contains(err.Error(), "its commit of 1500 changes had no answer within 40") {
			t.Errorf("sent %d times: %v", n, err)
		}
	})
}
