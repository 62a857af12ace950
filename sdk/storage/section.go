package storage

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

// DefaultLease is how long a section is held without a renewal.
const DefaultLease = 10 * time.Second

// DefaultAcquireWait is how long RunExclusive waits for a section.
const DefaultAcquireWait = 30 * time.Second

// Locker hands out fenced exclusive sections, one holder at most for each pair
// of partition and key. Different keys never wait for each other.
type Locker interface {
	// Acquire waits for the section until ctx ends. The fence grows with every
	// acquisition of the pair, never falls or repeats, and survives restarts;
	// the first one is the clock's milliseconds. A section is free when its lease
	// has run out by the database's clock, and when Leases calls it stale.
	Acquire(ctx context.Context, key string) (Section, error)
}

// Section is a held section. It ends by Release, by losing its lease to another
// holder, or when the handle that acquired it goes away.
type Section interface {
	Fence() Fence

	// Lease is how long the section lives without a Renew; a holder renews
	// every third of it.
	Lease() time.Duration

	// Renew extends the lease and keeps the fence. CodeStaleFence: another
	// holder has the section.
	Renew(ctx context.Context) error

	// Release gives the section back; a second one is harmless.
	Release(ctx context.Context) error
}

type heldSections struct{}

// held is a section that an operation runs under. A key means nothing without
// the locker: two partitions have sections of one name.
type held struct {
	locker Locker
	fence  Fence
}

// Held returns the fences of l's sections that ctx runs under, outermost first.
func Held(ctx context.Context, l Locker) []Fence {
	all, _ := ctx.Value(heldSections{}).([]held)
	var fences []Fence
	for _, h := range all {
		if h.locker == l {
			fences = append(fences, h.fence)
		}
	}
	return fences
}

// RunExclusive runs fn inside the section, renewing its lease, and always
// releases it. fn's context ends when the section is lost. Taking a section that
// ctx already runs under is an error, not a deadlock. Waiting longer than
// DefaultAcquireWait is CodeUnavailable, not applied.
func RunExclusive(ctx context.Context, l Locker, key string, fn func(context.Context) error) error {
	if slices.ContainsFunc(Held(ctx, l), func(f Fence) bool { return f.Key == key }) {
		return Errorf(CodeConflict, "section %s is already held by this operation", spell.Quote(key))
	}
	waitCtx, stopWaiting := context.WithTimeoutCause(ctx, DefaultAcquireWait, errAcquireWait)
	section, err := l.Acquire(waitCtx, key)
	waited := context.Cause(waitCtx)
	stopWaiting()
	if err != nil {
		if errors.Is(waited, errAcquireWait) {
			return Unavailable(authz.OutcomeNotApplied, err, "section %s is busy", spell.Quote(key))
		}
		return err
	}
	all, _ := ctx.Value(heldSections{}).([]held)
	body, cancel := context.WithCancelCause(context.WithValue(ctx, heldSections{}, append(slices.Clone(all), held{l, section.Fence()})))
	stop := make(chan struct{})
	var beats sync.WaitGroup
	beats.Go(func() { beat(body, section, stop, cancel) })
	defer func() {
		close(stop)
		cancel(nil)
		beats.Wait()
		// The section must go back also when the operation was cancelled.
		release, done := context.WithTimeout(context.WithoutCancel(ctx), section.Lease())
		defer done()
		_ = section.Release(release) // the lease ends it otherwise
	}()
	if err := fn(body); err != nil {
		return err
	}
	return nil
}

var errAcquireWait = errors.New("the wait for the section is over")

func beat(ctx context.Context, s Section, stop <-chan struct{}, lost context.CancelCauseFunc) {
	tick := time.NewTicker(s.Lease() / 3)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := s.Renew(ctx); CodeOf(err) == CodeStaleFence {
				lost(err)
				return
			}
		}
	}
}
