package verify

import (
	"slices"
	"strings"

	ts "github.com/microsoft/typescript-go/authzshim"
)

// The bounds of what is kept of an expression. Beyond them it is one that cannot be
// followed, which gates nothing.
const (
	maxValueDepth = 24
	maxLinks      = 400
	maxItems      = 2000
)

// unwrap is an expression under what changes nothing of what it is.
func unwrap(n *ts.Node) *ts.Node {
	for n != nil {
		switch n.Kind {
		case ts.KindParenthesized, ts.KindAsExpression, ts.KindSatisfiesExpression, ts.KindNonNullExpression, ts.KindTypeAssertion, ts.KindAwaitExpression:
			n = n.Expression()
		default:
			return n
		}
	}
	return nil
}

func isFunction(n *ts.Node) bool {
	switch n.Kind {
	case ts.KindArrowFunction, ts.KindFunctionExpression, ts.KindFunctionDeclaration, ts.KindMethodDeclaration:
		return true
	}
	return false
}

// gatedIn reports whether a call that gates lies in a node. Nodes nest, so that the
// first that begins in it decides.
func (r *reader) gatedIn(n *ts.Node) bool {
	i, _ := slices.BinarySearchFunc(r.gating, n.Pos(), func(c *ts.Node, at int) int { return c.Pos() - at })
	for ; i < len(r.gating) && r.gating[i].Pos() < n.End(); i++ {
		if r.gating[i].End() <= n.End() {
			return true
		}
	}
	return false
}

// value summarises an expression.
func (r *reader) value(n *ts.Node, depth int) *value {
	n = unwrap(n)
	if n == nil || depth > maxValueDepth {
		return &value{}
	}
	switch n.Kind {
	case ts.KindArrowFunction, ts.KindFunctionExpression, ts.KindFunctionDeclaration, ts.KindMethodDeclaration:
		v := &value{Kind: function, Gated: r.gatedIn(n), Router: r.routerOfFunction(n)}
		if r.scanner.inspect {
			v.body = r.inspectFunction(n)
		} else if r.scanner.config.Exports.RefusalsGate {
			_, v.Refuses = r.refusalIn(n, true)
		}
		return v
	case ts.KindStringLiteral, ts.KindPlainTemplate:
		return &value{Kind: text, Text: strings.Clone(n.Text())}
	case ts.KindIdentifier, ts.KindPropertyAccess, ts.KindThisKeyword:
		path, root := r.path(n)
		if root != nil {
			return &value{Gated: r.gatedIn(n)}
		}
		return &value{Kind: reference, Path: path, Router: r.routerNamed(n, path)}
	case ts.KindCallExpression, ts.KindNewExpression:
		return r.callValue(n, depth)
	case ts.KindObjectLiteral:
		return &value{Kind: object, Fields: r.fields(n.Properties(), depth), Gated: r.gatedIn(n)}
	case ts.KindClassDeclaration, ts.KindClassExpression:
		return &value{Kind: object, Fields: r.fields(n.Members(), depth)}
	case ts.KindEnumDeclaration:
		v := &value{Kind: object}
		for _, m := range n.Members() {
			if name := nameText(m.Name()); name != "" && m.Initializer() != nil {
				v.Fields = append(v.Fields, field{name, r.value(m.Initializer(), depth+1)})
			}
		}
		return v
	case ts.KindArrayLiteral:
		return &value{Kind: list, Items: r.values(n.Elements(), depth)}
	case ts.KindConditionalExpression:
		branches := ts.Branches(n)
		return &value{Kind: list, Items: r.values(branches[:], depth)}
	case ts.KindBinaryExpression:
		left, right, operator := ts.Operands(n)
		switch operator {
		case "||", "??", "&&":
			return &value{Kind: list, Items: r.values([]*ts.Node{left, right}, depth)}
		}
	case ts.KindSpreadElement:
		return r.value(n.Expression(), depth+1)
	}
	return &value{Gated: r.gatedIn(n)}
}

func (r *reader) values(nodes []*ts.Node, depth int) []*value {
	var all []*value
	for _, n := range nodes[:min(len(nodes), maxItems)] {
		all = append(all, r.value(n, depth+1))
	}
	return all
}

