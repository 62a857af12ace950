package mongo

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/authzhost/authz/plugins/mongo/internal/layout"
	"github.com/authzhost/authz/sdk/storage"
)

// commitWait bounds a commit whose caller set no deadline.
const commitWait = time.Minute

// Commit goes on behind the caller's back when the caller leaves after the
// decision was sent: half-written is no state to leave a commit in.
func (s *store) Commit(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
	if err := s.usable(ctx); err != nil {
		return storage.CommitResult{}, err
	}
	// A section goes back only when no commit runs under it, be it one that is
	// still being looked through.
	s.partition.flights.start(c.Fences)
	digest, err := storage.CheckCommit(c)
	if err != nil {
		s.partition.flights.end(c.Fences, false)
		return storage.CommitResult{}, err
	}
	ctx, cancel := bounded(ctx, commitWait)
	defer cancel()
	a := &attempt{partition: s.partition, commit: c, digest: digest, mine: map[int64]bool{}}
	type outcome struct {
		result storage.CommitResult
		err    error
	}
	ended := make(chan outcome, 1)
	go func() {
		result, err := a.run(ctx)
		s.partition.flights.end(c.Fences, storage.CodeOf(err) == storage.CodeUnavailable && a.state.Load() == sent)
		ended <- outcome{result, err}
	}()
	select {
	case o := <-ended:
		return o.result, o.err
	case <-ctx.Done():
	}
	if a.state.CompareAndSwap(judging, abandoned) {
		return storage.CommitResult{}, interrupted(ctx)
	}
	select {
	case o := <-ended: // it may have ended at the same moment
		return o.result, o.err
	default:
		return storage.CommitResult{}, unknown(context.Cause(ctx))
	}
}

// bounded gives a context a deadline when it has none.
func bounded(ctx context.Context, most time.Duration) (context.Context, context.CancelFunc) {
	if _, has := ctx.Deadline(); has {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, most)
}

// What is known of a decision.
const (
	judging   = iota // none was sent
	abandoned        // none will be: the caller left
	sent             // one was sent
)

// attempt is one call of Commit. It takes the turn as often as it is taken away.
type attempt struct {
	*partition
	commit storage.Commit
	digest storage.Digest
	state  atomic.Int32

	// mine are the turns under which this call sent a decision.
	mine map[int64]bool
}

// errAgain is a turn that ended without telling the commit's fate.
var errAgain = errors.New("the turn was taken away")

func (a *attempt) run(ctx context.Context) (storage.CommitResult, error) {
	for wait := pollLeast; ; wait = min(2*wait, pollMost) {
		result, err := a.once(ctx)
		switch {
		case errors.Is(err, errStopped):
			return result, unknown(err)
		case errors.Is(err, errAgain):
			// The next turn finishes what was decided, or proves that nothing was.
		case a.state.Load() == sent && storage.CodeOf(err) == storage.CodeUnavailable:
			if ctx.Err() != nil {
				return storage.CommitResult{}, unknown(err)
			}
		default:
			return result, err
		}
		select {
		case <-time.After(jitter(wait)):
		case <-ctx.Done():
			if a.state.Load() == sent {
				return storage.CommitResult{}, unknown(err)
			}
			return storage.CommitResult{}, interrupted(ctx)
		}
	}
}

// once takes the turn and carries the commit through it.
func (a *attempt) once(ctx context.Context) (result storage.CommitResult, err error) {
	t, err := a.takeTurn(ctx)
	if err != nil {
		return result, err
	}
	given := false
	defer func() {
		switch {
		case errors.Is(err, errStopped):
			t.leave()
		case given:
			t.gave()
		default:
			t.give(ctx)
		}
	}()
	if t.pending != "" {
		if err := a.finish(ctx, t.pending); err != nil {
			return result, stoppedOr(err, failed(err))
		}
	}
	if err := a.step("judge"); err != nil {
		return result, err
	}
	b, result, err := a.judge(ctx)
	if err != nil || b == nil {
		return result, err
	}
	if err := a.ready(ctx, b); err != nil {
		return result, failed(err)
	}
	pieces, err := a.writeJournal(ctx, b, t.number)
	if err != nil {
		return result, stoppedOr(err, failed(err))
	}
	if err := a.decide(ctx, t); err != nil {
		return result, err
	}
	if b.lastSeq > 0 {
		defer a.head.notify()
	}
	if err := a.carryOut(ctx, t, b, pieces); err != nil {
		return result, stoppedOr(err, errAgain)
	}
	given = true
	return result, nil
}

// ready makes the collections of the batch, and the journal, before anything is
// decided: nothing that may fail for good is left for later.
func (p *partition) ready(ctx context.Context, b *batch) error {
	if err := p.in(layout.Journal).Ready(ctx); err != nil {
		return err
	}
	var last layout.Name
	for _, o := range b.ops {
		if o.In == last {
			continue
		}
		last = o.In
		if err := p.in(o.In).Ready(ctx); err != nil {
			return err
		}
	}
	return nil
}

func stoppedOr(err, other error) error {
	if errors.Is(err, errStopped) {
		return err
	}
	return other
}

func (p *partition) readCommit(ctx context.Context, id string) (d commitDoc, found bool, err error) {
	commits := p.in(layout.Commits)
	row, found, err := commits.One(ctx, commits.Key(id))
	if err != nil || !found {
		return d, false, err
	}
	return d, true, row.Decode(&d)
}

// GetCommit waits for a commit that is half way: none is an answer that a caller
// may act on.
func (s *store) GetCommit(ctx context.Context, id string) (result storage.CommitResult, found bool, err error) {
	if err := s.usable(ctx, id); err != nil {
		return result, false, err
	}
	ctx, cancel := bounded(ctx, readWait)
	defer cancel()
	var d commitDoc
	err = s.partition.atOneInstant(ctx, func() (err error) {
		d, found, err = s.partition.readCommit(ctx, id)
		return failed(err)
	})
	if err != nil || !found {
		return result, false, err
	}
	result, err = d.result()
	return result, err == nil, failed(err)
}
