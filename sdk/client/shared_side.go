package client

import (
	"context"
	"encoding/json"

	"github.com/authzhost/authz/sdk/authz"
)

// sharedSide is the shared tier of one side of the cache.
type sharedSide[V any] struct {
	*sharedTier
	payload[V]
	ttl        int64 // of entries in memory
	revalidate bool
	clock      func() int64
}

// shareable is an entry of the shared tier that may be served.
type shareable[V any] struct {
	value V
	until int64
	gen   uint64
}

// read answers the entry of a key when it may be served: it is whole and about
// the key, its writer's instant lies within this client's own TTL, and nothing
// has changed since the writer read it.
func (s *sharedSide[V]) read(ctx context.Context, key cacheKey) (hit shareable[V], ok bool) {
	before := s.log.shared.Load()
	if s.revalidate && before == nil {
		return hit, false
	}
	if !s.revalidate && s.clock() < s.log.heardAt.Load()+s.ttl {
		return hit, false
	}
	prefix, ok := s.keyPrefix(before)
	if !ok {
		return hit, false
	}
	text, found := s.get(ctx, prefix+s.key(key))
	if !found {
		return hit, false
	}
	var e envelope
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		s.failed(ctx, "get", errNotWhole)
		return hit, false
	}
	if e.V != envelopeVersion {
		return hit, false
	}
	if e.FreshUntil == nil {
		s.failed(ctx, "get", errNotWhole)
		return hit, false
	}
	now := s.clock()
	if *e.FreshUntil <= now || *e.FreshUntil > now+s.ttl {
		return hit, false
	}
	value, err := s.decode(key, e)
	if err != nil {
		s.failed(ctx, "get", err)
		return hit, false
	}
	hit = shareable[V]{value: value, until: *e.FreshUntil}
	if !s.revalidate {
		return hit, s.clock() >= s.log.heardAt.Load()+s.ttl
	}
	after := s.log.shared.Load()
	if after == nil || after.log != before.log || e.Seq == nil || !after.at.Is(authz.Position{Seq: *e.Seq, Identity: e.Identity}) {
		return hit, false
	}
	hit.gen = after.gen
	return hit, true
}

// write shares what a fetch that began at the instant and position brought.
func (s *sharedSide[V]) write(key cacheKey, value V, at int64, from *position) {
	until := at + s.ttl
	now := s.log.pos.Load()
	prefix, ok := s.keyPrefix(now)
	if !ok {
		return
	}
	e := envelope{V: envelopeVersion, FreshUntil: &until}
	if s.revalidate && from != nil && now.gen == from.gen {
		e.Seq, e.Identity = &from.at.Seq, from.at.Identity
	}
	s.set(prefix+s.key(key), func() ([]byte, error) {
		if err := s.encode(value, &e); err != nil {
			return nil, err
		}
		return json.Marshal(e)
	})
}
