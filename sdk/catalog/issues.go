package catalog

import "github.com/authzhost/authz/sdk/authz"

// The codes of boot errors (catalog contract §4). CodeBadField, CodeRepeatedField
// and CodeUnsupportedImports are this implementation's own: a field of the wrong
// JSON type, a member given twice where no key is declared, and the imports that
// this version does not read.
const (
	CodeUnknownField       = "unknown-field"
	CodeBadField           = "bad-field"
	CodeRepeatedField      = "repeated-field"
	CodeUnsupportedImports = "unsupported-imports"
	CodeNoNamespace        = "no-namespace"
	CodeBadNamespace       = "bad-namespace"
	CodeReservedNamespace  = "reserved-namespace"
	CodeBadLeaf            = "bad-leaf"
	CodeDuplicateKey       = "duplicate-key"
	CodeOutsideBlock       = "outside-block"
	CodeBadKey             = "bad-key"
	CodeShortKey           = "short-key"
	CodeReservedKey        = "reserved-key"
	CodeUndeclaredNS       = "undeclared-namespace"
	CodeBadGroupPath       = "bad-group-path"
	CodeKeyIsGroup         = "key-is-group"
	CodeBadScopeType       = "bad-scope-type"
	CodeScopeTypeNamespace = "scope-type-namespace"
	CodeUnknownParent      = "unknown-parent"
	CodeParentCycle        = "parent-cycle"
	CodeBadRequestable     = "bad-requestable"
	CodeUnknownScopeType   = "unknown-scope-type"
	CodeBadDepth           = "bad-depth"
	CodeSoDDuplicate       = "sod-duplicate"
	CodeSoDSets            = "sod-sets"
	CodeSoDEmpty           = "sod-empty"
	CodeSoDUnmatched       = "sod-unmatched"
	CodeSoDOverlap         = "sod-overlap"
)

// The paths of issues that belong to no single key.
const (
	pathCatalog     = "(catalog)"
	pathConventions = "(conventions)"
	pathConstraints = "(constraints)"
)

// fault is a problem with one field, before it is known under which path and
// code it will be reported.
type fault struct {
	field   string
	problem string
}

func (f fault) String() string { return f.field + " " + f.problem }

// issues collects what is wrong, each finding once.
type issues struct {
	list []authz.Issue
	seen map[authz.Issue]bool
}

func (is *issues) add(code, path, message string) {
	is.keep(authz.Issue{Severity: authz.SeverityError, Path: path, Message: message, Code: code})
}

func (is *issues) keep(issue authz.Issue) {
	if is.seen[issue] {
		return
	}
	if is.seen == nil {
		is.seen = map[authz.Issue]bool{}
	}
	is.seen[issue] = true
	is.list = append(is.list, issue)
}

func (is *issues) err() error {
	if len(is.list) == 0 {
		return nil
	}
	return &authz.CatalogError{Issues: is.list}
}
