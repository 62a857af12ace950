// Package grpc has the types of grpc that programs register with, and does nothing.
package grpc

import (
	"context"
	"net"
)

type (
	ServiceDesc      struct{ ServiceName string }
	ServiceRegistrar interface {
		RegisterService(desc *ServiceDesc, impl any)
	}
	Server                  struct{}
	ServerOption            interface{}
	UnaryServerInfo         struct{ FullMethod string }
	StreamServerInfo        struct{ FullMethod string }
	ServerStream            interface{ Context() context.Context }
	UnaryHandler            func(ctx context.Context, req any) (any, error)
	StreamHandler           func(srv any, stream ServerStream) error
	UnaryServerInterceptor  func(ctx context.Context, req any, info *UnaryServerInfo, handler UnaryHandler) (any, error)
	StreamServerInterceptor func(srv any, ss ServerStream, info *StreamServerInfo, handler StreamHandler) error
)

func NewServer(opt ...ServerOption) *Server                                     { return &Server{} }
func UnaryInterceptor(i UnaryServerInterceptor) ServerOption                    { return nil }
func StreamInterceptor(i StreamServerInterceptor) ServerOption                  { return nil }
func ChainUnaryInterceptor(interceptors ...UnaryServerInterceptor) ServerOption { return nil }
func ChainStreamInterceptor(interceptors ...StreamServerInterceptor) ServerOption {
	return nil
}
func MaxRecvMsgSize(m int) ServerOption                       { return nil }
func (s *Server) RegisterService(desc *ServiceDesc, impl any) {}
func (s *Server) Serve(l net.Listener) error                  { return nil }
