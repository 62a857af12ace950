package routes

import (
	"go/ast"
	"go/types"
	"slices"

	"github.com/authzhost/authz/verify/goanalysis/internal/typed"
)

// mentions notes which functions that serve by their type are called, and which are
// handed on.
func (c *collector) mentions() {
	for _, file := range c.in.Files {
		callees := map[*ast.Ident]bool{}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				switch fun := ast.Unparen(n.Fun).(type) {
				case *ast.Ident:
					callees[fun] = true
				case *ast.SelectorExpr:
					callees[fun.Sel] = true
				}
			case *ast.Ident:
				fn, ok := c.in.Info.Uses[n].(*types.Func)
				if !ok || !typed.IsHandler(fn.Signature()) {
					return true
				}
				name := fullName(fn.Origin())
				if callees[n] {
					c.facts.Called = append(c.facts.Called, name)
				} else {
					c.facts.Valued = append(c.facts.Valued, name)
				}
			}
			return true
		})
	}
}

// holds reports whether a function asks: a handler when a gate is anywhere in it,
// another one when it makes a middleware or a handler that asks. What registers routes
// asks before some of them at most.
func (c *collector) holds(fn ast.Node, body *ast.BlockStmt, sig *types.Signature) bool {
	if sig == nil || body == nil {
		return false
	}
	if typed.IsHandler(sig) || takesContext(sig) {
		return c.in.Holds(fn)
	}
	return (c.in.Decides(fn) || c.returnsGate(body)) && !c.registers(body)
}

// returnsGate reports whether all that a function returns is made by a gate.
func (c *collector) returnsGate(body *ast.BlockStmt) bool {
	some, all := false, true
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			if len(n.Results) > 0 {
				some, all = true, all && c.madeByGate(n.Results[0])
			}
		}
		return true
	})
	return some && all
}

func (c *collector) madeByGate(e ast.Expr) bool {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok { // a handler of the package, by its name
		fn := c.functionOf(e)
		return fn != nil && c.decls[fn] != nil && (typed.IsHandler(fn.Signature()) || takesContext(fn.Signature())) && c.in.Holds(c.decls[fn])
	}
	var obj types.Object
	if fn := c.callee(call); fn != nil {
		obj = fn
	}
	if inner, ok := ast.Unparen(call.Fun).(*ast.CallExpr); ok && c.madeByGate(inner) {
		return true
	}
	return c.in.IsGate(source(call.Fun), obj) || slices.ContainsFunc(call.Args, c.madeByGate)
}

// registers reports whether a function registers routes.
func (c *collector) registers(body *ast.BlockStmt) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && !found {
			if fn := c.callee(call); fn != nil && fn.Pkg() != nil {
				recv := fn.Signature().Recv()
				found = recv != nil && c.kindOf(recv.Type()) != none && c.kindOf(recv.Type()) != grpc && fn.Name() != "ServeHTTP" ||
					recv == nil && fn.Pkg().Path() == "net/http" && (fn.Name() == "Handle" || fn.Name() == "HandleFunc")
			}
		}
		return !found
	})
	return found
}
