package application

import (
	"context"
	"sync"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// topology keeps the map from group to parents for a while (spec: caching §12). A
// map is good for the log head that it was read after, and no other; without an
// event log every head is zero and the time to live is all there is. Callers do
// not change the map.
type topology struct {
	ttlMs int64 // not positive: nothing is kept
	clock func() int64
	read  func(context.Context) (map[string][]string, error)

	mu      sync.Mutex
	kept    *groupMap
	reading *groupMap
}

type groupMap struct {
	head    authz.Position
	at      int64
	parents map[string][]string
	err     error
	done    chan struct{}
}

func newTopology(ttlMs int64, clock func() int64, read func(context.Context) (map[string][]string, error)) *topology {
	return &topology{ttlMs: ttlMs, clock: clock, read: read}
}

// at returns the parents of every group, read when the log head was head or,
// without a log, within the time to live. Callers that miss at once share one
// read.
func (t *topology) at(ctx context.Context, head authz.Position) (map[string][]string, error) {
	t.mu.Lock()
	now := t.clock()
	if k := t.kept; k != nil && k.head == head && k.at <= now && now < k.at+t.ttlMs {
		t.mu.Unlock()
		return k.parents, nil
	}
	if m := t.reading; m != nil && m.head == head {
		t.mu.Unlock()
		select {
		case <-m.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if m.err != nil && contextEnded(m.err) && ctx.Err() == nil {
			return t.at(ctx, head) // the reader gave up; that is not our answer
		}
		return m.parents, m.err
	}
	m := &groupMap{head: head, at: now, done: make(chan struct{})}
	t.reading = m
	t.mu.Unlock()

	m.parents, m.err = t.read(ctx)
	if m.err != nil && ctx.Err() != nil {
		m.err = ctx.Err()
	}
	t.mu.Lock()
	if t.reading == m { // no drop overlapped the read
		t.reading = nil
		if m.err == nil && t.ttlMs > 0 {
			t.kept = m
		}
	}
	t.mu.Unlock()
	close(m.done)
	return m.parents, m.err
}

// hear drops the map when an event may have changed it. A read under way goes to
// those who wait for it and is not kept.
func (t *topology) hear(e authz.Event) {
	switch e.Type {
	case authz.EventUser, authz.EventRole, authz.EventScope, authz.EventCatalog:
		return
	case authz.EventSubject:
		if kind, _, _ := authz.ParseSubject(e.Subject); kind != authz.SubjectGroup {
			return
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept, t.reading = nil, nil
}

func (a *Application) readTopology(ctx context.Context) (map[string][]string, error) {
	return groupParents(ctx, a.store)
}

func groupParents(ctx context.Context, from storage.Groups) (map[string][]string, error) {
	parents := map[string][]string{}
	for g, err := range from.ListGroups(ctx, storage.Page{}) {
		if err != nil {
			return nil, err
		}
		parents[g.ID] = g.Parents
	}
	return parents, nil
}
