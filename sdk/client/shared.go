package client

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/provider"
)

// CacheStore is a cache that several processes share. It holds authority: who can
// write to it can grant themselves access, so it must be private and
// authenticated. Methods are called concurrently and must honour their context.
type CacheStore interface {
	// Get answers the value of a key; found is false when there is none.
	Get(ctx context.Context, key string) (value string, found bool, err error)

	// Set keeps the value for ttl, a whole number of milliseconds.
	Set(ctx context.Context, key, value string, ttl time.Duration) error

	// Delete forgets the key. The client never calls it: entries age out.
	Delete(ctx context.Context, key string) error
}

// CacheStoreError is a failure of the shared tier; it never fails a check.
type CacheStoreError struct {
	Op    string // "get" or "set"
	Cause error
}

func (e *CacheStoreError) Error() string { return fmt.Sprintf("cache store: %s: %v", e.Op, e.Cause) }
func (e *CacheStoreError) Unwrap() error { return e.Cause }

// ErrCacheStoreBusy is the cause of a CacheStoreError when an entry was not
// shared because too many others were being written.
var ErrCacheStoreBusy = errors.New("too many writes under way")

// Bounds of the shared tier.
const (
	sharedTimeout      = 250 * time.Millisecond
	sharedWriteTimeout = 2 * time.Second
	sharedReads        = 256 // under way at once; the others wait within their timeout
	sharedWrites       = 64  // under way at once; the others are not written
	maxSharedValue     = 64 << 20
)

type sharedSettings struct {
	store        CacheStore
	prefix       string
	fingerprint  string
	ttl, timeout time.Duration
	onError      func(error)
}

func (o Options) sharedSettings(s *settings) (sharedSettings, error) {
	shared := sharedSettings{store: o.CacheStore, prefix: o.CacheKeyPrefix, fingerprint: fingerprint(o.Catalog),
		ttl: o.CacheStoreTTL, timeout: o.CacheStoreTimeout, onError: o.OnCacheStoreError}
	for name, d := range map[string]time.Duration{"CacheStoreTTL": o.CacheStoreTTL, "CacheStoreTimeout": o.CacheStoreTimeout} {
		if d != 0 && d < time.Millisecond {
			return shared, fmt.Errorf("client: Options.%s must be a millisecond or more: %v", name, d)
		}
		if err := wholeMillis(name, d); err != nil {
			return shared, err
		}
	}
	if shared.ttl == 0 {
		shared.ttl = 10 * time.Minute
		if !s.revalidate {
			shared.ttl = max(1, time.Duration(max(s.subjectTTL, s.objectTTL))) * time.Millisecond
		}
	}
	if shared.timeout == 0 {
		shared.timeout = sharedTimeout
	}
	return shared, nil
}

// fingerprint keeps deployments with different catalogs apart by accident: FNV-1a
// over the sorted namespaces, in base 36.
func fingerprint(c *catalog.Catalog) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(strings.Join(slices.Sorted(slices.Values(c.Namespaces())), ",")))
	return strconv.FormatUint(uint64(h.Sum32()), 36)
}

// sharedTier reads and writes the CacheStore: bounded in time and number, and
// with no goroutine left after close.
type sharedTier struct {
	sharedSettings
	located provider.Located // nil: the source does not say where it reads
	log     *logState

	reads, writes chan struct{}

	life   context.Context
	end    context.CancelFunc
	mu     sync.Mutex
	closed bool
	under  sync.WaitGroup // calls of the store under way
}

// newSharedTier is nil without a store.
func newSharedTier(s sharedSettings, source Source, log *logState) *sharedTier {
	if s.store == nil {
		return nil
	}
	located, _ := source.(provider.Located)
	t := &sharedTier{sharedSettings: s, located: located, log: log,
		reads: make(chan struct{}, sharedReads), writes: make(chan struct{}, sharedWrites)}
	t.life, t.end = context.WithCancel(context.Background())
	return t
}

// close ends the calls under way and waits for them, a while: a store that
// ignores its context cannot hold the client up.
func (t *sharedTier) close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.end()
	ended := make(chan struct{})
	go func() {
		t.under.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(sharedWriteTimeout):
	}
}

// call runs one call of the store on a goroutine of its own.
func (t *sharedTier) call(f func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	t.under.Go(f)
	return true
}

// keyPrefix names the store that the entries were read from; another incarnation
// of the log changes it at once. What is read of several stores is named by their
// log alone: without it nothing is shared.
func (t *sharedTier) keyPrefix(p *position) (prefix string, ok bool) {
	var at provider.Location
	if t.located != nil {
		at = t.located.Location()
	}
	switch {
	case p != nil && p.log != "":
		at.Incarnation = p.log
	case at.Composite:
		return "", false
	}
	switch {
	case t.prefix != "" && at.Incarnation == "":
		return t.prefix, true
	case t.prefix != "":
		return t.prefix + at.Incarnation + ":", true
	case at.Partition == "" && at.Incarnation == "":
		return "authz:v1:" + t.fingerprint + ":", true
	}
	return "authz:v1:" + t.fingerprint + ":" + at.Partition + ":" + at.Incarnation + ":", true
}

// get reads one key within the timeout, also when the store does not mind it.
func (t *sharedTier) get(ctx context.Context, key string) (value string, found bool) {
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	defer context.AfterFunc(t.life, cancel)()
	type answer struct {
		value string
		found bool
		err   error
	}
	answers := make(chan answer, 1)
	select {
	case t.reads <- struct{}{}:
	case <-ctx.Done():
		t.failed(ctx, "get", ctx.Err())
		return "", false
	}
	started := t.call(func() {
		defer func() { <-t.reads }()
		var a answer
		a.err = contained(func() (err error) {
			a.value, a.found, err = t.store.Get(ctx, key)
			return err
		})
		answers <- a
	})
	if !started {
		<-t.reads
		return "", false
	}
	select {
	case a := <-answers:
		switch {
		case a.err != nil:
			t.failed(ctx, "get", a.err)
		case len(a.value) > maxSharedValue:
			t.failed(ctx, "get", fmt.Errorf("an entry of %d bytes is larger than any that is written", len(a.value)))
		default:
			return a.value, a.found
		}
	case <-ctx.Done():
		t.failed(ctx, "get", ctx.Err())
	}
	return "", false
}

// set writes one entry; nobody waits for it.
func (t *sharedTier) set(key string, encode func() ([]byte, error)) {
	select {
	case t.writes <- struct{}{}:
	default:
		t.failed(t.life, "set", ErrCacheStoreBusy)
		return
	}
	started := t.call(func() {
		defer func() { <-t.writes }()
		ctx, cancel := context.WithTimeout(t.life, sharedWriteTimeout)
		defer cancel()
		if err := contained(func() error {
			value, err := encode()
			if err != nil || len(value) > maxSharedValue {
				return err // too large to be read again
			}
			return t.store.Set(ctx, key, string(value), t.ttl)
		}); err != nil {
			t.failed(ctx, "set", err)
		}
	})
	if !started {
		<-t.writes
	}
}

// failed reports a failure, unless the caller gave up or the client was closed.
func (t *sharedTier) failed(ctx context.Context, op string, cause error) {
	if t.onError == nil || t.life.Err() != nil || errors.Is(ctx.Err(), context.Canceled) {
		return
	}
	_ = contained(func() error {
		t.onError(&CacheStoreError{Op: op, Cause: cause})
		return nil
	})
}

// contained turns a panic of foreign code into an error.
func contained(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return f()
}
