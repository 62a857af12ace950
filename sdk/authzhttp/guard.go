package authzhttp

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/internal/gate"
)

// Options configures a Guard. Client and Principal are required.
type Options struct {
	Client *client.Client

	// Principal says who sent a request. Nobody is the zero principal and no error. An
	// error means that nobody knows, a session store that is down for instance: 503.
	Principal func(*http.Request) (authz.Principal, error)

	// Challenge is the WWW-Authenticate of a 401; "" is "Bearer".
	Challenge string

	// Respond writes the answer to a request that does not pass: its status is 401, 403,
	// 404, 500 or 503. nil writes problem details (RFC 9457), which name no rows. Programs
	// that send people to a sign-in do it here.
	Respond func(w http.ResponseWriter, r *http.Request, status int, err error)

	// ExplainInDevelopment puts the working of a denial into the body of a 403. It names
	// the rows of other people: never set it where anybody else sends requests. It needs
	// the body that is written where Respond is nil.
	ExplainInDevelopment bool

	// Logger hears of outages and mistakes, not of denials; nil is slog's default. At its
	// level Info it hears of resources of which the application knows no parents.
	Logger *slog.Logger
}

// Guard makes gates. It is safe for concurrent use.
type Guard struct {
	Options
}

// New makes a Guard. It panics on options that cannot mean anything.
func New(o Options) *Guard {
	switch {
	case o.Client == nil:
		panic("authzhttp: Options.Client is missing")
	case o.Principal == nil:
		panic("authzhttp: Options.Principal is missing")
	case o.Respond != nil && o.ExplainInDevelopment:
		panic("authzhttp: Options.ExplainInDevelopment explains in the body that Respond replaces: leave one of them out")
	}
	if o.Challenge == "" {
		o.Challenge = "Bearer"
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	o.Client = o.Client.WithUnknownScopeTypes(client.ScopeTypeError) // a scope of no declared type would be the global question
	return &Guard{o}
}

// Gate is what a route asks.
type Gate struct {
	Keys  []string // any of them
	Scope Scope

	// Fresh asks past the caches, for destructive actions.
	Fresh bool

	// Condition is asked after the rows allow. Keys declared requiresCondition need one.
	Condition func(*http.Request) (bool, error)
}

// Middleware puts a gate before a handler.
type Middleware func(http.Handler) http.Handler

// Require is the gate that asks for one key. It panics when the catalog does not declare
// the key or the type of the scope.
func (g *Guard) Require(key string, scope Scope) Middleware {
	return g.RequireGate(Gate{Keys: []string{key}, Scope: scope})
}

// RequireGate is Require in its general form.
func (g *Guard) RequireGate(of Gate) Middleware {
	if of.Scope.of == nil {
		panic("authzhttp: a gate without a scope: name ScopeFromPath(…), or Global for a key that is asked everywhere")
	}
	declared := client.Gate{Keys: of.Keys, Fresh: of.Fresh}
	if of.Scope.scopeType != "" {
		declared.Scope = authz.ScopeID(of.Scope.scopeType, "{id}")
		if !authz.IsKey(of.Scope.scopeType) {
			panic("authzhttp: " + spell.Quote(of.Scope.scopeType) + " is no type of scopes")
		}
	}
	if of.Condition != nil {
		declared.Condition = func(context.Context) (bool, error) { return false, nil } // each request has its own
	}
	if err := g.Client.VerifyGate(declared); err != nil {
		panic("authzhttp: " + gate.Advised(err).Error())
	}
	declared.Scope = ""
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked := gate.Asked{Client: g.Client, Gate: declared,
				Principal: func() (authz.Principal, error) { return g.Principal(r) },
				Scope:     func() (string, error) { return of.Scope.of(r) }}
			if of.Condition != nil {
				asked.Gate.Condition = func(ctx context.Context) (bool, error) { return of.Condition(r.WithContext(ctx)) }
			}
			p, checked, err := asked.Judge(r.Context())
			if err != nil {
				g.refuse(w, r, p, checked, err)
				return
			}
			next.ServeHTTP(w, passed(r, p))
		})
	}
}
