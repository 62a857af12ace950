package goanalysis

import (
	"go/ast"
	"go/constant"
	"go/types"
	"strings"

	"github.com/authzhost/authz/verify/goanalysis/internal/typed"
)

// literal is a constant string that a call is given. node is what the call
// spells: a literal, the name of a constant, a concatenation.
type literal struct {
	value string
	node  ast.Expr
}

// literals reads the constant strings of a recognised call in order.
func (c *Checker) literals(info *types.Info, call *ast.CallExpr, to callee) []literal {
	var found []literal
	for i, arg := range call.Args {
		if p := parameter(to.signature, i); p != nil && c.isScopeType(p) {
			continue
		}
		found = c.read(found, info, arg)
	}
	return found
}

func (c *Checker) read(found []literal, info *types.Info, arg ast.Expr) []literal {
	if value, ok := constantString(info, arg); ok {
		return append(found, literal{value, arg})
	}
	switch e := ast.Unparen(arg).(type) {
	case *ast.UnaryExpr:
		return c.read(found, info, e.X) // the address of an options literal
	case *ast.CallExpr:
		if info.Types[e.Fun].IsType() && len(e.Args) == 1 {
			return c.read(found, info, e.Args[0])
		}
	case *ast.CompositeLit:
		t := info.TypeOf(e)
		if t == nil {
			return found
		}
		switch t.Underlying().(type) {
		case *types.Slice, *types.Array:
			for _, element := range e.Elts {
				if kv, ok := element.(*ast.KeyValueExpr); ok {
					element = kv.Value
				}
				if value, ok := constantString(info, element); ok {
					found = append(found, literal{value, element})
				}
			}
		case *types.Struct:
			if keys := field(e, t, "Keys"); keys != nil && c.isOptions(t) {
				return c.read(found, info, keys)
			}
		}
	}
	return found
}

func constantString(info *types.Info, e ast.Expr) (string, bool) {
	if v := info.Types[e].Value; v != nil && v.Kind() == constant.String {
		return constant.StringVal(v), true
	}
	return "", false
}

// field is the value that a struct literal gives a field, nil for none.
func field(lit *ast.CompositeLit, t types.Type, name string) ast.Expr {
	for i, element := range lit.Elts {
		if kv, ok := element.(*ast.KeyValueExpr); ok {
			if key, ok := kv.Key.(*ast.Ident); ok && key.Name == name {
				return kv.Value
			}
		} else if s, ok := t.Underlying().(*types.Struct); ok && i < s.NumFields() && s.Field(i).Name() == name {
			return element
		}
	}
	return nil
}

// parameter is the type that argument i is bound to.
func parameter(sig *types.Signature, i int) types.Type {
	n := sig.Params().Len()
	if sig.Variadic() && i >= n-1 {
		if s, ok := sig.Params().At(n - 1).Type().Underlying().(*types.Slice); ok {
			return s.Elem()
		}
		return nil
	}
	if i >= n {
		return nil
	}
	return sig.Params().At(i).Type()
}

// isScopeType holds of a type by which a client tells scopes from keys. This
// project's own client takes both as string.
func (c *Checker) isScopeType(t types.Type) bool {
	named := typed.NamedOf(t)
	return named != nil && named.Obj().Pkg() != nil && c.client(named.Obj().Pkg().Path()) &&
		strings.HasPrefix(named.Obj().Name(), "Scope") && typed.IsString(named)
}

// isOptions holds of the client's struct that carries a condition beside keys.
func (c *Checker) isOptions(t types.Type) bool {
	named := typed.NamedOf(t)
	if named == nil || named.Obj().Pkg() == nil || !c.client(named.Obj().Pkg().Path()) {
		return false
	}
	s, ok := named.Underlying().(*types.Struct)
	for i := 0; ok && i < s.NumFields(); i++ {
		if s.Field(i).Name() == "Condition" {
			return true
		}
	}
	return false
}
