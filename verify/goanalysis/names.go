package goanalysis

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/types/typeutil"

	"github.com/authzhost/authz/verify/goanalysis/internal/typed"
)

// kind is what a recognised call counts as; a name may be in both lists.
type kind struct{ gate, visibility, inspection bool }

func (k kind) none() bool { return k == kind{} }

// decides is false for calls that only look.
func (k kind) decides() bool { return k.gate || k.visibility }

// callee is what a call resolves to.
type callee struct {
	kind
	name      string
	client    bool // declared in the client's packages
	declares  bool // a gate for something else to ask
	signature *types.Signature
}

func (c *Checker) calleeOf(info *types.Info, call *ast.CallExpr) callee {
	if info.Types[call.Fun].IsType() || info.Types[call.Fun].IsBuiltin() {
		return callee{}
	}
	to := callee{name: finalName(call.Fun)}
	if to.name == "" {
		return to
	}
	if t := info.TypeOf(call.Fun); t != nil {
		to.signature, _ = t.Underlying().(*types.Signature)
	}
	if to.signature == nil {
		return callee{}
	}
	full, gates := "", defaultGates
	if fn, ok := typeutil.Callee(info, call).(*types.Func); ok && fn.Pkg() != nil {
		fn = fn.Origin()
		full = typed.FullName(fn)
		to.client = c.client(fn.Pkg().Path())
		if covers(defaultClientPackages, fn.Pkg().Path()) {
			gates = slices.Concat(defaultGates, ownGates)
		}
	}
	named := func(defaults, extra []string) bool {
		return to.client && slices.Contains(defaults, to.name) ||
			slices.ContainsFunc(extra, func(entry string) bool {
				return entry == to.name || full != "" && strings.Replace(entry, "(*", "(", 1) == full
			})
	}
	to.gate = named(gates, c.gates) || ownMiddleware[full]
	to.declares = full == ownDeclaration
	to.visibility = named(defaultVisibility, c.visibility)
	to.inspection = !to.decides() && named(defaultInspection, nil)
	if to.name == "Check" && !named(nil, c.gates) && !firstIsBool(to.signature) {
		to.gate = false
	}
	return to
}

// finalName is the last word of a callee, "" for calls of anything unnamed.
func finalName(fun ast.Expr) string {
	switch fun := ast.Unparen(fun).(type) {
	case *ast.Ident:
		return fun.Name
	case *ast.SelectorExpr:
		return fun.Sel.Name
	case *ast.IndexExpr:
		return finalName(fun.X)
	case *ast.IndexListExpr:
		return finalName(fun.X)
	}
	return ""
}

func firstIsBool(sig *types.Signature) bool {
	return sig.Results().Len() > 0 && isBool(sig.Results().At(0).Type())
}

func isBool(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsBoolean != 0
}

var errorType = types.Universe.Lookup("error").Type().Underlying().(*types.Interface)

func isError(t types.Type) bool { return types.Implements(t, errorType) }
