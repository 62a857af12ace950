// Package rpc is a gRPC service.
package rpc

import (
	"context"

	"google.golang.org/grpc"

	"example.com/gated/rpc/docspb"
)

func can(ctx context.Context, key string) bool { return false }

func requireUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	return handler(ctx, req)
}

func requireStream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	return handler(srv, ss)
}

type docs struct {
	docspb.UnimplementedDocsServer
}

func (d *docs) Write(ctx context.Context, in *docspb.Doc) (*docspb.Doc, error) { return in, nil }
func (d *docs) Watch(in *docspb.Doc, s grpc.ServerStream) error                { return nil }

type bare struct {
	docspb.UnimplementedDocsServer
}

func (b *bare) Read(ctx context.Context, in *docspb.Doc) (*docspb.Doc, error) {
	if !can(ctx, "docs.files.read") {
		return nil, nil
	}
	return in, nil
}

func Serve() {
	s := grpc.NewServer(grpc.ChainUnaryInterceptor(requireUnary), grpc.StreamInterceptor(requireStream))
	docspb.RegisterDocsServer(s, &docs{})
	plain := grpc.NewServer()
	docspb.RegisterDocsServer(plain, &bare{})
}
