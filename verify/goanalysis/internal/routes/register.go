package routes

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/authzhost/authz/verify/goanalysis/internal/typed"
)

// route notes a handler behind a router.
func (c *collector) route(n *node, g guard, t target, method, path string, passed bool, suffix string) {
	p := &pendingRoute{node: n, via: g.via, unless: t.unless, suffix: suffix}
	p.Route = Route{
		Place: c.in.Place(t.pos), Method: method, Path: path, Name: t.name, Key: t.key, Count: t.unfollowed, Fn: c.fn, Passed: passed,
		Gated: g.gated || t.gated, Public: t.exempt || c.in.Pardoned(t.pos), pos: t.pos, end: t.end,
	}
	p.lit = t.lit
	c.routes = append(c.routes, p)
}

// register puts a value behind a router: routes of the functions, and the routers
// below it.
func (c *collector) register(n *node, g guard, v value, method, path string, at ast.Expr) {
	path = Join(n.prefix, path)
	g.gated = g.gated || v.gated
	for _, r := range v.routers {
		if r.top() == n.top() {
			continue
		}
		_, prefix := split(path)
		c.bind(r, n, g, prefix, at.Pos())
	}
	for _, t := range v.targets {
		t.pos, t.end = at.Pos(), at.End()
		if lit, ok := ast.Unparen(at).(*ast.FuncLit); ok {
			t.end = lit.Type.End()
		}
		if v.table && t.unfollowed == 0 {
			continue
		}
		c.route(n, g, t, method, path, false, "")
	}
	if v.table {
		c.route(n, g, target{name: source(at), unfollowed: max(v.count, 1), pos: at.Pos(), end: at.End()}, method, path, false, "")
	} else if len(v.routers) == 0 && len(v.targets) == 0 {
		c.route(n, g, target{name: source(at), unfollowed: 1, gated: v.gate, pos: at.Pos(), end: at.End()}, method, path, false, "")
	}
}

// routersOf are the routers that a method is called on; one that is not known is as
// good as new.
func (c *collector) routersOf(sel *ast.SelectorExpr, k kind) []*node {
	v := c.eval(sel.X)
	selection := c.in.Info.Selections[sel]
	if selection != nil && len(selection.Index()) > 1 && len(v.routers) == 0 || selection != nil && len(selection.Index()) > 1 && c.kindOf(selection.Recv()) == none {
		if field, owner := embedded(selection); field != nil && c.kindOf(field.Type()) != none {
			return []*node{c.slot("var:"+owner+"."+field.Name(), k, field.Exported())}
		}
	}
	known := slices.DeleteFunc(slices.Clone(v.routers), func(n *node) bool { return n.kind == none })
	if len(known) > 0 {
		return known
	}
	if len(v.routers) > 0 {
		return v.routers
	}
	return []*node{c.local(k)}
}

// embedded is the last embedded field that a promoted method is reached through, and
// the name of the type that has it.
func embedded(s *types.Selection) (field *types.Var, owner string) {
	t := s.Recv()
	for _, i := range s.Index()[:len(s.Index())-1] {
		named := typed.NamedOf(t)
		if p, ok := t.Underlying().(*types.Pointer); ok {
			t = p.Elem()
		}
		st, ok := t.Underlying().(*types.Struct)
		if !ok || i >= st.NumFields() {
			return nil, ""
		}
		field = st.Field(i)
		if named != nil && named.Obj().Pkg() != nil {
			owner = named.Obj().Pkg().Path() + "." + named.Obj().Name()
		}
		t = field.Type()
	}
	return field, owner
}

