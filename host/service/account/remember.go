package account

import (
	"context"
	"sync"

	"github.com/authzhost/authz/sdk/storage"
)

// remembered are the records that were read under one context.
type remembered struct {
	mu    sync.Mutex
	reads map[[2]string]storage.Record // by collection and id; those that are there
}

type rememberKey struct{}

// Remember has each record read once by what runs under the context: a gate, which
// judges one moment and asks in several places. Never for what writes by what it
// reads, nor beyond a request.
func Remember(ctx context.Context) context.Context {
	return context.WithValue(ctx, rememberKey{}, &remembered{reads: map[[2]string]storage.Record{}})
}

func (s *Store) get(ctx context.Context, collection, id string) (storage.Record, bool, error) {
	known, _ := ctx.Value(rememberKey{}).(*remembered)
	if known == nil {
		return s.records.GetRecord(ctx, collection, id)
	}
	key := [2]string{collection, id}
	known.mu.Lock()
	record, found := known.reads[key]
	known.mu.Unlock()
	if found {
		return record, true, nil
	}
	record, found, err := s.records.GetRecord(ctx, collection, id)
	if err == nil && found {
		known.mu.Lock()
		known.reads[key] = record
		known.mu.Unlock()
	}
	return record, found, err
}
