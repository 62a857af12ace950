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
	KindArrayLiteral          = ast.KindArrayLiteralExpression
	KindArrowFunction         = ast.KindArrowFunction
	KindAsExpression          = ast.KindAsExpression
	KindAsyncKeyword          = ast.KindAsyncKeyword
	KindAwaitExpression       = ast.KindAwaitExpression
	KindBigIntLiteral         = ast.KindBigIntLiteral
	KindBinaryExpression      = ast.KindBinaryExpression
	KindBindingElement        = ast.KindBindingElement
	KindBlock                 = ast.KindBlock
	KindCallExpression        = ast.KindCallExpression
	KindClassDeclaration      = ast.KindClassDeclaration
	KindClassExpression       = ast.KindClassExpression
	KindConditionalExpression = ast.KindConditionalExpression
	KindConstructor           = ast.KindConstructor
	KindDecorator             = ast.KindDecorator
	KindDefaultKeyword        = ast.KindDefaultKeyword
	KindElementAccess         = ast.KindElementAccessExpression
	KindEndOfFile             = ast.KindEndOfFile
	KindEnumDeclaration       = ast.KindEnumDeclaration
	KindExportAssignment      = ast.KindExportAssignment
	KindExportDeclaration     = ast.KindExportDeclaration
	KindExportKeyword         = ast.KindExportKeyword
	KindExpressionStatement   = ast.KindExpressionStatement
	KindFunctionDeclaration   = ast.KindFunctionDeclaration
	KindFunctionExpression    = ast.KindFunctionExpression
	KindGetAccessor           = ast.KindGetAccessor
	KindIdentifier            = ast.KindIdentifier
	KindImportDeclaration     = ast.KindImportDeclaration
	KindJsxText               = ast.KindJsxText
	KindMethodDeclaration     = ast.KindMethodDeclaration
	KindNamedExports          = ast.KindNamedExports
	KindNamedImports          = ast.KindNamedImports
	KindNewExpression         = ast.KindNewExpression
	KindNonNullExpression     = ast.KindNonNullExpression
	KindNumericLiteral        = ast.KindNumericLiteral
	KindObjectBinding         = ast.KindObjectBindingPattern
	KindObjectLiteral         = ast.KindObjectLiteralExpression
	KindParameter             = ast.KindParameter
	KindParenthesized         = ast.KindParenthesizedExpression
	KindPlainTemplate         = ast.KindNoSubstitutionTemplateLiteral
	KindPropertyAccess        = ast.KindPropertyAccessExpression
	KindPropertyAssignment    = ast.KindPropertyAssignment
	KindPropertyDeclaration   = ast.KindPropertyDeclaration
	KindQualifiedName         = ast.KindQualifiedName
	KindRegularExpression     = ast.KindRegularExpressionLiteral
	KindSatisfiesExpression   = ast.KindSatisfiesExpression
	KindSetAccessor           = ast.KindSetAccessor
	KindShorthandProperty     = ast.KindShorthandPropertyAssignment
	KindSpreadAssignment      = ast.KindSpreadAssignment
	KindSpreadElement         = ast.KindSpreadElement
	KindStaticKeyword         = ast.KindStaticKeyword
	KindStringLiteral         = ast.KindStringLiteral
	KindTemplateHead          = ast.KindTemplateHead
	KindTemplateMiddle        = ast.KindTemplateMiddle
	KindTemplateTail          = ast.KindTemplateTail
	KindThisKeyword           = ast.KindThisKeyword
	KindTypeAssertion         = ast.KindTypeAssertionExpression
	KindTypeReference         = ast.KindTypeReference
	KindVariableDeclaration   = ast.KindVariableDeclaration
	KindVariableStatement     = ast.KindVariableStatement
	KindVoidExpression        = ast.KindVoidExpression
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

// Import is what an import declaration brings in: the name that it gives to the default
// export, and either the namespace or the named ones. Types alone are left out.
func Import(declaration *Node) (byDefault, bindings *Node) {
	clause := declaration.ImportClause()
	if clause == nil || clause.IsTypeOnly() {
		return nil, nil
	}
	return clause.Name(), clause.AsImportClause().NamedBindings
}

// ExportClause is the list or the namespace of an export declaration, nil for "*".
func ExportClause(declaration *Node) *Node { return declaration.AsExportDeclaration().ExportClause }

// TypeName is the name that a type reference names.
func TypeName(reference *Node) *Node { return reference.AsTypeReferenceNode().TypeName }

// Branches are both outcomes of a conditional.
func Branches(conditional *Node) [2]*Node {
	c := conditional.AsConditionalExpression()
	return [2]*Node{c.WhenTrue, c.WhenFalse}
}

// Operands are both sides of a binary expression, and its operator as written.
func Operands(binary *Node) (left, right *Node, operator string) {
	b := binary.AsBinaryExpression()
	return b.Left, b.Right, scanner.TokenToString(b.OperatorToken.Kind)
}

// TokenStart is where the first token at or after pos begins: past blanks and
// comments. pos must not lie in JSX text.
func TokenStart(text string, pos int) int { return scanner.SkipTrivia(text, pos) }
