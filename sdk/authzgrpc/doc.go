// Package authzgrpc puts gates before the methods of gRPC servers:
//
//	guard := authzgrpc.New(authzgrpc.Options{Client: c, Principal: whoIs, Gates: authzgrpc.Gates{
//		"/docs.v1.Files/Get": authzgrpc.Require("docs.files.read", authzgrpc.ScopeFrom("docs.folder", (*docsv1.GetRequest).GetFolderId)),
//	}})
//	server := grpc.NewServer(grpc.UnaryInterceptor(guard.Unary), grpc.StreamInterceptor(guard.Stream))
//
// A call of nobody is answered Unauthenticated, a denial PermissionDenied, and an outage
// Unavailable: it is never an answer. A method without a declared gate is refused. Of a
// stream each message is judged before the handler has it.
package authzgrpc