// method is a call on a router. Not ok is a call of anything else.
func (c *collector) method(e *ast.CallExpr, sel *ast.SelectorExpr, fn *types.Func) (value, bool) {
	sig := fn.Signature()
	if sig.Recv() == nil {
		return value{}, false
	}
	if fn.Name() == "ServeHTTP" && typed.IsHandler(sig) {
		return c.serveHTTP(e, sel), true
	}
	k := c.kindOf(sig.Recv().Type())
	if k == none { // a method of a type that has one of these inside, or of an interface
		k = c.kindOf(orVoid(c.in.Info.TypeOf(sel.X)))
		if k != own {
			return value{}, false
		}
	}
	name := fn.Name()
	if k == grpc {
		return c.grpcMethod(e, sel, fn), true
	}
	s, registers := shapes[k][name]
	if k == own {
		s, registers = c.ownShape(sig)
	}
	switch {
	case registers && (s.handler < len(e.Args)):
		c.registration(e, sel, k, s)
		if out := sig.Results(); out.Len() == 1 && c.kindOf(out.At(0).Type()) != none {
			return value{routers: c.again(sel, k)}, true
		}
		return value{}, true
	case (k == gin || k == chi || k == echo) && (name == "Use" || name == "Pre") || k == own && c.takesMiddleware(sig):
		routers := c.routersOf(sel, k)
		gate := c.anyGate(e)
		c.sawAll(e.Args)
		for _, r := range routers {
			c.guardBy(r, c.guard(r).with(gate && len(routers) == 1))
			if gate && c.depth == 0 && r.slot != "" && len(routers) == 1 { // the whole router, always
				recv := typed.NamedOf(sig.Recv().Type())
				c.uses = append(c.uses, pendingUse{node: r, fn: c.fn, all: k == echo && recv != nil && recv.Obj().Name() == "Echo"})
			}
		}
		return value{routers: routers}, true
	case k == chi && name == "With" || (k == gin || k == echo || k == own) && c.derives(sig):
		prefix, gate := "", false
		routers := c.routersOf(sel, k)
		c.sawAll(e.Args)
		for i, a := range e.Args {
			v := c.eval(a)
			if i == 0 && typed.IsString(orVoid(c.in.Info.TypeOf(a))) {
				prefix = c.text(a)
				continue
			}
			gate = gate || v.asksAny(e.Ellipsis.IsValid())
		}
		out := value{}
		for _, r := range routers {
			out.routers = append(out.routers, c.derive(r, prefix, gate))
		}
		return out, true
	case (k == chi || k == own) && len(e.Args) > 0 && c.callbackOf(sig) >= 0:
		return c.routeBelow(e, sel, k, c.callbackOf(sig)), true
	}
	routers := c.routersOf(sel, k)
	for _, a := range e.Args {
		c.eval(a)
	}
	if strings.HasPrefix(name, "Run") || strings.HasPrefix(name, "Start") {
		c.served(value{routers: routers}, e.Pos())
	}
	if t := c.in.Info.TypeOf(e); t != nil && (c.kindOf(t) != none || ServesHTTP(t)) {
		return value{routers: routers}, true
	}
	return value{}, true
}

// again is the router that a registration answers for chaining.
func (c *collector) again(sel *ast.SelectorExpr, k kind) []*node {
	if id, ok := ast.Unparen(sel.X).(*ast.Ident); ok {
		if v, ok := c.state.env[c.in.Info.Uses[id]]; ok {
			return v.routers
		}
	}
	return c.last
}

// takesMiddleware holds of a method that takes middleware alone.
func (c *collector) takesMiddleware(sig *types.Signature) bool {
	n := sig.Params().Len()
	return n == 1 && c.isMiddleware(elem(sig, 0)) && (sig.Results().Len() == 0 || c.kindOf(sig.Results().At(0).Type()) == own)
}

// derives holds of a method that answers a router of its own kind.
func (c *collector) derives(sig *types.Signature) bool {
	return sig.Results().Len() == 1 && c.kindOf(sig.Results().At(0).Type()) != none && c.callbackOf(sig) < 0
}

// callbackOf is the parameter that is a function over a router; -1 for none.
func (c *collector) callbackOf(sig *types.Signature) int {
	for i := range sig.Params().Len() {
		if f, ok := sig.Params().At(i).Type().Underlying().(*types.Signature); ok && f.Params().Len() == 1 && c.kindOf(f.Params().At(0).Type()) != none {
			return i
		}
	}
	return -1
}

