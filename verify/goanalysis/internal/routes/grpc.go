package routes

import (
	"go/ast"
	"go/constant"
	"go/types"
	"slices"
	"strings"

	"github.com/authzhost/authz/verify/goanalysis/internal/typed"
)

// AuthzGRPC is the package of authz's own interceptors. They refuse every method that
// their Gates do not name, and let everybody pass where these say Public().
const AuthzGRPC = "github.com/authzhost/authz/sdk/authzgrpc"

// publicGates notes the methods that a literal of Gates opens.
func (c *collector) publicGates(e *ast.CompositeLit) {
	if t := c.in.Info.TypeOf(e); t == nil || !typed.IsNamed(t, AuthzGRPC, "Gates") {
		return
	}
	for _, element := range e.Elts {
		if kv, ok := element.(*ast.KeyValueExpr); ok {
			c.publicGate(kv.Key, kv.Value)
		}
	}
}

func (c *collector) publicGate(method, gate ast.Expr) {
	call, ok := ast.Unparen(gate).(*ast.CallExpr)
	if !ok {
		return
	}
	if fn := c.callee(call); fn == nil || fullName(fn) != AuthzGRPC+".Public" {
		return
	}
	if name := c.text(method); !strings.Contains(name, unknownText) {
		c.facts.Opened = append(c.facts.Opened, name)
	}
}

// fullMethod is the name of a method with the package of its service, "" where the
// generated package does not tell.
func fullMethod(generated *types.Package, service, method string) string {
	if generated == nil {
		return ""
	}
	if known, ok := generated.Scope().Lookup(service + "_" + method + "_FullMethodName").(*types.Const); ok && known.Val().Kind() == constant.String {
		return constant.StringVal(known.Val())
	}
	return ""
}

// registersService holds of the function that the generator makes for a service.
func (c *collector) registersService(sig *types.Signature) bool {
	return sig.Recv() == nil && sig.Params().Len() == 2 && sig.Results().Len() == 0 && c.kindOf(sig.Params().At(0).Type()) == grpc &&
		types.IsInterface(sig.Params().At(1).Type()) && typed.NamedOf(sig.Params().At(1).Type()) != nil
}

// grpcFunction reads options of servers: which interceptors ask.
func (c *collector) grpcFunction(e *ast.CallExpr, fn *types.Func) (value, bool) {
	var args []value
	for _, a := range e.Args {
		args = append(args, c.eval(a))
	}
	spread := e.Ellipsis.IsValid()
	asks := slices.ContainsFunc(args, func(v value) bool { return v.asksAny(spread) })
	if strings.HasSuffix(fn.Name(), "Interceptor") {
		c.sawAll(e.Args)
	}
	switch fn.Name() {
	case "UnaryInterceptor", "ChainUnaryInterceptor":
		return value{unary: asks}, true
	case "StreamInterceptor", "ChainStreamInterceptor":
		return value{stream: asks}, true
	case "NewServer":
		n := c.local(grpc)
		var g guard
		for _, a := range args {
			options := []value{a}
			if spread {
				options = a.elements
			}
			for _, o := range options {
				g.gated, g.stream = g.gated || o.unary, g.stream || o.stream
			}
		}
		c.guardBy(n, g)
		return value{routers: []*node{n}}, true
	}
	return value{}, true
}

func (c *collector) grpcMethod(e *ast.CallExpr, sel *ast.SelectorExpr, fn *types.Func) value {
	if fn.Name() == "RegisterService" && len(e.Args) == 2 {
		routers := c.routersOf(sel, grpc)
		c.eval(e.Args[0])
		v := c.eval(e.Args[1])
		if t := typed.NamedOf(orVoid(c.in.Info.TypeOf(e.Args[1]))); t != nil && !types.IsInterface(t) {
			c.methods(routers, t, v, e.Args[1], nil)
		}
		return value{}
	}
	routers := c.routersOf(sel, grpc)
	for _, a := range e.Args {
		c.eval(a)
	}
	if fn.Name() == "ServeHTTP" {
		return value{routers: routers}
	}
	return value{}
}

// service is RegisterXServer(s, impl).
func (c *collector) service(e *ast.CallExpr) {
	v := c.eval(e.Args[0])
	impl := c.eval(e.Args[1])
	fn := c.callee(e)
	routers := v.routers
	if len(routers) == 0 {
		routers = []*node{c.local(grpc)}
	}
	c.methods(routers, typed.NamedOf(fn.Signature().Params().At(1).Type()), impl, e.Args[1], fn.Pkg())
}

// methods are the server functions of a service. Those that the generated package
// answers itself are none.
func (c *collector) methods(routers []*node, service *types.Named, impl value, at ast.Expr, generated *types.Package) {
	concrete := orVoid(c.in.Info.TypeOf(at))
	if types.IsInterface(concrete) {
		concrete = impl.concrete
	}
	c.facts.Routers[familyOf[grpc]]++
	iface, _ := service.Underlying().(*types.Interface)
	if iface == nil || concrete == nil {
		count := 1
		if iface != nil {
			count = max(1, iface.NumMethods())
		}
		for _, n := range routers {
			c.route(n, c.guard(n), target{name: service.Obj().Name(), unfollowed: count, pos: at.Pos(), end: at.End()}, "", "/"+serviceName(service), false, "")
		}
		return
	}
	if _, isPointer := types.Unalias(concrete).(*types.Pointer); !isPointer && !types.IsInterface(concrete) {
		concrete = types.NewPointer(concrete)
	}
	for i := range iface.NumMethods() {
		m := iface.Method(i)
		if !m.Exported() {
			continue
		}
		obj, _, _ := types.LookupFieldOrMethod(concrete, true, m.Pkg(), m.Name())
		fn, ok := obj.(*types.Func)
		if !ok || generated != nil && fn.Pkg() == generated {
			continue
		}
		t := c.targetOf(fn.Origin(), at)
		if decl := c.decls[fn.Origin()]; decl != nil {
			t.pos, t.end = decl.Type.Func, decl.Type.End()
		}
		if recv := fn.Signature().Recv(); recv != nil && types.IsInterface(recv.Type()) && !t.gated {
			t.unfollowed = 1
		}
		unary := m.Signature().Results().Len() == 2
		suffix := streamSuffix
		if unary {
			suffix = unarySuffix
		}
		for _, n := range routers {
			g := c.guard(n)
			if !unary {
				g.gated = g.stream
			}
			c.route(n, g, t, "", "/"+serviceName(service)+"/"+m.Name(), false, suffix)
			c.routes[len(c.routes)-1].Full = fullMethod(service.Obj().Pkg(), serviceName(service), m.Name())
		}
	}
}

func serviceName(service *types.Named) string {
	return strings.TrimSuffix(service.Obj().Name(), "Server")
}
