package account

import (
	"context"
	"encoding/binary"
	"sync/atomic"

	"github.com/google/uuid"
)

// Work fixes, before a write begins, the ids and the instant that it will use, so
// that a repeat after this host died sends the same commits, which storage
// recognises. It is stored with the idempotency entry of the request.
type Work struct {
	ID uuid.UUID `json:"id"`
	At int64     `json:"at"`

	// Repeated is set when an earlier run of this work may have died before it could
	// answer; Applied asks storage only then.
	Repeated bool `json:"-"`

	commits atomic.Uint32 // that were made
	asked   atomic.Uint32 // the number, from 1, of the commit that Applied did not find
	ids     atomic.Uint32
}

type workKey struct{}

// WithWork lets writes under the context use w's ids and instant.
func WithWork(ctx context.Context, w *Work) context.Context {
	return context.WithValue(ctx, workKey{}, w)
}

func workOf(ctx context.Context) *Work {
	w, _ := ctx.Value(workKey{}).(*Work)
	return w
}

func (w *Work) derived(kind byte, n uint32) string {
	var name [5]byte
	name[0] = kind
	binary.BigEndian.PutUint32(name[1:], n)
	return uuid.NewSHA1(w.ID, name[:]).String()
}

// commitID is that of the next commit. A refused commit leaves nothing, so that
// trying again uses the same id.
func (w *Work) commitID() string { return w.derived('c', w.commits.Load()) }

// Applied tells whether an earlier run of the work that ctx carries made its next
// commit already. A write asks before it judges, since what that run stored would
// refuse this one; it takes the ids of new rows before its first try.
func (s *Store) Applied(ctx context.Context) (bool, error) {
	w := workOf(ctx)
	if w == nil || !w.Repeated {
		return false, nil
	}
	found, err := s.made(ctx, w)
	if found {
		w.commits.Add(1)
	} else if err == nil {
		w.asked.Store(w.commits.Load() + 1)
	}
	return found, err
}

// made tells whether the next commit of the work was made.
func (s *Store) made(ctx context.Context, w *Work) (bool, error) {
	_, found, err := s.records.GetCommit(ctx, w.commitID())
	return found, failed(err)
}

// NewID is the id of a new row: random, or the next of the work that ctx carries.
func NewID(ctx context.Context) string {
	if w := workOf(ctx); w != nil {
		return w.derived('i', w.ids.Add(1))
	}
	return uuid.NewString()
}
