package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/store"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func TestACallHasADeadline(t *testing.T) {
	opts := store.Options{ReadTimeout: 3 * time.Second, CommitTimeout: 7 * time.Second}
	cases := []struct {
		name    string
		op      string
		f       fault
		timeout time.Duration // of the caller; 0 is none
		call    func(context.Context, *store.Store) error
		after   time.Duration
		outcome authz.Outcome
	}{
		{"a read", "GetGrant", fault{before: hang}, 0, getGrant, 3 * time.Second, ""},
		{"a read whose caller has less time", "GetGrant", fault{before: hang}, time.Second, getGrant, time.Second, ""},
		{"a closure read", "ReadAccess", fault{before: hang}, 0, readAccess, 3 * time.Second, ""},
		{"a commit that may have arrived", "Commit", fault{after: hang}, 0, commitG1, 4 * 7 * time.Second, authz.OutcomeUnknown},
		{"a commit whose caller has less time", "Commit", fault{after: hang}, time.Second, commitG1, time.Second, authz.OutcomeUnknown},
		{"another write", "RecordMetrics", fault{before: hang}, 0, recordMetrics, 7 * time.Second, authz.OutcomeUnknown},
		{"the wait for a section", "Acquire", fault{before: hang}, 0, acquire, storage.DefaultAcquireWait, authz.OutcomeNotApplied},
		{"the next row of a list", "ListGrants", fault{before: hang}, 0, listGrants, 3 * time.Second, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			in(t, opts, func(w *world) {
				for range 4 { // a commit is sent so often
					w.driver.strike(c.op, c.f)
				}
				ctx := w.Context()
				if c.timeout > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.timeout)
					defer cancel()
				}
				start := time.Now()
				err := c.call(ctx, w.store)
				w.wants(err, storage.CodeUnavailable, c.outcome)
				if took := time.Since(start); took != c.after {
					w.Errorf("answered after %v, want %v", took, c.after)
				}
				synctest.Wait()
				w.state(store.StateReady) // slow is not dead
			})
		})
	}
}

func getGrant(ctx context.Context, s *store.Store) error {
	_, _, err := s.GetGrant(ctx, "g1")
	return err
}

func readAccess(ctx context.Context, s *store.Store) error {
	_, err := s.ReadAccess(ctx, storage.AccessQuery{UserID: "u1"})
	return err
}

func scopeParents(ctx context.Context, s *store.Store) error {
	_, err := s.GetScopeParents(ctx, []string{"docs.doc:1"})
	return err
}

func commitG1(ctx context.Context, s *store.Store) error {
	_, err := s.Commit(ctx, insert("g1"))
	return err
}

func recordMetrics(ctx context.Context, s *store.Store) error {
	return s.RecordMetrics(ctx, []storage.MetricBucket{{Dimension: "grant", Subject: "g1", Metric: "matched", Count: 1}})
}

func acquire(ctx context.Context, s *store.Store) error {
	section, err := s.Acquire(ctx, "groups")
	if err == nil {
		err = section.Release(ctx)
	}
	return err
}

