package mongo

import (
	"context"
	"crypto/rand"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/authzhost/authz/plugins/mongo/internal/layout"
	"github.com/authzhost/authz/sdk/storage"
)

// turnKey is the lock that only the driver takes.
const turnKey = "commit"

// lockDoc is a document of the collection locks. Pending and Done belong to the
// turn.
type lockDoc struct {
	Holder    *string `bson:"holder"`
	Fence     int64   `bson:"fence"`
	ExpiresAt int64   `bson:"expiresAt"`
	Pending   *string `bson:"pending"`
	Done      int64   `bson:"done"`
}

func (l lockDoc) pending() string {
	if l.Pending == nil {
		return ""
	}
	return *l.Pending
}

// held is the lease that a lock is held under at this moment.
func (l lockDoc) held(now int64) (lease storage.Lease, held bool) {
	if l.Holder == nil || l.ExpiresAt <= now {
		return lease, false
	}
	return storage.Lease{Holder: *l.Holder, Fence: l.Fence, ExpiresAt: l.ExpiresAt}, true
}

// obstacle is what a waiter knows of the lease in its way.
type obstacle struct {
	p      *partition
	key    string
	length time.Duration // of a lease
	looked time.Time
	stale  storage.Lease // that may be taken although it has not run out
}

// looks is how often a waiter looks at the lease in its way while it lasts.
const looks = 20

// look notes the lease, if it is time to. What it fails to find out it finds out later.
func (o *obstacle) look(ctx context.Context) {
	if time.Since(o.looked) < o.length/looks {
		return
	}
	o.looked = time.Now()
	now, err := o.p.clock.now(ctx)
	if err != nil {
		return
	}
	row, err := o.p.lock(ctx, o.key)
	if err != nil {
		return
	}
	lease, held := row.held(now)
	switch {
	case !held:
		o.p.leases.Forget(o.key)
	case o.p.leases.Stale(o.key, lease, o.length):
		o.stale = lease
	}
}

// takeLock takes a lock by one conditional update and returns its document from
// before; held is false when somebody else has it.
func (p *partition) takeLock(ctx context.Context, key, holder string, lease time.Duration, stale storage.Lease) (before lockDoc, fence int64, held bool, err error) {
	now, err := p.clock.now(ctx)
	if err != nil {
		return before, 0, false, err
	}
	locks := p.in(layout.Locks)
	expires := now + lease.Milliseconds()
	free := bson.E{Key: "$or", Value: bson.A{
		bson.D{{Key: "holder", Value: nil}},
		bson.D{{Key: "expiresAt", Value: bson.D{{Key: "$lte", Value: now}}}},
		bson.D{{Key: "holder", Value: stale.Holder}, {Key: "fence", Value: stale.Fence}, {Key: "expiresAt", Value: stale.ExpiresAt}}}}
	row, found, err := locks.Take(ctx, locks.Key(key, free), bson.D{
		{Key: "$set", Value: bson.D{{Key: "holder", Value: holder}, {Key: "expiresAt", Value: expires}}},
		{Key: "$inc", Value: bson.D{{Key: "fence", Value: int64(1)}}}})
	if err != nil {
		return before, 0, false, err
	}
	if found {
		err := row.Decode(&before)
		return before, before.Fence + 1, err == nil, err
	}
	taken, err := locks.Insert(ctx, layout.Doc{Key: key, Members: bson.D{
		{Key: "holder", Value: holder}, {Key: "fence", Value: now}, {Key: "expiresAt", Value: expires}}})
	return before, now, err == nil && len(taken) == 0, err
}

// mine selects a lock that is held under a fence.
func (p *partition) mine(key, holder string, fence int64) layout.Filter {
	return p.in(layout.Locks).Key(key, bson.E{Key: "holder", Value: holder}, bson.E{Key: "fence", Value: fence})
}

// renewLock reports whether the lock is still held.
func (p *partition) renewLock(ctx context.Context, key, holder string, fence int64, lease time.Duration) (bool, error) {
	now, err := p.clock.now(ctx)
	if err != nil {
		return false, err
	}
	return p.in(layout.Locks).Update(ctx, p.mine(key, holder, fence), set(bson.E{Key: "expiresAt", Value: now + lease.Milliseconds()}))
}

// freeLock clears the holder and keeps the fence.
func (p *partition) freeLock(ctx context.Context, key, holder string, fence int64) error {
	_, err := p.in(layout.Locks).Update(ctx, p.mine(key, holder, fence), bson.D{{Key: "$unset", Value: bson.D{{Key: "holder", Value: ""}}}})
	return err
}

func set(members ...bson.E) bson.D { return bson.D{{Key: "$set", Value: bson.D(members)}} }

// Waiting for a lock that another process holds. The turn is held for some
// milliseconds, sections for as long as their holders think.
const (
	pollLeast = 5 * time.Millisecond
	pollMost  = 50 * time.Millisecond
	turnPoll  = 16 * time.Millisecond
)

// turn is the right to judge one commit and to change rows. Its number is what
// documents written under it carry.
type turn struct {
	p       *partition
	holder  string
	number  int64
	taken   time.Time
	pending string // a commit that was left decided

	renewal *time.Timer
	ended   context.Context
	end     context.CancelFunc
}

