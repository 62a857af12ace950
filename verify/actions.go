package verify

import (
	"slices"

	ts "github.com/microsoft/typescript-go/authzshim"

	"github.com/authzhost/authz/internal/spell"
)

// serverFunctions reports the exported server functions of a server file in which
// no recognised call lies (spec: verifier §4).
func (r *reader) serverFunctions() {
	for _, statement := range r.tree.Statements.Nodes {
		switch statement.Kind {
		case ts.KindFunctionDeclaration:
			export := modifier(statement, ts.KindExportKeyword)
			if export != nil && modifier(statement, ts.KindAsyncKeyword) != nil && statement.Body() != nil {
				r.serverFunction(statement, statement.Name(), export)
			}
		case ts.KindVariableStatement:
			if modifier(statement, ts.KindExportKeyword) == nil {
				continue
			}
			for _, declaration := range ts.Declarations(statement) {
				if f := functionOf(declaration.Initializer()); f != nil && modifier(f, ts.KindAsyncKeyword) != nil {
					r.serverFunction(f, declaration.Name(), f)
				}
			}
		}
	}
}

// serverFunction reports a function without a gate at the node where it is
// announced.
func (r *reader) serverFunction(f, name, at *ts.Node) {
	if slices.ContainsFunc(r.calls, func(call *ts.Node) bool { return f.Pos() <= call.Pos() && call.End() <= f.End() }) {
		return
	}
	called := "<anonymous>"
	if name != nil && name.Kind == ts.KindIdentifier && name.Text() != "" {
		called = spell.Echo(name.Text())
	}
	r.fail(RuleUngatedAction, r.start(at), `exported server action "`+called+
		`" contains no gate — every action gates on a concrete permission before doing work`)
}

func modifier(n *ts.Node, kind ts.Kind) *ts.Node {
	i := slices.IndexFunc(n.ModifierNodes(), func(m *ts.Node) bool { return m.Kind == kind })
	if i < 0 {
		return nil
	}
	return n.ModifierNodes()[i]
}

// functionOf is the function that an initialiser is, under what changes nothing:
// parentheses and assertions.
func functionOf(n *ts.Node) *ts.Node {
	for n != nil {
		switch n.Kind {
		case ts.KindArrowFunction, ts.KindFunctionExpression:
			return n
		case ts.KindParenthesized, ts.KindAsExpression, ts.KindSatisfiesExpression, ts.KindNonNullExpression, ts.KindTypeAssertion:
			n = n.Expression()
		default:
			return nil
		}
	}
	return nil
}
