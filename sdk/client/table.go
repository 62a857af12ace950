package client

import (
	"sync/atomic"

	"github.com/authzhost/authz/internal/compiled"
)

// cacheKey names an entry: a user, a service, or a scope.
type cacheKey struct {
	id      string
	service bool
}

// hash has its lowest bit for services: a hash that is equal is of the same kind.
func (k cacheKey) hash() uint64 {
	h := chainHash(compiled.HashScope(k.id))
	if k.service {
		h |= 1
	}
	return h
}

// chainHash is the hash of the cacheKey of a scope, from that of the scope itself.
func chainHash(hash uint64) uint64 { return hash &^ 1 }

// entry is one cached value. The atomic members may change while it is read. What a
// hit reads is the first 64 bytes, and with 128 in all that is one cache line.
type entry[V any] struct {
	hash      uint64
	id        string // of its key
	value     V      // a pointer
	fetchedAt int64  // also the earliest instant at which it is served
	expiresAt atomic.Int64
	stamp     atomic.Int64 // recency
	next      atomic.Pointer[entry[V]]

	lastUntil int64 // no renewal goes past it
	gen       uint64
	started   uint64 // order in which fetches began
	_         [5]uint64
}

func (e *entry[V]) key() cacheKey { return cacheKey{id: e.id, service: e.hash&1 != 0} }

func (e *entry[V]) live(now int64) bool { return now >= e.fetchedAt && e.expiresAt.Load() > now }

// table is a hash table that is read without a lock and written under its
// owner's.
type table[V any] struct {
	buckets atomic.Pointer[[]atomic.Pointer[entry[V]]]
	count   int
	cursor  int // where the search for a victim goes on
}

const minBuckets = 64

func (t *table[V]) reset() {
	buckets := make([]atomic.Pointer[entry[V]], minBuckets)
	t.buckets.Store(&buckets)
	t.count = 0
	t.cursor = 0
}

func (t *table[V]) get(hash uint64, id string) *entry[V] {
	for e := bucketOf(*t.buckets.Load(), hash).Load(); e != nil; e = e.next.Load() {
		if e.hash == hash && e.id == id {
			return e
		}
	}
	return nil
}

// put adds an entry whose key is not in the table. A bucket holds half an entry at
// most: where two share one, the second costs a miss more.
func (t *table[V]) put(e *entry[V]) {
	buckets := *t.buckets.Load()
	if 2*t.count >= len(buckets) {
		buckets = t.grow(buckets)
	}
	link(buckets, e)
	t.count++
}

// bucketOf leaves out the bit that tells the kind.
func bucketOf[V any](buckets []atomic.Pointer[entry[V]], hash uint64) *atomic.Pointer[entry[V]] {
	return &buckets[hash>>1&uint64(len(buckets)-1)]
}

func link[V any](buckets []atomic.Pointer[entry[V]], e *entry[V]) {
	head := bucketOf(buckets, e.hash)
	e.next.Store(head.Load())
	head.Store(e)
}

// grow copies the entries: a reader of the old table goes on along the old
// links.
func (t *table[V]) grow(old []atomic.Pointer[entry[V]]) []atomic.Pointer[entry[V]] {
	buckets := make([]atomic.Pointer[entry[V]], 2*len(old))
	for i := range old {
		for e := old[i].Load(); e != nil; e = e.next.Load() {
			moved := &entry[V]{hash: e.hash, id: e.id, value: e.value,
				fetchedAt: e.fetchedAt, lastUntil: e.lastUntil, gen: e.gen, started: e.started}
			moved.expiresAt.Store(e.expiresAt.Load())
			moved.stamp.Store(e.stamp.Load())
			link(buckets, moved)
		}
	}
	t.buckets.Store(&buckets)
	return buckets
}

// remove takes the entry of the key out and returns it.
func (t *table[V]) remove(key cacheKey) *entry[V] {
	buckets := *t.buckets.Load()
	hash := key.hash()
	from := bucketOf(buckets, hash)
	for e := from.Load(); e != nil; from, e = &e.next, e.next.Load() {
		if e.hash == hash && e.id == key.id {
			from.Store(e.next.Load())
			t.count--
			return e
		}
	}
	return nil
}

// each visits every entry.
func (t *table[V]) each(visit func(*entry[V])) {
	buckets := *t.buckets.Load()
	for i := range buckets {
		for e := buckets[i].Load(); e != nil; e = e.next.Load() {
			visit(e)
		}
	}
}

// exactUpTo is up to how many entries a cache may hold for the least recently used
// one to be found exactly; in a larger table it is the oldest of a shard, one
// after the other in turn.
const (
	exactUpTo    = 1024
	shardBuckets = 256
)

// oldest finds the entry to evict.
func (t *table[V]) oldest() *entry[V] {
	buckets := *t.buckets.Load()
	var victim *entry[V]
	shard := len(buckets)
	if shard > 2*exactUpTo {
		shard = shardBuckets
	}
	for n := 0; n < len(buckets) && (n < shard || victim == nil); n++ {
		t.cursor = (t.cursor + 1) & (len(buckets) - 1)
		for e := buckets[t.cursor].Load(); e != nil; e = e.next.Load() {
			if victim == nil || e.stamp.Load() < victim.stamp.Load() {
				victim = e
			}
		}
	}
	return victim
}
