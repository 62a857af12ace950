package routes

import (
	"go/types"
	"net/http"
	"slices"
	"strings"

	"github.com/authzhost/authz/verify/goanalysis/internal/typed"
)

// kind is a family of routers.
type kind int

const (
	none kind = iota
	mux       // net/http
	chi
	gin
	echo
	grpc
	own // named by the configuration
)

// families are the types that are routers, by the import path of their package.
var families = map[string]struct {
	kind  kind
	types []string
}{
	"net/http":                    {mux, []string{"ServeMux"}},
	"github.com/go-chi/chi":       {chi, []string{"Router", "Mux"}},
	"github.com/go-chi/chi/v5":    {chi, []string{"Router", "Mux"}},
	"github.com/gin-gonic/gin":    {gin, []string{"Engine", "RouterGroup", "IRouter", "IRoutes"}},
	"github.com/labstack/echo/v4": {echo, []string{"Echo", "Group"}},
	"github.com/labstack/echo/v5": {echo, []string{"Echo", "Group"}},
	"google.golang.org/grpc":      {grpc, []string{"Server", "ServiceRegistrar"}},
}

// familyOf names each family for people.
var familyOf = map[kind]string{mux: "net/http", chi: "chi", gin: "gin", echo: "echo", grpc: "gRPC", own: "routers of the configuration"}

// kindOf tells whether a type is a router.
func (c *collector) kindOf(t types.Type) kind {
	named := typed.NamedOf(t)
	if named == nil || named.Obj().Pkg() == nil {
		return none
	}
	path, name := named.Obj().Pkg().Path(), named.Obj().Name()
	if f, ok := families[path]; ok && slices.Contains(f.types, name) {
		return f.kind
	}
	if slices.Contains(c.in.Routers, path+"."+name) {
		return own
	}
	return none
}

// Constructors make a router that nothing was done to yet.
var constructors = map[string]bool{
	"net/http.NewServeMux":               true,
	"github.com/go-chi/chi/v5.NewRouter": true, "github.com/go-chi/chi/v5.NewMux": true,
	"github.com/go-chi/chi.NewRouter": true, "github.com/go-chi/chi.NewMux": true,
	"github.com/gin-gonic/gin.New": true, "github.com/gin-gonic/gin.Default": true,
	"github.com/labstack/echo/v4.New": true, "github.com/labstack/echo/v5.New": true,
}

// shape says what the arguments of a registration are.
type shape struct {
	method        string // "" for any
	methodAt      int    // argument that names the method; -1 for none
	path, handler int    // -1 for none
	middleware    int    // where these begin; -1 for none
	last          bool   // the handler is the last of handler and what follows it
	mount         bool
	unrouted      bool // serves what no route takes
}

func plain(method string) shape {
	return shape{method: method, methodAt: -1, path: 0, handler: 1, middleware: -1}
}

var verbs = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
	http.MethodDelete, http.MethodConnect, http.MethodOptions, http.MethodTrace}

