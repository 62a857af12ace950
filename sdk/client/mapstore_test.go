package client_test

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// mapStore is a CacheStore in memory that counts its traffic and can be made to
// fail. It forgets nothing by itself: what is served must not depend on that.
type mapStore struct {
	fail    atomic.Bool
	mu      sync.Mutex
	entries map[string]string
	ttls    map[string]time.Duration
	traffic cacheTraffic
}

// cacheTraffic counts calls of a shared store; a get that returned a value is a
// hit.
type cacheTraffic struct {
	Hits, Misses, Sets int64
}

func newMapStore() *mapStore {
	return &mapStore{entries: map[string]string{}, ttls: map[string]time.Duration{}}
}

func (s *mapStore) Get(_ context.Context, key string) (string, bool, error) {
	if s.fail.Load() {
		return "", false, errSwitchedOff
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	value, found := s.entries[key]
	if found {
		s.traffic.Hits++
	} else {
		s.traffic.Misses++
	}
	return value, found, nil
}

func (s *mapStore) Set(_ context.Context, key, value string, ttl time.Duration) error {
	if s.fail.Load() {
		return errSwitchedOff
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries[key], s.ttls[key] = value, ttl
	s.traffic.Sets++
	return nil
}

func (s *mapStore) Delete(_ context.Context, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.entries, key)
	return nil
}

// await waits until the writes, which no check waits for, have arrived.
func (s *mapStore) await(sets int64) {
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		s.mu.Lock()
		arrived := s.traffic.Sets >= sets
		s.mu.Unlock()
		if arrived {
			return
		}
	}
}

func (s *mapStore) take() cacheTraffic {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.traffic
	s.traffic = cacheTraffic{}
	return taken
}

func (s *mapStore) keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []string
	for key := range s.entries {
		keys = append(keys, key)
	}
	return keys
}
