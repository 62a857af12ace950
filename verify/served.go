package verify

import (
	"cmp"
	"slices"
	"strings"

	ts "github.com/microsoft/typescript-go/authzshim"
)

// gather notes what may be a server function, apart from exports, while the tree is
// walked.
func (r *reader) gather(n *ts.Node) {
	switch n.Kind {
	case ts.KindCallExpression:
		r.gatherCall(n)
	case ts.KindArrowFunction, ts.KindFunctionExpression, ts.KindFunctionDeclaration, ts.KindMethodDeclaration:
		if hasDirective(n.Body(), "use server") {
			r.inline = append(r.inline, n)
		}
		r.gatherParameters(n)
	case ts.KindVariableDeclaration:
		r.gatherRouter(n.Name(), n.Initializer())
		r.gatherLocal(n)
	case ts.KindPropertyDeclaration:
		if n.Initializer() != nil && nameText(n.Name()) != "" {
			r.addRouter("this."+nameText(n.Name()), n.Initializer())
		}
	case ts.KindBinaryExpression:
		if left, right, operator := ts.Operands(n); operator == "=" {
			r.gatherRouter(left, right)
		}
	case ts.KindExportAssignment:
		r.addRouter("default", n.Expression())
	case ts.KindClassDeclaration:
		r.classes = append(r.classes, n)
	case ts.KindObjectLiteral:
		r.gatherGuard(n)
	}
}

func hasDirective(body *ts.Node, directive string) bool {
	if body == nil || body.Kind != ts.KindBlock {
		return false
	}
	for _, s := range body.Statements() {
		if s.Kind != ts.KindExpressionStatement || s.Expression().Kind != ts.KindStringLiteral {
			return false
		}
		if s.Expression().Text() == directive {
			return true
		}
	}
	return false
}

// gatherCall notes the calls that routers and procedures are made of.
func (r *reader) gatherCall(n *ts.Node) {
	callee := unwrap(n.Expression())
	if callee == nil || callee.Kind != ts.KindPropertyAccess {
		return
	}
	method := callee.Name().Text()
	switch {
	case procedureEnds[method] && len(n.Arguments()) == 1:
		switch argument := unwrap(n.Arguments()[0]); {
		case argument == nil:
		case isFunction(argument), argument.Kind == ts.KindIdentifier, argument.Kind == ts.KindPropertyAccess, argument.Kind == ts.KindCallExpression:
			r.procedures = append(r.procedures, n)
		}
	case method == "useGlobalGuards":
		r.guards = append(r.guards, n.Arguments()...)
	}
	if routerMethods[method] {
		r.routes = append(r.routes, n)
	}
}

var procedureEnds = wordSet("query mutation subscription")

// collect lists what the file serves, in source order.
func (r *reader) collect() {
	m := r.module
	type found struct {
		at, end int
		served
	}
	var all []found
	var taken spans
	add := func(n, at *ts.Node, s served) {
		start := r.start(at)
		s.Line, s.Column = r.position(start)
		taken.add(start, n.End())
		all = append(all, found{start, n.End(), s})
	}
	if r.server {
		kind := exportsOf(r.file, r.directive)
		for _, e := range r.exportedNames() {
			if e.name == "*" {
				add(e.at, e.at, served{Name: "*", Star: e.star, Of: kind})
				continue
			}
			if is, exempt := kind.serves(e.name); is {
				add(e.of, e.at, served{Name: e.name, Exempt: exempt, Of: kind, Value: e.value})
			}
		}
	}
	within := func(n *ts.Node) bool { return taken.around(n.Pos(), n.End()) }
	for _, n := range r.inline {
		if !within(n) {
			add(n, n, served{Name: r.nameOf(n), How: byAction, Value: r.value(n, 0)})
		}
	}
	for _, n := range r.procedures {
		if !within(n) {
			at := r.naming(n)
			if at == nil {
				at = unwrap(n.Expression()).Name()
			}
			add(n, at, served{Name: r.nameOf(n), How: byProcedure, Value: r.value(n, 0)})
		}
	}
	for _, c := range r.classes {
		r.collectClass(c, func(method *ts.Node, s served) { add(method, method, s) })
	}
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Compare(a.at, b.at) })
	for _, f := range all {
		m.Served = append(m.Served, f.served)
		r.ranges.add(f.at, f.end)
	}
}

