package plugin

import (
	"context"
	"slices"
	"time"

	"github.com/authzhost/authz/sdk/storage"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

// The store itself.

func (s *storeClient) Info() storage.StoreInfo {
	info := s.info
	info.Capabilities = slices.Clone(info.Capabilities)
	return info
}

func (s *storeClient) Renew(ctx context.Context, expect string) (string, error) {
	a, err := write(ctx, s, s.rpc.Renew, &pluginv1.Key{Store: s.handle, Key: expect})
	return a.GetKey(), err
}

func (s *storageServer) Renew(ctx context.Context, k *pluginv1.Key) (*pluginv1.Key, error) {
	return apply(s, k, func(store storage.Store) (*pluginv1.Key, error) {
		renewer, ok := store.(storage.Renewer)
		if !ok {
			return nil, storage.Errorf(storage.CodeUnsupported, "this storage driver cannot give its content a new incarnation")
		}
		incarnation, err := renewer.Renew(ctx, k.GetKey())
		return &pluginv1.Key{Key: incarnation}, err
	})
}

func (s *storeClient) Health(ctx context.Context) (storage.Health, error) {
	a, err := read(ctx, s, s.rpc.Health, &pluginv1.Whole{Store: s.handle})
	if err != nil || a.ClockAheadMs == nil {
		return storage.Health{}, err
	}
	return storage.Health{ClockAhead: new(time.Duration(a.GetClockAheadMs()) * time.Millisecond)}, nil
}

func (s *storageServer) Health(ctx context.Context, q *pluginv1.Whole) (*pluginv1.StoreHealth, error) {
	return answer(s, q, func(store storage.Store) (*pluginv1.StoreHealth, error) {
		reporter, ok := store.(storage.HealthReporter)
		if !ok {
			return nil, storage.Errorf(storage.CodeUnsupported, "this storage driver does not tell how its database is")
		}
		health, err := reporter.Health(ctx)
		told := &pluginv1.StoreHealth{}
		if health.ClockAhead != nil {
			told.ClockAheadMs = new(health.ClockAhead.Milliseconds())
		}
		return told, err
	})
}
