package goanalysis

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
)

// source is one file being judged.
type source struct {
	fset   *token.FileSet
	file   *ast.File
	info   *types.Info
	path   string
	text   []byte
	server bool
	test   bool
	issues []Issue
	fns    []*function // in source order
}

func (s *source) issue(severity authz.Severity, rule string, pos, end token.Pos, message string) Issue {
	return Issue{Severity: severity, Rule: rule, File: s.path, Line: lineOf(s.fset, pos), Message: message, Pos: pos, End: end}
}

func (s *source) add(severity authz.Severity, rule string, pos, end token.Pos, message string) *Issue {
	s.issues = append(s.issues, s.issue(severity, rule, pos, end, message))
	return &s.issues[len(s.issues)-1]
}

// Check judges a package.
func (c *Checker) Check(p Package) (*Result, error) {
	result := &Result{Keys: map[string]bool{}, Patterns: map[string]bool{}}
	var sources []*source
	passed := map[any]bool{} // functions given to gates
	for _, file := range p.Files {
		name := p.Fset.PositionFor(file.FileStart, false).Filename
		s := &source{fset: p.Fset, file: file, info: p.Info, path: c.pathOf(name), test: strings.HasSuffix(name, "_test.go")}
		if !strings.HasSuffix(name, ".go") || s.test && !c.tests || c.excluded(s.path) {
			continue
		}
		result.Files++
		sources = append(sources, s)
		if reason, pos, effective, found := filePragma(p.Fset, file); found {
			if !effective {
				s.add(authz.SeverityWarning, RuleIgnoredFile, pos, pos,
					ignoreFile+" found here, but it is not in the file header, so it does nothing — move it above the package clause")
			} else {
				s.skip(result, reason, pos)
				continue
			}
		}
		text, err := p.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		s.text, s.server = text, marked(file) || anyMatch(c.serverFiles, s.path)
		c.walk(s, result, passed)
	}
	for _, s := range sources {
		header := 0 // the file's own warning comes first and cannot be suppressed
		if len(s.issues) > 0 && s.issues[0].Rule == RuleIgnoredFile {
			header = 1
		}
		result.Issues = append(result.Issues, s.issues[:header]...)
		if s.text == nil {
			continue
		}
		s.issues = s.issues[header:]
		s.ungated(passed)
		result.Issues = append(result.Issues, s.suppress(s.issues)...)
	}
	return result, nil
}

func (s *source) skip(result *Result, reason string, pos token.Pos) {
	if reason == "" {
		reason = "(no reason given)"
		s.add(authz.SeverityWarning, RuleIgnoredFile, pos, pos, ignoreFile+" without a reason — say why nothing in this file needs checking")
	}
	result.Skipped = append(result.Skipped, Skipped{s.path, reason})
}

// walk judges calls and identifiers in source order and collects functions.
func (c *Checker) walk(s *source, result *Result, passed map[any]bool) {
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
			c.call(s, n, stack, around(functions, stack), result, passed)
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

func (c *Checker) call(s *source, call *ast.CallExpr, stack []ast.Node, in *function, result *Result, passed map[any]bool) {
	if serves(s.info, call, in) {
		in.delegate()
	}
	to := c.calleeOf(s.info, call)
	if to.none() {
		return
	}
	var conditional []string
	for _, l := range c.literals(s.info, call, to) {
		v := c.classify(l.value, to.kind)
		if to.decides() && !s.test {
			c.record(result, v)
		}
		if v.conditions {
			conditional = append(conditional, authz.Quote(l.value))
		}
		if v.rule != "" {
			issue := s.add(v.severity, v.rule, l.node.Pos(), l.node.End(), v.message)
			issue.Fixes = fixes(l.node, v.instead)
		}
	}
	if !to.decides() {
		return
	}
	if to.visibility && in.inServer() {
		s.add(authz.SeverityError, RuleVisibility, call.Pos(), call.End(),
			to.name+"() is a visibility affordance, never a gate — ask for the key at the scope of the action (Require, or Can and act on it)")
	}
	if to.gate && len(conditional) > 0 && !c.hasCondition(s.info, call, to) {
		s.add(authz.SeverityError, RuleCondition, call.Pos(), call.End(), missing(conditional))
	}
	lost := lossOf(call, to.signature, stack)
	if lost.severity != "" {
		s.add(lost.severity, RuleUnchecked, call.Pos(), call.End(), "decision of "+to.name+"() is discarded — "+lost.how)
	}
	if lost.decision() {
		return
	}
	if in != nil {
		in.gate(wraps(to.signature))
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
