package mongo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/authzhost/authz/plugins/mongo/internal/layout"
	"github.com/authzhost/authz/sdk/authz"
)

// Statements that apply a batch are bounded, so that a writer looks at its clock
// often enough.
const (
	statementRows  = 1000
	statementBytes = 4 << 20
)

var errOverdue = errors.New("the writer was held up for too long")

// apply writes the batch under its turn's number. It may be run by many and more
// than once: a document that carries the number, or a larger one, is left alone.
// Documents lie in the order in which a list may glimpse them: what takes access
// away before what gives it, the head after all that it announces.
func (p *partition) apply(ctx context.Context, b *batch, number int64, began time.Time) error {
	send := func(statement func() error) error {
		if time.Since(began) > p.patience {
			return errOverdue
		}
		if err := p.step("apply"); err != nil {
			return err
		}
		return statement()
	}
	for rest := b.ops; len(rest) > 0; {
		n, size := 1, len(rest[0].Doc)
		for n < len(rest) && n < statementRows && rest[n].In == rest[0].In && rest[n].Kind == rest[0].Kind {
			if size += len(rest[n].Doc); size > statementBytes {
				break
			}
			n++
		}
		if rest[0].In == layout.Commits && b.lastSeq > 0 {
			// What the commit's record stands for is complete with the head.
			if err := send(func() error { return p.raiseHead(ctx, authz.Position{Seq: b.lastSeq, Identity: b.identity}, number) }); err != nil {
				return err
			}
		}
		if err := send(func() error { return p.write(ctx, rest[:n], number, b.at) }); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// write carries out ops of one collection and one kind.
func (p *partition) write(ctx context.Context, ops []op, number, at int64) error {
	c := p.in(ops[0].In)
	if c == nil {
		return fmt.Errorf("the journal names a collection %q", ops[0].In)
	}
	if ops[0].Kind == opGone {
		return c.UpdateAll(ctx, layout.Keys(c, keysOf(ops), older(number)), stone(ops[0].In, number, at))
	}
	if ops[0].Kind == opNew {
		docs := make([]layout.Doc, len(ops))
		for i, o := range ops {
			doc, err := o.document(number)
			if err != nil {
				return err
			}
			docs[i] = doc
		}
		taken, err := c.Insert(ctx, docs...)
		if err != nil || len(taken) == 0 {
			return err
		}
		met := make([]op, len(taken))
		for i, n := range taken {
			met[i] = ops[n]
		}
		ops = met
	}
	all := make([]layout.Replacement, len(ops))
	for i, o := range ops {
		doc, err := o.document(number)
		if err != nil {
			return err
		}
		all[i] = layout.Replacement{Where: c.Key(o.Key, older(number)), Doc: doc, Create: true}
	}
	return c.Replace(ctx, all...)
}

// older selects documents of smaller turns, and those from before there were any.
func older(number int64) bson.E {
	return bson.E{Key: "t", Value: bson.D{{Key: "$not", Value: bson.D{{Key: "$gte", Value: number}}}}}
}

// document is what the op puts under its key.
func (o op) document(number int64) (layout.Doc, error) {
	elements, err := o.Doc.Elements()
	if err != nil {
		return layout.Doc{}, err
	}
	members := make(bson.D, 0, len(elements)+1)
	for _, e := range elements {
		members = append(members, bson.E{Key: e.Key(), Value: e.Value()})
	}
	return layout.Doc{Key: o.Key, Members: append(members, bson.E{Key: "t", Value: number})}, nil
}

// stone makes stones of the documents selected: it is one statement for many. Keys
// that no document has were swept, and nothing is brought back.
func stone(in layout.Name, number, at int64) bson.D {
	var empty bson.D
	for _, member := range memberNames[in] {
		empty = append(empty, eq(member, ""))
	}
	return bson.D{
		{Key: "$set", Value: bson.D{{Key: "t", Value: number}, {Key: "gone", Value: true}, {Key: "at", Value: at}}},
		{Key: "$unset", Value: empty}}
}

func keysOf(ops []op) []any {
	keys := make([]any, len(ops))
	for i, o := range ops {
		keys[i] = o.Key
	}
	return keys
}

// raiseHead moves the log's head up, never down.
func (p *partition) raiseHead(ctx context.Context, head authz.Position, number int64) error {
	return p.in(layout.Epoch).Raise(ctx, epochKey, bson.D{{Key: "seq", Value: bson.D{{Key: "$lt", Value: head.Seq}}}},
		bson.D{{Key: "seq", Value: head.Seq}, {Key: "identity", Value: head.Identity}, {Key: "t", Value: number}}, bson.D{{Key: "prunedThrough", Value: int64(0)}})
}

// settled ends the pending state of a commit that was applied in full. The turn
// goes back in the same step when t still has it.
func (p *partition) settled(ctx context.Context, commit string, t *turn) error {
	locks := p.in(layout.Locks)
	pending := bson.E{Key: "pending", Value: commit}
	done := bson.E{Key: "$inc", Value: bson.D{{Key: "done", Value: int64(1)}}}
	if t != nil {
		if err := p.step("settle"); err != nil {
			return err
		}
		held, err := locks.Update(ctx, locks.Key(turnKey, pending, bson.E{Key: "holder", Value: t.holder}, bson.E{Key: "fence", Value: t.number}),
			bson.D{{Key: "$unset", Value: bson.D{{Key: "pending", Value: ""}, {Key: "holder", Value: ""}}}, done})
		if err != nil || held {
			return err
		}
	}
	_, err := locks.Update(ctx, locks.Key(turnKey, pending), bson.D{{Key: "$unset", Value: bson.D{{Key: "pending", Value: ""}}}, done})
	return err
}

// finish carries out a commit that somebody else decided. Several may do so at
// once, also beside the writer itself.
func (p *partition) finish(ctx context.Context, commit string) error {
	began := time.Now()
	b, number, pieces, found, err := p.readJournal(ctx, commit)
	if err != nil {
		return err
	}
	if !found {
		l, err := p.look(ctx)
		if err == nil && l.pending() == commit {
			err = fmt.Errorf("the journal of decided commit %q is missing", commit)
		}
		return err
	}
	if err := p.apply(ctx, b, number, began); err != nil {
		return err
	}
	if err := p.settled(ctx, commit, nil); err != nil {
		return err
	}
	if b.lastSeq > 0 {
		p.head.notify()
	}
	_ = p.dropJournal(ctx, commit, number, pieces) // swept otherwise
	return nil
}
