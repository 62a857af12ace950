package authzgrpc

import (
	"context"
	"errors"
	"io"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/authzhost/authz/sdk/authz"
)

// stream judges each message before the handler has it. A refusal is for good.
type stream struct {
	grpc.ServerStream
	guard  *Guard
	gate   Gate
	method string
	always bool // judged once, by no message

	mu      sync.Mutex
	open    bool // a message passed
	passed  authz.Principal
	refused error
}

func (s *stream) Context() context.Context {
	return context.WithValue(s.ServerStream.Context(), principalKey{}, s)
}

func (s *stream) refusal() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused
}

// RecvMsg leaves m as it was received when it is refused: the handler must not look at a
// message beside an error, and generated code does not.
func (s *stream) RecvMsg(m any) error {
	if refused := s.refusal(); refused != nil {
		return refused
	}
	if err := s.ServerStream.RecvMsg(m); errors.Is(err, io.EOF) {
		if unjudged := s.judged(); unjudged != nil {
			return unjudged
		}
		return err
	} else if err != nil || s.always {
		return err
	}
	p, err := s.guard.judge(s.ServerStream.Context(), s.method, s.gate, m)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.refused = err
		return err
	}
	s.open, s.passed = true, p
	return nil
}

// judged refuses before a message passed, and after one was refused. So are the end of a
// stream without messages, and a handler that ends without having read one.
func (s *stream) judged() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refused == nil && !s.open {
		s.refused = status.Error(codes.PermissionDenied, "the stream was not judged: no message of it was read")
	}
	return s.refused
}

func (s *stream) SendMsg(m any) error {
	if err := s.judged(); err != nil {
		return err
	}
	return s.ServerStream.SendMsg(m)
}

func (s *stream) SendHeader(md metadata.MD) error {
	if err := s.judged(); err != nil {
		return err
	}
	return s.ServerStream.SendHeader(md)
}
