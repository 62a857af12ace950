package runner

import "context"

// Crasher is a backend whose plugins live in processes that can be killed; I is what
// a plugin serves.
type Crasher[I any] interface {
	// Kill ends the process behind it at once, as SIGKILL does, and returns when it
	// is gone.
	Kill(served I) error
}

// Freezer is a backend whose plugins live in processes that can be stopped.
type Freezer[I any] interface {
	// Stop halts the process behind it as SIGSTOP does, Continue lets it run on.
	Stop(served I) error
	Continue(served I) error
}

// Staller is a backend behind whose plugins something answers that can stop: Stall
// keeps it from answering, with connections left open, Resume lets it answer again.
type Staller interface {
	Stall() error
	Resume() error
}

// Offer is how a backend shows that it has an ability, and what a case says that is
// skipped without it.
type Offer struct {
	by      func(backend any) bool
	missing string
}

// Offered is the offer of a backend that satisfies T.
func Offered[T any](missing string) Offer {
	return Offer{by: func(backend any) bool { _, has := backend.(T); return has }, missing: missing}
}

// Require skips the case when the backend lacks what is offered.
func (r *Record) Require(backend any, o Offer) {
	if !o.by(backend) {
		r.Skip(o.missing)
	}
}

// Fresh makes the backend of a case, which is closed when the case has ended.
func Fresh[B interface{ Close() error }](ctx context.Context, r *Record, make func(context.Context) (B, error)) B {
	b, err := make(ctx)
	if err != nil {
		r.Want("a fresh backend", "%v", err)
	}
	r.Cleanup(func() {
		if err := b.Close(); err != nil {
			r.Fail("the backend closed, with nothing left behind", err.Error())
		}
	})
	return b
}
