package plugin

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

// storageServer serves one driver to one host. It owns the open handles; a
// handle lives until CloseStore, Stop or the end of the process.
type storageServer struct {
	pluginv1.UnimplementedStorageServer
	log hclog.Logger

	mu     sync.Mutex
	driver storage.Driver // nil until configured and after Stop
	stores map[uint64]storage.Store
	last   uint64
}

func newStorageServer(log hclog.Logger) *storageServer {
	return &storageServer{log: log, stores: map[uint64]storage.Store{}}
}

func (s *storageServer) use(d storage.Driver) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.driver = d
}

// stop closes the driver; open stores end with it.
func (s *storageServer) stop() error {
	s.mu.Lock()
	d := s.driver
	s.driver, s.stores = nil, map[uint64]storage.Store{}
	s.mu.Unlock()
	if d == nil {
		return nil
	}
	return d.Close()
}

func (s *storageServer) current() (storage.Driver, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.driver == nil {
		return nil, storage.Unavailable(authz.OutcomeNotApplied, nil, "the plugin is not configured")
	}
	return s.driver, nil
}

func (s *storageServer) store(handle uint64) (storage.Store, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	store, ok := s.stores[handle]
	if !ok {
		return nil, storage.Unavailable(authz.OutcomeNotApplied, nil, "the store is closed")
	}
	return store, nil
}

func (s *storageServer) Open(ctx context.Context, r *pluginv1.OpenRequest) (*pluginv1.OpenReply, error) {
	driver, err := s.current()
	if err != nil {
		return nil, toStatus(err, false, s.log)
	}
	store, err := driver.Open(ctx, r.GetPartition())
	if err != nil {
		return nil, toStatus(err, false, s.log)
	}
	if ctx.Err() != nil { // nobody will learn the handle
		return nil, toStatus(errors.Join(ctx.Err(), store.Close()), false, s.log)
	}
	s.mu.Lock()
	s.last++
	handle := s.last
	s.stores[handle] = store
	s.mu.Unlock()
	info := store.Info()
	reply := &pluginv1.OpenReply{
		Store: handle, Partition: info.Partition, Incarnation: info.Incarnation, SchemaVersion: int64(info.SchemaVersion),
	}
	for _, c := range info.Capabilities {
		reply.Capabilities = append(reply.Capabilities, string(c))
	}
	return reply, nil
}

func (s *storageServer) CloseStore(_ context.Context, r *pluginv1.CloseStoreRequest) (*pluginv1.CloseStoreReply, error) {
	s.mu.Lock()
	store := s.stores[r.GetStore()]
	delete(s.stores, r.GetStore())
	s.mu.Unlock()
	if store == nil {
		return &pluginv1.CloseStoreReply{}, nil
	}
	return &pluginv1.CloseStoreReply{}, toStatus(store.Close(), false, s.log)
}

type frames = grpc.BidiStreamingServer[pluginv1.Frame, pluginv1.Frame]

// message is a pointer to a generated message of type M.
type message[M any] interface {
	*M
	proto.Message
}

func receive[Q any, PQ message[Q]](s *storageServer, st frames) (storage.Store, PQ, error) {
	handle, b, err := receiveFrames(st.Recv, maxRequest)
	if err != nil {
		var own *storage.Error
		if !errors.As(err, &own) {
			own = storage.Unavailable(authz.OutcomeNotApplied, err, "the request broke off")
		}
		return nil, nil, own
	}
	store, err := s.store(handle)
	if err != nil {
		return nil, nil, err
	}
	q := PQ(new(Q))
	if err := proto.Unmarshal(b, q); err != nil {
		return nil, nil, storage.Errorf(storage.CodeValidation, "the request cannot be read")
	}
	return store, q, nil
}

// returned is what a driver returned and cannot cross. The caller made no
// mistake; only a size is told as it is.
func returned(err error) error {
	if err == nil || storage.CodeOf(err) == storage.CodeTooLarge {
		return err
	}
	return fmt.Errorf("the driver returned a row that cannot be sent: %s", err)
}

func send(st frames, m proto.Message) error {
	return sendEncoded(st, m, func(m proto.Message) ([]byte, error) { return marshal(m, maxAnswer) })
}

func sendEncoded[A any](st frames, answer A, encode func(A) ([]byte, error)) error {
	b, err := encode(answer)
	if err != nil {
		return returned(err)
	}
	_, err = sendFrames(st.Send, 0, b)
	return err
}

// answer serves an operation with one answer.
func answer[Q any, PQ message[Q], A proto.Message](
	s *storageServer, st frames, write bool, op func(context.Context, storage.Store, PQ) (A, error),
) error {
	return answerEncoded(s, st, write, op, func(a A) ([]byte, error) { return marshal(a, maxAnswer) })
}

func answerEncoded[Q any, PQ message[Q], A any](
	s *storageServer, st frames, write bool, op func(context.Context, storage.Store, PQ) (A, error), encode func(A) ([]byte, error),
) error {
	store, q, err := receive[Q, PQ](s, st)
	if err != nil {
		return toStatus(err, false, s.log)
	}
	a, err := op(st.Context(), store, q)
	if err == nil {
		if err = sendEncoded(st, a, encode); err != nil && write {
			err = unanswered(err)
		}
	}
	return toStatus(err, write, s.log)
}

// unanswered is a write that was applied and whose result cannot be sent: any
// refusal would be a lie.
func unanswered(cause error) error {
	return storage.Unavailable(authz.OutcomeUnknown, cause, "the write's answer cannot be sent")
}

// stream serves a list: rows are packed into messages of at most chunkRows rows
// and about chunkBytes.
func stream[Q any, PQ message[Q], T, R any, A proto.Message](
	s *storageServer, st frames,
	list func(context.Context, storage.Store, PQ) iter.Seq2[T, error], encode func(T) (R, error), pack func([]R) A,
) error {
	store, q, err := receive[Q, PQ](s, st)
	if err != nil {
		return toStatus(err, false, s.log)
	}
	var rows []R
	size := 0
	for row, err := range list(st.Context(), store, q) {
		var r R
		if err == nil {
			r, err = encode(row)
			err = returned(err)
		}
		if err != nil {
			return toStatus(err, false, s.log)
		}
		n := rowSize(r)
		if len(rows) == chunkRows || size+n > chunkBytes && len(rows) > 0 {
			if err := send(st, pack(rows)); err != nil {
				return toStatus(err, false, s.log)
			}
			rows, size = rows[:0], 0
		}
		rows, size = append(rows, r), size+n
	}
	if len(rows) > 0 {
		err = send(st, pack(rows))
	}
	return toStatus(err, false, s.log)
}

// rowSize is about what a row adds to a message.
func rowSize(row any) int {
	const tagAndLength = 4
	switch r := row.(type) {
	case proto.Message:
		return proto.Size(r) + tagAndLength
	case string:
		return len(r) + tagAndLength
	}
	return tagAndLength
}

func (s *storageServer) Watch(r *pluginv1.WatchRequest, st grpc.ServerStreamingServer[pluginv1.WatchHead]) error {
	store, err := s.store(r.GetStore())
	if err != nil {
		return toStatus(err, false, s.log)
	}
	for head, err := range store.Watch(st.Context()) {
		if err == nil {
			err = st.Send(&pluginv1.WatchHead{Head: head})
		}
		if err != nil {
			return toStatus(err, false, s.log)
		}
	}
	return nil
}