type exported struct {
	name, star string
	at, of     *ts.Node // where it is announced, and what it is
	value      *value
}

// exportedNames are the exports of the file with the places where they are announced.
func (r *reader) exportedNames() []exported {
	var all []exported
	m := r.module
	byName := func(name string, at *ts.Node) {
		b, ok := m.Exports[name]
		if !ok || name == "" {
			return
		}
		v := m.Decls[b.Name]
		if b.From != "" || v == nil || v.Kind == reference {
			v = &value{Kind: reference, Path: []string{"export " + name}}
		}
		all = append(all, exported{name: name, at: at, of: at, value: v})
	}
	for _, s := range r.tree.Statements.Nodes {
		switch s.Kind {
		case ts.KindFunctionDeclaration:
			if modifier(s, ts.KindExportKeyword) == nil || s.Body() == nil {
				continue
			}
			name := nameText(s.Name())
			if modifier(s, ts.KindDefaultKeyword) != nil {
				name = "default"
			}
			if b, ok := m.Exports[name]; ok {
				all = append(all, exported{name: name, at: modifier(s, ts.KindExportKeyword), of: s, value: m.Decls[b.Name]})
			}
		case ts.KindVariableStatement:
			if modifier(s, ts.KindExportKeyword) == nil {
				continue
			}
			for _, d := range ts.Declarations(s) {
				if d.Name().Kind == ts.KindObjectBinding {
					for _, e := range d.Name().Elements() {
						byName(nameText(e.Name()), e)
					}
					continue
				}
				if d.Initializer() == nil {
					continue
				}
				before := len(all)
				byName(nameText(d.Name()), d.Initializer())
				if f := functionOf(d.Initializer()); f != nil && len(all) > before {
					all[before].at = f // as without Exports
				}
			}
		case ts.KindExportAssignment:
			before := len(all)
			byName("default", s.Expression())
			if len(all) > before {
				all[before].at, all[before].of = s, s
			}
		case ts.KindExportDeclaration:
			clause := ts.ExportClause(s)
			switch {
			case s.IsTypeOnly():
			case clause == nil:
				all = append(all, exported{name: "*", star: nameText(s.ModuleSpecifier()), at: s})
			case clause.Kind == ts.KindNamedExports:
				for _, e := range clause.Elements() {
					if !e.IsTypeOnly() {
						byName(nameText(e.Name()), e)
					}
				}
			}
		case ts.KindExpressionStatement:
			if s.Expression().Kind == ts.KindBinaryExpression {
				r.commonNames(s, byName)
			}
		}
	}
	return all
}

// commonNames tells the exports of an assignment as CommonJS has it.
func (r *reader) commonNames(s *ts.Node, byName func(string, *ts.Node)) {
	left, right, _ := ts.Operands(s.Expression())
	if left.Kind != ts.KindPropertyAccess {
		return
	}
	path, _ := r.path(left)
	if len(path) > 1 && path[0] == "module" && path[1] == "exports" {
		path = append([]string{"exports"}, path[2:]...)
	}
	switch {
	case len(path) == 0 || path[0] != "exports":
	case len(path) == 2:
		byName(path[1], right)
	case len(path) == 1 && r.module.Decls["default"].Kind == object:
		for _, f := range r.module.Decls["default"].Fields {
			byName(f.Name, right)
		}
	case len(path) == 1:
		byName("default", right)
	}
}

// naming is the name that is nearest around an expression: of a variable or a property.
func (r *reader) naming(n *ts.Node) *ts.Node {
	for at := n; at != nil; at = at.Parent {
		switch at.Kind {
		case ts.KindPropertyAssignment, ts.KindVariableDeclaration, ts.KindPropertyDeclaration:
			if name := at.Name(); nameText(name) != "" {
				return name
			}
			return nil
		case ts.KindBlock, ts.KindClassDeclaration:
			return nil
		}
	}
	return nil
}

func (r *reader) nameOf(n *ts.Node) string {
	if isFunction(n) && n.Kind != ts.KindArrowFunction {
		if name := nameText(n.Name()); name != "" {
			return name
		}
	}
	if name := r.naming(n); name != nil {
		return nameText(name)
	}
	return anonymous
}

const anonymous = "<anonymous>"

// exportReference is the name of an export of the same file that a path stands for.
func exportReference(path []string) (string, bool) {
	if len(path) != 1 {
		return "", false
	}
	return strings.CutPrefix(path[0], "export ")
}
