// Package rpc serves over gRPC behind authz's own interceptors.
package rpc

import (
	"context"
	"net"

	"google.golang.org/grpc"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/authzgrpc"
	"github.com/authzhost/authz/sdk/client"

	"example.com/files/rpc/docspb"
)

type docs struct {
	docspb.UnimplementedDocsServer
}

func (d *docs) Read(ctx context.Context, in *docspb.Doc) (*docspb.Doc, error)  { return in, nil }
func (d *docs) Write(ctx context.Context, in *docspb.Doc) (*docspb.Doc, error) { return in, nil }
func (d *docs) About(ctx context.Context, in *docspb.Doc) (*docspb.Doc, error) { return in, nil }
func (d *docs) Watch(in *docspb.Doc, s grpc.ServerStream) error                { return nil }

func logged(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	return handler(ctx, req)
}

func Serve(l net.Listener, c *client.Client, who func(context.Context) (authz.Principal, error)) error {
	folder := authzgrpc.ScopeFrom("docs.folder", (*docspb.Doc).GetFolderId)
	gates := authzgrpc.Gates{
		docspb.Docs_Read_FullMethodName:  authzgrpc.Require("docs.files.read", folder),
		docspb.Docs_Write_FullMethodName: {Keys: []string{"docs.files.update"}, Scope: folder, Fresh: true},
		docspb.Docs_Watch_FullMethodName: authzgrpc.Require("docs.audit.read", authzgrpc.Global),
	}
	gates[docspb.Docs_About_FullMethodName] = authzgrpc.Public()
	guard := authzgrpc.New(authzgrpc.Options{Client: c, Principal: who, Gates: gates})
	s := grpc.NewServer(grpc.ChainUnaryInterceptor(logged, guard.Unary), grpc.StreamInterceptor(guard.Stream))
	docspb.RegisterDocsServer(s, &docs{})
	return s.Serve(l)
}
