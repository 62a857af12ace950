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
	"google.golang.org/protobuf/reflect/protoreflect"

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
	stores map[uint64]*openStore
	last   uint64
}

// openStore is what a handle stands for.
type openStore struct {
	storage.Store
	roles sentRoles
}

func newStorageServer(log hclog.Logger) *storageServer {
	return &storageServer{log: log, stores: map[uint64]*openStore{}}
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
	s.driver, s.stores = nil, map[uint64]*openStore{}
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
	open, ok := s.stores[handle]
	if !ok {
		return nil, storage.Unavailable(authz.OutcomeNotApplied, nil, "the store is closed")
	}
	return open.Store, nil
}

// sent is what the host of a handle knows of roles; of a handle that was closed just
// now, nothing.
func (s *storageServer) sent(handle uint64) *sentRoles {
	s.mu.Lock()
	defer s.mu.Unlock()
	if open, ok := s.stores[handle]; ok {
		return &open.roles
	}
	return &sentRoles{}
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
	s.stores[handle] = &openStore{Store: store, roles: sentRoles{most: maxKnownRoles}}
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

// message is a pointer to a generated message of type M.
type message[M any] interface {
	*M
	proto.Message
}

// asked is a request of an open store.
type asked interface{ GetStore() uint64 }

// answer serves a read.
func answer[A any](s *storageServer, q asked, op func(storage.Store) (A, error)) (A, error) {
	return serve(s, q, op, false)
}

// apply serves a write.
func apply[A any](s *storageServer, q asked, op func(storage.Store) (A, error)) (A, error) {
	return serve(s, q, op, true)
}

func serve[A any](s *storageServer, q asked, op func(storage.Store) (A, error), write bool) (a A, err error) {
	store, err := s.store(q.GetStore())
	if err != nil {
		return a, toStatus(err, false, s.log)
	}
	a, err = op(store)
	return a, toStatus(err, write, s.log)
}

// returned is what a driver returned and cannot cross. The caller made no
// mistake; only a size is told as it is.
func returned(err error) error {
	if err == nil || storage.CodeOf(err) == storage.CodeTooLarge {
		return err
	}
	return fmt.Errorf("the driver returned a row that cannot be sent: %s", err)
}

// maybe packs the row of a read by key, or no row.
func maybe[T, R, A any](row T, found bool, err error, encode func(T) (R, error), pack func([]R) *A) (*A, error) {
	if err != nil {
		return nil, err
	}
	if !found {
		return pack(nil), nil
	}
	r, err := encode(row)
	return pack([]R{r}), returned(err)
}

func number(n int64, err error) (*pluginv1.Number, error) { return &pluginv1.Number{Number: n}, err }

// received classifies a request that cannot be decoded: the caller's mistake.
func received[T any](v T, err error) (T, error) {
	if err != nil && storage.CodeOf(err) == "" {
		err = storage.Errorf(storage.CodeValidation, "%v", err)
	}
	return v, err
}

// unanswered is a write that was applied and whose result cannot be sent: any
// refusal would be a lie.
func unanswered(cause error) error {
	return storage.Unavailable(authz.OutcomeUnknown, cause, "the write's answer cannot be sent")
}

// stream serves a list: rows are packed into chunks of at most chunkRows rows
// and about chunkBytes.
func stream[M any, C message[M], T, R any](
	s *storageServer, q asked, st grpc.ServerStreamingServer[M],
	list func(storage.Store) iter.Seq2[T, error], encode func(T) (R, error), pack func([]R) C,
) error {
	store, err := s.store(q.GetStore())
	if err != nil {
		return toStatus(err, false, s.log)
	}
	var rows []R
	size := 0
	for row, err := range list(store) {
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
			if err := sendChunk(st, pack(rows)); err != nil {
				return toStatus(err, false, s.log)
			}
			rows, size = rows[:0], 0
		}
		rows, size = append(rows, r), size+n
	}
	if len(rows) > 0 {
		err = sendChunk(st, pack(rows))
	}
	return toStatus(err, false, s.log)
}

// sendChunk sends a chunk; one that is too large for a message is a single row.
func sendChunk(st grpc.ServerStream, chunk proto.Message) error {
	b, err := marshal(chunk, maxAnswer)
	if err != nil {
		return returned(err)
	}
	if len(b) <= maxWhole {
		return st.SendMsg(encoded(b))
	}
	piece := chunk.ProtoReflect().Descriptor().Fields().ByName("piece")
	_, err = sendFrames(func(f *pluginv1.Frame) error {
		m := chunk.ProtoReflect().New()
		m.Set(piece, protoreflect.ValueOfMessage(f.ProtoReflect()))
		return st.SendMsg(m.Interface())
	}, "", b)
	return err
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