func (r *reader) fields(properties []*ts.Node, depth int) []field {
	var all []field
	for _, p := range properties[:min(len(properties), maxItems)] {
		name := nameText(p.Name())
		switch p.Kind {
		case ts.KindPropertyAssignment, ts.KindPropertyDeclaration:
			if name != "" && p.Initializer() != nil {
				all = append(all, field{name, r.value(p.Initializer(), depth+1)})
			}
		case ts.KindShorthandProperty:
			all = append(all, field{name, r.value(p.Name(), depth+1)})
		case ts.KindMethodDeclaration:
			all = append(all, field{name, r.value(p, depth+1)})
		case ts.KindSpreadAssignment:
			all = append(all, field{"...", r.value(p.Expression(), depth+1)})
		}
	}
	return all
}

// nameText is the name of a declaration or property that is written out.
func nameText(n *ts.Node) string {
	if n == nil || n.Kind != ts.KindIdentifier && n.Kind != ts.KindStringLiteral {
		return ""
	}
	return strings.Clone(n.Text())
}

// path is the names that lead to an expression, and the expression that they begin at
// where it is no name.
func (r *reader) path(n *ts.Node) (path []string, root *ts.Node) {
	for n = unwrap(n); n != nil && n.Kind == ts.KindPropertyAccess; n = unwrap(n.Expression()) {
		if len(path) > maxLinks {
			return nil, n
		}
		path = append(path, strings.Clone(n.Name().Text()))
	}
	switch {
	case n == nil:
	case n.Kind == ts.KindIdentifier && n.Text() != "":
		path = append(path, strings.Clone(n.Text()))
	case n.Kind == ts.KindThisKeyword:
		path = append(path, "this")
	default:
		root = n
	}
	slices.Reverse(path)
	return path, root
}

// callValue summarises a chain of calls from its root on, without recursion along it.
func (r *reader) callValue(n *ts.Node, depth int) *value {
	v := &value{Kind: call, Gated: r.gatedIn(n)}
	at := n
	for at != nil && (at.Kind == ts.KindCallExpression || at.Kind == ts.KindNewExpression) && len(v.Links) <= maxLinks {
		path, root := r.path(at.Expression())
		l := link{Args: r.values(at.Arguments(), depth)}
		switch {
		case root == nil && at.Kind == ts.KindNewExpression:
			v.Path, l.Name = path, "new"
		case root == nil && len(path) > 0:
			v.Path, l.Name = path, path[len(path)-1]
		case len(path) > 0:
			l.Name = path[len(path)-1]
		}
		v.Links = append(v.Links, l)
		at = root
	}
	slices.Reverse(v.Links)
	if len(v.Path) == 2 && v.Path[0] == "Object" && v.Path[1] == "freeze" && len(v.Links) == 1 && len(v.Links[0].Args) > 0 {
		return v.Links[0].Args[0]
	}
	if len(v.Path) > 0 {
		v.Router = r.routerNamed(n, v.Path)
	}
	return v
}

// summarise reads what the file declares, imports and exports at its top.
func (r *reader) summarise() {
	m := r.module
	for _, s := range r.tree.Statements.Nodes {
		exported := modifier(s, ts.KindExportKeyword) != nil
		switch s.Kind {
		case ts.KindFunctionDeclaration, ts.KindClassDeclaration, ts.KindEnumDeclaration:
			name := nameText(s.Name())
			if s.Kind == ts.KindFunctionDeclaration && s.Body() == nil {
				continue
			}
			byDefault := exported && modifier(s, ts.KindDefaultKeyword) != nil
			if name == "" {
				name = "default"
			}
			m.Decls[name] = r.value(s, 0)
			if byDefault {
				m.Exports["default"] = binding{Name: name}
			} else if exported {
				m.Exports[name] = binding{Name: name}
			}
		case ts.KindVariableStatement:
			for _, d := range ts.Declarations(s) {
				r.declare(d, exported)
			}
		case ts.KindImportDeclaration:
			r.imports(s)
		case ts.KindExportDeclaration:
			r.exports(s)
		case ts.KindExportAssignment:
			m.Decls["default"] = r.value(s.Expression(), 0)
			m.Exports["default"] = binding{Name: "default"}
		case ts.KindExpressionStatement:
			r.commonExport(s.Expression())
		}
	}
}

