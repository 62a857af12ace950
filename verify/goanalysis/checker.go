package goanalysis

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf16"

	"golang.org/x/tools/go/analysis"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/verify"
)

// source is one file being judged.
type source struct {
	fset   *token.FileSet
	file   *ast.File
	info   *types.Info
	path   string // that patterns are matched with
	shown  string // that findings name
	lines  [][]byte
	server bool
	test   bool

	// cgo: the file is what cgo made of path, and says by line directives where
	// each piece stood.
	cgo       bool
	generated bool

	report   verify.FileReport
	findings []found
	fns      []*function // in source order
	pardons  map[int]bool
}

// found is a finding and where it is.
type found struct {
	verify.Finding
	pos, end token.Pos
	fixes    []analysis.SuggestedFix
}

func (s *source) finding(severity authz.Severity, rule verify.Rule, pos token.Pos, message string) verify.Finding {
	at, before := s.position(pos)
	column := 1 + len(utf16.Encode([]rune(string(before))))
	return verify.Finding{Severity: severity, Rule: rule, File: s.shown, Line: at.Line, Column: column, Message: message}
}

// position is where something is in the source, and what stands before it on its
// line.
func (s *source) position(pos token.Pos) (at token.Position, before []byte) {
	at = s.fset.PositionFor(pos, s.cgo)
	if at.Line < 1 || at.Line > len(s.lines) {
		return at, nil
	}
	line := s.lines[at.Line-1]
	return at, line[:min(max(at.Column-1, 0), len(line))]
}

func (s *source) add(severity authz.Severity, rule verify.Rule, pos, end token.Pos, message string) *found {
	s.findings = append(s.findings, found{Finding: s.finding(severity, rule, pos, message), pos: pos, end: end})
	return &s.findings[len(s.findings)-1]
}

// Check judges a package and answers for each of its files that was read.
func (c *Checker) Check(p Package) ([]File, error) {
	files, _, _, err := c.check(p)
	return files, err
}

// check also answers what the package tells those that import it, and how its server
// functions were judged, routes apart.
func (c *Checker) check(p Package) ([]File, *Facts, Tally, error) {
	var tally Tally
	var sources []*source
	passed := map[any]bool{} // functions given to gates
	for _, file := range p.Files {
		name, cgo, ok := sourceOf(p.Fset, file)
		if !ok {
			continue
		}
		s, err := c.open(p, name, file, cgo)
		if err != nil {
			return nil, nil, tally, err
		}
		if s != nil {
			sources = append(sources, s)
			if !s.skipped() {
				c.walk(s, passed)
			}
		}
	}
	if len(c.forbidden) > 0 {
		for _, name := range p.Ignored {
			s, err := c.open(p, name, nil, false)
			if err != nil {
				return nil, nil, tally, err
			}
			if s != nil && c.forClient(s) {
				sources = append(sources, s)
				if !s.skipped() {
					c.walkSecrets(s)
				}
			}
		}
	}
	var facts *Facts
	var elsewhere func(*function) bool
	if c.routes != nil && p.Types != nil {
		f := c.follow(p, sources, passed)
		facts, elsewhere = f.facts, f.elsewhere
		f.report()
	}
	files := make([]File, len(sources))
	for i, s := range sources {
		tally.add(s.ungated(passed, elsewhere))
		files[i] = s.conclude()
	}
	return files, facts, tally, nil
}

// sourceOf is the source that a file was compiled from, and whether cgo made the
// file of it, in the build cache or, under go vet, beside _cgo_gotypes.go. Not ok is
// what has no source.
func sourceOf(fset *token.FileSet, file *ast.File) (name string, cgo, ok bool) {
	written := func(name string) bool {
		return filepath.Ext(name) == ".go" && !strings.HasPrefix(filepath.Base(name), "_cgo_")
	}
	name = fset.PositionFor(file.FileStart, false).Filename
	if written(name) && !strings.HasSuffix(name, ".cgo1.go") {
		return name, false, true
	}
	name = fset.Position(file.Package).Filename
	return name, true, written(name)
}

// open reads a file, and parses one that is not; nil when it is not to be judged.
func (c *Checker) open(p Package, name string, file *ast.File, cgo bool) (*source, error) {
	s := &source{fset: p.Fset, file: file, info: p.Info, path: c.pathOf(name), shown: c.shownAs(name), cgo: cgo, test: strings.HasSuffix(name, "_test.go")}
	if !strings.HasSuffix(name, ".go") || s.test && !c.tests || c.excluded(s.path) {
		return nil, nil
	}
	read := p.ReadFile
	if cgo {
		read = os.ReadFile // drivers let an analyzer read only what cgo made
	}
	text, err := read(name)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if file == nil {
		if s.file, err = parser.ParseFile(p.Fset, name, text, parser.ParseComments|parser.SkipObjectResolution); s.file == nil {
			return nil, err
		}
	}
	s.generated = ast.IsGenerated(s.file)
	if cgo { // whose own output is generated always
		written, err := parser.ParseFile(token.NewFileSet(), name, text, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			return nil, err
		}
		s.generated = ast.IsGenerated(written)
	}
	s.lines = bytes.SplitAfter(text, []byte("\n"))
	s.server, s.report.File = marked(s.file) || anyMatch(c.serverFiles, s.path), s.shown
	return s, nil
}

