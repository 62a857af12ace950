package authzgrpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/authzhost/authz/internal/testlog"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/authzgrpc"
	"github.com/authzhost/authz/sdk/authztest"
	"github.com/authzhost/authz/sdk/client"
)

const catalog = `
namespaces: [docs]
scopeTypes:
  docs.folder: {parent: docs.folder}
permissions:
  docs.files.read: {scopes: [docs.folder]}
  docs.files.approve: {scopes: [docs.folder], requiresCondition: true}
  docs.admin.read: true
`

const rows = `
	grant user:ann docs.files.* docs.folder:1
	grant user:root docs.admin.read
`

func whoCalls(ctx context.Context) (authz.Principal, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	switch who := strings.Join(md.Get("as"), ","); who {
	case "":
		return authz.Principal{}, nil
	case "broken":
		return authz.Principal{}, errors.New("the sessions cannot be read")
	default:
		return authz.UserPrincipal(who), nil
	}
}

const service = "/grpc.testing.TestService/"

var (
	ofUnary  = authzgrpc.ScopeFrom("docs.folder", func(m *testpb.SimpleRequest) string { return string(m.GetPayload().GetBody()) })
	ofInput  = authzgrpc.ScopeFrom("docs.folder", func(m *testpb.StreamingInputCallRequest) string { return string(m.GetPayload().GetBody()) })
	ofOutput = authzgrpc.ScopeFrom("docs.folder", func(m *testpb.StreamingOutputCallRequest) string { return string(m.GetPayload().GetBody()) })
)

func gates() authzgrpc.Gates {
	return authzgrpc.Gates{
		service + "UnaryCall":           authzgrpc.Require("docs.files.read", ofUnary),
		service + "StreamingOutputCall": authzgrpc.Require("docs.files.read", ofOutput),
		service + "StreamingInputCall":  authzgrpc.Require("docs.files.read", ofInput),
		service + "FullDuplexCall":      authzgrpc.Require("docs.files.read", ofOutput),
		service + "HalfDuplexCall":      authzgrpc.Require("docs.admin.read", authzgrpc.Global),
		service + "EmptyCall":           authzgrpc.Require("docs.admin.read", authzgrpc.Global),
		service + "CacheableUnaryCall":  authzgrpc.Require("docs.files.read", ofOutput), // of another message
		"/grpc.health.v1.Health/Check":  authzgrpc.Public(),
		"/grpc.health.v1.Health/List":   authzgrpc.Public(),
		"/grpc.health.v1.Health/Watch":  authzgrpc.Public(),
		service + "UnimplementedCall":   {Keys: []string{"docs.files.approve"}, Scope: authzgrpc.Global, Condition: never},
	}
}

func never(context.Context, any) (bool, error) { return false, nil }

// served is the service behind the gates. It notes what reached it.
type served struct {
	testpb.UnimplementedTestServiceServer
	mu      sync.Mutex
	reached []string
}

func (s *served) note(ctx context.Context, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reached = append(s.reached, what+" by "+authzgrpc.PrincipalOf(ctx).Subject())
}

func (s *served) taken() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.reached
	s.reached = nil
	return taken
}

func (s *served) UnaryCall(ctx context.Context, m *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
	s.note(ctx, "unary "+string(m.GetPayload().GetBody()))
	return &testpb.SimpleResponse{}, nil
}

func (s *served) CacheableUnaryCall(ctx context.Context, _ *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
	s.note(ctx, "cacheable")
	return &testpb.SimpleResponse{}, nil
}

func (s *served) EmptyCall(ctx context.Context, _ *testpb.Empty) (*testpb.Empty, error) {
	s.note(ctx, "empty")
	return &testpb.Empty{}, nil
}

func (s *served) StreamingOutputCall(m *testpb.StreamingOutputCallRequest, to grpc.ServerStreamingServer[testpb.StreamingOutputCallResponse]) error {
	s.note(to.Context(), "output "+string(m.GetPayload().GetBody()))
	return to.Send(&testpb.StreamingOutputCallResponse{})
}

// StreamingInputCall swallows what its stream fails with, as a careless handler does.
func (s *served) StreamingInputCall(from grpc.ClientStreamingServer[testpb.StreamingInputCallRequest, testpb.StreamingInputCallResponse]) error {
	for {
		m, err := from.Recv()
		if err != nil {
			_ = from.SendAndClose(&testpb.StreamingInputCallResponse{})
			return nil
		}
		s.note(from.Context(), "input "+string(m.GetPayload().GetBody()))
	}
}

