package application_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/store"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// driverText must never reach a caller.
const driverText = "SELECT secret FROM pg_shadow"

// stumble fails the first n commits after New and passes the others on. An
// applied one is lost on the way back.
func stumble(store storage.Store, n int, applied bool, fault func() error) *faulty {
	f := &faulty{Store: store}
	f.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
		if _, opening := first1(c.Changes).(storage.PutRecord); opening || n == 0 {
			return store.Commit(ctx, c)
		}
		n--
		if applied {
			if _, err := store.Commit(ctx, c); err != nil {
				return storage.CommitResult{}, err
			}
		}
		return storage.CommitResult{}, fault()
	}
	return f
}

func first1(changes []storage.Change) storage.Change {
	if len(changes) == 0 {
		return nil
	}
	return changes[0]
}

// resending is the store of a host over s: it sends commits of unknown fate again.
func resending(t testing.TB, s storage.Store) storage.Store {
	t.Helper()
	r, err := store.Open(context.Background(), only{memory.New(memory.Options{}), s}, s.Info().Partition, store.Options{})
	must(t, err)
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// only opens one store, as often as anybody likes.
type only struct {
	storage.Driver
	store storage.Store
}

func (d only) Open(context.Context, string) (storage.Store, error) { return kept{d.store}, nil }

type kept struct{ storage.Store }

func (kept) Close() error { return nil }

func unknownOutcome() error { return storage.Unavailable(authz.OutcomeUnknown, nil, driverText) }

func TestAWriteAgainstAFailingStore(t *testing.T) {
	cases := []struct {
		sentence string
		failures int
		applied  bool
		fault    func() error
		timeout  time.Duration
		check    func(*testing.T, error) // nil: the write succeeds
	}{
		{"a commit whose answer was lost is sent again and applied once", 2, true, unknownOutcome, 0, nil},
		{"a commit that was lost on its way is sent again", 2, false, unknownOutcome, 0, nil},
		{"an answer outside the seam says nothing about the commit", 1, true, func() error { return errors.New(driverText) }, 0, nil},
		{"a fence that moved on starts the operation over", 1, false, func() error { return storage.Errorf(storage.CodeStaleFence, driverText) }, 0, nil},
		{"conditions that fail twice start the operation over", 2, false, func() error { return storage.Errorf(storage.CodeConflict, driverText) }, 0, nil},
		{"a fence that moved on again is an outage that applied nothing", 2, false, func() error { return storage.Errorf(storage.CodeStaleFence, driverText) }, 0, isUnavailable(authz.OutcomeNotApplied)},
		{"conditions that fail a third time are a conflict", 3, false, func() error { return storage.Errorf(storage.CodeNotFound, driverText) }, 0, isRefused(authz.CodeConflict)},
		{"an outage that applied nothing is told as such", 1, false, func() error { return storage.Unavailable(authz.OutcomeNotApplied, nil, driverText) }, 0, isUnavailable(authz.OutcomeNotApplied)},
		{"a fate unknown when the time is over is told as such", 1 << 30, false, unknownOutcome, 50 * time.Millisecond, isUnavailable(authz.OutcomeUnknown)},
		{"not applied after unknown is still unknown", 1 << 30, false, alternating(), 80 * time.Millisecond, isUnavailable(authz.OutcomeUnknown)},
		{"a write over the limit is the caller's mistake", 1, false, func() error { return storage.Errorf(storage.CodeTooLarge, driverText) }, 0, isRefused(authz.CodeValidation)},
		{"anything else is a fault of ours, never a refusal", 1, false, func() error { return storage.Errorf(storage.CodeValidation, driverText) }, 0, isFault},
	}
	for _, c := range cases {
		t.Run(c.sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := openStore(t)
				app := newApp(t, application.Options{Store: resending(t, stumble(store, c.failures, c.applied, c.fault))})
				var heard []authz.Event
				app.OnInvalidate(func(e authz.Event) { heard = append(heard, e) })
				before := everything(t, store)
				ctx := t.Context()
				if c.timeout > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.timeout)
					defer cancel()
				}
				row, err := app.CreateRole(ctx, provider.RoleInput{Name: "Reader"}, root)
				if c.check != nil {
					c.check(t, err)
					if strings.Contains(err.Error(), driverText) {
						t.Errorf("driver text reached the caller: %v", err)
					}
					var down *authz.UnavailableError
					unknown := errors.As(err, &down) && down.Outcome == authz.OutcomeUnknown // then it may have been applied
					if diff := cmp.Diff(before, everything(t, store), unexported); diff != "" || (len(heard) == 1) != unknown || len(heard) > 1 {
						t.Errorf("told %v and left:\n%s", heard, diff)
					}
					return
				}
				must(t, err)
				if got := rows(t, store.ListRoles(ctx, storage.Page{})); len(got) != 1 || got[0].ID != row.ID {
					t.Errorf("stored %v, want the one returned", got)
				}
				if got := rows(t, store.ListAudit(ctx, storage.AuditFilter{})); len(got) != 1 {
					t.Errorf("%d audit entries, want one", len(got))
				}
				if diff := cmp.Diff([]authz.Event{authz.RoleEvent(row.ID)}, heard); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func alternating() func() error {
	n := 0
	return func() error {
		if n++; n == 1 {
			return unknownOutcome()
		}
		return storage.Unavailable(authz.OutcomeNotApplied, nil, driverText)
	}
}

func isUnavailable(outcome authz.Outcome) func(*testing.T, error) {
	return func(t *testing.T, err error) {
		t.Helper()
		var down *authz.UnavailableError
		if !errors.As(err, &down) || down.Outcome != outcome {
			t.Fatalf("got %#v, want unavailable, %s", err, outcome)
		}
	}
}

func isRefused(code authz.Code) func(*testing.T, error) {
	return func(t *testing.T, err error) {
		t.Helper()
		if authz.CodeOf(err) != code {
			t.Fatalf("got %v, want %s", err, code)
		}
	}
}

func isFault(t *testing.T, err error) {
	t.Helper()
	var fault *application.StorageFault
	if !errors.As(err, &fault) || authz.CodeOf(err) != "" {
		t.Fatalf("got %v, want a storage fault", err)
	}
	if wire, status := provider.ToWireError(err); status != 500 || wire.Message != "internal error" {
		t.Errorf("crosses the wire as %d %+v", status, wire)
	}
}

func TestAnOutageOfAReadIsNeverAnAnswer(t *testing.T) {
	f := &faulty{Store: openStore(t)}
	app := newApp(t, application.Options{Store: f})
	f.readAccess = func(context.Context, storage.AccessQuery) (storage.Access, error) {
		return storage.Access{}, storage.Unavailable("", nil, driverText)
	}
	_, err := app.GetSubjectAccess(t.Context(), authz.UserPrincipal("u"))
	isUnavailable("")(t, err)
	if strings.Contains(err.Error(), driverText) {
		t.Errorf("driver text reached the caller: %v", err)
	}
}

func TestASectionThatWasLostStartsTheOperationOver(t *testing.T) {
	store := openStore(t)
	stealing := true
	f := &faulty{Store: store}
	f.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
		if len(c.Fences) == 1 && stealing {
			stealing = false
			c.Fences = []storage.Fence{{Key: c.Fences[0].Key, Fence: c.Fences[0].Fence - 1}} // as of an earlier holder
		}
		return store.Commit(ctx, c)
	}
	app := newApp(t, application.Options{Store: f})
	_, err := app.CreateGroup(t.Context(), provider.GroupInput{Name: "g"}, root)
	must(t, err)
	if stealing {
		t.Fatal("the commit carried no fence of its section")
	}
}

// robbed is a store that loses the first section taken while the operation waits
// for a further one.
type robbed struct {
	storage.Store
	inner string
	waits int
}

func (s *robbed) Acquire(ctx context.Context, key string) (storage.Section, error) {
	if key == s.inner {
		if s.waits++; s.waits == 1 {
			<-ctx.Done()
			return nil, storage.Unavailable(authz.OutcomeNotApplied, ctx.Err(), "the caller ended the call")
		}
	}
	section, err := s.Store.Acquire(ctx, key)
	if err != nil || s.waits > 0 {
		return section, err
	}
	return lostSection{section}, nil
}

type lostSection struct{ storage.Section }

func (lostSection) Lease() time.Duration { return 100 * time.Millisecond }

func (lostSection) Renew(context.Context) error {
	return storage.Errorf(storage.CodeStaleFence, "another holder has it")
}

func TestASectionThatWasLostWhileWaitingForTheNextStartsTheOperationOver(t *testing.T) {
	for inner, write := range map[string]func(*application.Application) error{
		"audit": func(app *application.Application) error {
			_, err := app.CreateGroup(t.Context(), provider.GroupInput{Name: "g"}, root)
			return err
		},
		"reporting": func(app *application.Application) error {
			_, err := app.ImportDirectory(t.Context(), directory.Snapshot{}, "hr", directory.Options{})
			return err
		},
	} {
		store := &robbed{Store: openStore(t), inner: inner}
		if err := write(newApp(t, application.Options{Store: store, HashChain: true})); err != nil || store.waits < 2 {
			t.Errorf("waiting for %s: %v, %d waits", inner, err, store.waits)
		}
	}
}

func TestWhatADriverDoesNotSupportIsNoFault(t *testing.T) {
	var logged bytes.Buffer
	f := &faulty{Store: openStore(t)}
	app := newApp(t, application.Options{Store: f, Logger: hclog.New(&hclog.LoggerOptions{Output: &logged, Level: hclog.Info})})
	lacking := func() error { return storage.Errorf(storage.CodeUnsupported, driverText) }
	f.readAccess = func(context.Context, storage.AccessQuery) (storage.Access, error) { return storage.Access{}, lacking() }
	f.commit = func(context.Context, storage.Commit) (storage.CommitResult, error) {
		return storage.CommitResult{}, lacking()
	}
	_, err := app.GetSubjectAccess(t.Context(), authz.UserPrincipal("u"))
	_, writeErr := app.CreateRole(t.Context(), provider.RoleInput{Name: "R", Patterns: []string{}}, authz.AdminProvenance("root"))
	for _, err := range []error{err, writeErr} {
		isRefused(authz.CodeUnsupported)(t, err)
		if strings.Contains(err.Error(), driverText) {
			t.Errorf("driver text reached the caller: %v", err)
		}
	}
	if strings.Contains(logged.String(), "[ERROR]") {
		t.Errorf("logged %s", &logged)
	}
}
