// Package server is a gRPC service.
package server

import (
	"context"

	"google.golang.org/grpc"

	"example.com/shop/rpc/docspb"
)

func can(ctx context.Context, key string) bool { return false }

type docs struct {
	docspb.UnimplementedDocsServer
}

func (d *docs) Read(ctx context.Context, in *docspb.Doc) (*docspb.Doc, error) {
	if !can(ctx, "docs.files.read") {
		return nil, nil
	}
	return in, nil
}

func (d *docs) Write(ctx context.Context, in *docspb.Doc) (*docspb.Doc, error) { return in, nil } // want `server function "Write" \(/Docs/Write\)`
func (d *docs) Watch(in *docspb.Doc, s grpc.ServerStream) error                { return nil }     // want `server function "Watch" \(/Docs/Watch\)` `server function "Watch" \(/Docs/Watch\)`

func newDocs() docspb.DocsServer { return &docs{} }

func requireUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	return handler(ctx, req)
}

func requireStream(key string) grpc.StreamServerInterceptor { return nil }

func Open() *grpc.Server {
	s := grpc.NewServer(grpc.MaxRecvMsgSize(1))
	docspb.RegisterDocsServer(s, &docs{})
	return s
}

// Unary asks before unary calls alone.
func Unary() *grpc.Server {
	s := grpc.NewServer(grpc.UnaryInterceptor(requireUnary))
	docspb.RegisterDocsServer(s, newDocs())
	return s
}

// Both asks before everything.
func Both() *grpc.Server {
	options := []grpc.ServerOption{grpc.MaxRecvMsgSize(1)}
	options = append(options, grpc.ChainUnaryInterceptor(requireUnary), grpc.ChainStreamInterceptor(requireStream("docs.files.read")))
	s := grpc.NewServer(options...)
	register(s)
	return s
}

func register(s grpc.ServiceRegistrar) { docspb.RegisterDocsServer(s, newDocs()) }
