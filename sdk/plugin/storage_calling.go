package plugin

import (
	"context"
	"io"
	"iter"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

// driverClient is the host's side of a storage plugin's driver.
type driverClient struct {
	rpc  pluginv1.StorageClient
	stop func(context.Context) error
	info storage.DriverInfo
}

// closeTimeout bounds the calls of Close methods, which have no context.
const closeTimeout = 5 * time.Second

func (d *driverClient) Info() storage.DriverInfo { return d.info }

func (d *driverClient) Open(ctx context.Context, partition string) (storage.Store, error) {
	ask := &pluginv1.OpenRequest{Partition: partition}
	if _, err := marshal(ask, frameBytes); err != nil {
		return nil, err
	}
	r, err := d.rpc.Open(ctx, ask)
	if err != nil {
		return nil, fromWire(ctx, err, authz.OutcomeNotApplied)
	}
	info := storage.StoreInfo{
		Partition: r.GetPartition(), Incarnation: r.GetIncarnation(), SchemaVersion: int(r.GetSchemaVersion()),
	}
	for _, c := range r.GetCapabilities() {
		info.Capabilities = append(info.Capabilities, storage.Capability(c))
	}
	alive, end := context.WithCancel(context.Background())
	return &storeClient{rpc: d.rpc, handle: r.GetStore(), info: info, alive: alive, end: end,
		roles: knownRoles{most: 2 * maxKnownRoles}}, nil
}

func (d *driverClient) Close() error {
	ctx, done := context.WithTimeout(context.Background(), closeTimeout)
	defer done()
	return d.stop(ctx)
}

// storeClient is one open handle. alive ends with Close and takes the handle's
// sections with it.
type storeClient struct {
	rpc    pluginv1.StorageClient
	handle uint64
	info   storage.StoreInfo
	alive  context.Context
	end    context.CancelFunc
	close  sync.Once
	roles  knownRoles
}

// Close gives the handle back. A plugin that is gone has nothing left to close.
func (s *storeClient) Close() (err error) {
	s.close.Do(func() {
		s.end()
		ctx, done := context.WithTimeout(context.Background(), closeTimeout)
		defer done()
		_, failed := s.rpc.CloseStore(ctx, &pluginv1.CloseStoreRequest{Store: s.handle})
		if gone(failed) {
			return
		}
		err = fromWire(ctx, failed, "")
	})
	return err
}

func (s *storeClient) check() error {
	if s.alive.Err() != nil {
		return storage.Unavailable(authz.OutcomeNotApplied, nil, "the store is closed")
	}
	return nil
}

type unary[Q, A any] func(context.Context, Q, ...grpc.CallOption) (A, error)

func read[Q, A any](ctx context.Context, s *storeClient, op unary[Q, A], ask Q) (A, error) {
	return call(ctx, s, op, ask, "")
}

// write is of unknown fate without an answer, unless nothing was sent.
func write[Q, A any](ctx context.Context, s *storeClient, op unary[Q, A], ask Q) (A, error) {
	return call(ctx, s, op, ask, authz.OutcomeUnknown)
}

func call[Q, A any](ctx context.Context, s *storeClient, op unary[Q, A], ask Q, lost authz.Outcome) (answer A, err error) {
	if err := s.check(); err != nil {
		return answer, err
	}
	answer, err = op(ctx, ask)
	return answer, fromWire(ctx, err, lost)
}

// unreadable is an answer that arrived and makes no sense.
func unreadable(err error, lost authz.Outcome) error {
	if err == nil {
		return nil
	}
	return storage.Unavailable(lost, err, "the plugin's answer cannot be read")
}

// one unpacks the answer of a read by key.
func one[R, T any](rows []R, err error, decode func(R) (T, error)) (row T, found bool, _ error) {
	if err != nil || len(rows) == 0 {
		return row, false, err
	}
	row, err = decode(rows[0])
	return row, err == nil, unreadable(err, "")
}

// chunk is a message of a list.
type chunk[M, R any] interface {
	message[M]
	GetRows() []R
	GetPiece() *pluginv1.Frame
}

// list streams a list's rows. Each use of the sequence is a call of its own.
func list[Q, M any, C chunk[M, R], R, T any](
	ctx context.Context, s *storeClient, op func(context.Context, Q, ...grpc.CallOption) (grpc.ServerStreamingClient[M], error),
	ask Q, decode func(R) (T, error),
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		if err := s.check(); err != nil {
			yield(none, err)
			return
		}
		streamCtx, cancel := context.WithCancel(ctx)
		defer cancel()
		st, err := op(streamCtx, ask)
		if err != nil {
			yield(none, fromWire(ctx, err, ""))
			return
		}
		for {
			rows, err := receiveChunk[M, C](st)
			if err == io.EOF { // bare: between chunks
				return
			}
			if err != nil {
				yield(none, fromWire(ctx, err, ""))
				return
			}
			for _, r := range rows {
				row, err := decode(r)
				if err != nil {
					yield(none, unreadable(err, ""))
					return
				}
				if !yield(row, nil) {
					return
				}
			}
		}
	}
}

// receiveChunk is the rows of the next chunk, which may come in pieces.
func receiveChunk[M any, C chunk[M, R], R any](st grpc.ServerStreamingClient[M]) ([]R, error) {
	m, err := st.Recv()
	if err != nil {
		return nil, err
	}
	if C(m).GetPiece() == nil {
		return C(m).GetRows(), nil
	}
	_, b, err := receiveFrames(func() (*pluginv1.Frame, error) {
		if first := m; first != nil {
			m = nil
			return C(first).GetPiece(), nil
		}
		next, err := st.Recv()
		return C(next).GetPiece(), err
	}, maxAnswer)
	if err != nil {
		return nil, unreadableOversize(err)
	}
	whole := C(new(M))
	if err := proto.Unmarshal(b, whole); err != nil {
		return nil, err
	}
	return whole.GetRows(), nil
}
