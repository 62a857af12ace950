package routes

import (
	"go/ast"
	"go/types"
	"slices"

	"github.com/authzhost/authz/verify/goanalysis/internal/typed"
)

func (c *collector) call(e *ast.CallExpr) value {
	info := c.in.Info
	if tv := info.Types[e.Fun]; tv.IsType() { // a conversion
		if len(e.Args) == 1 {
			v := c.eval(e.Args[0])
			if !tv.IsValue() {
				return v
			}
		}
		return value{}
	} else if tv.IsBuiltin() {
		return c.builtin(e)
	}
	fn := c.callee(e)
	fun := ast.Unparen(e.Fun)
	if fn != nil {
		if sel, ok := fun.(*ast.SelectorExpr); ok && info.Selections[sel] != nil {
			if v, ok := c.method(e, sel, fn); ok {
				return v
			}
		}
		if v, ok := c.library(e, fn); ok {
			return v
		}
	}
	return c.applied(e, fn)
}

func (c *collector) builtin(e *ast.CallExpr) value {
	var args []value
	for _, a := range e.Args {
		if !c.in.Info.Types[a].IsType() {
			args = append(args, c.eval(a))
		}
	}
	if len(args) == 0 || source(e.Fun) != "append" {
		return value{}
	}
	out := args[0]
	out.elements = slices.Clip(out.elements)
	for i, a := range args[1:] {
		if e.Ellipsis.IsValid() && i == len(args)-2 {
			out.elements = append(out.elements, a.elements...)
		} else {
			out.elements = append(out.elements, a)
		}
	}
	if out.elements == nil {
		out.elements = []value{}
	}
	return out.bounded()
}

// applied is the result of a call that no router is asked by.
func (c *collector) applied(e *ast.CallExpr, fn *types.Func) value {
	info := c.in.Info
	var fun value
	recv := value{}
	switch f := ast.Unparen(e.Fun).(type) {
	case *ast.SelectorExpr:
		if info.Selections[f] != nil && fn != nil {
			recv = c.eval(f.X)
		} else if fn == nil {
			fun = c.eval(f)
		}
	default:
		if fn == nil {
			fun = c.eval(e.Fun)
		}
	}
	args := make([]value, len(e.Args))
	for i, a := range e.Args {
		args[i] = c.eval(a)
	}
	asks := fun.gate
	name := ""
	if fn != nil {
		asks, name = c.asks(fn), fullName(fn)
		if adapters[name] {
			for _, a := range args {
				asks = asks || a.gate
				for _, one := range a.elements {
					asks = asks || one.gate
				}
			}
		}
		asks = asks || recv.gate && adapted(fn) // alice's Then, chi's Chain(…).Handler
	}
	if fn == nil {
		asks = asks || c.in.IsGate(source(e.Fun), nil)
	}
	t := info.TypeOf(e)
	if tuple, ok := t.(*types.Tuple); ok && tuple.Len() > 0 {
		t = tuple.At(0).Type()
	}
	if t == nil {
		t = types.Typ[types.Invalid]
	}
	if inner, ok := ast.Unparen(e.Fun).(*ast.FuncLit); ok && inner != nil {
		return value{}
	}
	result := value{gate: asks}
	if fn != nil {
		c.given(e, fn, args, ServesHTTP(t))
	} else if fun.lit != nil {
		c.givenLiteral(e, fun.lit, args, ServesHTTP(t))
	} else if !ServesHTTP(t) && c.kindOf(t) == none {
		for i, a := range args {
			c.served(a, e.Args[i].Pos())
		}
	}
	if k := c.kindOf(t); k != none {
		if fn != nil && (fn.Pkg() == c.in.Pkg || c.knows(fn.Pkg())) {
			result.routers = []*node{c.slot("result:"+name, k, bindable(fn) && k != own)}
			return result
		}
		for _, a := range args { // as a wrapper of a router that is one
			if len(a.routers) > 0 {
				result.routers = append(result.routers, a.routers...)
			}
		}
		if len(result.routers) == 0 {
			result.routers = []*node{c.local(k)}
		}
		return result
	}
	if !ServesHTTP(t) {
		if named := typed.NamedOf(t); named != nil && !types.IsInterface(t) {
			result.concrete = t
		} else if fn != nil {
			result.concrete = c.concreteOf(fn)
		}
		return result
	}
	// A handler: made of what is given to it, or by the function itself.
	for _, a := range e.Args {
		if at := info.TypeOf(a); at != nil && (ServesHTTP(at) || c.kindOf(at) != none) && (fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != "net/http") {
			c.saw(e.Fun)
			break
		}
	}
	for i, a := range args {
		at := info.TypeOf(e.Args[i])
		if at == nil || !ServesHTTP(at) && c.kindOf(at) == none {
			continue
		}
		if a.table {
			result.targets = append(result.targets, target{name: source(e.Args[i]), unfollowed: max(a.count, 1), pos: e.Pos(), end: e.End()})
		}
		result.routers = append(result.routers, a.routers...)
		for _, one := range a.targets {
			one.gated = one.gated || asks || a.gated
			result.targets = append(result.targets, one)
		}
		result.gated = result.gated || a.gated
	}
	if asks {
		result.gated = true
	}
	if len(result.routers) > 0 || len(result.targets) > 0 {
		return result.bounded()
	}
	if fun.lit != nil || fn == nil {
		if len(recv.routers) > 0 {
			result.routers = recv.routers
		}
		result.targets = []target{{name: source(e.Fun), gated: asks || fun.gate, unfollowed: boolInt(fun.lit == nil), pos: e.Pos(), end: e.End()}}
		return result
	}
	one := c.targetOf(fn, e)
	if iface := fn.Signature().Recv(); iface != nil && types.IsInterface(iface.Type()) && !one.gated {
		one.unfollowed = 1
	}
	n := c.slot("result:"+name, none, bindable(fn))
	one.unless = n
	result.routers, result.targets = []*node{n}, []target{one}
	if s := c.serving(t, e); len(s.routers) > 0 {
		result.routers = append(result.routers, s.routers...)
		for i := range s.targets {
			s.targets[i].gated = s.targets[i].gated || asks
		}
		result.targets = s.targets
	}
	return result
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// adapted holds of methods that put a chain of middleware before a handler.
func adapted(fn *types.Func) bool {
	if fn.Pkg() == nil {
		return false
	}
	switch fn.Pkg().Path() {
	case "github.com/justinas/alice":
		return true
	}
	return families[fn.Pkg().Path()].kind == chi
}

func (c *collector) knows(p *types.Package) bool { return p != nil && c.in.KnownPackage(p.Path()) }
