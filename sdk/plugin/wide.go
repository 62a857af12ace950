package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

// codeInPieces is the refusal of an answer that one message cannot hold. It never
// leaves this package.
const codeInPieces = "in_pieces"

// wide is the host's end of a connection on which the operations of storage may ask and
// answer more than one message holds. Its errors are *unsent where the plugin cannot
// have the request.
type wide struct{ grpc.ClientConnInterface }

// unsent is the failure of a call whose request the plugin does not have.
type unsent struct{ error }

func (e *unsent) Unwrap() error { return e.error }

func (w wide) Invoke(ctx context.Context, method string, ask, answer any, opts ...grpc.CallOption) error {
	b, err := marshal(ask.(proto.Message), maxRequest)
	if err != nil {
		return err
	}
	if len(b) <= maxWhole {
		// gRPC tells the peer of a call that has got a stream on a connection, and takes it
		// for another when the first is certain not to have been looked at. A call without
		// a peer was sent to nobody.
		var to peer.Peer
		err := w.ClientConnInterface.Invoke(ctx, method, encoded(b), answer, append(opts, grpc.Peer(&to))...)
		switch {
		case err == nil:
			return nil
		case to.Addr == nil:
			return &unsent{err}
		case !wantsPieces(err):
			return err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	st, err := w.sendInPieces(ctx, method, b)
	if err != nil {
		return err
	}
	if err := receiveWhole(st, answer); err != nil {
		return err
	}
	// The status stands in the trailer.
	return receiveEnd(st)
}

type pieces = grpc.BidiStreamingClient[pluginv1.Frame, pluginv1.Frame]

func (w wide) sendInPieces(ctx context.Context, method string, request []byte) (pieces, error) {
	if err := ctx.Err(); err != nil {
		return nil, &unsent{err}
	}
	st, err := pluginv1.NewStorageClient(w.ClientConnInterface).InPieces(ctx)
	if err != nil {
		return nil, &unsent{err}
	}
	whole, err := sendFrames(st.Send, path.Base(method), request)
	if err == nil {
		return st, st.CloseSend()
	}
	if refusal := receiveEnd(st); refusal != nil { // of which Send says only that there is one
		err = refusal
	}
	if !whole {
		return nil, &unsent{err}
	}
	return nil, err
}

func receiveEnd(st pieces) error {
	switch _, err := st.Recv(); {
	case err == nil:
		return errors.New("more than one answer")
	case !errors.Is(err, io.EOF):
		return err
	}
	return nil
}

func receiveWhole(st pieces, answer any) error {
	_, b, err := receiveFrames(st.Recv, maxAnswer)
	if err != nil {
		return unreadableOversize(err)
	}
	return proto.Unmarshal(b, answer.(proto.Message))
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

// NewStream serves lists; what the host streams it sends itself.
func (w wide) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	if desc.ClientStreams {
		return w.ClientConnInterface.NewStream(ctx, desc, method, opts...)
	}
	return &listing{open: func(request []byte) (st grpc.ClientStream, inPieces pieces, err error) {
		if len(request) > maxWhole {
			inPieces, err = w.sendInPieces(ctx, method, request)
			return inPieces, inPieces, err
		}
		if st, err = w.ClientConnInterface.NewStream(ctx, desc, method, opts...); err == nil {
			err = st.SendMsg(encoded(request))
		}
		return st, nil, err
	}}, nil
}

// listing is the stream of a list. Its first use is SendMsg, as of all that is
// generated.
type listing struct {
	grpc.ClientStream
	open     func(request []byte) (grpc.ClientStream, pieces, error)
	inPieces pieces // nil when the request fitted
}

func (l *listing) SendMsg(ask any) error {
	b, err := marshal(ask.(proto.Message), maxRequest)
	if err != nil {
		return err
	}
	l.ClientStream, l.inPieces, err = l.open(b)
	return err
}

func (l *listing) RecvMsg(answer any) error {
	if l.inPieces == nil {
		return l.ClientStream.RecvMsg(answer)
	}
	return receiveWhole(l.inPieces, answer)
}

func wantsPieces(err error) bool {
	for _, d := range status.Convert(err).Details() {
		if e, ok := d.(*pluginv1.Error); ok && e.GetCode() == codeInPieces {
			return true
		}
	}
	return false
}

// encodeAnswer serializes what an operation of storage answers, so that what cannot be
// sent is a failure of the operation.
func encodeAnswer(ctx context.Context, ask any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	answer, err := handle(ctx, ask)
	s, ok := info.Server.(*storageServer)
	if err != nil || !ok {
		return answer, err
	}
	b, err := marshal(answer.(proto.Message), maxAnswer)
	if err != nil {
		return nil, toStatus(returned(err), false, s.log)
	}
	if len(b) > maxWhole {
		refusal, err := status.New(codes.OutOfRange, "the answer comes in pieces").WithDetails(&pluginv1.Error{Code: codeInPieces})
		if err != nil {
			return nil, err
		}
		return nil, refusal.Err()
	}
	return encoded(b), nil
}

func (s *storageServer) InPieces(st grpc.BidiStreamingServer[pluginv1.Frame, pluginv1.Frame]) error {
	operation, request, err := receiveFrames(st.Recv, maxRequest)
	if err != nil {
		var own *storage.Error
		if !errors.As(err, &own) {
			own = storage.Unavailable(authz.OutcomeNotApplied, err, "the request broke off")
		}
		return toStatus(own, false, s.log)
	}
	decode := func(ask any) error {
		if err := proto.Unmarshal(request, ask.(proto.Message)); err != nil {
			return toStatus(storage.Errorf(storage.CodeValidation, "the request cannot be read"), false, s.log)
		}
		return nil
	}
	for _, m := range pluginv1.Storage_ServiceDesc.Methods {
		if m.MethodName != operation {
			continue
		}
		answer, err := m.Handler(s, st.Context(), decode, nil)
		if err != nil {
			return err
		}
		return toStatus((&inFrames{st, decode}).SendMsg(answer), false, s.log)
	}
	for _, d := range pluginv1.Storage_ServiceDesc.Streams {
		if d.StreamName == operation && !d.ClientStreams {
			return d.Handler(s, &inFrames{st, decode})
		}
	}
	return toStatus(storage.Errorf(storage.CodeUnsupported, "the plugin does not know this operation"), false, s.log)
}

// inFrames is the stream of an operation that came in pieces.
type inFrames struct {
	grpc.BidiStreamingServer[pluginv1.Frame, pluginv1.Frame]
	decode func(ask any) error
}

func (f *inFrames) RecvMsg(ask any) error { return f.decode(ask) }

func (f *inFrames) SendMsg(answer any) error {
	b, ok := answer.(encoded)
	if !ok {
		var err error
		if b, err = marshal(answer.(proto.Message), maxAnswer); err != nil {
			return returned(err)
		}
	}
	_, err := sendFrames(f.Send, "", b)
	return err
}
