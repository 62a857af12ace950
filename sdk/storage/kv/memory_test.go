package kv_test

import (
	"context"
	"slices"
	"sync"

	"github.com/authzhost/authz/sdk/storage/kv"
)

// memory is the least that a DB may be: readers of one instant because the writer
// waits for them, and an undo log in place of a rollback.
type memory struct {
	mu   sync.RWMutex
	rows map[string][]byte
	keys []string // sorted, unless stale
	stale,
	closed bool
}

func newMemory() *memory { return &memory{rows: map[string][]byte{}} }

func (m *memory) View(_ context.Context, read func(kv.Tx) error) error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return read(&memoryTx{memory: m})
}

func (m *memory) Update(_ context.Context, change func(kv.Tx) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer m.sort()
	tx := &memoryTx{memory: m, undo: map[string][]byte{}}
	err := change(tx)
	if err != nil {
		for key, value := range tx.undo {
			m.set(key, value)
		}
	}
	return err
}

func (m *memory) Close() error {
	m.closed = true
	return nil
}

func (m *memory) set(key string, value []byte) {
	_, present := m.rows[key]
	switch {
	case value == nil:
		delete(m.rows, key)
	case !present:
		m.keys = append(m.keys, key)
		fallthrough
	default:
		m.rows[key] = value
	}
	m.stale = m.stale || present != (value != nil)
}

func (m *memory) sort() {
	if m.stale {
		slices.Sort(m.keys)
		m.keys = slices.DeleteFunc(slices.Compact(m.keys), func(key string) bool { return m.rows[key] == nil })
		m.stale = false
	}
}

type memoryTx struct {
	*memory
	undo map[string][]byte
}

func (t *memoryTx) Get(key []byte) ([]byte, error) { return t.rows[string(key)], nil }

func (t *memoryTx) Put(key, value []byte) error { return t.change(string(key), value) }

func (t *memoryTx) Delete(key []byte) error { return t.change(string(key), nil) }

func (t *memoryTx) change(key string, value []byte) error {
	if _, noted := t.undo[key]; !noted {
		t.undo[key] = t.rows[key]
	}
	t.set(key, value)
	return nil
}

func (t *memoryTx) Scan(from []byte, each func(key []byte) bool) error {
	t.sort() // finds nothing to do in a View
	i, _ := slices.BinarySearch(t.keys, string(from))
	for _, key := range t.keys[i:] {
		if !each([]byte(key)) {
			break
		}
	}
	return nil
}
