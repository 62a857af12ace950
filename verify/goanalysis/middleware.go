package goanalysis

import (
	"go/ast"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/verify"
	"github.com/authzhost/authz/verify/goanalysis/internal/routes"
	"github.com/authzhost/authz/verify/goanalysis/internal/typed"
)

// This project's own middleware counts whatever the configuration says.
const (
	authzHTTP = "github.com/authzhost/authz/sdk/authzhttp"
	authzGRPC = routes.AuthzGRPC
)

// ownMiddleware gates what is behind it.
var ownMiddleware = map[string]bool{
	"(" + authzHTTP + ".Guard).Require": true, "(" + authzHTTP + ".Guard).RequireGate": true,
	"(" + authzGRPC + ".Guard).Unary": true, "(" + authzGRPC + ".Guard).Stream": true,
}

// ownDeclaration makes a gate of a method of gRPC: its keys are judged, and it gates
// nothing before an interceptor has it.
const ownDeclaration = authzGRPC + ".Require"

func ofMiddleware(path string) bool { return path == authzHTTP || path == authzGRPC }

// declaredGate judges a gate of a method that is written as a literal.
func (c *Checker) declaredGate(s *source, lit *ast.CompositeLit) {
	t := s.info.TypeOf(lit)
	if t == nil || !typed.IsNamed(t, authzGRPC, "Gate") {
		return
	}
	conditional := c.judgeLiterals(s, c.read(nil, s.info, lit), callee{kind: kind{gate: true}})
	if given := field(lit, t, "Condition"); len(conditional) > 0 && (given == nil || s.info.Types[given].IsNil()) {
		s.add(authz.SeverityError, verify.RuleMissingCondition, lit.Pos(), lit.End(), missing(conditional))
	}
}
