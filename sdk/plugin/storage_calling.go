package plugin

import (
	"context"
	"errors"
	"fmt"
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
	return &storeClient{rpc: d.rpc, handle: r.GetStore(), info: info, alive: alive, end: end}, nil
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

type operation func(context.Context, ...grpc.CallOption) (grpc.BidiStreamingClient[pluginv1.Frame, pluginv1.Frame], error)

func (s *storeClient) read(ctx context.Context, op operation, ask, answer proto.Message) error {
	_, err := s.call(ctx, op, ask, answer)
	return fromWire(ctx, err, "")
}

func (s *storeClient) write(ctx context.Context, op operation, ask, answer proto.Message) error {
	sent, err := s.call(ctx, op, ask, answer)
	// The plugin starts when the last frame is there: before that nothing can
	// have happened.
	lost := authz.OutcomeNotApplied
	if sent {
		lost = authz.OutcomeUnknown
	}
	return fromWire(ctx, err, lost)
}

func (s *storeClient) call(ctx context.Context, op operation, ask, answer proto.Message) (sent bool, err error) {
	sent, b, err := s.exchange(ctx, op, ask)
	if err != nil {
		return sent, err
	}
	return true, proto.Unmarshal(b, answer)
}

// exchange sends one message and receives one. sent reports that the plugin may
// have the whole request.
func (s *storeClient) exchange(ctx context.Context, op operation, ask proto.Message) (sent bool, answer []byte, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	st, sent, err := s.start(ctx, op, ask)
	if err != nil {
		return sent, nil, err
	}
	_, answer, err = receiveFrames(st.Recv, maxAnswer)
	if err != nil {
		return true, nil, unreadableOversize(err)
	}
	// The status stands in the trailer; reading to it also frees the stream.
	if _, err := st.Recv(); !errors.Is(err, io.EOF) {
		if err == nil {
			err = errors.New("more than one answer")
		}
		return true, nil, err
	}
	return true, answer, nil
}

func (s *storeClient) start(ctx context.Context, op operation, ask proto.Message) (
	st grpc.BidiStreamingClient[pluginv1.Frame, pluginv1.Frame], sent bool, err error,
) {
	if s.alive.Err() != nil {
		return nil, false, storage.Unavailable(authz.OutcomeNotApplied, nil, "the store is closed")
	}
	b, err := marshal(ask, maxRequest)
	if err != nil {
		return nil, false, err
	}
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	if st, err = op(ctx); err != nil {
		return nil, false, err
	}
	if sent, err = sendFrames(st.Send, s.handle, b); err == nil {
		err = st.CloseSend()
	}
	if errors.Is(err, io.EOF) {
		// The plugin has answered already; its status comes with Recv.
		if _, err = st.Recv(); err == nil {
			err = errors.New("an answer before the request's end")
		}
	}
	return st, sent, err
}

// unreadableOversize keeps an answer that this side refuses from looking like
// the driver's own too_large, which says that nothing was written.
func unreadableOversize(err error) error {
	var own *storage.Error
	if errors.As(err, &own) {
		return fmt.Errorf("the plugin's answer cannot be read: %w", errors.New(own.Message))
	}
	return err
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

// list streams a list's rows. Each use of the sequence is a call of its own.
func list[A any, PA message[A], R, T any](
	ctx context.Context, s *storeClient, op operation, ask proto.Message, rows func(PA) []R, decode func(R) (T, error),
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		streamCtx, cancel := context.WithCancel(ctx)
		defer cancel()
		st, _, err := s.start(streamCtx, op, ask)
		if err != nil {
			yield(none, fromWire(ctx, err, ""))
			return
		}
		for {
			_, b, err := receiveFrames(st.Recv, maxAnswer)
			if err == io.EOF { // bare: between messages
				return
			}
			answer := PA(new(A))
			if err == nil {
				err = proto.Unmarshal(b, answer)
			}
			if err != nil {
				yield(none, fromWire(ctx, unreadableOversize(err), ""))
				return
			}
			for _, r := range rows(answer) {
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
