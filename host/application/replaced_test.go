package application_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/authzhost/authz/host/application"
	hoststore "github.com/authzhost/authz/host/store"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

var errReplaced = storage.Unavailable(authz.OutcomeUnknown, nil, "the plugin is gone")

type replacedDriver struct {
	storage.Driver
	now   atomic.Pointer[memory.Backend]
	down  atomic.Bool
	armed atomic.Bool
	life  atomic.Int64
}

func (d *replacedDriver) Open(ctx context.Context, p string) (storage.Store, error) {
	if d.down.Load() {
		return nil, storage.Unavailable(authz.OutcomeNotApplied, nil, "down")
	}
	s, err := d.now.Load().Driver().Open(ctx, p)
	if err != nil {
		return nil, err
	}
	return &replacedStore{s, d, d.life.Load()}, nil
}

type replacedStore struct {
	storage.Store
	d    *replacedDriver
	life int64
}

func (s *replacedStore) GetCommit(ctx context.Context, id string) (storage.CommitResult, bool, error) {
	if s.d.life.Load() != s.life {
		return storage.CommitResult{}, false, errReplaced
	}
	return s.Store.GetCommit(ctx, id)
}

func (s *replacedStore) Commit(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
	if s.d.armed.CompareAndSwap(true, false) {
		s.d.down.Store(true)
		s.d.life.Add(1)
		s.d.now.Store(memory.NewBackend(memory.Options{})) // another life of the content
	}
	if s.d.life.Load() != s.life {
		return storage.CommitResult{}, errReplaced
	}
	return s.Store.Commit(ctx, c)
}

// A commit of unknown fate is sent again. Never to content that was not there when the
// commit was judged.
func TestAWriteIsNeverAppliedToContentThatCameAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &replacedDriver{Driver: memory.New(memory.Options{})}
		d.now.Store(memory.NewBackend(memory.Options{}))
		st, err := hoststore.Open(t.Context(), d, "p", hoststore.Options{CommitTimeout: 5 * time.Second})
		must(t, err)
		defer st.Close()
		a := newApp(t, application.Options{Store: st})
		before := st.Info().Incarnation
		d.armed.Store(true)
		time.AfterFunc(600*time.Millisecond, func() { d.down.Store(false) })
		_, err = a.CreateGrant(t.Context(), provider.GrantInput{Subject: "user:ann", Pattern: "docs.files.read", Scope: "*"}, root)
		var down *authz.UnavailableError
		if !errors.As(err, &down) || down.Outcome != authz.OutcomeUnknown {
			t.Errorf("it was answered with %v, want unavailable, of unknown fate", err)
		}
		backend, err := d.now.Load().Driver().Open(t.Context(), "p")
		must(t, err)
		if n, err := backend.CountGrants(t.Context(), storage.GrantFilter{}); n != 0 || err != nil {
			t.Errorf("the content that came after has %d grants, %v", n, err)
		}
		if st.Info().Incarnation == before {
			t.Error("the content was not replaced")
		}
	})
}