// takeTurn waits for the turn: behind this process's other writers first, then by
// polling. give must be called.
func (p *partition) takeTurn(ctx context.Context) (*turn, error) {
	select {
	case p.writer <- struct{}{}:
	case <-ctx.Done():
		return nil, interrupted(ctx)
	}
	t := &turn{p: p, holder: rand.Text()}
	way := obstacle{p: p, key: turnKey, length: p.turnLease, looked: time.Now()} // it is mostly free sooner
	for wait := pollLeast; ; wait = min(2*wait, turnPoll) {
		if err := p.step("take"); err != nil {
			<-p.writer
			return nil, err
		}
		t.taken = time.Now()
		before, number, held, err := p.takeLock(ctx, turnKey, t.holder, p.turnLease, way.stale)
		if err != nil {
			<-p.writer
			if ctx.Err() != nil {
				return nil, interrupted(ctx)
			}
			return nil, failed(err)
		}
		if held {
			t.number, t.pending = number, before.pending()
			t.ended, t.end = context.WithCancel(context.Background())
			t.renewal = time.AfterFunc(p.turnLease/3, t.renew)
			return t, nil
		}
		way.look(ctx)
		select {
		case <-time.After(jitter(wait)):
		case <-ctx.Done():
			<-p.writer
			return nil, interrupted(ctx)
		}
	}
}

// renew keeps the turn while its writer lives. A turn that was lost shows when
// the commit is decided.
func (t *turn) renew() {
	if t.p.step("renew") != nil {
		return
	}
	ctx, done := context.WithTimeout(t.ended, t.p.turnLease)
	defer done()
	held, err := t.p.renewLock(ctx, turnKey, t.holder, t.number, t.p.turnLease)
	if (held || err != nil) && t.ended.Err() == nil && !t.overdue() {
		t.renewal.Reset(t.p.turnLease / 3)
	}
}

// overdue says that nothing more may be sent under this turn.
func (t *turn) overdue() bool { return time.Since(t.taken) > t.p.patience }

// give gives the turn back, also when the call that took it was cancelled.
func (t *turn) give(ctx context.Context) {
	t.drop()
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), t.p.turnLease)
	defer done()
	_ = t.p.freeLock(ctx, turnKey, t.holder, t.number) // the lease ends it otherwise
	<-t.p.writer
}

// gave is give for a turn whose document was freed by another statement.
func (t *turn) gave() {
	t.drop()
	<-t.p.writer
}

// leave lets go without a word to the database, as a killed process does.
func (t *turn) leave() { t.gave() }

func (t *turn) drop() {
	t.end()
	t.renewal.Stop()
}

// look reads the turn. A partition that nobody wrote has none yet: all zero.
func (p *partition) look(ctx context.Context) (lockDoc, error) { return p.lock(ctx, turnKey) }

// lock reads a lock, all zero when there is none yet.
func (p *partition) lock(ctx context.Context, key string) (l lockDoc, err error) {
	locks := p.in(layout.Locks)
	row, found, err := locks.One(ctx, locks.Key(key))
	if err != nil || !found {
		return l, err
	}
	return l, row.Decode(&l)
}

// underTurn runs f while nobody else changes a row. Passing through the turn also
// puts an end to every decision that was still on its way.
func (p *partition) underTurn(ctx context.Context, f func(*turn) error) error {
	t, err := p.takeTurn(ctx)
	if err != nil {
		return err
	}
	defer t.give(ctx)
	if t.pending != "" {
		if err := p.finish(ctx, t.pending); err != nil {
			return failed(err)
		}
	}
	return f(t)
}

func (p *partition) passThrough(ctx context.Context) error {
	return p.underTurn(ctx, func(*turn) error { return nil })
}

// readTries is how often a read of one instant looks again before it takes the
// turn: writers that follow one another closely leave it no gap.
const readTries = 4

// atOneInstant runs read so that it sees all of every commit or none.
func (p *partition) atOneInstant(ctx context.Context, read func() error) error {
	for try := 0; ; try++ {
		before, err := p.look(ctx)
		if err != nil {
			return failed(err)
		}
		if before.pending() == "" {
			if err := read(); err != nil {
				return err
			}
			after, err := p.look(ctx)
			if err != nil {
				return failed(err)
			}
			if after.pending() == "" && after.Done == before.Done {
				return nil
			}
		} else if err := p.rescue(ctx); err != nil {
			return failed(err)
		}
		if try+1 >= readTries {
			return p.readUnderTurn(ctx, read)
		}
		select {
		case <-time.After(jitter(pollLeast << try)):
		case <-ctx.Done():
			return interrupted(ctx)
		}
	}
}

// readUnderTurn repeats the read when the turn was lost meanwhile.
func (p *partition) readUnderTurn(ctx context.Context, read func() error) error {
	for {
		var whole bool
		err := p.underTurn(ctx, func(t *turn) error {
			if err := read(); err != nil {
				return err
			}
			after, err := p.look(ctx)
			whole = after.Fence == t.number
			return failed(err)
		})
		if err != nil || whole {
			return err
		}
	}
}

// rescue finishes a commit whose writer's lease has run out.
func (p *partition) rescue(ctx context.Context) error {
	l, err := p.look(ctx)
	if err != nil || l.Pending == nil {
		return err
	}
	now, err := p.clock.now(ctx)
	if err != nil {
		return err
	}
	if lease, held := l.held(now); held && !p.leases.Stale(turnKey, lease, p.turnLease) {
		return nil
	}
	return p.finish(ctx, *l.Pending)
}

// finishLeft finishes a decided commit without waiting for its writer's lease.
func (p *partition) finishLeft(ctx context.Context) error {
	l, err := p.look(ctx)
	if err != nil || l.Pending == nil {
		return err
	}
	return p.finish(ctx, *l.Pending)
}