// declare takes the names of a variable declaration.
func (r *reader) declare(d *ts.Node, exported bool) {
	m, name := r.module, d.Name()
	add := func(n string, v *value) {
		m.Decls[n] = v
		if exported {
			m.Exports[n] = binding{Name: n}
		}
	}
	if from := requiredModule(d.Initializer()); from != "" {
		if name.Kind == ts.KindIdentifier {
			m.Imports[nameText(name)] = binding{From: from, Name: "default"}
		} else if name.Kind == ts.KindObjectBinding {
			for _, e := range name.Elements() {
				if local := nameText(e.Name()); local != "" {
					m.Imports[local] = binding{From: from, Name: elementName(e)}
				}
			}
		}
		return
	}
	switch {
	case name.Kind == ts.KindIdentifier && d.Initializer() != nil:
		add(nameText(name), r.value(d.Initializer(), 0))
	case name.Kind == ts.KindObjectBinding && d.Initializer() != nil:
		whole := r.value(d.Initializer(), 0)
		for _, e := range name.Elements() {
			local := nameText(e.Name())
			switch {
			case local == "":
			case whole.Kind == reference:
				add(local, &value{Kind: reference, Path: append(slices.Clone(whole.Path), elementName(e))})
			case whole.Kind == object && whole.field(elementName(e)) != nil:
				add(local, whole.field(elementName(e)))
			default:
				add(local, whole)
			}
		}
	}
}

// elementName is what an element of a binding pattern takes.
func elementName(e *ts.Node) string {
	if p := e.PropertyName(); p != nil {
		return nameText(p)
	}
	return nameText(e.Name())
}

// requiredModule is the module of a call require("…") as CommonJS has it, else "".
func requiredModule(n *ts.Node) string {
	n = unwrap(n)
	if n == nil || n.Kind != ts.KindCallExpression || len(n.Arguments()) != 1 {
		return ""
	}
	callee, argument := n.Expression(), n.Arguments()[0]
	if callee.Kind != ts.KindIdentifier || callee.Text() != "require" || argument.Kind != ts.KindStringLiteral {
		return ""
	}
	return strings.Clone(argument.Text())
}

func (r *reader) imports(s *ts.Node) {
	from := nameText(s.ModuleSpecifier())
	byDefault, bindings := ts.Import(s)
	if name := nameText(byDefault); name != "" {
		r.module.Imports[name] = binding{From: from, Name: "default"}
	}
	switch {
	case bindings == nil:
	case bindings.Kind == ts.KindNamedImports:
		for _, e := range bindings.Elements() {
			if !e.IsTypeOnly() {
				r.module.Imports[nameText(e.Name())] = binding{From: from, Name: elementName(e)}
			}
		}
	default:
		r.module.Imports[nameText(bindings.Name())] = binding{From: from, Name: "*"}
	}
}

func (r *reader) exports(s *ts.Node) {
	m, from := r.module, nameText(s.ModuleSpecifier())
	clause := ts.ExportClause(s)
	switch {
	case s.IsTypeOnly():
	case clause == nil:
		m.Stars = append(m.Stars, from)
	case clause.Kind != ts.KindNamedExports:
		m.Exports[nameText(clause.Name())] = binding{From: from, Name: "*"}
	default:
		for _, e := range clause.Elements() {
			if !e.IsTypeOnly() {
				m.Exports[nameText(e.Name())] = binding{From: from, Name: elementName(e)}
			}
		}
	}
}

// commonExport reads module.exports = … and exports.name = ….
func (r *reader) commonExport(n *ts.Node) {
	if n.Kind != ts.KindBinaryExpression {
		return
	}
	left, right, operator := ts.Operands(n)
	if operator != "=" || left.Kind != ts.KindPropertyAccess {
		return
	}
	path, root := r.path(left)
	if root != nil {
		return
	}
	m := r.module
	if len(path) > 1 && path[0] == "module" && path[1] == "exports" {
		path = append([]string{"exports"}, path[2:]...)
	}
	switch {
	case len(path) == 0 || path[0] != "exports":
	case len(path) == 1:
		v := r.value(right, 0)
		m.Decls["default"] = v
		m.Exports["default"] = binding{Name: "default"}
		for _, f := range v.Fields {
			name := "exports." + f.Name
			m.Decls[name], m.Exports[f.Name] = f.Value, binding{Name: name}
		}
	case len(path) == 2:
		name := "exports." + path[1]
		m.Decls[name], m.Exports[path[1]] = r.value(right, 0), binding{Name: name}
	}
}
