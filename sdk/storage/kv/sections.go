package kv

import (
	"context"
	"time"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/storage"
)

// turn is held by the holder of a section. Those who wait to send on it are served
// in the order they came. The driver's mutex guards turns and sections.
type turn struct {
	taken  chan struct{}
	users  int      // who hold it or wait for it
	holder *section // nil while nobody holds it
}

type section struct {
	driver  *driver
	fence   storage.Fence
	turn    *turn
	leave   func()
	unhook  func() bool // from the end of the store
	expiry  *time.Timer
	expires time.Time
}

// Acquire writes the fence down before anybody runs under it: from then on no
// commit under an older one passes.
func (s *store) Acquire(ctx context.Context, key string) (storage.Section, error) {
	if err := s.usable(ctx, key); err != nil {
		return nil, err
	}
	if key == "" {
		return nil, storage.Errorf(storage.CodeValidation, "a section needs a key that is not empty")
	}
	d := s.driver
	t, leave := d.turn(s.name + "/" + key)
	select {
	case t.taken <- struct{}{}:
	case <-ctx.Done():
		leave()
		return nil, failed(ctx.Err())
	case <-s.open.Done():
		leave()
		return nil, s.usable(ctx)
	}
	fence := storage.Fence{Key: key, Fence: time.Now().UnixMilli()}
	err := s.update(ctx, func(p *partition) {
		if last := fences.get(p, key); last != nil {
			fence.Fence = last.Fence + 1
		}
		fences.put(p, fence)
	})
	if err != nil {
		<-t.taken
		leave()
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	h := &section{driver: d, fence: fence, turn: t, leave: leave, expires: time.Now().Add(d.lease)}
	h.expiry = time.AfterFunc(d.lease, func() { d.rob(t) })
	h.unhook = context.AfterFunc(s.open, h.end)
	t.holder = h
	return h, nil
}

// turn finds the turn of a section, which lives until its last user leaves.
func (d *driver) turn(pair string) (t *turn, leave func()) {
	d.mu.Lock()
	if t = d.turns[pair]; t == nil {
		t = &turn{taken: make(chan struct{}, 1)}
		d.turns[pair] = t
	}
	t.users++
	d.mu.Unlock()
	d.rob(t)
	return t, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if t.users--; t.users == 0 {
			delete(d.turns, pair)
		}
	}
}

// rob ends the section whose lease has run out while others wait for it.
func (d *driver) rob(t *turn) {
	d.mu.Lock()
	h := t.holder
	late := h != nil && t.users > 1 && !time.Now().Before(h.expires)
	d.mu.Unlock()
	if late {
		h.end()
	}
}

// end gives the turn back, once.
func (h *section) end() {
	h.driver.mu.Lock()
	held := h.turn.holder == h
	if held {
		h.turn.holder = nil
	}
	h.driver.mu.Unlock()
	if held {
		h.expiry.Stop()
		h.unhook()
		<-h.turn.taken
		h.leave()
	}
}

func (h *section) Fence() storage.Fence { return h.fence }

func (h *section) Lease() time.Duration { return h.driver.lease }

func (h *section) Renew(ctx context.Context) error {
	if ctx.Err() != nil {
		return failed(ctx.Err())
	}
	h.driver.mu.Lock()
	defer h.driver.mu.Unlock()
	if h.turn.holder != h {
		return storage.Errorf(storage.CodeStaleFence, "section %s is no longer held", spell.Quote(h.fence.Key))
	}
	h.expires = time.Now().Add(h.driver.lease)
	h.expiry.Reset(h.driver.lease)
	return nil
}

func (h *section) Release(context.Context) error {
	h.end()
	return nil
}
