package goanalysis

import (
	"go/ast"
	"go/types"
	"strings"

	"golang.org/x/tools/go/types/typeutil"

	"github.com/authzhost/authz/verify/goanalysis/internal/typed"
)

// hasCondition reports whether a gate call shows a condition, or hands on what
// may hold one: the check at run time decides then.
func (c *Checker) hasCondition(info *types.Info, call *ast.CallExpr, to callee) bool {
	for _, arg := range call.Args {
		tv := info.Types[arg]
		if tv.Value != nil || tv.IsNil() || tv.Type == nil {
			continue
		}
		if c.showsCondition(info, ast.Unparen(arg), tv.Type) || !to.client && opaque(tv.Type) {
			return true
		}
	}
	return false
}

func (c *Checker) showsCondition(info *types.Info, arg ast.Expr, t types.Type) bool {
	if unary, ok := arg.(*ast.UnaryExpr); ok {
		arg = ast.Unparen(unary.X)
	}
	switch arg := arg.(type) {
	case *ast.CompositeLit:
		literal := info.TypeOf(arg)
		switch literal.Underlying().(type) {
		case *types.Struct:
			given := field(arg, literal, "Condition")
			return given != nil && !info.Types[given].IsNil()
		case *types.Slice, *types.Array:
			for _, element := range arg.Elts {
				if tv := info.Types[element]; tv.Type != nil && !tv.IsNil() && c.showsCondition(info, ast.Unparen(element), tv.Type) {
					return true
				}
			}
		}
		return false
	case *ast.CallExpr:
		if fn, ok := typeutil.Callee(info, arg).(*types.Func); ok && fn.Pkg() != nil && c.client(fn.Pkg().Path()) && fn.Name() == conditionOption {
			return true
		}
	}
	if s, ok := t.Underlying().(*types.Slice); ok {
		t = s.Elem()
	}
	return c.isOptions(t) || c.isOption(t)
}

// isOption holds of the client's type of functional options.
func (c *Checker) isOption(t types.Type) bool {
	named := typed.NamedOf(t)
	if named == nil || named.Obj().Pkg() == nil || !c.client(named.Obj().Pkg().Path()) || !strings.HasSuffix(named.Obj().Name(), "Option") {
		return false
	}
	switch named.Underlying().(type) {
	case *types.Signature, *types.Interface:
		return true
	}
	return false
}

// opaque holds of an argument of a wrapper that may carry a condition. What
// every call has anyway does not: the context, the request and its response,
// strings and their lists, numbers, booleans.
func opaque(t types.Type) bool {
	if typed.IsNamed(t, "context", "Context") || typed.IsNamed(t, "net/http", "ResponseWriter") {
		return false
	}
	if p, ok := types.Unalias(t).(*types.Pointer); ok && typed.IsNamed(p.Elem(), "net/http", "Request") {
		return false
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return false
	case *types.Slice:
		return opaque(u.Elem())
	case *types.Array:
		return opaque(u.Elem())
	case *types.Tuple:
		return false
	}
	return true
}
