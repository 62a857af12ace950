package authzgrpc

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/internal/gate"
)

// Options configures a Guard. Client, Principal and Gates are required.
type Options struct {
	Client *client.Client

	// Principal says who calls, from the metadata or the peer of the call. Nobody is the
	// zero principal and no error. An error means that nobody knows: Unavailable.
	Principal func(ctx context.Context) (authz.Principal, error)

	Gates Gates

	// ExplainInDevelopment puts the working of a denial into the message of its status. It
	// names the rows of other people: never set it where anybody else calls.
	ExplainInDevelopment bool

	// Logger hears of outages and mistakes, not of denials; nil is slog's default. At its
	// level Info it hears of resources of which the application knows no parents.
	Logger *slog.Logger
}

// Guard has the interceptors. It is safe for concurrent use.
type Guard struct {
	o     Options
	gates Gates
}

// New makes a Guard. It panics on options that cannot mean anything, and on gates that the
// catalog contradicts.
func New(o Options) *Guard {
	switch {
	case o.Client == nil:
		panic("authzgrpc: Options.Client is missing")
	case o.Principal == nil:
		panic("authzgrpc: Options.Principal is missing")
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	o.Client = o.Client.WithUnknownScopeTypes(client.ScopeTypeError) // a scope of no declared type would be the global question
	for _, method := range slices.Sorted(maps.Keys(o.Gates)) {
		if err := verify(o.Client, method, o.Gates[method]); err != nil {
			panic("authzgrpc: " + method + ": " + err.Error())
		}
	}
	return &Guard{o, maps.Clone(o.Gates)}
}

func verify(c *client.Client, method string, g Gate) error {
	if !strings.HasPrefix(method, "/") || strings.Count(method, "/") != 2 {
		return fmt.Errorf(`%s is no full name of a method: write "/package.Service/Method"`, spell.Quote(method))
	}
	if g.public || g.signedIn {
		return nil
	}
	if g.Scope.of == nil {
		return fmt.Errorf("a gate without a scope: name ScopeFrom(…), or Global for a key that is asked everywhere")
	}
	declared := client.Gate{Keys: g.Keys}
	if g.Scope.scopeType != "" {
		declared.Scope = authz.ScopeID(g.Scope.scopeType, "{id}")
		if !authz.IsKey(g.Scope.scopeType) {
			return fmt.Errorf("%s is no type of scopes", spell.Quote(g.Scope.scopeType))
		}
	}
	if g.Condition != nil {
		declared.Condition = func(context.Context) (bool, error) { return false, nil } // each message has its own
	}
	return gate.Advised(c.VerifyGate(declared))
}

// Covers says what methods of a server have no gate, and which gates are of no method. Ask
// it when all services are registered: such a method would be refused, call by call.
func (g *Guard) Covers(server interface {
	GetServiceInfo() map[string]grpc.ServiceInfo
}) error {
	var wrong, served []string
	for service, info := range server.GetServiceInfo() {
		for _, m := range info.Methods {
			method := "/" + service + "/" + m.Name
			served = append(served, method)
			if _, declared := g.gates[method]; !declared {
				wrong = append(wrong, method+" has no gate: declare one, or Public()")
			}
		}
	}
	for method := range g.gates {
		if slices.Contains(served, method) {
			continue
		}
		hint := ""
		if near := spell.Nearest(method, served); near != "" {
			hint = "; did you mean " + near + "?"
		}
		wrong = append(wrong, method+" has a gate, and the server no such method"+hint)
	}
	if len(wrong) == 0 {
		return nil
	}
	slices.Sort(wrong)
	return fmt.Errorf("authzgrpc: %s", strings.Join(wrong, "\n"))
}

type principalKey struct{}

// PrincipalOf is who passed the gate of this call, the zero principal at a public one. In a
// stream it is known from the first message on.
func PrincipalOf(ctx context.Context) authz.Principal {
	switch p := ctx.Value(principalKey{}).(type) {
	case authz.Principal:
		return p
	case *stream:
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.passed
	}
	return authz.Principal{}
}

// Unary is the interceptor of calls with one request.
func (g *Guard) Unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	of, err := g.gate(ctx, info.FullMethod)
	if err != nil {
		return nil, err
	}
	if of.public {
		return handler(ctx, request)
	}
	p, err := g.judge(ctx, info.FullMethod, of, request)
	if err != nil {
		return nil, err
	}
	return handler(context.WithValue(ctx, principalKey{}, p), request)
}

// Stream is the interceptor of streams. Where the scope is in the messages, the handler can
// send nothing before one of them passed; what it does before it receives one is not gated.
func (g *Guard) Stream(server any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	of, err := g.gate(ss.Context(), info.FullMethod)
	if err != nil {
		return err
	}
	if of.public {
		return handler(server, ss)
	}
	s := &stream{ServerStream: ss, guard: g, gate: of, method: info.FullMethod}
	if of.signedIn || of.Scope.constant && of.Condition == nil {
		if s.passed, err = g.judge(ss.Context(), info.FullMethod, of, nil); err != nil {
			return err
		}
		s.open, s.always = true, true
	}
	err = handler(server, s)
	if refused := s.refusal(); refused != nil {
		return refused // whatever the handler made of it
	}
	if err != nil {
		return err
	}
	return s.judged()
}

func (g *Guard) gate(ctx context.Context, method string) (Gate, error) {
	of, declared := g.gates[method]
	if !declared {
		g.o.Logger.ErrorContext(ctx, "a method without a gate was called, and refused", "method", method)
		return of, status.Error(codes.PermissionDenied, "the method has no gate")
	}
	return of, nil
}

func (g *Guard) judge(ctx context.Context, method string, of Gate, message any) (authz.Principal, error) {
	asked := gate.Asked{Client: g.o.Client, Gate: client.Gate{Keys: of.Keys, Fresh: of.Fresh},
		Principal: func() (authz.Principal, error) { return g.o.Principal(ctx) },
		Scope:     func() (string, error) { return of.Scope.of(ctx, message) }}
	if of.Condition != nil {
		asked.Gate.Condition = func(ctx context.Context) (bool, error) { return of.Condition(ctx, message) }
	}
	judge := asked.Judge
	if of.signedIn {
		judge = func(context.Context) (authz.Principal, client.Gate, error) {
			p, err := asked.Who()
			return p, asked.Gate, err
		}
	}
	p, checked, err := judge(ctx)
	if err != nil {
		return authz.Principal{}, g.answer(ctx, method, p, checked, err)
	}
	return p, nil
}
