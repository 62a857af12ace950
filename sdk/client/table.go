package client

import (
	"hash/maphash"
	"sync/atomic"
)

var seed = maphash.MakeSeed()

// cacheKey names an entry: a user, a service, or a scope.
type cacheKey struct {
	id      string
	service bool
}

func (k cacheKey) hash() uint64 {
	h := maphash.String(seed, k.id)
	if k.service {
		h = ^h
	}
	return h
}

// entry is one cached value. The atomic members may change while it is read.
type entry[V any] struct {
	key       cacheKey
	hash      uint64
	value     V
	fetchedAt int64 // also the earliest instant at which it is served
	lastUntil int64 // no renewal goes past it
	gen       uint64
	started   uint64 // order in which fetches began

	expiresAt atomic.Int64
	stamp     atomic.Int64 // recency
	next      atomic.Pointer[entry[V]]
}

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

func (t *table[V]) get(hash uint64, key cacheKey) *entry[V] {
	buckets := *t.buckets.Load()
	for e := buckets[hash&uint64(len(buckets)-1)].Load(); e != nil; e = e.next.Load() {
		if e.hash == hash && e.key == key {
			return e
		}
	}
	return nil
}

// put adds an entry whose key is not in the table.
func (t *table[V]) put(e *entry[V]) {
	buckets := *t.buckets.Load()
	if t.count >= len(buckets) {
		buckets = t.grow(buckets)
	}
	link(buckets, e)
	t.count++
}

func link[V any](buckets []atomic.Pointer[entry[V]], e *entry[V]) {
	head := &buckets[e.hash&uint64(len(buckets)-1)]
	e.next.Store(head.Load())
	head.Store(e)
}

// grow copies the entries: a reader of the old table goes on along the old
// links.
func (t *table[V]) grow(old []atomic.Pointer[entry[V]]) []atomic.Pointer[entry[V]] {
	buckets := make([]atomic.Pointer[entry[V]], 2*len(old))
	for i := range old {
		for e := old[i].Load(); e != nil; e = e.next.Load() {
			moved := &entry[V]{key: e.key, hash: e.hash, value: e.value,
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
	from := &buckets[hash&uint64(len(buckets)-1)]
	for e := from.Load(); e != nil; from, e = &e.next, e.next.Load() {
		if e.hash == hash && e.key == key {
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
	shardBuckets = 128
)

// oldest finds the entry to evict.
func (t *table[V]) oldest() *entry[V] {
	buckets := *t.buckets.Load()
	var victim *entry[V]
	shard := len(buckets)
	if shard > exactUpTo {
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
