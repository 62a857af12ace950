package verify

import (
	"cmp"
	"path"
	"slices"
	"strings"

	ts "github.com/microsoft/typescript-go/authzshim"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

// scanText reads one source.
func (s *Scanner) scanText(file string, text []byte) (FileReport, error) {
	report := FileReport{File: file}
	serverPath := s.isServerPath(file)
	text = clean(text)
	matters := everything
	switch {
	case s.readAll:
	case s.config.Exports != nil:
		matters.parse = s.candidates.matters(text, serverPath)
	default:
		matters = s.candidates.find(text, serverPath)
	}
	if !matters.parse {
		return report, nil
	}
	src, err := parseUntil(file, string(text), matters.cut)
	if err != nil {
		return report, err
	}
	r := &reader{scanner: s, source: src, matters: matters, server: serverPath, keys: map[string]bool{}, patterns: map[string]bool{}}
	header := src.prologueEnd(func(directive string) {
		r.directive = r.directive || directive == "use server"
		r.server = r.server || directive == "use server"
		r.client = r.client || directive == "use client"
	})
	if pragma := src.ignorePragma(header); pragma != nil {
		r.ignored(pragma)
		if pragma.Effective {
			report.Findings = r.findings
			if s.config.Exports != nil {
				r.serve()
				report.Module = r.module
			}
			report.Skipped = &SkippedFile{File: file, Reason: strings.Clone(cmp.Or(pragma.Reason, "(no reason given)"))}
			return report, nil
		}
	}
	if s.config.Exports != nil {
		r.serve()
		r.walk(r.judge)
		report.Module, report.Findings = r.kept(), r.findings
		report.Keys, report.Patterns = copies(r.keys), copies(r.patterns)
		return report, nil
	}
	r.walk(r.judge)
	if r.server {
		r.serverFunctions()
	}
	report.Findings = Suppress(file, r.findings, FindLineSuppressions(src.text))
	report.Keys, report.Patterns = copies(r.keys), copies(r.patterns)
	return report, nil
}

// parseUntil parses a source up to the cut, where there is one, if that makes no
// difference to the tree before it: it does when something is open there, which is a
// syntax error, when what follows makes a script a module, or when the last word takes
// a declaration on a line below for its own. Whether the source can be read at all
// does not depend on the cut.
func parseUntil(file, text string, cut int) (*source, error) {
	tsx := readsJSX(file)
	if nestsTooDeep(text, tsx) {
		return nil, errTooDeep
	}
	if cut > 0 {
		src, err := parseUnguarded(file, text[:cut], tsx)
		if err == nil && ts.SyntaxErrors(src.tree) == 0 && ts.IsModule(src.tree) && !src.endsInModifier() {
			return src, nil
		}
	}
	return parseUnguarded(file, text, tsx)
}

// copies are the names, sorted. One cut out of a source would keep all of it in
// memory for as long as the report lives.
func copies(set map[string]bool) []string {
	names := sorted(set)
	for i, name := range names {
		names[i] = strings.Clone(name)
	}
	return names
}

// reader collects what one source says.
type reader struct {
	*source
	scanner        *Scanner
	matters        relevance
	server, client bool

	findings       []Finding
	keys, patterns map[string]bool
	calls          []*ts.Node // recognised, in source order

	// With Config.Exports:
	module      *module
	directive   bool            // "use server" opens the file
	gating      []*ts.Node      // calls whose decision gates, in source order
	ranges      spans           // of server functions
	all         []*ts.Node      // calls, where functions are inspected
	refusals    []refusal       // in the text, once they are looked for
	locals      []local         // variables of functions that calls give
	factory     map[string]bool // variables that a call of the project gave
	routerDecls []routerDecl
	routers     routerIndex

	inline, procedures, guards, routes, classes []*ts.Node
}

func (r *reader) report(offset int, f Finding) {
	f.File = r.file
	f.Line, f.Column = r.position(offset)
	r.findings = append(r.findings, f)
}

func (r *reader) fail(rule Rule, offset int, message string) {
	r.report(offset, Finding{Severity: authz.SeverityError, Rule: rule, Message: message})
}

func (r *reader) ignored(p *IgnorePragma) {
	message := pragmaFile + " found here, but it is not in the file header, so it does nothing — " +
		"move it above the first statement (comments before or between the directives count)"
	switch {
	case p.Effective && p.Reason != "":
		return
	case p.Effective:
		message = pragmaFile + " without a reason — say why this surface is out of the catalog's domain " +
			`(e.g. "system trust domain, authenticates by deploy key")`
	}
	r.findings = append(r.findings, Finding{
		Severity: authz.SeverityWarning, Rule: RuleIgnoredFile, File: r.file, Line: p.Line, Message: message,
	})
}

// readsJSX holds of TSX, and of JavaScript, which has JSX in any of its files.
func readsJSX(file string) bool {
	switch path.Ext(file) {
	case ".tsx", ".js", ".jsx", ".mjs", ".cjs":
		return true
	}
	return false
}

// judge looks at one node for what is wrong with it.
func (r *reader) judge(n *ts.Node) {
	switch n.Kind {
	case ts.KindCallExpression:
		r.call(n)
	case ts.KindIdentifier:
		if r.client && r.scanner.forbidden[n.Text()] && n.Pos() < n.End() {
			r.fail(RuleClientReachableSecret, r.start(n), spell.Quote(n.Text())+
				` referenced in a "use client" module — service-key material must never be client-reachable`)
		}
	}
}

// walk visits the nodes that may matter in source order, parents first, without
// recursion: trees may be as deep as the parser's stack allows.
func (r *reader) walk(visit func(*ts.Node)) {
	stack := []*ts.Node{r.tree.AsNode()}
	push := func(child *ts.Node) bool {
		if r.matters.in(child.Pos(), child.End()) {
			stack = append(stack, child)
		}
		return false
	}
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		visit(n)
		first := len(stack)
		n.ForEachChild(push)
		slices.Reverse(stack[first:])
	}
}
