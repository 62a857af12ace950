package sqlite

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func holdWriteLock(t *testing.T, path string) (release func()) {
	t.Helper()
	other, _ := open(t, Options{Path: path})
	locked, done, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- other.db.write(context.Background(), func(*work) error {
			close(locked)
			<-done
			return nil
		})
	}()
	<-locked
	return func() {
		close(done)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

func TestAWriterWaitsForAnotherProcessUntilItsDeadline(t *testing.T) {
	path := tempFile(t)
	_, s := open(t, Options{Path: path, BusyTimeout: time.Minute})
	release := holdWriteLock(t, path)
	start := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := s.Commit(ctx, role("late"))
	if e := (*storage.Error)(nil); !asError(err, &e) || e.Code != storage.CodeUnavailable || e.Outcome != authz.OutcomeNotApplied {
		t.Fatalf("got %v", err)
	}
	if waited := time.Since(start); waited < 90*time.Millisecond || waited > 30*time.Second {
		t.Errorf("waited %v", waited)
	}
	if _, _, err := s.GetRole(t.Context(), "late"); err != nil {
		t.Errorf("a reader waits for a writer: %v", err)
	}
	answer := make(chan error, 1)
	go func() {
		_, err := s.Commit(t.Context(), role("patient"))
		answer <- err
	}()
	time.Sleep(50 * time.Millisecond)
	release()
	if err := <-answer; err != nil {
		t.Errorf("a writer that waited: %v", err)
	}
	if _, found, err := s.GetRole(t.Context(), "late"); found || err != nil {
		t.Errorf("the commit given up was applied: %v", err)
	}
}

func TestABusyTimeoutEndsACallWithoutADeadline(t *testing.T) {
	path := tempFile(t)
	_, s := open(t, Options{Path: path, BusyTimeout: 50 * time.Millisecond})
	release := holdWriteLock(t, path)
	defer release()
	if _, err := s.Commit(t.Context(), role("r")); storage.CodeOf(err) != storage.CodeUnavailable {
		t.Fatalf("got %v", err)
	}
}

func TestCloseEndsTheWaitForAnotherProcess(t *testing.T) {
	path := tempFile(t)
	d, s := open(t, Options{Path: path, BusyTimeout: time.Minute})
	release := holdWriteLock(t, path)
	defer release()
	answer := make(chan error, 1)
	go func() {
		_, err := s.Commit(context.Background(), role("r"))
		answer <- err
	}()
	time.Sleep(50 * time.Millisecond)
	start := time.Now()
	if err := d.Close(); err != nil || time.Since(start) > 10*time.Second {
		t.Errorf("closing took %v: %v", time.Since(start), err)
	}
	if err := <-answer; storage.CodeOf(err) != storage.CodeUnavailable {
		t.Errorf("got %v", err)
	}
}

func TestACancelledWriteLeavesNoTransactionAndNoPoisonedWriter(t *testing.T) {
	path := tempFile(t)
	d, s := open(t, Options{Path: path})
	_, other := open(t, Options{Path: path})
	for i := range 30 {
		ctx, cancel := context.WithCancel(t.Context())
		c := storage.Commit{ID: fmt.Sprint("cancelled", i)}
		for j := range 200 {
			c.Changes = append(c.Changes, storage.InsertGrant{Grant: authz.Grant{ID: fmt.Sprint(i, ".", j), Provenance: authz.AdminProvenance("root")}})
		}
		time.AfterFunc(time.Duration(i)*300*time.Microsecond, cancel)
		_, err := s.Commit(ctx, c)
		cancel()
		_, recorded, getErr := other.GetCommit(t.Context(), c.ID)
		_, row, rowErr := other.GetGrant(t.Context(), fmt.Sprint(i, ".199"))
		if getErr != nil || rowErr != nil || recorded != row || recorded != (err == nil) {
			t.Fatalf("round %d: answered %v, recorded %v, rows %v, %v, %v", i, err, recorded, row, getErr, rowErr)
		}
		if _, err := other.Commit(t.Context(), role(fmt.Sprint("other", i))); err != nil { // waits for nobody
			t.Fatal(err)
		}
		if _, err := s.Commit(t.Context(), role(fmt.Sprint("own", i))); err != nil {
			t.Fatal(err)
		}
	}
	if n := d.db.pool.Stats().OpenConnections; n > 1+d.options.Readers {
		t.Errorf("%d connections are open", n)
	}
}

func TestACancelledReadEndsAtOnceAndTheReaderGoesOn(t *testing.T) {
	_, s := open(t, Options{Path: tempFile(t), Readers: 1})
	endless := func(ctx context.Context) error {
		return s.db.snapshot(ctx, func(w *work) error {
			var n int
			_, err := w.one(`WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n`, nil, &n)
			return err
		})
	}
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		start := time.Now()
		err := endless(ctx)
		cancel()
		if storage.CodeOf(err) != storage.CodeUnavailable || time.Since(start) > 30*time.Second {
			t.Fatalf("after %v: %v", time.Since(start), err)
		}
		if _, err := s.Head(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	// While the only reader is busy, another call waits no longer than its deadline.
	busy, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- endless(busy) }()
	time.Sleep(20 * time.Millisecond)
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer stop()
	if _, err := s.Head(ctx); storage.CodeOf(err) != storage.CodeUnavailable {
		t.Errorf("got %v", err)
	}
	cancel()
	<-ended
}

func TestAPanicInATransactionRollsItBack(t *testing.T) {
	_, s := open(t, Options{Path: tempFile(t)})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_ = s.write(t.Context(), func(w *work) error {
			if err := roles.put(w, s.app, authz.Role{ID: "r"}); err != nil {
				t.Error(err)
			}
			panic("boom")
		})
	}()
	if _, found, err := s.GetRole(t.Context(), "r"); found || err != nil {
		t.Errorf("found %v, %v", found, err)
	}
	if _, err := s.Commit(t.Context(), role("r")); err != nil {
		t.Error(err)
	}
}
