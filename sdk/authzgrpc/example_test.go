package authzgrpc_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/authzgrpc"
	"github.com/authzhost/authz/sdk/authztest"
	"github.com/authzhost/authz/sdk/client"
)

func guarded(c *client.Client) *authzgrpc.Guard {
	return authzgrpc.New(authzgrpc.Options{
		Client: c,
		Principal: func(ctx context.Context) (authz.Principal, error) {
			md, _ := metadata.FromIncomingContext(ctx)
			return authz.UserPrincipal(strings.Join(md.Get("user"), "")), nil // your token instead
		},
		Gates: authzgrpc.Gates{
			"/grpc.testing.TestService/UnaryCall": authzgrpc.Require("docs.files.read",
				authzgrpc.ScopeFrom("docs.folder", folderID)),
			"/grpc.health.v1.Health/Check": authzgrpc.Public(),
		},
	})
}

func newServer(guard *authzgrpc.Guard) *grpc.Server {
	return grpc.NewServer(grpc.UnaryInterceptor(guard.Unary), grpc.StreamInterceptor(guard.Stream))
}

func ExampleGuard_Unary() {
	testing.RunTests(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "example", F: func(t *testing.T) {
		w := authztest.New(t, authztest.ParseCatalog(t, catalog), "grant user:ann docs.files.read docs.folder:1")
		guard := guarded(w.Client())
		newServer(guard).Stop()
		handler := func(ctx context.Context, _ any) (any, error) { return authzgrpc.PrincipalOf(ctx).Subject(), nil }
		for _, user := range []string{"ann", "ben", ""} {
			ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs("user", user))
			answer, err := guard.Unary(ctx, &testpb.SimpleRequest{Payload: payload("1")},
				&grpc.UnaryServerInfo{FullMethod: "/grpc.testing.TestService/UnaryCall"}, handler)
			fmt.Println(answer, status.Code(err))
		}
	}}})
	// Output:
	// user:ann OK
	// <nil> PermissionDenied
	// <nil> Unauthenticated
}

// folderID is the getter of a field, such as (*docsv1.GetRequest).GetFolderId.
func folderID(m *testpb.SimpleRequest) string { return string(m.GetPayload().GetBody()) }
