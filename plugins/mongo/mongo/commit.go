package mongo

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/authzhost/authz/plugins/mongo/internal/layout"
	"github.com/authzhost/authz/sdk/authz"
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
	digest, err := storage.CheckCommit(c)
	if err != nil {
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
	s.partition.flights.start(c.Fences)
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

// judge recognises the commit or judges it. The batch is nil when it was applied
// before; result is its answer either way.
func (a *attempt) judge(ctx context.Context) (*batch, storage.CommitResult, error) {
	d := newDraft(a.commit)
	now, err := a.clock.now(ctx)
	if err != nil {
		return nil, storage.CommitResult{}, failed(err)
	}
	var known commitDoc
	var recognised bool
	fences := map[string]int64{}
	rows, loading := errgroup.WithContext(ctx)
	rows.SetLimit(loadParallel)
	d.load(loading, a.partition, rows)
	var first errgroup.Group
	first.Go(func() (err error) {
		known, recognised, err = a.readCommit(ctx, a.commit.ID)
		return failed(err)
	})
	if len(a.commit.Fences) > 0 {
		first.Go(func() error { return a.readFences(ctx, fences) })
	}
	err = first.Wait()
	loaded := rows.Wait()
	if err != nil {
		return nil, storage.CommitResult{}, err
	}
	if recognised {
		result, err := a.replay(known)
		return nil, result, err
	}
	for _, f := range a.commit.Fences {
		if stored, found := fences[f.Key]; !found || stored != f.Fence {
			return nil, storage.CommitResult{}, errStale(f)
		}
	}
	if loaded != nil {
		return nil, storage.CommitResult{}, loaded
	}
	result, err := d.judge(a.commit)
	if err != nil {
		return nil, storage.CommitResult{}, err
	}
	b := &batch{commit: a.commit.ID, at: now}
	if err := d.emit(b, a.commit); err != nil {
		return nil, storage.CommitResult{}, err
	}
	record, err := commitMembers(a.digest, result, now)
	if err == nil {
		err = b.add(layout.Commits, a.commit.ID, opNew, record)
	}
	if err != nil {
		return nil, storage.CommitResult{}, failed(err)
	}
	return b, result, nil
}

// replay answers for a commit that was applied. It is no replay when this very
// call decided it and somebody else finished it.
func (a *attempt) replay(known commitDoc) (storage.CommitResult, error) {
	if known.Digest != a.digest.String() {
		return storage.CommitResult{}, storage.Errorf(storage.CodeConflict, "commit %s was applied with other content", authz.Quote(a.commit.ID))
	}
	result, err := known.result()
	if err != nil {
		return storage.CommitResult{}, failed(err)
	}
	result.Replayed = !a.mine[known.T]
	return result, nil
}

// readFences reads the fences of the sections that the commit runs under. Nobody
// can rob one of them and not pass through the turn, which this commit has.
func (a *attempt) readFences(ctx context.Context, fences map[string]int64) error {
	keys := make([]string, len(a.commit.Fences))
	for i, f := range a.commit.Fences {
		keys[i] = f.Key
	}
	locks := a.in(layout.Locks)
	rows, err := locks.Find(ctx, layout.Keys(locks, keys), layout.Page{})
	if err != nil {
		return failed(err)
	}
	for _, row := range rows {
		var l lockDoc
		if err := row.Decode(&l); err != nil {
			return failed(err)
		}
		fences[row.Text()] = l.Fence
	}
	return nil
}

// decide makes the commit happen, by one conditional update: from here on it will,
// whoever carries it out.
func (a *attempt) decide(ctx context.Context, t *turn) error {
	if err := a.step("decide"); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return interrupted(ctx)
	}
	if t.overdue() {
		return errAgain
	}
	if !a.state.CompareAndSwap(judging, sent) && a.state.Load() == abandoned {
		return interrupted(ctx)
	}
	a.mine[t.number] = true
	own, done := t.own(ctx)
	defer done()
	locks := a.in(layout.Locks)
	decided, err := locks.Update(own, locks.Key(turnKey, eq("fence", t.number), eq("pending", nil)), set(bson.E{Key: "pending", Value: a.commit.ID}))
	if err != nil || !decided {
		return errAgain // an answer that was lost says nothing either
	}
	return nil
}

// own is the time that a writer has of its own: the caller's end does not end it.
func (t *turn) own(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithDeadline(context.WithoutCancel(ctx), t.taken.Add(t.p.patience))
}

// carryOut applies the decided batch and gives the turn back.
func (a *attempt) carryOut(ctx context.Context, t *turn, b *batch, pieces int) error {
	own, done := t.own(ctx)
	defer done()
	if err := a.apply(own, b, t.number, t.taken); err != nil {
		return err
	}
	if t.overdue() {
		return errOverdue
	}
	if err := a.settled(own, b.commit, t); err != nil {
		return err
	}
	_ = a.dropJournal(own, b.commit, t.number, pieces) // swept otherwise
	return nil
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
