package plugin

import (
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/storage"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

const (
	// maxMessage bounds one gRPC message, both ways, on both sides.
	maxMessage = 4 << 20

	// maxWhole is how much of a serialized message one gRPC message may hold; what is
	// larger crosses in frames.
	maxWhole = 2 << 20

	// frameBytes is how much of a serialized message one frame carries.
	frameBytes = 1 << 20

	// maxRequest bounds a reassembled request. The serialized form of a commit
	// is somewhat larger than its content, which is what drivers measure.
	maxRequest = storage.MaxCommitBytes + storage.MaxCommitBytes/8

	// maxAnswer bounds a reassembled answer: what came in by several commits may
	// come back in one.
	maxAnswer = 2 * storage.MaxCommitBytes

	// What may be on its way to a receiver that has not read it, of one call and of all
	// that share the connection; a message that is larger is let through whole. Without
	// bounds of ours gRPC raises its own, up to 16 MiB a call, as far as it thinks that
	// the connection bears it, and asks with pings.
	streamWindow     = 64 << 10
	connectionWindow = 1 << 20

	// A list message ends at whichever comes first.
	chunkRows  = 1000
	chunkBytes = 1 << 20
)

// marshal serializes a message that the receiver will accept. Protobuf refuses
// only text that is not UTF-8.
func marshal(m proto.Message, limit int) ([]byte, error) {
	if size := proto.Size(m); size > limit {
		return nil, storage.Errorf(storage.CodeTooLarge, "the message has %d bytes, at most %d are allowed", size, limit)
	}
	b, err := proto.MarshalOptions{UseCachedSize: true}.Marshal(m)
	if err != nil {
		return nil, storage.Errorf(storage.CodeValidation, "text must be valid UTF-8")
	}
	return b, nil
}

// sendFrames sends one serialized message. whole reports that its last frame was
// handed over, so the receiver may have all of it.
func sendFrames(send func(*pluginv1.Frame) error, operation string, message []byte) (whole bool, err error) {
	for {
		n := min(len(message), frameBytes)
		f := &pluginv1.Frame{Operation: operation, Data: message[:n], End: n == len(message)}
		if err := send(f); err != nil {
			return f.End, err
		}
		if f.End {
			return true, nil
		}
		message, operation = message[n:], ""
	}
}

// receiveFrames reassembles one message. io.EOF means that the stream ended
// before its first frame.
func receiveFrames(recv func() (*pluginv1.Frame, error), limit int) (operation string, message []byte, err error) {
	for first := true; ; first = false {
		f, err := recv()
		if err != nil {
			if !first {
				err = fmt.Errorf("the stream ended inside a message: %w", err)
			}
			return operation, nil, err
		}
		if first {
			operation = f.GetOperation()
		}
		if len(message)+len(f.GetData()) > limit {
			return operation, nil, storage.Errorf(storage.CodeTooLarge, "the message has more than %d bytes", limit)
		}
		if first && f.GetEnd() {
			return operation, f.GetData(), nil
		}
		message = append(message, f.GetData()...)
		if f.GetEnd() {
			return operation, message, nil
		}
	}
}

// encoded is a message that is serialized already.
type encoded []byte

// codec is gRPC's own that passes on what is encoded.
type codec struct{ encoding.CodecV2 }

var wireCodec = codec{encoding.GetCodecV2(protocodec.Name)}

func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if b, ok := v.(encoded); ok {
		return mem.BufferSlice{mem.SliceBuffer(b)}, nil
	}
	return c.CodecV2.Marshal(v)
}

// callOptions are the host's limits, of which a gRPC client has none of its own, and the
// codec.
func callOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage), grpc.ForceCodecV2(wireCodec)),
		grpc.WithStaticStreamWindowSize(streamWindow), grpc.WithStaticConnWindowSize(connectionWindow),
	}
}

func serverOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ForceServerCodecV2(wireCodec), grpc.ChainUnaryInterceptor(encodeAnswer),
		grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage),
		grpc.StaticStreamWindowSize(streamWindow), grpc.StaticConnWindowSize(connectionWindow),
	}
}

func checkCommitSize(c storage.Commit) error {
	if n := len(c.Changes); n > storage.MaxCommitChanges {
		return storage.Errorf(storage.CodeTooLarge, "commit %s has %d changes, at most %d are allowed",
			spell.Quote(c.ID), n, storage.MaxCommitChanges)
	}
	return nil
}
