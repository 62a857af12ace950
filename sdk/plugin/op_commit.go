package plugin

import (
	"context"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

// Writes, and the store itself.

func (s *storeClient) Commit(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
	if err := checkCommitSize(c); err != nil {
		return storage.CommitResult{}, err
	}
	message, err := encodeCommit(c)
	if err != nil {
		return storage.CommitResult{}, err
	}
	message.Store = s.handle
	a, err := write(ctx, s, s.rpc.Commit, message)
	if err != nil {
		return storage.CommitResult{}, err
	}
	if a.GetApart() {
		return s.resultOf(ctx, c.ID, a.GetReplayed())
	}
	result, err := decodeResult(a)
	return result, unreadable(err, authz.OutcomeUnknown)
}

// resultOf is the result of a commit that was applied and whose answer did not fit.
func (s *storeClient) resultOf(ctx context.Context, id string, replayed bool) (storage.CommitResult, error) {
	result, found, err := s.GetCommit(ctx, id)
	if err != nil || !found {
		return storage.CommitResult{}, storage.Unavailable(authz.OutcomeUnknown, err, "the results of the commit did not arrive")
	}
	result.Replayed = replayed
	return result, nil
}

func (s *storageServer) Commit(ctx context.Context, q *pluginv1.Commit) (*pluginv1.CommitResult, error) {
	return apply(s, q, func(store storage.Store) (*pluginv1.CommitResult, error) {
		c, err := received(decodeCommit(q))
		if err != nil {
			return nil, err
		}
		result, err := store.Commit(ctx, c)
		if err != nil {
			return nil, err
		}
		out, err := encodeResult(result)
		if err != nil {
			return nil, unanswered(err)
		}
		if proto.Size(out) > maxWhole {
			return &pluginv1.CommitResult{Replayed: out.GetReplayed(), Apart: true}, nil
		}
		return out, nil
	})
}

func (s *storeClient) GetCommit(ctx context.Context, id string) (storage.CommitResult, bool, error) {
	a, err := read(ctx, s, s.rpc.GetCommit, &pluginv1.Key{Store: s.handle, Key: id})
	return one(a.GetRows(), err, decodeResult)
}

func (s *storageServer) GetCommit(ctx context.Context, q *pluginv1.Key) (*pluginv1.CommitRows, error) {
	return answer(s, q, func(store storage.Store) (*pluginv1.CommitRows, error) {
		row, found, err := store.GetCommit(ctx, q.GetKey())
		return maybe(row, found, err, encodeResult, commitRows)
	})
}

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
		incarnation, err := store.Renew(ctx, k.GetKey())
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
		health, err := store.Health(ctx)
		told := &pluginv1.StoreHealth{}
		if health.ClockAhead != nil {
			told.ClockAheadMs = new(health.ClockAhead.Milliseconds())
		}
		return told, err
	})
}

func commitRows(rows []*pluginv1.CommitResult) *pluginv1.CommitRows {
	return &pluginv1.CommitRows{Rows: rows}
}