func (c *collector) anyGate(e *ast.CallExpr) bool {
	gate := false
	for _, a := range e.Args {
		gate = c.eval(a).asksAny(e.Ellipsis.IsValid()) || gate
	}
	return gate
}

// routeBelow is chi's Route and Group: a function makes routes on a router below.
func (c *collector) routeBelow(e *ast.CallExpr, sel *ast.SelectorExpr, k kind, at int) value {
	routers := c.routersOf(sel, k)
	prefix := ""
	var out value
	if at > 0 && typed.IsString(orVoid(c.in.Info.TypeOf(e.Args[0]))) {
		prefix = c.text(e.Args[0])
	}
	for i, a := range e.Args {
		if i != at {
			c.eval(a)
			continue
		}
		for j, r := range routers {
			below := c.derive(r, prefix, false)
			out.routers = append(out.routers, below)
			if lit, ok := ast.Unparen(a).(*ast.FuncLit); ok {
				if j == 0 {
					c.lits[lit] = true
					depth := c.depth // it is called here and now
					c.insideNow(lit, below)
					c.depth = depth
				}
				continue
			}
			v := c.eval(a)
			var slot string
			open := false
			switch fn := c.functionOf(a); {
			case fn != nil:
				slot, open = "param:"+fullName(fn)+":0", bindable(fn)
			case v.lit != nil:
				slot = c.literalSlot(v.lit) + ":0"
			default:
				c.route(below, c.guard(below), target{name: source(a), unfollowed: 1, pos: a.Pos(), end: a.End()}, "", below.prefix, false, "")
				continue
			}
			c.hand(a, c.slot(slot, k, open), value{routers: []*node{below}}, k)
		}
	}
	return out
}

// registration reads the arguments of a method that registers.
func (c *collector) registration(e *ast.CallExpr, sel *ast.SelectorExpr, k kind, s shape) {
	routers := c.routersOf(sel, k)
	c.last = routers
	path, method := "", s.method
	if s.path >= 0 && s.path < len(e.Args) {
		path = c.text(e.Args[s.path])
	}
	if s.methodAt >= 0 {
		method = strings.ToUpper(c.text(e.Args[s.methodAt]))
	}
	if s.unrouted {
		path = sel.Sel.Name
	} else if (k == gin || k == echo) && path != "" && !strings.HasPrefix(path, "/") && !strings.HasPrefix(path, unknownText) {
		path = "/" + path
	}
	c.facts.Routers[familyOf[k]]++
	values := make([]value, len(e.Args))
	for i, a := range e.Args {
		if i == s.handler && !s.last || i == len(e.Args)-1 && s.last {
			// the handler itself
		} else if i > s.handler && s.handler >= 0 && s.last || i == s.handler && s.last || s.middleware >= 0 && i >= s.middleware {
			c.saw(a)
		}
		if i == s.handler || i > s.handler && s.last || s.middleware >= 0 && i >= s.middleware {
			values[i] = c.eval(a)
		}
	}
	handler, asks := s.handler, false
	if s.last && s.handler >= 0 {
		handler = len(e.Args) - 1
		spread := e.Ellipsis.IsValid()
		for i := s.handler; i < handler; i++ {
			asks = asks || values[i].gate
		}
		if spread {
			all := values[handler].elements
			v := value{table: true, count: 1}
			if len(all) > 0 {
				v = all[len(all)-1]
				for _, one := range all[:len(all)-1] {
					asks = asks || one.gate
				}
			}
			values[handler] = v
		}
	}
	if s.middleware >= 0 {
		for i := s.middleware; i < len(e.Args); i++ {
			asks = asks || values[i].asksAny(e.Ellipsis.IsValid())
		}
	}
	for _, r := range routers {
		g := c.guard(r).with(asks)
		if handler < 0 {
			c.route(r, g, target{name: sel.Sel.Name, pos: e.Pos(), end: e.End()}, method, Join(r.prefix, path), false, "")
			continue
		}
		c.register(r, g, values[handler], method, path, e.Args[handler])
	}
}
