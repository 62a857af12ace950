package client

import (
	"context"
	"sync"
	"sync/atomic"
)

// cache is one side of the client: closures by principal or chains by scope.
// Hits take no lock. Storing, eviction and busting go through one place, so that
// the index never drifts from the table.
type cache[V any] struct {
	table table[V]
	tick  atomic.Int64 // source of recency stamps, in a small cache

	bound    int
	ttl      int64
	renewFor int64 // longest life of an entry, renewals included; 0 is unbounded
	members  func(V) []string
	log      *logState
	shared   *sharedSide[V] // nil shares nothing
	lookups  *lookups       // nil counts none

	mu      sync.Mutex
	index   map[string]map[cacheKey]struct{} // member → entries that hold it
	flights map[cacheKey]*flight[V]          // fetches that others may join
	running map[*flight[V]]struct{}          // all fetches under way
	started uint64
}

// flight is one fetch under way.
type flight[V any] struct {
	key       cacheKey
	started   uint64
	fresh     bool
	gen       uint64 // by which the value is renewed
	at        int64
	until     int64 // of an entry of the shared tier, 0 of what was fetched
	cancelled bool  // guarded by cache.mu: answer the waiters, store nothing

	waiters int // guarded by cache.mu
	cancel  context.CancelFunc
	done    chan struct{}
	value   V
	err     error
}

func newCache[V any](log *logState, bound int, ttl, renewFor int64, members func(V) []string) *cache[V] {
	c := &cache[V]{log: log, bound: bound, ttl: ttl, renewFor: renewFor, members: members,
		index: map[string]map[cacheKey]struct{}{}, flights: map[cacheKey]*flight[V]{}, running: map[*flight[V]]struct{}{}}
	c.table.reset()
	c.tick.Store(1) // no entry is born with the stamp of a hit
	return c
}

// hit returns the live entry of the key.
func (c *cache[V]) hit(hash uint64, key cacheKey, now int64) (value V, ok bool) {
	e := c.table.get(hash, key.id)
	if e == nil || !e.live(now) {
		return value, false
	}
	c.touch(e, now)
	return e.value, true
}

// touch makes an entry the most recently used: exactly so in a cache whose
// victims are found exactly, else to the millisecond, which spares the hits a
// counter that all of them share.
func (c *cache[V]) touch(e *entry[V], now int64) {
	stamp := now
	if c.bound <= exactUpTo {
		if stamp = c.tick.Load(); e.stamp.Load() == stamp {
			return
		}
		stamp = c.tick.Add(1)
	}
	if e.stamp.Load() != stamp {
		e.stamp.Store(stamp)
	}
}

// fetch asks for the value, or waits for the fetch of another caller. A fresh
// one neither joins nor is joined. The fetch outlives a caller that gives up, and
// ends when all of them have.
func (c *cache[V]) fetch(ctx context.Context, key cacheKey, fresh bool, now int64, ask func(context.Context) (V, error)) (V, error) {
	return c.begin(ctx, key, fresh, now, ask).wait(ctx)
}

// fetching is a caller's share in a fetch.
type fetching[V any] struct {
	cache *cache[V]
	of    *flight[V] // nil: value was stored since the caller missed it
	value V
	own   bool // this caller's ask is used
}

// begin is fetch without the waiting.
func (c *cache[V]) begin(ctx context.Context, key cacheKey, fresh bool, now int64, ask func(context.Context) (V, error)) fetching[V] {
	c.mu.Lock()
	defer c.mu.Unlock()
	if value, ok := c.hit(key.hash(), key, now); ok && !fresh {
		return fetching[V]{cache: c, value: value}
	}
	f := c.flights[key]
	own := f == nil || fresh
	if own {
		c.started++
		f = &flight[V]{key: key, started: c.started, fresh: fresh, at: now, done: make(chan struct{})}
		var fetchCtx context.Context
		fetchCtx, f.cancel = context.WithCancel(context.WithoutCancel(ctx))
		c.running[f] = struct{}{}
		if !fresh {
			c.flights[key] = f
		}
		go c.run(fetchCtx, f, ask)
	}
	f.waiters++
	return fetching[V]{cache: c, of: f, own: own}
}

// wait ends with the fetch, or with the caller.
func (w fetching[V]) wait(ctx context.Context) (V, error) {
	if w.of == nil {
		return w.value, nil
	}
	select {
	case <-w.of.done:
		return w.of.value, w.of.err
	case <-ctx.Done():
		w.leave()
		var none V
		return none, ctx.Err()
	}
}

// leave waits no longer.
func (w fetching[V]) leave() {
	if w.of != nil {
		w.cache.leave(w.of)
	}
}

