package plugin

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/authzhost/authz/sdk/storage"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

// Watch keeps only the newest head for a reader that is slow: the stream is read
// by a goroutine that ends with the sequence.
func (s *storeClient) Watch(ctx context.Context) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		watchCtx, cancel := context.WithCancel(ctx)
		defer context.AfterFunc(s.alive, cancel)()
		defer cancel()
		if s.alive.Err() != nil {
			yield(0, storage.Unavailable("", nil, "the store is closed"))
			return
		}
		st, err := s.rpc.Watch(watchCtx, &pluginv1.WatchRequest{Store: s.handle})
		if err != nil {
			yield(0, fromWire(ctx, err, ""))
			return
		}
		newest := make(chan int64, 1)
		ended := make(chan error, 1)
		go func() {
			for {
				r, err := st.Recv()
				if err != nil {
					ended <- err
					return
				}
				select { // heads only grow: the older one has nothing to say
				case <-newest:
				default:
				}
				newest <- r.GetHead()
			}
		}()
		for {
			select {
			case head := <-newest:
				if !yield(head, nil) {
					return
				}
			case err := <-ended:
				if !errors.Is(err, io.EOF) && ctx.Err() == nil {
					yield(0, fromWire(ctx, err, ""))
				}
				return
			}
		}
	}
}