func (s *served) FullDuplexCall(both grpc.BidiStreamingServer[testpb.StreamingOutputCallRequest, testpb.StreamingOutputCallResponse]) error {
	for {
		m, err := both.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if string(m.GetPayload().GetBody()) == "eager" {
			continue
		}
		s.note(both.Context(), "duplex "+string(m.GetPayload().GetBody()))
		if err := both.Send(&testpb.StreamingOutputCallResponse{}); err != nil {
			return err
		}
	}
}

// HalfDuplexCall sends before it receives.
func (s *served) HalfDuplexCall(both grpc.BidiStreamingServer[testpb.StreamingOutputCallRequest, testpb.StreamingOutputCallResponse]) error {
	s.note(both.Context(), "half duplex")
	return both.Send(&testpb.StreamingOutputCallResponse{})
}

type site struct {
	served
	world  *authztest.World
	log    testlog.Log
	server *grpc.Server
	guard  *authzgrpc.Guard
	calls  testpb.TestServiceClient
	health healthpb.HealthClient
}

func serve(t testing.TB, change func(*authzgrpc.Options)) *site {
	t.Helper()
	s := &site{world: authztest.New(t, authztest.ParseCatalog(t, catalog), rows)}
	o := authzgrpc.Options{Client: s.world.Client(), Principal: whoCalls, Gates: gates(), Logger: slog.New(slog.NewTextHandler(&s.log, nil))}
	if change != nil {
		change(&o)
	}
	s.guard = authzgrpc.New(o)
	s.server = grpc.NewServer(grpc.UnaryInterceptor(s.guard.Unary), grpc.StreamInterceptor(s.guard.Stream))
	testpb.RegisterTestServiceServer(s.server, &s.served)
	healthpb.RegisterHealthServer(s.server, health.NewServer())
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.server.Serve(listener) }() // ends with Stop
	t.Cleanup(s.server.Stop)
	to, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = to.Close() })
	s.calls, s.health = testpb.NewTestServiceClient(to), healthpb.NewHealthClient(to)
	return s
}

func as(t testing.TB, who string) context.Context {
	if who == "" {
		return t.Context()
	}
	return metadata.AppendToOutgoingContext(t.Context(), "as", who)
}

func payload(folder string) *testpb.Payload { return &testpb.Payload{Body: []byte(folder)} }

func output(folder string) *testpb.StreamingOutputCallRequest {
	return &testpb.StreamingOutputCallRequest{Payload: payload(folder)}
}

func TestCallsAreToldApart(t *testing.T) {
	s := serve(t, nil)
	unary := func(ctx context.Context, folder string) error {
		_, err := s.calls.UnaryCall(ctx, &testpb.SimpleRequest{Payload: payload(folder)})
		return err
	}
	serverStream := func(ctx context.Context, folder string) error {
		from, err := s.calls.StreamingOutputCall(ctx, output(folder))
		if err != nil {
			return err
		}
		_, err = from.Recv()
		return err
	}
	clientStream := func(ctx context.Context, folder string) error {
		to, err := s.calls.StreamingInputCall(ctx)
		if err != nil {
			return err
		}
		if err := to.Send(&testpb.StreamingInputCallRequest{Payload: payload(folder)}); err != nil {
			return err
		}
		_, err = to.CloseAndRecv()
		return err
	}
	for kind, call := range map[string]func(ctx context.Context, folder string) error{"unary": unary, "output": serverStream, "input": clientStream} {
		for _, c := range []struct {
			as, folder string
			want       codes.Code
		}{
			{"ann", "1", codes.OK}, {"ann", "2", codes.PermissionDenied}, {"ben", "1", codes.PermissionDenied},
			{"", "1", codes.Unauthenticated}, {"broken", "1", codes.Unavailable}, {"ann", "", codes.NotFound},
		} {
			err := call(as(t, c.as), c.folder)
			reached := s.taken()
			if status.Code(err) != c.want {
				t.Errorf("%s of folder %q as %q is answered %v, want %s", kind, c.folder, c.as, err, c.want)
			}
			if c.want == codes.OK && fmt.Sprint(reached) != "["+kind+" 1 by user:ann]" || c.want != codes.OK && len(reached) > 0 {
				t.Errorf("%s of folder %q as %q: %v reached the handler", kind, c.folder, c.as, reached)
			}
			if strings.Contains(fmt.Sprint(err), "docs.") {
				t.Errorf("the caller is told %v", err)
			}
		}
	}
	if _, err := s.calls.CacheableUnaryCall(as(t, "ann"), &testpb.SimpleRequest{Payload: payload("1")}); status.Code(err) != codes.Internal {
		t.Errorf("a gate of another message is answered %v", err)
	}
	if _, err := s.calls.UnimplementedCall(as(t, "root"), &testpb.Empty{}); status.Code(err) != codes.PermissionDenied {
		t.Errorf("a condition that does not hold is answered %v", err)
	}
	if _, err := s.calls.EmptyCall(as(t, "root"), &testpb.Empty{}); err != nil {
		t.Errorf("the global question is answered %v", err)
	}
	if _, err := s.health.Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil {
		t.Errorf("a public method is answered %v", err)
	}
	if log := s.log.String(); !strings.Contains(log, "the sessions cannot be read") || strings.Contains(log, "access denied") {
		t.Errorf("the log tells %s", log)
	}
}

