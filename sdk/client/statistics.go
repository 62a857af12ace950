package client

import "sync/atomic"

// Statistics says how a client's caches were used since it was made, and what
// they hold now. Hits and misses are zero unless Options.Statistics was set.
type Statistics struct {
	Subjects, Chains CacheStatistics

	// UnknownScopeTypes counts the questions that named a scope of a type which the catalog
	// does not declare, raised or answered. It needs no Options.Statistics.
	UnknownScopeTypes uint64
}

// CacheStatistics is of one cache. A lookup is a hit or a miss; one that joins
// another's fetch is a miss.
type CacheStatistics struct {
	Hits, Misses uint64
	Entries      int
}

// Statistics reads the counters.
func (c *Client) Statistics() Statistics {
	return Statistics{Subjects: c.subjects.statistics(), Chains: c.chains.statistics(), UnknownScopeTypes: c.scopeTypes.named.Load()}
}

func (c *cache[V]) statistics() CacheStatistics {
	c.mu.Lock()
	s := CacheStatistics{Entries: c.table.count}
	c.mu.Unlock()
	if c.lookups != nil {
		for i := range c.lookups {
			s.Hits += c.lookups[i].hits.Load()
			s.Misses += c.lookups[i].misses.Load()
		}
	}
	return s
}

// lookups are counted in lanes by the key's hash: hits of different keys on
// different cores then share no cache line.
type lookups [16]struct {
	hits, misses atomic.Uint64
	_            [48]byte
}

func (l *lookups) count(hash uint64, hit bool) {
	if l == nil {
		return
	}
	lane := &l[hash>>60]
	if hit {
		lane.hits.Add(1)
	} else {
		lane.misses.Add(1)
	}
}
