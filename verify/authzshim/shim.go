// Package authzshim gives the static verifier the parser of the TypeScript
// compiler. Its packages are internal to its module; a module whose path lies
// below may import them, and joins the build by a replace directive. Nothing of
// theirs is copied here, and only what the verifier needs is named.
package authzshim

import (
	"github.com/microsoft/typescript-go/internal/ast"
	"github.com/microsoft/typescript-go/internal/core"
	"github.com/microsoft/typescript-go/internal/parser"
	"github.com/microsoft/typescript-go/internal/scanner"
	"github.com/microsoft/typescript-go/internal/tspath"
)

// The syntax tree.
type (
	Node       = ast.Node
	Kind       = ast.Kind
	SourceFile = ast.SourceFile
)

// The kinds of node that the verifier tells apart.
const (
	KindArrayLiteral        = ast.KindArrayLiteralExpression
	KindArrowFunction       = ast.KindArrowFunction
	KindAsExpression        = ast.KindAsExpression
	KindAsyncKeyword        = ast.KindAsyncKeyword
	KindBigIntLiteral       = ast.KindBigIntLiteral
	KindCallExpression      = ast.KindCallExpression
	KindEndOfFile           = ast.KindEndOfFile
	KindExportKeyword       = ast.KindExportKeyword
	KindExpressionStatement = ast.KindExpressionStatement
	KindFunctionDeclaration = ast.KindFunctionDeclaration
	KindFunctionExpression  = ast.KindFunctionExpression
	KindGetAccessor         = ast.KindGetAccessor
	KindIdentifier          = ast.KindIdentifier
	KindJsxText             = ast.KindJsxText
	KindMethodDeclaration   = ast.KindMethodDeclaration
	KindNonNullExpression   = ast.KindNonNullExpression
	KindNumericLiteral      = ast.KindNumericLiteral
	KindObjectLiteral       = ast.KindObjectLiteralExpression
	KindParenthesized       = ast.KindParenthesizedExpression
	KindPlainTemplate       = ast.KindNoSubstitutionTemplateLiteral
	KindPropertyAccess      = ast.KindPropertyAccessExpression
	KindPropertyAssignment  = ast.KindPropertyAssignment
	KindRegularExpression   = ast.KindRegularExpressionLiteral
	KindSatisfiesExpression = ast.KindSatisfiesExpression
	KindSetAccessor         = ast.KindSetAccessor
	KindShorthandProperty   = ast.KindShorthandPropertyAssignment
	KindSpreadAssignment    = ast.KindSpreadAssignment
	KindStringLiteral       = ast.KindStringLiteral
	KindTemplateHead        = ast.KindTemplateHead
	KindTemplateMiddle      = ast.KindTemplateMiddle
	KindTemplateTail        = ast.KindTemplateTail
	KindTypeAssertion       = ast.KindTypeAssertionExpression
	KindVariableStatement   = ast.KindVariableStatement
)

// Parse reads a source, as TSX or as TypeScript, as far as it can be read. The
// name matters to the parser only. Recursion is as deep as the source's nesting,
// without a guard.
func Parse(name, text string, tsx bool) *SourceFile {
	kind := core.ScriptKindTS
	if tsx {
		kind = core.ScriptKindTSX
	}
	return parser.ParseSourceFile(ast.SourceFileParseOptions{FileName: name, Path: tspath.Path(name)}, text, kind)
}

// SyntaxErrors is how many errors the parser recovered from.
func SyntaxErrors(f *SourceFile) int { return len(f.Diagnostics()) }

// IsModule reports whether a file imports or exports something.
func IsModule(f *SourceFile) bool { return f.ExternalModuleIndicator != nil }

// Declarations are the declarations of a variable statement.
func Declarations(statement *Node) []*Node {
	return statement.AsVariableStatement().DeclarationList.AsVariableDeclarationList().Declarations.Nodes
}

// TokenStart is where the first token at or after pos begins: past blanks and
// comments. pos must not lie in JSX text.
func TokenStart(text string, pos int) int { return scanner.SkipTrivia(text, pos) }
