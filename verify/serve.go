package verify

import (
	"strings"
	"unicode"
	"unicode/utf8"

	ts "github.com/microsoft/typescript-go/authzshim"

	"github.com/authzhost/authz/internal/spell"
)

// serve summarises the file and what it serves.
func (r *reader) serve() {
	r.module = &module{file: r.file, Decls: map[string]*value{}, Imports: map[string]binding{}, Exports: map[string]binding{}}
	r.factory = map[string]bool{}
	for _, s := range r.tree.Statements.Nodes {
		if s.Kind == ts.KindImportDeclaration {
			r.imports(s)
		}
	}
	r.walk(func(n *ts.Node) {
		if n.Kind == ts.KindCallExpression {
			if r.scanner.inspect {
				r.all = append(r.all, n)
			}
			name := calleeName(n)
			if use := r.use(n, name); (use.Gate || use.Visibility && r.server) && !(decides(name, r.scanner) && discarded(n)) {
				r.gating = append(r.gating, n)
			}
		}
		r.gather(n)
	})
	r.numberRouters()
	r.summarise()
	for name, v := range r.module.Decls {
		r.factory[name] = v.Kind == call && v.Router == "" && len(v.Links) == 1
	}
	r.collectRouters()
	r.collect()
	for _, g := range r.guards {
		r.module.Guards = append(r.module.Guards, r.value(g, 0))
	}
	if strings.Contains(r.text, pragmaMark) {
		r.module.Pragmas = FindLineSuppressions(r.text)
	}
}

// kept is the module where anything of it is needed once all files are read: others
// read it again when they refer to it.
func (r *reader) kept() *module {
	m := r.module
	if len(m.Served)+len(m.Routers)+len(m.Guards)+len(m.Pending)+len(m.Pragmas) == 0 && len(r.findings) == 0 {
		return nil
	}
	return m
}

// module summarises a file that others refer to, nil where it cannot be read.
func (s *Scanner) module(file string) *module {
	read := s.config.Read
	if read == nil {
		read = ReadFile
	}
	raw, err := read(file)
	if err != nil || len(raw) > MaxSourceBytes {
		return nil
	}
	src, err := parseUntil(file, string(clean(raw)), 0)
	if err != nil {
		return nil
	}
	r := &reader{scanner: s, source: src, matters: everything, server: s.isServerPath(file), keys: map[string]bool{}, patterns: map[string]bool{}}
	src.prologueEnd(func(directive string) { r.server = r.server || directive == "use server" })
	r.serve()
	r.module.Pragmas = nil
	return r.module
}

// loadsModule holds of require("…") as CommonJS has it: of a name that the file neither
// declares nor imports.
func (r *reader) loadsModule(n *ts.Node) bool {
	if requiredModule(n) == "" {
		return false
	}
	if _, ok := r.module.Imports["require"]; ok {
		return false
	}
	return r.module.Decls["require"] == nil
}

// decides reports whether a call of the name answers its decision, so that dropping the
// answer drops the decision. Others throw.
func decides(name string, s *Scanner) bool {
	if name == "can" || name == "fresh" || s.visible[name] && name != "requireAny" {
		return true
	}
	for _, verb := range []string{"can", "has", "is", "may", "holds"} {
		if rest, ok := strings.CutPrefix(name, verb); ok {
			if next, _ := utf8.DecodeRuneInString(rest); unicode.IsUpper(next) {
				return true
			}
		}
	}
	return false
}

// discarded reports whether nothing looks at what a call answers.
func discarded(n *ts.Node) bool {
	for at := n; at.Parent != nil; at = at.Parent {
		switch at.Parent.Kind {
		case ts.KindParenthesized, ts.KindAwaitExpression, ts.KindNonNullExpression, ts.KindAsExpression, ts.KindSatisfiesExpression:
		case ts.KindVoidExpression, ts.KindExpressionStatement:
			return true
		default:
			return false
		}
	}
	return false
}

// discards reports a call whose decision is dropped.
func (r *reader) discards(n *ts.Node, name string, use Use) {
	if r.module != nil && decides(name, r.scanner) && discarded(n) {
		r.fail(RuleUncheckedGate, r.start(n), "decision of "+spell.Echo(name)+"() is discarded — act on its answer, "+
			"or ask with a gate that throws (require*)")
	}
}

// serves reports whether a node lies in a server function.
func (r *reader) serves(n *ts.Node) bool {
	return r.ranges.around(n.Pos(), n.End())
}

// pendingOf gathers what of a call waits for other files. Nil gathers nothing.
type pendingOf struct {
	call  pendingCall
	waits bool
	last  *ts.Node // the argument that was left a place last
}

func (r *reader) pending(n *ts.Node, use Use) *pendingOf {
	if r.module == nil {
		return nil
	}
	return &pendingOf{call: pendingCall{Use: use, Condition: -1}}
}

func (p *pendingOf) conditional(quoted string) {
	if p != nil {
		p.call.Arguments = append(p.call.Arguments, pendingArgument{Place: -1, Conditional: quoted})
	}
}

// argument leaves a place for what an argument may turn out to be.
func (p *pendingOf) argument(r *reader, argument *ts.Node) {
	if p == nil {
		return
	}
	if argument.Kind == ts.KindArrayLiteral {
		for _, e := range argument.Elements() {
			p.argument(r, e)
		}
		return
	}
	n := unwrap(argument)
	if n == nil || n.Kind != ts.KindIdentifier && n.Kind != ts.KindPropertyAccess {
		return
	}
	v := r.value(n, 0)
	if v.Kind != reference || v.Router != "" {
		return
	}
	_, imported := r.module.Imports[v.Path[0]]
	if !imported && r.module.Decls[v.Path[0]] == nil {
		return
	}
	p.waits, p.last = true, argument
	p.call.Arguments = append(p.call.Arguments, pendingArgument{Place: r.leavePlace(argument), Value: v})
}

// keep keeps the call where it waits, with a place for a condition that may be missing.
func (p *pendingOf) keep(r *reader, n *ts.Node, visible bool) bool {
	if p == nil || !p.waits {
		return false
	}
	if visible && p.call.Use.Gate && p.last != nil && p.last == n.Arguments()[len(n.Arguments())-1] {
		visible, p.call.LastIsText = false, true
	}
	if !visible {
		p.call.Condition = r.leavePlace(n)
	}
	r.module.Pending = append(r.module.Pending, p.call)
	return true
}

// leavePlace adds a finding without a rule, which is left out unless it gets one.
func (r *reader) leavePlace(n *ts.Node) int {
	r.report(r.start(n), Finding{})
	return len(r.findings) - 1
}
