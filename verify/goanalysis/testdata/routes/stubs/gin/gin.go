// Package gin has the types of gin that programs register with, and does nothing.
package gin

import "net/http"

type Context struct{ Request *http.Request }

func (c *Context) Next()                    {}
func (c *Context) AbortWithStatus(code int) {}
func (c *Context) JSON(code int, obj any)   {}

type HandlerFunc func(*Context)

type IRoutes interface {
	Use(...HandlerFunc) IRoutes
	GET(string, ...HandlerFunc) IRoutes
	POST(string, ...HandlerFunc) IRoutes
}

type IRouter interface {
	IRoutes
	Group(string, ...HandlerFunc) *RouterGroup
}

type RouterGroup struct{}

func (g *RouterGroup) Use(...HandlerFunc) IRoutes                     { return g }
func (g *RouterGroup) Group(string, ...HandlerFunc) *RouterGroup      { return g }
func (g *RouterGroup) Handle(string, string, ...HandlerFunc) IRoutes  { return g }
func (g *RouterGroup) Any(string, ...HandlerFunc) IRoutes             { return g }
func (g *RouterGroup) GET(string, ...HandlerFunc) IRoutes             { return g }
func (g *RouterGroup) POST(string, ...HandlerFunc) IRoutes            { return g }
func (g *RouterGroup) DELETE(string, ...HandlerFunc) IRoutes          { return g }
func (g *RouterGroup) Match([]string, string, ...HandlerFunc) IRoutes { return g }
func (g *RouterGroup) Static(string, string) IRoutes                  { return g }

type Engine struct{ RouterGroup }

func New() *Engine                                                 { return &Engine{} }
func Default() *Engine                                             { return &Engine{} }
func (e *Engine) Use(...HandlerFunc) IRoutes                       { return e }
func (e *Engine) NoRoute(...HandlerFunc)                           {}
func (e *Engine) Run(addr ...string) error                         { return nil }
func (e *Engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {}
func (e *Engine) Handler() http.Handler                            { return e }
