package routes

import (
	"go/ast"
	"go/types"
)

// serveHTTP is a handler that hands on to another one.
func (c *collector) serveHTTP(e *ast.CallExpr, sel *ast.SelectorExpr) value {
	v := c.eval(sel.X)
	for _, a := range e.Args {
		c.eval(a)
	}
	for _, r := range v.routers {
		if isParam(r) && r.kind == none {
			continue // middleware
		}
		b := &pendingBind{node: r}
		b.Bind = Bind{Gated: v.gated, Fn: c.fn, pos: e.Pos()}
		if c.outer != nil && c.gated[c.outer] {
			b.Bind.Gated = true
		}
		if c.outer != nil && c.outer.Name() == "ServeHTTP" && c.outer.Signature().Recv() != nil {
			if s := c.serving(c.outer.Signature().Recv().Type(), e); len(s.routers) > 0 {
				b.dep = s.routers[0]
				if b.dep.top() == r.top() {
					continue
				}
			}
		}
		c.binds = append(c.binds, b)
	}
	return value{}
}

// library is a call of a function that registers or serves without a router to call.
func (c *collector) library(e *ast.CallExpr, fn *types.Func) (value, bool) {
	if fn.Pkg() == nil {
		return value{}, false
	}
	name := fullName(fn)
	if constructors[name] {
		for _, a := range e.Args {
			c.eval(a)
		}
		t := fn.Signature().Results().At(0).Type()
		return value{routers: []*node{c.local(c.kindOf(t))}}, true
	}
	switch fn.Pkg().Path() {
	case "net/http":
		return c.netHTTP(e, fn)
	case "google.golang.org/grpc":
		return c.grpcFunction(e, fn)
	}
	if c.registersService(fn.Signature()) && len(e.Args) == 2 {
		c.service(e)
		return value{}, true
	}
	return value{}, false
}

func (c *collector) defaultMux() *node {
	return c.slot("var:net/http.DefaultServeMux", mux, true)
}

func (c *collector) netHTTP(e *ast.CallExpr, fn *types.Func) (value, bool) {
	switch fn.Name() {
	case "Handle", "HandleFunc":
		if fn.Signature().Recv() != nil || len(e.Args) != 2 {
			return value{}, false
		}
		n := c.defaultMux()
		c.register(n, c.guard(n), c.eval(e.Args[1]), "", c.text(e.Args[0]), e.Args[1])
		return value{}, true
	case "ListenAndServe", "ListenAndServeTLS", "Serve", "ServeTLS":
		if fn.Signature().Recv() != nil {
			return value{}, false
		}
		for i, a := range e.Args {
			if i >= fn.Signature().Params().Len() || !ServesHTTP(fn.Signature().Params().At(i).Type()) {
				c.eval(a)
				continue
			}
			if c.in.Info.Types[a].IsNil() {
				c.served(value{routers: []*node{c.defaultMux()}}, a.Pos())
				continue
			}
			v := c.eval(a)
			c.served(v, a.Pos())
		}
		return value{}, true
	}
	return value{}, false
}
