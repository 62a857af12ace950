package routes

import (
	"go/ast"
	"go/token"
	"go/types"
)

// eval walks an expression, once, and answers what it may be.
func (c *collector) eval(e ast.Expr) value {
	switch e := e.(type) {
	case nil:
		return value{}
	case *ast.ParenExpr:
		return c.eval(e.X)
	case *ast.FuncLit:
		return c.literal(e)
	case *ast.Ident:
		return c.named(e, c.in.Info.Uses[e])
	case *ast.SelectorExpr:
		return c.selector(e)
	case *ast.CallExpr:
		return c.call(e)
	case *ast.CompositeLit:
		return c.composite(e)
	case *ast.UnaryExpr:
		v := c.eval(e.X)
		if e.Op == token.ARROW {
			return value{table: true, count: 1}
		}
		return v
	case *ast.StarExpr:
		return c.eval(e.X)
	case *ast.IndexExpr:
		v := c.eval(e.X)
		c.eval(e.Index)
		if tv := c.in.Info.Types[e.X]; tv.Value == nil && tv.Type != nil {
			if _, generic := tv.Type.Underlying().(*types.Signature); generic {
				return v
			}
		}
		return v.any()
	case *ast.IndexListExpr:
		return c.eval(e.X)
	case *ast.SliceExpr:
		v := c.eval(e.X)
		return value{table: true, count: max(1, len(v.elements), v.count)}
	case *ast.TypeAssertExpr:
		return c.eval(e.X)
	case *ast.BinaryExpr:
		c.eval(e.X)
		c.eval(e.Y)
	case *ast.KeyValueExpr:
		c.eval(e.Value)
	}
	return value{}
}

func (c *collector) named(at *ast.Ident, obj types.Object) value {
	switch obj := obj.(type) {
	case *types.Func:
		return c.function(at, obj.Origin())
	case *types.Var:
		if v, ok := c.state.env[obj]; ok {
			v.gate = v.gate || c.in.IsGate(at.Name, obj)
			return v.at(at)
		}
		if obj.Parent() != nil && obj.Pkg() != nil && obj.Parent() == obj.Pkg().Scope() {
			return c.kept(at, obj, obj.Pkg().Path()+"."+obj.Name())
		}
		return c.unknown(at, obj)
	}
	return value{}
}

// unknown is a variable that nothing is known of.
func (c *collector) unknown(at *ast.Ident, obj *types.Var) value {
	v := value{gate: c.in.IsGate(at.Name, obj)}
	if ServesHTTP(obj.Type()) {
		v.targets = c.typed(obj.Type(), at)
	}
	return v
}

// kept is what a field or a variable of a package holds.
func (c *collector) kept(at *ast.Ident, obj *types.Var, name string) value {
	v := value{gate: c.in.IsGate(at.Name, obj)}
	k := c.kindOf(obj.Type())
	if k == none && !ServesHTTP(obj.Type()) {
		return v
	}
	n := c.slot("var:"+name, k, obj.Exported())
	v.routers = []*node{n}
	if k == none {
		v.targets = c.typed(obj.Type(), at)
		for i := range v.targets {
			v.targets[i].unless = n
		}
	}
	return v
}

func (c *collector) selector(e *ast.SelectorExpr) value {
	obj := c.in.Info.Uses[e.Sel]
	switch obj := obj.(type) {
	case *types.Func:
		x := value{}
		if c.in.Info.Selections[e] != nil {
			x = c.eval(e.X)
		}
		if obj.Name() == "ServeHTTP" && (len(x.routers) > 0 || len(x.targets) > 0) {
			return x.at(e) // a router as a function
		}
		return c.function(e, obj.Origin())
	case *types.Var:
		if c.in.Info.Selections[e] == nil { // of another package
			return c.kept(e.Sel, obj, orEmpty(obj.Pkg())+"."+obj.Name())
		}
		x := c.eval(e.X)
		if field, ok := x.fields[e.Sel.Name]; ok {
			return field.at(e)
		}
		if x.table {
			return value{table: true, count: x.count, gate: c.in.IsGate(e.Sel.Name, obj)}
		}
		return c.kept(e.Sel, obj, c.ownerOf(e, obj))
	}
	return value{}
}

func orEmpty(p *types.Package) string {
	if p == nil {
		return ""
	}
	return p.Path()
}
