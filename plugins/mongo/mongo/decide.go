package mongo

import (
	"context"

	"golang.org/x/sync/errgroup"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/plugins/mongo/internal/layout"
	"github.com/authzhost/authz/sdk/storage"
)

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
	another := false
	if want := a.commit.Incarnation; want != "" {
		first.Go(func() error {
			marker, found, err := a.tables.Marker(ctx)
			another = !found || marker.Incarnation != want
			return failed(err)
		})
	}
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
	if another {
		return nil, storage.CommitResult{}, storage.ErrOtherLife()
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
		return storage.CommitResult{}, storage.Errorf(storage.CodeConflict, "commit %s was applied with other content", spell.Quote(a.commit.ID))
	}
	result, err := known.result()
	if err != nil {
		return storage.CommitResult{}, unknown(err) // applied, and damaged since
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
	rows, _, err := locks.Find(ctx, layout.Keys(locks, keys), layout.Page{})
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
