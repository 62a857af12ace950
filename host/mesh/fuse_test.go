package mesh_test

import (
	"context"
	"errors"
	"sync"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// ending is what becomes of a process at one of its calls that change storage.
type ending int

const (
	untouched   ending = iota
	diesBefore         // the call is not made, and nothing after it
	diesAfter          // it is made, and nobody hears the answer
	failsBefore        // an outage of this call alone, which was not applied
	failsAfter         // an outage that says nothing of what was applied
	stops              // the process stands still before the call, its leases run out
)

func (e ending) String() string {
	return [...]string{"untouched", "dies before", "dies after", "fails before", "fails after", "stops"}[e]
}

// fuse ends one process at its nth commit or acquisition.
type fuse struct {
	at    int
	how   ending
	each  func() // before every call, unless the process has ended
	stood chan struct{}
	goOn  chan struct{}

	mu    sync.Mutex
	calls int
	blown bool
	dead  bool

	late    error  // the answer to the call that stood still
	stoodIn string // the first section of a commit that did, "" of any other call
}

func newFuse(at int, how ending) *fuse {
	return &fuse{at: at, how: how, each: func() {}, stood: make(chan struct{}), goOn: make(chan struct{})}
}

func (f *fuse) opening(d storage.Driver) func(context.Context, string) (storage.Store, error) {
	return func(ctx context.Context, partition string) (storage.Store, error) {
		s, err := d.Open(ctx, partition)
		if err != nil {
			return nil, err
		}
		return &fused{s, f}, nil
	}
}

func (f *fuse) burnt() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.blown
}

func (f *fuse) isDead() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dead
}

// next counts a call and says what becomes of it.
func (f *fuse) next() ending {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dead {
		return diesBefore
	}
	if f.calls++; f.calls != f.at {
		return untouched
	}
	f.blown = true
	f.dead = f.how == diesBefore || f.how == diesAfter
	return f.how
}

var errCut = errors.New("the fuse has blown")

// call makes one call that changes storage, inside a section or "".
func (f *fuse) call(ctx context.Context, inside string, apply func(context.Context) error) error {
	if !f.isDead() {
		f.each()
	}
	switch f.next() {
	case diesBefore:
		return storage.Unavailable(authz.OutcomeUnknown, errCut, "dead")
	case failsBefore:
		return storage.Unavailable(authz.OutcomeNotApplied, errCut, "cut before")
	case diesAfter, failsAfter:
		if err := apply(ctx); err != nil {
			return err
		}
		return storage.Unavailable(authz.OutcomeUnknown, errCut, "cut after")
	case stops:
		close(f.stood)
		<-f.goOn
		err := apply(context.WithoutCancel(ctx)) // it has not looked at its clock yet
		f.mu.Lock()
		defer f.mu.Unlock()
		f.late, f.stoodIn = err, inside
		return err
	}
	return apply(ctx)
}

type fused struct {
	storage.Store
	fuse *fuse
}

func (s *fused) Commit(ctx context.Context, c storage.Commit) (result storage.CommitResult, err error) {
	inside := ""
	if len(c.Fences) > 0 {
		inside = c.Fences[0].Key
	}
	err = s.fuse.call(ctx, inside, func(ctx context.Context) (err error) {
		result, err = s.Store.Commit(ctx, c)
		return err
	})
	return result, err
}

func (s *fused) Acquire(ctx context.Context, key string) (section storage.Section, err error) {
	err = s.fuse.call(ctx, "", func(ctx context.Context) error {
		held, err := s.Store.Acquire(ctx, key)
		section = &fusedSection{held, s.fuse}
		return err
	})
	if err != nil {
		return nil, err
	}
	return section, nil
}

// fusedSection neither renews nor releases what a dead process holds. One that stood
// still renews as late as can be: whatever it does first after that goes on unwarned.
type fusedSection struct {
	storage.Section
	fuse *fuse
}

func (s *fusedSection) Renew(ctx context.Context) error {
	if s.fuse.how == stops && s.fuse.burnt() {
		<-ctx.Done()
	}
	if s.fuse.isDead() || ctx.Err() != nil {
		return errCut
	}
	return s.Section.Renew(ctx)
}

func (s *fusedSection) Release(ctx context.Context) error {
	if s.fuse.isDead() {
		return errCut
	}
	return s.Section.Release(ctx)
}
