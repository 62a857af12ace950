package upload

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
)

// maxReconnect is the longest pause before a collector that is back is noticed.
const maxReconnect = 5 * time.Second

type overGRPC struct {
	conn    *grpc.ClientConn
	headers metadata.MD
}

// OverGRPC sends to host:port; without TLS in plaintext. It does not wait for the
// collector. Headers may be nil.
func OverGRPC(endpoint string, config *tls.Config, headers http.Header) (Uploader, error) {
	transport := insecure.NewCredentials()
	if config != nil {
		transport = credentials.NewTLS(config)
	}
	pauses := backoff.DefaultConfig
	pauses.MaxDelay = maxReconnect
	conn, err := grpc.NewClient(endpoint, grpc.WithTransportCredentials(transport),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: pauses, MinConnectTimeout: maxReconnect}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer)))
	if err != nil {
		return nil, fmt.Errorf("the collector at %q: %w", endpoint, err)
	}
	u := &overGRPC{conn: conn, headers: metadata.MD{}}
	for name, values := range headers {
		u.headers.Append(strings.ToLower(name), values...)
	}
	return u, nil
}

func (u *overGRPC) Close() error { return u.conn.Close() }

func (u *overGRPC) Upload(ctx context.Context, s Signal, m proto.Message) (Partial, error) {
	if len(u.headers) > 0 {
		ctx = metadata.NewOutgoingContext(ctx, u.headers)
	}
	// An answer that is not known here keeps its fields as unknown ones.
	var answer emptypb.Empty
	var header, trailer metadata.MD
	var to peer.Peer
	err := u.conn.Invoke(ctx, s.method(), m, &answer, grpc.Header(&header), grpc.Trailer(&trailer), grpc.Peer(&to))
	if err == nil {
		return partial(answer.ProtoReflect().GetUnknown()), nil
	}
	told := status.Convert(err)
	switch {
	case len(header.Get("content-type"))+len(trailer.Get("content-type")) > 0:
		return Partial{}, answered(told, len(header.Get("content-type")) > 0)
	case to.Addr == nil: // no stream was begun
		return Partial{}, &Error{Reason: "the collector was not reached: " + told.Message(), Untaken: true, Retry: true}
	default:
		return Partial{}, &Error{Reason: "the collector did not answer: " + told.Code().String(), Retry: true}
	}
}

// answered judges a status that the collector sent, as OTLP says; begun is whether an
// answer had begun before it.
func answered(told *status.Status, begun bool) *Error {
	e := &Error{Reason: "the collector answered " + told.Code().String()}
	switch told.Code() {
	case codes.Unavailable, codes.Aborted, codes.OutOfRange:
		e.Untaken, e.Retry = true, true
	case codes.ResourceExhausted: // only if it says when
		e.Untaken = !begun // an answer that is too long for this side ends so as well
	case codes.Canceled, codes.DeadlineExceeded, codes.DataLoss:
		e.Retry = true
	case codes.InvalidArgument:
		e.Untaken, e.Invalid = true, true
	case codes.Unauthenticated, codes.PermissionDenied, codes.Unimplemented, codes.FailedPrecondition, codes.NotFound:
		e.Untaken = true
	}
	for _, detail := range told.Details() {
		if info, ok := detail.(*errdetails.RetryInfo); ok && e.Untaken && !e.Invalid {
			e.Retry = true
			e.After = max(0, info.GetRetryDelay().AsDuration())
		}
	}
	return e
}