// skipped applies the pragma that takes the whole file out.
func (s *source) skipped() bool {
	reason, pos, effective, found := s.filePragma()
	warn := func(message string) {
		s.report.Findings = append(s.report.Findings, s.finding(authz.SeverityWarning, verify.RuleIgnoredFile, pos, message))
	}
	switch {
	case !found:
		return false
	case !effective:
		warn(ignoreFile + " found here, but it is not in the file header, so it does nothing — move it above the package clause")
		return false
	case reason == "":
		reason = "(no reason given)"
		warn(ignoreFile + " without a reason — say why nothing in this file needs checking")
	}
	s.report.Skipped = &verify.SkippedFile{File: s.shown, Reason: reason}
	return true
}

// conclude applies the line pragmas. They silence a rule on a line, hence all
// findings of it there or none.
func (s *source) conclude() File {
	file := File{Report: s.report}
	if s.report.Skipped != nil {
		return file
	}
	type place struct {
		line int
		rule verify.Rule
	}
	findings, kept := make([]verify.Finding, len(s.findings)), map[place]bool{}
	for i, f := range s.findings {
		findings[i] = f.Finding
	}
	for _, f := range verify.Suppress(s.shown, findings, s.suppressions()) {
		kept[place{f.Line, f.Rule}] = true
		file.Report.Findings = append(file.Report.Findings, f)
	}
	for _, f := range s.findings {
		if d, ok := diagnostic(f.Finding, f.pos, f.end, f.fixes); ok && kept[place{f.Line, f.Rule}] {
			file.Diagnostics = append(file.Diagnostics, d)
		}
	}
	return file
}

// walk judges calls and identifiers in source order and collects functions.
func (c *Checker) walk(s *source, passed map[any]bool) {
	shipped := len(c.forbidden) > 0 && c.forClient(s)
	functions := map[ast.Node]*function{}
	ast.PreorderStack(s.file, nil, func(n ast.Node, stack []ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Body != nil {
				functions[n] = c.declared(s, n)
				s.fns = append(s.fns, functions[n])
			}
		case *ast.FuncLit:
			functions[n] = literalFunction(s, n)
			functions[n].parent = around(functions, stack)
			s.fns = append(s.fns, functions[n])
		case *ast.CallExpr:
			c.call(s, n, stack, around(functions, stack), passed)
		case *ast.CompositeLit:
			c.declaredGate(s, n)
		}
		if shipped {
			c.secret(s, n, stack)
		}
		return true
	})
}

func around(functions map[ast.Node]*function, stack []ast.Node) *function {
	for _, n := range slices.Backward(stack) {
		if fn := functions[n]; fn != nil {
			return fn
		}
	}
	return nil
}

func (c *Checker) call(s *source, call *ast.CallExpr, stack []ast.Node, in *function, passed map[any]bool) {
	if serves(s.info, call, in) {
		in.delegate()
	}
	to := c.calleeOf(s.info, call)
	if to.none() {
		return
	}
	conditional := c.judgeLiterals(s, c.literals(s.info, call, to), to)
	if !to.decides() {
		return
	}
	if to.visibility && in.inServer() {
		s.add(authz.SeverityError, verify.RuleVisibilityAsGate, call.Pos(), call.End(),
			to.name+"() is a visibility affordance, never a gate — ask for the key at the scope of the action (Require, or Can and act on it)")
	}
	if to.gate && len(conditional) > 0 && !c.hasCondition(s.info, call, to) {
		s.add(authz.SeverityError, verify.RuleMissingCondition, call.Pos(), call.End(), missing(conditional))
	}
	lost := lossOf(call, to.signature, stack)
	if lost.severity != "" {
		s.add(lost.severity, verify.RuleUncheckedGate, call.Pos(), call.End(), "decision of "+to.name+"() is discarded — "+lost.how)
	}
	if lost.decision() || to.declares {
		return
	}
	if in != nil {
		in.gate(wraps(to.signature))
	}
	if !to.gate {
		return
	}
	guarded := call.Args
	if outer, ok := parentCall(call, stack); ok { // as in GateAction(key)(handler)
		guarded = append(slices.Clip(guarded), outer.Args...)
	}
	for _, arg := range guarded {
		if key := s.functionValue(arg); key != nil {
			passed[key] = true
		}
	}
}

// judgeLiterals judges what a recognised call names, and answers the keys that need a
// condition, quoted.
func (c *Checker) judgeLiterals(s *source, literals []literal, to callee) (conditional []string) {
	for _, l := range literals {
		v := c.judge.Literal(l.value, verify.Use{Gate: to.gate || to.inspection, Visibility: to.visibility})
		if to.decides() && !s.test {
			s.reference(v)
		}
		if v.Conditional {
			conditional = append(conditional, spell.Quote(l.value))
		}
		if v.Rule != "" {
			f := s.add(v.Severity, v.Rule, l.node.Pos(), l.node.End(), v.Message)
			f.Instead = v.Instead
			if !s.cgo { // an edit would be one of the build cache
				f.fixes = fixes(l.node, v.Instead, to.visibility)
			}
		}
	}
	return conditional
}

// reference notes what a gate or a visibility call names, each once.
func (s *source) reference(v verify.Verdict) {
	if v.Key != "" && !slices.Contains(s.report.Keys, v.Key) {
		s.report.Keys = append(s.report.Keys, v.Key)
	}
	if v.Pattern != "" && !slices.Contains(s.report.Patterns, v.Pattern) {
		s.report.Patterns = append(s.report.Patterns, v.Pattern)
	}
}
