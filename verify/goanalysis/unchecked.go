package goanalysis

import (
	"go/ast"
	"go/types"

	"github.com/authzhost/authz/sdk/authz"
)

// loss is what a caller throws away of a decision; the zero value is nothing.
type loss struct {
	severity authz.Severity
	how      string
}

func (l loss) decision() bool { return l.severity == authz.SeverityError }

// lossOf reads from the surroundings of a call what becomes of its answer.
func lossOf(call *ast.CallExpr, sig *types.Signature, stack []ast.Node) loss {
	var child ast.Node = call
	i := len(stack) - 1
	for ; i >= 0; i-- {
		if _, ok := stack[i].(*ast.ParenExpr); !ok {
			break
		}
		child = stack[i]
	}
	if i < 0 {
		return loss{}
	}
	switch parent := stack[i].(type) {
	case *ast.GoStmt:
		return loss{authz.SeverityError, "nothing waits for a call under go"}
	case *ast.DeferStmt:
		return loss{authz.SeverityError, "nothing reads the result of a call under defer, and it runs after what it should guard"}
	case *ast.ExprStmt:
		// What answers nothing decides in another way, as by panicking.
		if sig.Results().Len() > 0 {
			return loss{authz.SeverityError, "the call is a statement of its own"}
		}
	case *ast.AssignStmt:
		return assigned(sig, parent.Lhs, parent.Rhs, child)
	case *ast.ValueSpec:
		names := make([]ast.Expr, len(parent.Names))
		for i, name := range parent.Names {
			names[i] = name
		}
		return assigned(sig, names, parent.Values, child)
	}
	return loss{}
}

func assigned(sig *types.Signature, left, right []ast.Expr, call ast.Node) loss {
	for i, e := range right {
		if ast.Node(e) != call {
			continue
		}
		if len(right) > 1 { // each value has a variable of its own
			left = left[i : i+1]
		}
		break
	}
	results := sig.Results()
	if results.Len() != len(left) {
		return loss{}
	}
	kept := false
	for i, e := range left {
		if name, ok := e.(*ast.Ident); !ok || name.Name != "_" {
			kept = true
			continue
		}
		switch t := results.At(i).Type(); {
		case isBool(t):
			return loss{authz.SeverityError, "the boolean is assigned to _"}
		case !isError(t):
		case firstIsBool(sig):
			return loss{authz.SeverityWarning, "the error is assigned to _, so an outage looks like a denial"}
		default:
			return loss{authz.SeverityError, "the error is assigned to _"}
		}
	}
	if !kept {
		return loss{authz.SeverityError, "its answer is assigned to _"}
	}
	return loss{}
}

// wraps holds of gates that guard what they are given, as middleware does, not
// the function that calls them.
func wraps(sig *types.Signature) bool {
	for v := range sig.Results().Variables() {
		if _, ok := v.Type().Underlying().(*types.Signature); ok {
			return true
		}
		if obj, _, _ := types.LookupFieldOrMethod(v.Type(), true, nil, "ServeHTTP"); obj != nil {
			return true
		}
	}
	return false
}
