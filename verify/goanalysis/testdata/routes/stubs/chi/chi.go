// Package chi has the types of chi that programs register with, and does nothing.
package chi

import "net/http"

type Router interface {
	http.Handler
	Use(middlewares ...func(http.Handler) http.Handler)
	With(middlewares ...func(http.Handler) http.Handler) Router
	Group(fn func(r Router)) Router
	Route(pattern string, fn func(r Router)) Router
	Mount(pattern string, h http.Handler)
	Handle(pattern string, h http.Handler)
	HandleFunc(pattern string, h http.HandlerFunc)
	Method(method, pattern string, h http.Handler)
	MethodFunc(method, pattern string, h http.HandlerFunc)
	Delete(pattern string, h http.HandlerFunc)
	Get(pattern string, h http.HandlerFunc)
	Post(pattern string, h http.HandlerFunc)
	Put(pattern string, h http.HandlerFunc)
	NotFound(h http.HandlerFunc)
}

type Mux struct{ Router }

func NewRouter() *Mux { return &Mux{} }

func (m *Mux) Use(middlewares ...func(http.Handler) http.Handler)         {}
func (m *Mux) With(middlewares ...func(http.Handler) http.Handler) Router { return m }
func (m *Mux) Group(fn func(r Router)) Router                             { return m }
func (m *Mux) Route(pattern string, fn func(r Router)) Router             { return m }
func (m *Mux) Mount(pattern string, h http.Handler)                       {}
func (m *Mux) Handle(pattern string, h http.Handler)                      {}
func (m *Mux) HandleFunc(pattern string, h http.HandlerFunc)              {}
func (m *Mux) Method(method, pattern string, h http.Handler)              {}
func (m *Mux) MethodFunc(method, pattern string, h http.HandlerFunc)      {}
func (m *Mux) Delete(pattern string, h http.HandlerFunc)                  {}
func (m *Mux) Get(pattern string, h http.HandlerFunc)                     {}
func (m *Mux) Post(pattern string, h http.HandlerFunc)                    {}
func (m *Mux) Put(pattern string, h http.HandlerFunc)                     {}
func (m *Mux) NotFound(h http.HandlerFunc)                                {}
func (m *Mux) ServeHTTP(w http.ResponseWriter, r *http.Request)           {}

type Middlewares []func(http.Handler) http.Handler

func Chain(middlewares ...func(http.Handler) http.Handler) Middlewares { return middlewares }

func (ms Middlewares) Handler(h http.Handler) http.Handler         { return h }
func (ms Middlewares) HandlerFunc(h http.HandlerFunc) http.Handler { return h }
