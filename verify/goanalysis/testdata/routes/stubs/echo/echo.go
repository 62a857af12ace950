// Package echo has the types of echo that programs register with, and does nothing.
package echo

import "net/http"

type Context interface {
	Request() *http.Request
	NoContent(code int) error
}

type (
	HandlerFunc    func(c Context) error
	MiddlewareFunc func(next HandlerFunc) HandlerFunc
	Route          struct{}
	Echo           struct{}
	Group          struct{}
)

func New() *Echo { return &Echo{} }

func (e *Echo) Use(m ...MiddlewareFunc)                                            {}
func (e *Echo) Pre(m ...MiddlewareFunc)                                            {}
func (e *Echo) Group(prefix string, m ...MiddlewareFunc) *Group                    { return &Group{} }
func (e *Echo) GET(path string, h HandlerFunc, m ...MiddlewareFunc) *Route         { return nil }
func (e *Echo) POST(path string, h HandlerFunc, m ...MiddlewareFunc) *Route        { return nil }
func (e *Echo) Any(path string, h HandlerFunc, m ...MiddlewareFunc) []*Route       { return nil }
func (e *Echo) Add(method, path string, h HandlerFunc, m ...MiddlewareFunc) *Route { return nil }
func (e *Echo) Static(prefix, root string) *Route                                  { return nil }
func (e *Echo) Start(address string) error                                         { return nil }
func (e *Echo) ServeHTTP(w http.ResponseWriter, r *http.Request)                   {}

func (g *Group) Use(m ...MiddlewareFunc)                                       {}
func (g *Group) Group(prefix string, m ...MiddlewareFunc) *Group               { return g }
func (g *Group) GET(path string, h HandlerFunc, m ...MiddlewareFunc) *Route    { return nil }
func (g *Group) POST(path string, h HandlerFunc, m ...MiddlewareFunc) *Route   { return nil }
func (g *Group) DELETE(path string, h HandlerFunc, m ...MiddlewareFunc) *Route { return nil }

func WrapHandler(h http.Handler) HandlerFunc                          { return nil }
func WrapMiddleware(m func(http.Handler) http.Handler) MiddlewareFunc { return nil }