func listGrants(ctx context.Context, s *store.Store) error {
	for _, err := range s.ListGrants(ctx, storage.GrantFilter{}, storage.Page{}) {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestTheConsumersTimeIsNotTheListsTime(t *testing.T) {
	in(t, store.Options{}, func(w *world) {
		w.commit(insert("g1"))
		w.commit(insert("g2"))
		n := 0
		for _, err := range w.store.ListGrants(w.Context(), storage.GrantFilter{}, storage.Page{}) {
			if err != nil {
				w.Fatal(err)
			}
			n++
			time.Sleep(time.Hour)
		}
		if n != 2 {
			w.Errorf("%d rows", n)
		}
	})
}

func TestEveryErrorIsTyped(t *testing.T) {
	in(t, store.Options{}, func(w *world) {
		raw := func(context.Context) error { return errors.New("pq: something with a dsn in it") }
		for op, c := range map[string]struct {
			call    func(context.Context, *store.Store) error
			outcome authz.Outcome
		}{
			"GetGrant": {getGrant, ""}, "ListGrants": {listGrants, ""}, "RecordMetrics": {recordMetrics, authz.OutcomeUnknown},
			"Acquire": {acquire, authz.OutcomeNotApplied}, "ReadAccess": {readAccess, ""},
		} {
			w.driver.strike(op, fault{before: raw})
			err := c.call(w.Context(), w.store)
			w.wants(err, storage.CodeUnavailable, c.outcome)
			if strings.Contains(err.Error(), "dsn") {
				w.Errorf("%s: the database's text leaves: %v", op, err)
			}
		}
		refused := &storage.Error{Code: storage.CodeConflict, Message: "in use", Grants: 3}
		w.driver.strike("Commit", fault{before: func(context.Context) error { return fmt.Errorf("wrapped: %w", refused) }})
		if err := commitG1(w.Context(), w.store); err != error(refused) {
			w.Errorf("a refusal is %v", err)
		}
		w.driver.strike("GetRoles", fault{before: func(context.Context) error { return storage.Unsupported(storage.CapBatchRoles) }})
		_, err := w.store.GetRoles(w.Context(), []string{"r"})
		w.wants(err, storage.CodeUnsupported, "")
		cancelled, cancel := context.WithCancel(w.Context())
		cancel()
		w.wants(getGrant(cancelled, w.store), storage.CodeUnavailable, "")
		if err := commitG1(cancelled, w.store); !errors.Is(err, context.Canceled) {
			w.Errorf("the cause is kept: %v", err)
		} else {
			w.wants(err, storage.CodeUnavailable, authz.OutcomeNotApplied)
		}
		synctest.Wait()
		if w.driver.gaveUp() {
			w.Error("no failure of a living handle reopens it")
		}
	})
}

// row is what a read of one row answers.
type row struct {
	V     any
	Found bool
	Err   error
}

func rowOf[V any](v V, found bool, err error) row { return row{v, found, err} }

// Every read answers what the driver answers.
func TestReadsPassThrough(t *testing.T) {
	reads := map[string]func(context.Context, storage.Store) row{
		"GetGrant": func(ctx context.Context, s storage.Store) row {
			return rowOf(s.GetGrant(ctx, "b"))
		},
		"GetRevoke": func(ctx context.Context, s storage.Store) row {
			return rowOf(s.GetRevoke(ctx, "b"))
		},
		"GetRole": func(ctx context.Context, s storage.Store) row {
			return rowOf(s.GetRole(ctx, "b"))
		},
		"GetGroup": func(ctx context.Context, s storage.Store) row {
			return rowOf(s.GetGroup(ctx, "b"))
		},
		"GetUser": func(ctx context.Context, s storage.Store) row {
			return rowOf(s.GetUser(ctx, "b"))
		},
		"GetRequest": func(ctx context.Context, s storage.Store) row {
			return rowOf(s.GetRequest(ctx, "b"))
		},
		"GetRecord": func(ctx context.Context, s storage.Store) row {
			return rowOf(s.GetRecord(ctx, "k", "b"))
		},
		"GetCatalog": func(ctx context.Context, s storage.Store) row {
			return rowOf(s.GetCatalog(ctx))
		},
		"GetImports": func(ctx context.Context, s storage.Store) row {
			return rowOf(s.GetImports(ctx))
		},
		"GetCommit": func(ctx context.Context, s storage.Store) row {
			return rowOf(s.GetCommit(ctx, "five"))
		},
		"GetCatalogVersion": func(ctx context.Context, s storage.Store) row {
			return rowOf(s.GetCatalogVersion(ctx, 2))
		},
		"GetRoles": func(ctx context.Context, s storage.Store) row {
			v, err := s.GetRoles(ctx, []string{"b"})
			return row{v, len(v) == 1, err}
		},
		"CountGrants": func(ctx context.Context, s storage.Store) row {
			v, err := s.CountGrants(ctx, storage.GrantFilter{})
			return row{v, v == 5, err}
		},
		"Head": func(ctx context.Context, s storage.Store) row { v, err := s.Head(ctx); return row{v, v.Seq == 2, err} },
		"EventsSince": func(ctx context.Context, s storage.Store) row {
			v, err := s.EventsSince(ctx, authz.Position{}, 10)
			return row{v, len(v.Events) == 2, err}
		},
		"ReadAccess, expanded": func(ctx context.Context, s storage.Store) row {
			v, err := s.ReadAccess(ctx, storage.AccessQuery{UserID: "b", Expand: true})
			return row{v, len(v.Closure) > 0, err}
		},
		"GetScopeParents": func(ctx context.Context, s storage.Store) row {
			v, err := s.GetScopeParents(ctx, []string{"docs.doc:1"})
			return row{v, len(v) == 1, err}
		},
	}
	in(t, store.Options{}, func(w *world) {
		c := five()
		c.Changes = append(c.Changes, storage.PutScopeParents{Scope: "docs.doc:1"}, storage.PutImports{Version: 1, Manifest: []byte(`{}`)})
		c.Events = []authz.Event{authz.UserEvent("a"), authz.UserEvent("b")}
		w.commit(c)
		for name, call := range reads {
			got, want := call(w.Context(), w.store), call(w.Context(), w.driver.handles[0].Store)
			if d := cmp.Diff(want, got, cmp.AllowUnexported(authz.Expiry{})); d != "" || !got.Found || got.Err != nil {
				w.Errorf("%s: %+v %s", name, got, d)
			}
		}
	})
}