// shapes are the methods that register, by family.
var shapes = func() map[kind]map[string]shape {
	m := map[kind]map[string]shape{
		mux: {"Handle": plain(""), "HandleFunc": plain("")},
		chi: {
			"Handle": plain(""), "HandleFunc": plain(""),
			"Method":     {methodAt: 0, path: 1, handler: 2, middleware: -1},
			"MethodFunc": {methodAt: 0, path: 1, handler: 2, middleware: -1},
			"Mount":      {methodAt: -1, path: 0, handler: 1, middleware: -1, mount: true},
			"NotFound":   {methodAt: -1, path: -1, handler: 0, middleware: -1, unrouted: true},
		},
		gin: {
			"Any":          {methodAt: -1, path: 0, handler: 1, middleware: -1, last: true},
			"Handle":       {methodAt: 0, path: 1, handler: 2, middleware: -1, last: true},
			"Match":        {methodAt: -1, path: 1, handler: 2, middleware: -1, last: true},
			"NoRoute":      {methodAt: -1, path: -1, handler: 0, middleware: -1, last: true, unrouted: true},
			"Static":       {method: "GET", methodAt: -1, path: 0, handler: -1, middleware: -1},
			"StaticFS":     {method: "GET", methodAt: -1, path: 0, handler: -1, middleware: -1},
			"StaticFile":   {method: "GET", methodAt: -1, path: 0, handler: -1, middleware: -1},
			"StaticFileFS": {method: "GET", methodAt: -1, path: 0, handler: -1, middleware: -1},
		},
		echo: {
			"Any":           {methodAt: -1, path: 0, handler: 1, middleware: 2},
			"Match":         {methodAt: -1, path: 1, handler: 2, middleware: 3},
			"Add":           {methodAt: 0, path: 1, handler: 2, middleware: 3},
			"RouteNotFound": {methodAt: -1, path: 0, handler: 1, middleware: 2},
			"Static":        {method: "GET", methodAt: -1, path: 0, handler: -1, middleware: 2},
			"StaticFS":      {method: "GET", methodAt: -1, path: 0, handler: -1, middleware: 2},
			"File":          {method: "GET", methodAt: -1, path: 0, handler: -1, middleware: 2},
			"FileFS":        {method: "GET", methodAt: -1, path: 0, handler: -1, middleware: 3},
		},
	}
	for _, verb := range verbs {
		m[chi][verb[:1]+strings.ToLower(verb[1:])] = plain(verb)
		m[gin][verb] = shape{method: verb, methodAt: -1, path: 0, handler: 1, middleware: -1, last: true}
		m[echo][verb] = shape{method: verb, methodAt: -1, path: 0, handler: 1, middleware: 2}
	}
	return m
}()

// ownShape reads the shape of a method of a router that the configuration names
// from its parameters: a string and, behind it, a handler.
func (c *collector) ownShape(sig *types.Signature) (shape, bool) {
	s := shape{methodAt: -1, path: -1, handler: -1, middleware: -1}
	for i := range sig.Params().Len() {
		t := sig.Params().At(i).Type()
		switch {
		case s.path < 0 && typed.IsString(t):
			s.path = i
		case s.handler < 0 && ServesHTTP(t) && s.path >= 0:
			s.handler = i
		case s.handler >= 0 && s.middleware < 0 && c.isMiddleware(elem(sig, i)):
			s.middleware = i
		}
	}
	return s, s.handler >= 0
}

// isMiddleware holds of functions that make a handler of a handler, and of handlers
// of gin.
func (c *collector) isMiddleware(t types.Type) bool {
	sig, ok := t.Underlying().(*types.Signature)
	return ok && sig.Params().Len() == 1 && sig.Results().Len() == 1 &&
		ServesHTTP(sig.Params().At(0).Type()) && ServesHTTP(sig.Results().At(0).Type())
}

// elem is the type of parameter i, of its elements where it is variadic.
func elem(sig *types.Signature, i int) types.Type {
	t := sig.Params().At(i).Type()
	if s, ok := t.Underlying().(*types.Slice); ok && sig.Variadic() && i == sig.Params().Len()-1 {
		return s.Elem()
	}
	return t
}

// ServesHTTP holds of what can be registered: an http.Handler, a function of its
// type, a handler of gin or echo.
func ServesHTTP(t types.Type) bool {
	if obj, _, _ := types.LookupFieldOrMethod(t, true, nil, "ServeHTTP"); obj != nil {
		fn, ok := obj.(*types.Func)
		return ok && typed.IsHandler(fn.Signature())
	}
	sig, ok := t.Underlying().(*types.Signature)
	return ok && (typed.IsHandler(sig) || takesContext(sig))
}

// takesContext holds of the handlers of gin and echo.
func takesContext(sig *types.Signature) bool {
	if sig.Params().Len() != 1 {
		return false
	}
	named := typed.NamedOf(sig.Params().At(0).Type())
	if named == nil || named.Obj().Pkg() == nil || named.Obj().Name() != "Context" {
		return false
	}
	switch families[named.Obj().Pkg().Path()].kind {
	case gin:
		return sig.Results().Len() == 0
	case echo:
		return sig.Results().Len() == 1
	}
	return false
}

// adapters make a middleware of a middleware, or a handler of a handler, that asks
// when what they are given asks.
var adapters = map[string]bool{
	"github.com/labstack/echo/v4.WrapMiddleware": true, "github.com/labstack/echo/v5.WrapMiddleware": true,
	"github.com/go-chi/chi/v5.Chain": true, "github.com/go-chi/chi.Chain": true,
}
