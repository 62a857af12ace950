package kv_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
	"github.com/authzhost/authz/sdk/storage/kv"
)

// faulty is a DB that fails at one place, when it is told to.
type faulty struct {
	*memory
	at  string
	err error
}

func (f *faulty) fails(at string) error {
	if f.at == at {
		return f.err
	}
	return nil
}

func (f *faulty) View(ctx context.Context, read func(kv.Tx) error) error {
	if f.at == "view ignored" {
		return nil
	}
	return f.memory.View(ctx, func(tx kv.Tx) error { return read(faultyTx{tx, f}) })
}

func (f *faulty) Update(ctx context.Context, change func(kv.Tx) error) error {
	if err := f.fails("begin"); err != nil {
		return err
	}
	err := f.memory.Update(ctx, func(tx kv.Tx) error {
		if err := change(faultyTx{tx, f}); err != nil {
			return err
		}
		return f.fails("commit")
	})
	if f.at == "refusal ignored" {
		return nil
	}
	return err
}

type faultyTx struct {
	kv.Tx
	f *faulty
}

func (t faultyTx) Get(key []byte) ([]byte, error) {
	if err := t.f.fails("get"); err != nil {
		return nil, err
	}
	return t.Tx.Get(key)
}

func (t faultyTx) Put(key, value []byte) error {
	if err := t.f.fails("put"); err != nil {
		return err
	}
	return t.Tx.Put(key, value)
}

func (t faultyTx) Scan(from []byte, each func([]byte) bool) error {
	if err := t.f.fails("scan"); err != nil {
		return err
	}
	return t.Tx.Scan(from, each)
}

func faultyStore(t *testing.T) (*faulty, storage.Store) {
	t.Helper()
	f := &faulty{memory: newMemory(), err: errors.New("disk on fire")}
	d := kv.New(f, kv.Options{Name: "faulty"})
	t.Cleanup(func() { _ = d.Close() })
	s, err := d.Open(t.Context(), "docs")
	if err != nil {
		t.Fatal(err)
	}
	return f, s
}

func TestAFailedUpdateSaysWhatIsKnownOfIt(t *testing.T) {
	disk := errors.New("disk on fire")
	for _, c := range []struct {
		at      string
		err     error
		code    storage.Code
		outcome authz.Outcome
	}{
		{"begin", disk, storage.CodeUnavailable, authz.OutcomeNotApplied},
		{"get", disk, storage.CodeUnavailable, authz.OutcomeNotApplied},
		{"scan", disk, storage.CodeUnavailable, authz.OutcomeNotApplied},
		{"put", disk, storage.CodeUnavailable, authz.OutcomeNotApplied},
		{"put", fmt.Errorf("%w: %w", kv.ErrTooLarge, disk), storage.CodeTooLarge, ""},
		{"commit", disk, storage.CodeUnavailable, authz.OutcomeUnknown},
		{"commit", context.DeadlineExceeded, storage.CodeUnavailable, authz.OutcomeUnknown},
		{"commit", fmt.Errorf("%w: %w", kv.ErrNotApplied, disk), storage.CodeUnavailable, authz.OutcomeNotApplied},
		{"commit", fmt.Errorf("%w: %w", kv.ErrTooLarge, disk), storage.CodeTooLarge, ""},
	} {
		t.Run(c.at+" "+c.err.Error(), func(t *testing.T) {
			f, s := faultyStore(t)
			f.at, f.err = c.at, c.err
			_, err := s.Commit(t.Context(), storage.Commit{ID: "c", Changes: []storage.Change{storage.UpsertRole{Role: authz.Role{ID: "r"}}}})
			var got *storage.Error
			if !errors.As(err, &got) || got.Code != c.code || got.Outcome != c.outcome {
				t.Fatalf("got %#v", err)
			}
			if strings.Contains(got.Message, "fire") || !errors.Is(err, c.err) {
				t.Errorf("the database's text belongs into the cause only: %#v", got)
			}
			f.at = ""
			if _, found, err := s.GetRole(t.Context(), "r"); found || err != nil {
				t.Errorf("the role: %t, %v", found, err)
			}
		})
	}
}

func TestAnOutageIsNeverAnAnswer(t *testing.T) {
	for _, at := range []string{"get", "scan", "view ignored"} {
		f, s := faultyStore(t)
		_, err := s.Commit(t.Context(), storage.Commit{ID: "c", Changes: []storage.Change{
			storage.UpsertRole{Role: authz.Role{ID: "r"}},
			storage.InsertGrant{Grant: authz.Grant{ID: "g", Subject: "user:u", RoleID: "r"}},
			storage.PutScopeParents{Scope: "d.d:1", Parents: []string{"d.f:1"}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		f.at = at
		for _, err := range s.ListEdges(t.Context(), storage.EdgeParent, []string{"d.f:1"}, storage.EdgePage{}) {
			if storage.CodeOf(err) != storage.CodeUnavailable {
				t.Errorf("%s: edges: %v", at, err)
			}
		}
		if _, err := s.ReadAccess(t.Context(), storage.AccessQuery{Subjects: []string{"user:u"}}); storage.CodeOf(err) != storage.CodeUnavailable {
			t.Errorf("%s: access: %v", at, err)
		}
		n := 0
		for _, err := range s.ListRoles(t.Context(), storage.Page{}) {
			if n++; storage.CodeOf(err) != storage.CodeUnavailable {
				t.Errorf("%s: list: %v", at, err)
			}
		}
		if n != 1 {
			t.Errorf("%s: a list of %d", at, n)
		}
	}
}

// A DB that swallows what refused a change may have written it.
func TestASwallowedRefusalIsOfUnknownFate(t *testing.T) {
	f, s := faultyStore(t)
	f.at = "refusal ignored"
	_, err := s.Commit(t.Context(), storage.Commit{ID: "c", Requires: []storage.Requirement{storage.RequireRole{ID: "none"}}})
	var got *storage.Error
	if !errors.As(err, &got) || got.Outcome != authz.OutcomeUnknown {
		t.Fatalf("got %#v", err)
	}
}

func TestCloseWaitsForTransactionsAndEndsStores(t *testing.T) {
	m := newMemory()
	d := kv.New(m, kv.Options{Name: "memory"})
	s, err := d.Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	m.mu.RLock() // the commit waits for the database
	committed, ended := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := s.Commit(context.Background(), storage.Commit{ID: "c"})
		committed <- err
	}()
	for m.mu.TryRLock() { // until a writer waits
		m.mu.RUnlock()
		time.Sleep(time.Millisecond)
	}
	go func() { ended <- d.Close() }()
	select {
	case <-ended:
		t.Fatal("the database was closed under a transaction")
	case <-time.After(20 * time.Millisecond):
	}
	m.mu.RUnlock()
	if err := <-committed; err != nil {
		t.Error(err)
	}
	if err := errors.Join(<-ended, d.Close()); err != nil || !m.closed {
		t.Error(err)
	}
	if _, _, err := s.GetRole(t.Context(), "r"); storage.CodeOf(err) != storage.CodeUnavailable {
		t.Errorf("a closed store answered: %v", err)
	}
	if _, err := d.Open(t.Context(), ""); storage.CodeOf(err) != storage.CodeUnavailable {
		t.Errorf("a closed driver opened a store: %v", err)
	}
}