// leave gives up waiting; the last one to leave ends the fetch.
func (c *cache[V]) leave(f *flight[V]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.waiters--; f.waiters == 0 {
		c.detach(f)
		f.cancel()
	}
}

// detach keeps later callers from joining.
func (c *cache[V]) detach(f *flight[V]) {
	if c.flights[f.key] == f {
		delete(c.flights, f.key)
	}
}

// run brings the value, from the shared tier when that may serve it. A bust
// meanwhile does not change the answer of those who wait, and nothing is kept.
func (c *cache[V]) run(ctx context.Context, f *flight[V], ask func(context.Context) (V, error)) {
	var from *position
	if !c.fromShared(ctx, f) {
		if from = c.log.pos.Load(); from != nil {
			f.gen = from.gen
		}
		// On a goroutine of its own, where nobody could recover.
		f.err = contained(func() (err error) {
			f.value, err = ask(ctx)
			return err
		})
	}
	f.cancel()
	c.mu.Lock()
	delete(c.running, f)
	c.detach(f)
	kept := f.err == nil && !f.cancelled && c.store(f)
	c.mu.Unlock()
	if kept && c.shared != nil && f.until == 0 {
		c.shared.write(f.key, f.value, f.at, from)
	}
	close(f.done)
}

func (c *cache[V]) fromShared(ctx context.Context, f *flight[V]) bool {
	if c.shared == nil || f.fresh {
		return false
	}
	hit, ok := c.shared.read(ctx, f.key)
	if ok {
		f.value, f.until, f.gen = hit.value, hit.until, hit.gen
	}
	return ok
}

// store keeps what a fetch brought, unless one that began later was faster. What came
// from the shared tier may be older than anything fetched meanwhile.
func (c *cache[V]) store(f *flight[V]) (newest bool) {
	if c.bound == 0 {
		return true
	}
	hash := f.key.hash()
	if old := c.table.get(hash, f.key.id); old != nil {
		if old.started > f.started || f.until > 0 && old.live(f.at) {
			return false
		}
		c.drop(f.key)
	}
	for c.table.count >= c.bound {
		c.drop(c.table.oldest().key())
	}
	e := &entry[V]{hash: hash, id: f.key.id, value: f.value, fetchedAt: f.at, gen: f.gen, started: f.started}
	expiresAt, fetchedAt := f.at+c.ttl, f.at
	if f.until > 0 { // passing through the shared tier lengthens no life, and outdates no fetch
		e.started = 0
		expiresAt = min(expiresAt, f.until)
		fetchedAt = min(fetchedAt, f.until-c.ttl)
	}
	e.expiresAt.Store(expiresAt)
	c.touch(e, f.at)
	if c.renewFor > 0 {
		e.lastUntil = fetchedAt + c.renewFor
	}
	c.table.put(e)
	for _, m := range c.members(f.value) {
		keys := c.index[m]
		if keys == nil {
			keys = map[cacheKey]struct{}{}
			c.index[m] = keys
		}
		keys[f.key] = struct{}{}
	}
	return true
}

// drop takes one entry out of table and index.
func (c *cache[V]) drop(key cacheKey) {
	e := c.table.remove(key)
	if e == nil {
		return
	}
	for _, m := range c.members(e.value) {
		delete(c.index[m], key)
		if len(c.index[m]) == 0 {
			delete(c.index, m)
		}
	}
}

// bust drops one entry; a fetch of it under way stores nothing.
func (c *cache[V]) bust(key cacheKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(key)
	c.cancelFlights(func(f *flight[V]) bool { return f.key == key })
}

// bustMember drops every entry that holds the member. Of a fetch under way
// nobody knows yet what it will hold: none of them stores anything.
func (c *cache[V]) bustMember(member string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key := range c.index[member] {
		c.drop(key)
	}
	c.cancelFlights(func(*flight[V]) bool { return true })
}

// bustAll drops everything.
func (c *cache[V]) bustAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.table.reset()
	clear(c.index)
	c.cancelFlights(func(*flight[V]) bool { return true })
}

func (c *cache[V]) cancelFlights(concerned func(*flight[V]) bool) {
	for f := range c.running {
		if concerned(f) {
			f.cancelled = true
			c.detach(f)
		}
	}
}

// renew extends every entry of the generation to now + ttl.
func (c *cache[V]) renew(gen uint64, now int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.table.each(func(e *entry[V]) {
		if e.gen != gen {
			return
		}
		until := now + c.ttl
		if e.lastUntil > 0 {
			until = min(until, e.lastUntil)
		}
		e.expiresAt.Store(until)
	})
}

// idle reports that nothing is cached and nothing being fetched.
func (c *cache[V]) idle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.table.count == 0 && len(c.running) == 0
}