// Ben may everywhere but at one folder. What a function of the application lost of a scope
// must not make the global question of it: that would pass over the revoke.
func TestAScopeThatWasLostIsNotTheGlobalOne(t *testing.T) {
	s := serve(t, func(o *authzgrpc.Options) {
		o.Client = o.Client.WithUnknownScopeTypes(client.ScopeTypeAnswer)
		o.Gates[service+"UnaryCall"] = authzgrpc.Require("docs.files.read", authzgrpc.ScopeFunc(func(_ context.Context, m any) (string, error) {
			return string(m.(*testpb.SimpleRequest).GetPayload().GetBody()), nil
		}))
	})
	s.world.Write("grant user:ben docs.files.read\nrevoke ben docs.files.read docs.folder:1")
	for scope, want := range map[string]codes.Code{
		"*":             codes.OK, // who asks the global question says so
		"docs.folder:1": codes.PermissionDenied, "": codes.NotFound, "docs.folder:": codes.NotFound, "docs.folder:\x00": codes.NotFound,
		"1": codes.Internal, ":1": codes.Internal, "docs folder:1": codes.Internal, "docs.foldr:1": codes.Internal,
	} {
		_, err := s.calls.UnaryCall(as(t, "ben"), &testpb.SimpleRequest{Payload: payload(scope)})
		if status.Code(err) != want {
			t.Errorf("%q is answered %v, want %s", scope, err, want)
		}
		if reached := s.taken(); (len(reached) == 1) != (want == codes.OK) {
			t.Errorf("%q: %v reached the handler", scope, reached)
		}
	}
}

func TestAHandlerAnswersAsAGateDoes(t *testing.T) {
	s := serve(t, func(o *authzgrpc.Options) {
		o.ExplainInDevelopment = true
		o.Gates[service+"UnaryCall"] = authzgrpc.SignedIn()
		o.Gates[service+"HalfDuplexCall"] = authzgrpc.SignedIn()
	})
	for who, want := range map[string]codes.Code{"ben": codes.OK, "": codes.Unauthenticated, "broken": codes.Unavailable} {
		_, err := s.calls.UnaryCall(as(t, who), &testpb.SimpleRequest{Payload: payload("1")})
		if status.Code(err) != want {
			t.Errorf("%q is answered %v, want %s", who, err, want)
		}
		if reached := s.taken(); want == codes.OK && fmt.Sprint(reached) != "[unary 1 by user:ben]" || want != codes.OK && len(reached) > 0 {
			t.Errorf("%q: %v reached the handler", who, reached)
		}
		both, err := s.calls.HalfDuplexCall(as(t, who))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := both.Recv(); status.Code(err) != want {
			t.Errorf("a stream of %q is answered %v, want %s", who, err, want)
		}
		s.taken()
	}
	c, ctx := s.world.Client(), t.Context()
	_, mistake := c.Can(ctx, authz.Principal{}, "docs.files.read", "docs.folder:1")
	for _, answered := range []struct {
		err  error
		want codes.Code
	}{
		{c.Require(ctx, authz.UserPrincipal("ben"), "docs.files.read", "docs.folder:1"), codes.PermissionDenied},
		{&authz.AccessDeniedError{Reason: authz.ReasonUnauthenticated}, codes.Unauthenticated},
		{fmt.Errorf("the page: %w", authzgrpc.ErrNoResource), codes.NotFound},
		{&authz.UnknownScopeError{Scope: "docs.page:1", Refusal: authz.Rejected(authz.CodeUnsupported, "no ancestors")}, codes.NotFound},
		{mistake, codes.Internal},
		{nil, codes.Internal},
		{errors.New("the database is down"), codes.Unavailable},
	} {
		err := s.guard.Answer(ctx, answered.err)
		if status.Code(err) != answered.want {
			t.Errorf("%v is answered %v, want %s", answered.err, err, answered.want)
		}
		if explained := strings.Contains(fmt.Sprint(err), "may not docs.files.read at docs.folder:1"); explained != (answered.want == codes.PermissionDenied) {
			t.Errorf("%v is explained: %v", answered.err, err)
		}
	}
	for _, told := range []string{"level=INFO", "docs.page:1", "the database is down", "names neither"} {
		if !strings.Contains(s.log.String(), told) {
			t.Errorf("the log does not tell %q: %s", told, &s.log)
		}
	}
}

