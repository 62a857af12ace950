package goanalysis

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/verify"
	"github.com/authzhost/authz/verify/goanalysis/internal/typed"
)

// function is a declaration or a literal with a body.
type function struct {
	node   ast.Node
	name   string
	object types.Object // nil for a literal
	parent *function    // the function around it

	server    bool
	handler   bool // serves by its type, not by its name or its file
	gated     bool // a decision is made somewhere inside it
	decides   bool // and not by wrapping a handler
	guards    bool // and it holds for everything inside it
	delegates bool // serves by another handler
	passed    bool // is given to a gate that calls it
}

const anonymous = "<anonymous>"

func (c *Checker) declared(s *source, decl *ast.FuncDecl) *function {
	fn := &function{node: decl, name: decl.Name.Name, object: s.info.Defs[decl.Name]}
	obj, ok := fn.object.(*types.Func)
	if !ok {
		return fn
	}
	sig := obj.Signature()
	fn.handler = typed.IsHandler(sig)
	named := anyMatch(c.serverFunctions, typed.FullName(obj)) ||
		s.server && obj.Exported() && sig.Params().Len() > 0 && typed.IsNamed(sig.Params().At(0).Type(), "context", "Context")
	fn.server, fn.handler = fn.handler || named, fn.handler && !named
	return fn
}

func literalFunction(s *source, lit *ast.FuncLit) *function {
	fn := &function{node: lit, name: anonymous}
	if sig, ok := s.info.TypeOf(lit).(*types.Signature); ok {
		fn.server = typed.IsHandler(sig)
		fn.handler = fn.server
	}
	return fn
}

// gate marks the functions that a decision is made in. It guards what lies in
// the innermost server function around it, or, made outside of any, in all of
// them: a gate in one handler says nothing of the next one beside it. A gate that
// wraps a handler guards that handler only.
func (fn *function) gate(wraps bool) {
	guards := !wraps
	for f := fn; f != nil; f = f.parent {
		f.gated = true
		f.decides = f.decides || !wraps
		f.guards = f.guards || guards
		guards = guards && !f.server
	}
}

// delegate marks the handler that the call of another one is made in.
func (fn *function) delegate() {
	for f := fn; f != nil; f = f.parent {
		if f.server {
			f.delegates = true
			return
		}
	}
}

func (fn *function) inServer() bool {
	for f := fn; f != nil; f = f.parent {
		if f.server {
			return true
		}
	}
	return false
}

// ungated reports whether a server function serves without asking.
func (fn *function) ungated() bool {
	if !fn.server || fn.gated || fn.delegates || fn.passed {
		return false
	}
	for f := fn.parent; f != nil; f = f.parent {
		if f.guards || f.passed {
			return false
		}
	}
	return true
}

// serves reports whether a call hands the request to another handler than the
// function it stands in.
func serves(info *types.Info, call *ast.CallExpr, in *function) bool {
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "ServeHTTP" {
		return false
	}
	fn, ok := info.Uses[sel.Sel].(*types.Func)
	if !ok || !typed.IsHandler(fn.Signature()) {
		return false
	}
	if x, ok := ast.Unparen(sel.X).(*ast.Ident); ok && in != nil && fn == in.object {
		if decl, ok := in.node.(*ast.FuncDecl); ok && decl.Recv != nil && len(decl.Recv.List[0].Names) > 0 {
			return info.Uses[x] != info.Defs[decl.Recv.List[0].Names[0]]
		}
	}
	return true
}

// key is what a function is known by where it is passed on.
func (fn *function) key() any {
	if fn.object != nil {
		return fn.object
	}
	return fn.node
}

// functionValue is the key of the function that an argument is: a literal or a
// declaration of this package, perhaps converted.
func (s *source) functionValue(arg ast.Expr) any {
	var name *ast.Ident
	switch e := ast.Unparen(arg).(type) {
	case *ast.FuncLit:
		return e
	case *ast.CallExpr:
		if s.info.Types[e.Fun].IsType() && len(e.Args) == 1 {
			return s.functionValue(e.Args[0])
		}
		return nil
	case *ast.IndexExpr: // instantiated
		return s.functionValue(e.X)
	case *ast.IndexListExpr:
		return s.functionValue(e.X)
	case *ast.Ident:
		name = e
	case *ast.SelectorExpr:
		name = e.Sel
	default:
		return nil
	}
	if fn, ok := s.info.Uses[name].(*types.Func); ok {
		return types.Object(fn.Origin())
	}
	return nil
}

// parentCall is the call that calls the result of a call.
func parentCall(call *ast.CallExpr, stack []ast.Node) (*ast.CallExpr, bool) {
	for _, n := range slices.Backward(stack) {
		if _, ok := n.(*ast.ParenExpr); ok {
			continue
		}
		outer, ok := n.(*ast.CallExpr)
		return outer, ok && ast.Unparen(outer.Fun) == ast.Expr(call)
	}
	return nil, false
}

// ungated reports the server functions of a file that serve without asking, and
// counts them. Generated code is not for anyone to edit. Those that are judged
// elsewhere are left out.
func (s *source) ungated(passed map[any]bool, elsewhere func(*function) bool) Tally {
	var tally Tally
	for _, fn := range s.fns {
		fn.passed = passed[fn.key()]
	}
	if s.generated || s.report.Skipped != nil {
		return tally
	}
	for _, fn := range s.fns {
		if !fn.server || fn.delegates || elsewhere != nil && fn.handler && elsewhere(fn) {
			continue
		}
		if !fn.ungated() {
			tally.Gated++
			continue
		}
		pos, end := fn.extent()
		switch {
		case s.pardoned(pos) && elsewhere != nil && fn.handler:
			// its routes are counted, or the function as one that no route names
		case s.pardoned(pos):
			tally.Exempt++
		default:
			tally.Findings++
		}
		s.add(authz.SeverityError, verify.RuleUngatedAction, pos, end, "server function "+strconv.Quote(fn.name)+
			" contains no gate — anyone who reaches it gets what it serves; ask before acting, or "+sayPublic)
	}
	return tally
}

const sayPublic = "say why it is public with //" + ignoreWord + "next-line ungated-action <reason>"

// extent is what a finding about a function points at.
func (fn *function) extent() (pos, end token.Pos) {
	switch node := fn.node.(type) {
	case *ast.FuncDecl:
		return node.Type.Func, node.Type.End()
	case *ast.FuncLit:
		return node.Pos(), node.Type.End()
	}
	return fn.node.Pos(), fn.node.End()
}
