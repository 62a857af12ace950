package application

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// Work whose size the caller chooses is written in parts, one commit each. What a
// part weighs follows the time that the last one took: a commit that nears the
// deadline of storage would be rolled back there, and while it runs nobody else's
// is begun.
const (
	firstPart = 500 // units of weight: a change, and half a KiB of its text
	leastPart = 20
	mostPart  = 20_000

	// wholePart is the weight of the first part of what is one commit unless it is large.
	wholePart = 2000

	// partTime is what a commit of a part is meant to take. It is a fraction of the
	// store's deadline where that is short.
	partTime     = 300 * time.Millisecond
	partFraction = 20

	// A part that takes partPatience times as long as it should, and twice what a commit
	// costs anyway, is broken off and made smaller; the smallest one has all of the
	// store's time.
	partPatience = 4

	// partWait is how long the events of others wait for the number of a part.
	partWait = time.Second

	// maxTries is how often in a row a part may fail before the work gives up.
	maxTries = 4

	// partLimit ends a part whose store never answers nor keeps a deadline.
	partLimit = 10 * time.Minute

	// settleTime bounds finding out what became of a commit whose caller has left.
	settleTime = 5 * time.Second
)

// weigh is what a change with so many bytes of text counts.
func weigh(bytes int) int { return 1 + bytes/512 }

// fill drafts a change with so many bytes of text, unless the part is full.
func (d *draft) fill(c storage.Change, bytes int) bool {
	weight := weigh(bytes)
	if d.page.weight > 0 && d.page.weight+weight > d.pace.size {
		return false
	}
	d.page.weight += weight
	d.change(c)
	return true
}

// pace is how the parts of one work go.
type pace struct {
	size   int // weight of the next part
	target time.Duration
	most   time.Duration // that a commit is waited for
	told   func()        // after every commit and every failure

	commits int    // that stand
	failed  int    // attempts of a part that came to nothing
	tries   int    // of them, those of the part at hand
	reason  string // of the last one, as people may read it

	// The last commits, older ones counting less: what each weighed and how long it took.
	n, x, y, xx, xy float64
	smallest        int // commits in a row that had the least weight
}

// boundedStore is a store that gives commits a deadline.
type boundedStore interface{ CommitTimeout() time.Duration }

func (a *Application) newPace(first int) *pace {
	p := &pace{size: first, target: partTime, most: time.Minute, told: func() {}}
	if s, ok := a.store.(boundedStore); ok {
		p.target, p.most = min(partTime, s.CommitTimeout()/partFraction), s.CommitTimeout()/2
	}
	return p
}

// patience is how long the commit at hand may take, 0 for as long as storage allows.
func (p *pace) patience() time.Duration {
	if p.size <= leastPart {
		return 0
	}
	fixed, _ := p.cost()
	return min(p.most, partPatience*p.target+2*time.Duration(fixed))
}

// cost is what a commit costs whatever it weighs, and what each unit of weight adds, in
// nanoseconds. On a busy machine the former may be most of it; smaller parts are no
// faster then.
func (p *pace) cost() (fixed, each float64) {
	if p.n == 0 {
		return 0, 0
	}
	x, y := p.x/p.n, p.y/p.n
	if spread := p.xx/p.n - x*x; spread > x*x/100 {
		each = max(0, (p.xy/p.n-x*y)/spread)
	} else {
		each = y / x
	}
	if fixed = y - each*x; fixed < 0 {
		return 0, y / x
	}
	return fixed, each
}

// landed fits the next part to what the last ones cost: its weight may add the target to
// what a commit costs anyway. A part that was not full says nothing of larger ones.
func (p *pace) landed(weight int, took time.Duration) {
	p.commits++
	p.tries = 0
	const kept = 0.8
	w, t := float64(weight), float64(took)
	p.n, p.x, p.y, p.xx, p.xy = kept*p.n+1, kept*p.x+w, kept*p.y+t, kept*p.xx+w*w, kept*p.xy+w*t
	_, each := p.cost()
	fitting := 2 * p.size
	if each > 0 {
		fitting = int(min(float64(p.target)/each, float64(fitting)))
	}
	if fitting > p.size && weight < p.size/2 {
		fitting = p.size
	}
	p.size = min(mostPart, max(leastPart, p.size/4, fitting))
	if p.size > leastPart {
		p.smallest = 0
	} else if p.smallest++; p.smallest%4 == 3 && took < partPatience*p.target {
		p.size = 4 * leastPart // which tells what weight costs
	}
}

// fails notes an attempt that came to nothing; the next one is smaller when it was too
// slow.
func (p *pace) fails(slow bool, reason string) {
	p.failed++
	p.tries++
	p.reason = reason
	if slow {
		p.size = max(leastPart, p.size/4)
	}
	p.told()
}

// inParts carries out a work of many commits until done: w.plan drafts one part each
// time, and takes it as written when its draft has landed. Sections are given up after
// a part, unless the draft asks for more inside them. A part that failed and is known
// not to stand is planned again, a few times.
func (a *Application) inParts(ctx context.Context, w write, p *pace, done func() bool) error {
	w.pace = p
	for !done() {
		err := a.onePart(ctx, w)
		switch {
		case err == nil:
			continue
		case !a.again(ctx, w.op, p, err):
			return p.stopped(ctx, w.op, err)
		}
		select {
		case <-time.After(pause(p.tries)):
		case <-ctx.Done():
		}
	}
	return nil
}

