package condition

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"

	"github.com/authzhost/authz/internal/spell"
)

const (
	// maxCost bounds one evaluation, in CEL's units: about so many steps.
	maxCost = 10_000

	maxDepth = 100 // of an expression
)

// condition is one compiled expression.
type condition struct {
	program cel.Program
	needs   []string // members of the context, sorted
}

// principalMembers are those of the variable principal.
var principalMembers = []string{"kind", "serviceId", "userId"}

// environment declares what expressions may name. Members are variables with dots in
// their names, so that a misspelt one does not compile.
func (s *Set) environment() (*cel.Env, error) {
	options := []cel.EnvOption{
		cel.ParserExpressionSizeLimit(maxExpression), cel.ParserRecursionLimit(maxDepth),
		cel.Variable("key", cel.StringType), cel.Variable("scope", cel.StringType),
	}
	for _, name := range principalMembers {
		options = append(options, cel.Variable("principal."+name, cel.StringType))
	}
	for name, spelled := range s.context {
		options = append(options, cel.Variable("context."+name, types[spelled]))
	}
	return cel.NewEnv(options...)
}

func (s *Set) compile(env *cel.Env, text string) (*condition, error) {
	if len(text) > maxExpression {
		return nil, fmt.Errorf("the expression has %d bytes, at most %d", len(text), maxExpression)
	}
	parsed, issues := env.Parse(text)
	if issues.Err() != nil {
		return nil, told(issues)
	}
	needs, err := s.named(parsed.NativeRep())
	if err != nil {
		return nil, err
	}
	checked, issues := env.Check(parsed)
	switch {
	case issues.Err() != nil:
		return nil, told(issues)
	case !checked.OutputType().IsExactType(cel.BoolType):
		return nil, fmt.Errorf("the expression is of the type %s, and has to be bool", checked.OutputType())
	}
	program, err := env.Program(checked, cel.CostLimit(maxCost), cel.InterruptCheckFrequency(100), cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return nil, err
	}
	return &condition{program, needs}, nil
}

// named are the members of the context that an expression names. One that is not declared
// is an error with what may be meant.
func (s *Set) named(a *ast.AST) (needs []string, err error) {
	known := map[string][]string{"principal": principalMembers, "context": slices.Sorted(maps.Keys(s.context))}
	ast.PreOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.SelectKind || e.AsSelect().Operand().Kind() != ast.IdentKind {
			return
		}
		of, member := e.AsSelect().Operand().AsIdent(), e.AsSelect().FieldName()
		members, special := known[of]
		switch {
		case !special || err != nil:
		case e.AsSelect().IsTestOnly():
			err = fmt.Errorf("has(%s.%s): what a condition names has to be sent, there is nothing to test", of, member)
		case !slices.Contains(members, member):
			err = fmt.Errorf("%s.%s is not declared%s", of, member, meant(member, members))
		case of == "context":
			needs = append(needs, member)
		}
	}))
	slices.Sort(needs)
	return slices.Compact(needs), err
}

// told are what a compiler found, each with its place.
func told(issues *cel.Issues) error {
	var lines []string
	for _, e := range issues.Errors() {
		lines = append(lines, fmt.Sprintf("%d:%d: %s", e.Location.Line(), e.Location.Column()+1, spell.Echo(e.Message)))
	}
	return errors.New(strings.Join(lines, "; "))
}
