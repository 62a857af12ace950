package routes

import (
	"go/ast"
	"go/types"
	"strconv"

	"github.com/authzhost/authz/verify/goanalysis/internal/typed"
)

// typed are the handlers that a value is by its type: the ServeHTTP of a type of the
// project, or one that cannot be followed.
func (c *collector) typed(t types.Type, at ast.Node) []target {
	if named := typed.NamedOf(t); named != nil && !types.IsInterface(named) {
		if obj, _, _ := types.LookupFieldOrMethod(t, true, nil, "ServeHTTP"); obj != nil {
			if fn, ok := obj.(*types.Func); ok && c.kindOf(t) == none {
				if _, isFunc := named.Underlying().(*types.Signature); !isFunc {
					return []target{c.targetOf(fn.Origin(), at)}
				}
			}
		}
	}
	return []target{{name: source(at), unfollowed: 1, pos: at.Pos(), end: at.End()}}
}

func source(n ast.Node) string {
	switch n := n.(type) {
	case *ast.Ident:
		return n.Name
	case *ast.SelectorExpr:
		return n.Sel.Name
	case *ast.CallExpr:
		return source(n.Fun)
	case *ast.IndexExpr:
		return source(n.X)
	case *ast.ParenExpr:
		return source(n.X)
	}
	return anonymous
}

const anonymous = "<anonymous>"

func (c *collector) targetOf(fn *types.Func, at ast.Node) target {
	return target{name: fn.Name(), key: fullName(fn), gated: c.asks(fn), pos: at.Pos(), end: at.End()}
}

// asks reports whether a function has a gate in it, or is one.
func (c *collector) asks(fn *types.Func) bool {
	return c.gated[fn] || c.world.gates[fullName(fn)] || c.in.IsGate(fn.Name(), fn)
}

// function is a function as a value: a handler, a middleware or neither.
func (c *collector) function(at ast.Node, fn *types.Func) value {
	v := value{gate: c.asks(fn)}
	if sig := fn.Signature(); sig.Recv() != nil && types.IsInterface(sig.Recv().Type()) && !v.gate && ServesHTTP(sig) {
		v.targets = c.implementations(fn, at)
		return v
	}
	v.targets = []target{c.targetOf(fn, at)}
	return v
}

// implementations are the methods of this package behind one of an interface.
func (c *collector) implementations(fn *types.Func, at ast.Node) []target {
	var all []target
	iface, _ := fn.Signature().Recv().Type().Underlying().(*types.Interface)
	scope := c.in.Pkg.Scope()
	for _, name := range scope.Names() {
		tn, ok := scope.Lookup(name).(*types.TypeName)
		if !ok || iface == nil || types.IsInterface(tn.Type()) || len(all) >= maxAlternatives {
			continue
		}
		if named, ok := tn.Type().(*types.Named); ok && named.TypeParams().Len() > 0 {
			continue
		}
		if p := types.NewPointer(tn.Type()); types.Implements(p, iface) {
			if obj, _, _ := types.LookupFieldOrMethod(p, true, fn.Pkg(), fn.Name()); obj != nil {
				if m, ok := obj.(*types.Func); ok {
					t := c.targetOf(m.Origin(), at)
					t.name = tn.Name() + "." + t.name
					all = append(all, t)
				}
			}
		}
	}
	if len(all) == 0 {
		return []target{{name: fn.Name(), unfollowed: 1, pos: at.Pos(), end: at.End()}}
	}
	return all
}

// literal walks a function literal where it is made. What it does may not happen, or
// later; a router that it takes has a slot of its own.
func (c *collector) literal(lit *ast.FuncLit) value {
	sig, _ := c.in.Info.TypeOf(lit).(*types.Signature)
	asks := c.holds(lit, lit.Body, sig)
	v := value{lit: lit, gate: asks, targets: []target{{name: anonymous, lit: lit, gated: asks, exempt: c.in.Pardoned(lit.Pos()), pos: lit.Pos(), end: lit.Type.End()}}}
	if c.lits[lit] {
		return v
	}
	c.lits[lit] = true
	c.inside(lit, nil)
	return v
}

func (c *collector) literalSlot(lit *ast.FuncLit) string {
	return "literal:" + c.in.Place(lit.Pos()).String() + ":" + strconv.Itoa(int(lit.Pos()))
}

// inside walks the body of a literal. Given is the router that it is called with, nil
// where that is not known.
func (c *collector) inside(lit *ast.FuncLit, given *node) {
	outer := c.decl
	c.decl = nil // its results are not the function's
	defer func() { c.decl = outer }()
	sig, _ := c.in.Info.TypeOf(lit).(*types.Signature)
	walk := func() {
		if sig != nil {
			c.parameters(sig, c.literalSlot(lit), false)
			if given != nil {
				for i := range sig.Params().Len() {
					if c.kindOf(sig.Params().At(i).Type()) != none {
						c.state.env[sig.Params().At(i)] = value{routers: []*node{given}}
					}
				}
			}
		}
		c.block(lit.Body)
	}
	after := c.branch(walk)
	c.state = meet(c.state, after)
}

// serving is a value of a type of the project that serves: the router behind its
// ServeHTTP, or that method.
func (c *collector) serving(t types.Type, at ast.Node) value {
	named := typed.NamedOf(t)
	if named == nil || types.IsInterface(named) || named.Obj().Pkg() == nil || c.kindOf(t) != none {
		return value{}
	}
	if _, isFunc := named.Underlying().(*types.Signature); isFunc {
		return value{}
	}
	n := c.slot("type:"+named.Obj().Pkg().Path()+"."+named.Obj().Name(), none, named.Obj().Exported())
	v := value{routers: []*node{n}, targets: c.typed(types.NewPointer(named), at)}
	for i := range v.targets {
		v.targets[i].unless = n
	}
	return v
}

// insideNow walks a literal that is called where it stands.
func (c *collector) insideNow(lit *ast.FuncLit, given *node) {
	outer := c.decl
	c.decl = nil
	defer func() { c.decl = outer }()
	if sig, ok := c.in.Info.TypeOf(lit).(*types.Signature); ok && sig.Params().Len() > 0 {
		c.state.env[sig.Params().At(0)] = value{routers: []*node{given}}
	}
	c.block(lit.Body)
}

func (c *collector) functionOf(e ast.Expr) *types.Func {
	var id *ast.Ident
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		id = e
	case *ast.SelectorExpr:
		id = e.Sel
	default:
		return nil
	}
	fn, _ := c.in.Info.Uses[id].(*types.Func)
	if fn == nil {
		return nil
	}
	return fn.Origin()
}