func (a *Application) onePart(ctx context.Context, w write) error {
	ctx, cancel := context.WithTimeout(ctx, partLimit)
	defer cancel()
	return a.untilJudged(ctx, w, new(int))
}

// pause grows with the tries of one part.
func pause(tries int) time.Duration { return min(time.Second, 20*time.Millisecond<<(2*tries)) }

// again says whether a part that failed is worth another attempt, and tells of it.
func (a *Application) again(ctx context.Context, op string, p *pace, err error) bool {
	var down *authz.UnavailableError
	if ctx.Err() != nil || !errors.As(err, &down) || down.Outcome != authz.OutcomeNotApplied {
		return false
	}
	if !errors.Is(err, errWithdrawn) { // which was noted where it was found
		if p.commits == 0 && p.failed == 0 {
			return false // an outage at the beginning is told at once
		}
		p.fails(false, "the storage was unavailable")
	}
	a.log.Warn("a part of a long write was not applied", "op", op, "try", p.tries, "of", maxTries, "failures", p.failed, "commits", p.commits,
		"next", p.size, "error", err)
	return p.tries < maxTries
}

// stopped is the error of a work that did not come to its end: refusals stay what they
// are, and say what stands.
func (p *pace) stopped(ctx context.Context, op string, err error) error {
	var refused *authz.WriteRejectedError
	if errors.As(err, &refused) {
		if p.commits == 0 {
			return err
		}
		told := *refused
		told.Message = fmt.Sprintf("%s (after %s of %s, which stand)", refused.Message, counted(p.commits, "commit"), op)
		return &told
	}
	var down *authz.UnavailableError
	if !errors.As(err, &down) || p.commits == 0 && p.failed == 0 {
		return err
	}
	told := authz.UnavailableError{Message: down.Message, Outcome: down.Outcome, Cause: err}
	switch {
	case ctx.Err() != nil:
		told.Message = op + " was broken off"
	case p.tries >= maxTries:
		told.Message = fmt.Sprintf("%s failed %d times in a row, %d in all; the last time %s", op, p.tries, p.failed, p.reason)
	}
	if p.commits > 0 {
		told.Message += fmt.Sprintf("; %s stand: repeating it does the rest", counted(p.commits, "commit"))
		told.Outcome = authz.OutcomeUnknown
	}
	return &told
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// errWithdrawn: a commit was given up and can never stand.
var errWithdrawn = errors.New("the commit was withdrawn")

// sendPart sends the commit of a part once. While its fate is unknown it is not sent
// again, for what was too slow once is too slow the next time: it is withdrawn, and
// planned anew in smaller parts.
func (a *Application) sendPart(ctx context.Context, d *draft, c storage.Commit) (storage.CommitResult, error) {
	p := d.pace
	sending, cancel := ctx, context.CancelFunc(func() {})
	if limit := p.patience(); limit > 0 {
		sending, cancel = context.WithTimeout(ctx, limit)
	}
	began := time.Now()
	result, err := a.store.Commit(sending, c)
	took := time.Since(began)
	late := sending.Err() != nil && ctx.Err() == nil
	cancel()
	if err == nil {
		p.landed(d.page.weight, took)
		return result, nil
	}
	known := a.known(d.op, err)
	if known != nil && !(late && storage.CodeOf(known) == storage.CodeUnavailable) {
		return storage.CommitResult{}, known
	}
	if ctx.Err() == nil {
		p.fails(true, fmt.Sprintf("the storage gave no answer within %s to a commit of %s", took.Round(time.Millisecond), counted(len(c.Changes), "change")))
	}
	a.log.Warn("a commit is withdrawn", "op", d.op, "commit", c.ID, "changes", len(c.Changes), "took", took, "error", err)
	result, applied, lost := a.settle(ctx, c)
	switch {
	case lost != nil:
		return storage.CommitResult{}, d.unknown(c, time.Since(began), errors.Join(err, lost))
	case applied:
		p.landed(d.page.weight, took)
		return result, nil
	}
	return storage.CommitResult{}, &authz.UnavailableError{Outcome: authz.OutcomeNotApplied, Cause: errors.Join(errWithdrawn, err),
		Message: "storage did not apply " + d.op + " in time"}
}

// settle finds out whether a commit stands and sees to it that one which does not never
// will: an empty commit takes its id, and whatever arrives under it later is refused.
// What stands answers as it did. With an error nobody knows.
func (a *Application) settle(ctx context.Context, c storage.Commit) (result storage.CommitResult, applied bool, err error) {
	if ctx.Err() != nil { // who left is told what stands
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), settleTime)
		defer cancel()
	}
	result, err = a.store.Commit(ctx, storage.Commit{ID: c.ID, At: c.At, Incarnation: c.Incarnation})
	if storage.CodeOf(err) == storage.CodeConflict {
		result, err = a.store.Commit(ctx, c)
		applied = err == nil
	}
	return result, applied, err
}
