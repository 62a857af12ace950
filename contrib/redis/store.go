package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/authzhost/authz/sdk/client"
)

// Store is a client.CacheStore over a connection to one server or a cluster.
type Store struct{ conn redis.UniversalClient }

var _ client.CacheStore = Store{}

// New returns the store of a connection, which stays the caller's. Set a dial
// timeout on it; reads and writes end with their context when
// ContextTimeoutEnabled is set.
func New(conn redis.UniversalClient) Store { return Store{conn} }

// Get answers the value of the key.
func (s Store) Get(ctx context.Context, key string) (value string, found bool, err error) {
	value, err = s.conn.Get(ctx, key).Result()
	if errors.Is(err, redis.Nil) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("redis GET: %w", err)
	}
	return value, true, nil
}

// Set keeps the value for ttl, at least a millisecond.
func (s Store) Set(ctx context.Context, key, value string, ttl time.Duration) error {
	if err := s.conn.Do(ctx, "SET", key, value, "PX", max(1, ttl.Milliseconds())).Err(); err != nil {
		return fmt.Errorf("redis SET: %w", err)
	}
	return nil
}

// Delete forgets the key.
func (s Store) Delete(ctx context.Context, key string) error {
	if err := s.conn.Del(ctx, key).Err(); err != nil {
		return fmt.Errorf("redis DEL: %w", err)
	}
	return nil
}
