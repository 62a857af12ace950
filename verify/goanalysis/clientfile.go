package goanalysis

import (
	"go/ast"
	"go/build/constraint"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/verify"
)

// forClient reports whether a file is shipped to a browser or device.
func (c *Checker) forClient(s *source) bool {
	name := strings.TrimSuffix(path.Base(s.path), ".go")
	name = strings.TrimSuffix(name, "_test")
	parts := strings.Split(name, "_")
	for i := max(1, len(parts)-2); i < len(parts); i++ { // "js" alone is a name, not a suffix
		if browser(parts[i]) && (i == len(parts)-1 || browser(parts[i+1])) {
			return true
		}
	}
	return requiresBrowser(s.file) || anyMatch(c.clientFiles, s.path)
}

func browser(tag string) bool { return tag == "js" || tag == "wasm" }

func requiresBrowser(file *ast.File) bool {
	for _, group := range file.Comments {
		for _, comment := range group.List {
			if comment.Pos() > file.Package || !constraint.IsGoBuild(comment.Text) {
				continue
			}
			if expr, err := constraint.Parse(comment.Text); err == nil {
				elsewhere, _ := outcomes(expr)
				return !elsewhere
			}
		}
	}
	return false
}

// outcomes says whether a constraint can hold, and can fail, where neither js
// nor wasm is set. Where a tag occurs twice it may say "can" too often, never
// too rarely.
func outcomes(expr constraint.Expr) (holds, fails bool) {
	switch e := expr.(type) {
	case *constraint.TagExpr:
		return !browser(e.Tag), true
	case *constraint.NotExpr:
		holds, fails = outcomes(e.X)
		return fails, holds
	case *constraint.AndExpr:
		xHolds, xFails := outcomes(e.X)
		yHolds, yFails := outcomes(e.Y)
		return xHolds && yHolds, xFails || yFails
	case *constraint.OrExpr:
		xHolds, xFails := outcomes(e.X)
		yHolds, yFails := outcomes(e.Y)
		return xHolds || yHolds, xFails && yFails
	}
	return true, true
}

// walkSecrets judges a file that is not built here by its words alone.
func (c *Checker) walkSecrets(s *source) {
	ast.PreorderStack(s.file, nil, func(n ast.Node, stack []ast.Node) bool {
		c.secret(s, n, stack)
		return true
	})
}

// joined is the string of at most so many bytes that an expression puts together from
// constants, "" for none. In a file that is not built here these are the strings that
// it spells.
func (s *source) joined(e ast.Expr, most int) string {
	if value, ok := constantString(s.info, e); ok {
		return value
	}
	switch e := ast.Unparen(e).(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			value, _ := strconv.Unquote(e.Value)
			return value
		}
	case *ast.BinaryExpr:
		if e.Op != token.ADD || most <= 0 {
			return ""
		}
		if end := s.joined(e.Y, most); end != "" {
			if start := s.joined(e.X, most-len(end)); start != "" {
				return start + end
			}
		}
	}
	return ""
}

// secret judges an identifier or a string of a client file.
func (c *Checker) secret(s *source, n ast.Node, stack []ast.Node) {
	name := ""
	switch n := n.(type) {
	case *ast.Ident:
		name = n.Name
	case *ast.BasicLit:
		if n.Kind != token.STRING {
			return
		}
		switch stack[len(stack)-1].(type) {
		case *ast.ImportSpec, *ast.Field: // a path, a tag
			return
		}
		name, _ = strconv.Unquote(n.Value)
	case *ast.BinaryExpr:
		name = s.joined(n, c.longestForbidden)
	default:
		return
	}
	if name != "" && slices.Contains(c.forbidden, name) {
		s.add(authz.SeverityError, verify.RuleClientReachableSecret, n.Pos(), n.End(),
			strconv.Quote(name)+` referenced in a client file — it is shipped to a browser or device, where anyone can read it`)
	}
}