func TestScopesAreHeldToWhatTheyNeed(t *testing.T) {
	for what, declare := range map[string]func(){
		"no type":   func() { authzgrpc.ScopeFrom("", (*testpb.Payload).String) },
		"no getter": func() { authzgrpc.ScopeFrom[*testpb.Payload]("docs.folder", nil) },
	} {
		func() {
			defer func() {
				if said := fmt.Sprint(recover()); !strings.HasPrefix(said, "authzgrpc: ScopeFrom needs") {
					t.Errorf("%s: told %q", what, said)
				}
			}()
			declare()
		}()
	}
}

func TestEachMessageOfAStreamIsJudged(t *testing.T) {
	s := serve(t, nil)
	both, err := s.calls.FullDuplexCall(as(t, "ann"))
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"1", "1", "2"} {
		if err := both.Send(output(folder)); err != nil {
			t.Fatal(err)
		}
		_, err := both.Recv()
		if want := map[string]codes.Code{"1": codes.OK, "2": codes.PermissionDenied}[folder]; status.Code(err) != want {
			t.Errorf("folder %s is answered %v", folder, err)
		}
	}
	if reached := s.taken(); len(reached) != 2 {
		t.Errorf("%v reached the handler", reached)
	}
}

func TestAStreamWithoutMessagesIsRefused(t *testing.T) {
	s := serve(t, nil)
	to, err := s.calls.StreamingInputCall(as(t, "ann"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := to.CloseAndRecv(); status.Code(err) != codes.PermissionDenied {
		t.Errorf("answered %v", err)
	}
	both, err := s.calls.FullDuplexCall(as(t, "ann"))
	if err != nil {
		t.Fatal(err)
	}
	if err := both.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := both.Recv(); status.Code(err) != codes.PermissionDenied {
		t.Errorf("answered %v", err)
	}
}

func TestAStreamWhoseGateNeedsNoMessage(t *testing.T) {
	s := serve(t, nil)
	for who, want := range map[string]codes.Code{"root": codes.OK, "ann": codes.PermissionDenied, "": codes.Unauthenticated} {
		both, err := s.calls.HalfDuplexCall(as(t, who))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := both.Recv(); status.Code(err) != want {
			t.Errorf("%q is answered %v", who, err)
		}
		if reached := s.taken(); (len(reached) == 1) != (want == codes.OK) {
			t.Errorf("%q: %v reached the handler", who, reached)
		}
	}
}

// A handler that sends before a message was judged sends nothing.
func TestNothingIsSentBeforeAMessageWasJudged(t *testing.T) {
	s := serve(t, func(o *authzgrpc.Options) {
		o.Gates[service+"HalfDuplexCall"] = authzgrpc.Require("docs.files.read", ofOutput)
	})
	both, err := s.calls.HalfDuplexCall(as(t, "ann"))
	if err != nil {
		t.Fatal(err)
	}
	if m, err := both.Recv(); status.Code(err) != codes.PermissionDenied {
		t.Errorf("received %v, %v", m, err)
	}
}

func TestAMethodWithoutAGateIsRefused(t *testing.T) {
	s := serve(t, func(o *authzgrpc.Options) {
		delete(o.Gates, service+"UnaryCall")
		delete(o.Gates, service+"FullDuplexCall")
		o.Gates["/grpc.testing.TestService/UnryCall"] = authzgrpc.Public()
	})
	if _, err := s.calls.UnaryCall(as(t, "ann"), &testpb.SimpleRequest{Payload: payload("1")}); status.Code(err) != codes.PermissionDenied {
		t.Errorf("answered %v", err)
	}
	both, err := s.calls.FullDuplexCall(as(t, "ann"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := both.Recv(); status.Code(err) != codes.PermissionDenied {
		t.Errorf("answered %v", err)
	}
	if !strings.Contains(s.log.String(), "a method without a gate was called") {
		t.Errorf("the log tells %s", &s.log)
	}
	err = s.guard.Covers(s.server)
	want := "authzgrpc: /grpc.testing.TestService/FullDuplexCall has no gate: declare one, or Public()\n" +
		"/grpc.testing.TestService/UnaryCall has no gate: declare one, or Public()\n" +
		"/grpc.testing.TestService/UnryCall has a gate, and the server no such method; did you mean /grpc.testing.TestService/UnaryCall?"
	if err == nil || err.Error() != want {
		t.Errorf("told\n%v\nwant\n%s", err, want)
	}
	if err := serve(t, nil).guard.Covers(s.server); err != nil {
		t.Errorf("told %v", err)
	}
}

func TestAnOutageIsNoAnswer(t *testing.T) {
	s := serve(t, nil)
	s.world.CutOff()
	for _, who := range []string{"ann", "ben"} {
		if _, err := s.calls.UnaryCall(as(t, who), &testpb.SimpleRequest{Payload: payload("1")}); status.Code(err) != codes.Unavailable {
			t.Errorf("%s is answered %v", who, err)
		}
	}
}

func TestExplanationsInDevelopment(t *testing.T) {
	s := serve(t, func(o *authzgrpc.Options) { o.ExplainInDevelopment = true })
	_, err := s.calls.UnaryCall(as(t, "ann"), &testpb.SimpleRequest{Payload: payload("2")})
	if !strings.Contains(fmt.Sprint(err), "because no live grant of the principal confers the key") {
		t.Errorf("told %v", err)
	}
}

func TestCallsAreJudgedConcurrently(t *testing.T) {
	s := serve(t, nil)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			who, want := "ann", codes.OK
			if i%2 == 1 {
				who, want = "ben", codes.PermissionDenied
			}
			for range 10 {
				_, err := s.calls.UnaryCall(as(t, who), &testpb.SimpleRequest{Payload: payload("1")})
				if status.Code(err) != want {
					t.Errorf("%s is answered %v", who, err)
				}
				both, err := s.calls.FullDuplexCall(as(t, who))
				if err != nil {
					t.Error(err)
					return
				}
				_ = both.Send(output("1")) // a refusal is told by Recv
				if _, err := both.Recv(); status.Code(err) != want {
					t.Errorf("%s is answered %v", who, err)
				}
				_ = both.CloseSend()
			}
		})
	}
	all.Wait()
}

func TestGatesAreHeldToTheCatalog(t *testing.T) {
	world := authztest.New(t, authztest.ParseCatalog(t, catalog), "")
	for want, gate := range map[string]authzgrpc.Gates{
		`Did you mean "docs.files.read"?`:             {"/a.B/C": authzgrpc.Require("docs.files.raed", ofUnary)},
		`Did you mean "docs.folder"?`:                 {"/a.B/C": authzgrpc.Require("docs.files.read", authzgrpc.ScopeFrom("docs.foldr", (*testpb.Payload).String))},
		`"a:b" is no type of scopes`:                  {"/a.B/C": authzgrpc.Require("docs.files.read", authzgrpc.ScopeFrom("a:b", (*testpb.Payload).String))},
		"requiresCondition":                           {"/a.B/C": authzgrpc.Require("docs.files.approve", ofUnary)},
		"a gate without a scope":                      {"/a.B/C": {Keys: []string{"docs.files.read"}}},
		"In Go that is Client.RequireAny":             {"/a.B/C": authzgrpc.Require("docs.files.*", ofUnary)},
		"a gate without keys":                         {"/a.B/C": {Scope: authzgrpc.Global}},
		`write "/package.Service/Method"`:             {"a.B.C": authzgrpc.Public()},
		"a gate without a scope: name ScopeFrom(…), ": {"/a.B/C": {}},
	} {
		func() {
			defer func() {
				if said := fmt.Sprint(recover()); !strings.HasPrefix(said, "authzgrpc: ") || !strings.Contains(said, want) {
					t.Errorf("want %q, got %q", want, said)
				}
			}()
			authzgrpc.New(authzgrpc.Options{Client: world.Client(), Principal: whoCalls, Gates: gate})
		}()
	}
}
