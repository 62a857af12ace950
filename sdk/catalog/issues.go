package catalog

import (
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog/internal/text"
)

// The codes of boot errors, and of documents and manifests (spec: catalog §4, §8).
const (
	CodeUnknownField       = "unknown-field"
	CodeBadField           = "bad-field"
	CodeRepeatedField      = "repeated-field"
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
	CodeBadImportNamespace = "bad-import-namespace"
	CodeReservedImport     = "reserved-import"
	CodeImportOwned        = "import-owned"
	CodeImportScope        = "import-scope"
	CodeImportDocument     = "import-document"
	CodeImportStar         = "import-star"
	CodeImportPattern      = "import-pattern"
	CodeImportOutside      = "import-outside"
	CodeImportNoMatch      = "import-no-match"
	CodeUnknownScopeType   = "unknown-scope-type"
	CodeOwnedAndImported   = "owned-and-imported"
	CodeImportedKeyIsGroup = "imported-key-is-group"
	CodeBadDepth           = "bad-depth"
	CodeUnknownFormat      = "unknown-format"
	CodeBadDocument        = "bad-document"
	CodeMissingKey         = "missing-key"
	CodeBadGroup           = "bad-group"
	CodeBadOrigin          = "bad-origin"
	CodeManifestNamespace  = "manifest-namespace"
	CodeImportUncovered    = "import-uncovered"
	CodeSoDDuplicate       = "sod-duplicate"
	CodeSoDSets            = "sod-sets"
	CodeSoDEmpty           = "sod-empty"
	CodeSoDRegion          = "sod-region"
	CodeSoDUnmatched       = "sod-unmatched"
	CodeSoDOverlap         = "sod-overlap"
)

// The paths of issues that belong to no single key.
const (
	pathCatalog     = "(catalog)"
	pathConventions = "(conventions)"
	pathConstraints = "(constraints)"
)

// issues collects what is wrong, each finding once.
type issues struct {
	list []authz.Issue
	seen map[authz.Issue]bool
}

func (is *issues) add(code, path, message string) {
	is.keep(authz.Issue{Severity: authz.SeverityError, Path: path, Message: message, Code: code})
}

// addFault files a fault of an entry under the path of the entry. An unknown field
// has a code of its own.
func (is *issues) addFault(code, path string, f text.Fault) {
	if f.Kind == text.Unknown {
		code = CodeUnknownField
	}
	is.keep(authz.Issue{
		Severity: authz.SeverityError, Path: path, Message: f.String(), Code: code, Line: f.At.Line, Column: f.At.Column,
	})
}

// addField files a fault of the declaration itself. A wrong value lies where its
// path does.
func (is *issues) addField(f text.Fault) {
	at := f.At
	if f.Kind == text.Wrong {
		at = text.Place{}
	}
	is.keep(authz.Issue{
		Severity: authz.SeverityError, Path: f.Field, Message: f.Problem, Code: fieldCode(f), Line: at.Line, Column: at.Column,
	})
}

// fieldCode is the code of a fault that belongs to no entry.
func fieldCode(f text.Fault) string {
	switch f.Kind {
	case text.Unknown:
		return CodeUnknownField
	case text.Repeated:
		return CodeRepeatedField
	}
	return CodeBadField
}

func (is *issues) keep(issue authz.Issue) {
	finding := issue
	finding.Line, finding.Column = 0, 0
	if is.seen[finding] {
		return
	}
	if is.seen == nil {
		is.seen = map[authz.Issue]bool{}
	}
	is.seen[finding] = true
	is.list = append(is.list, issue)
}

func (is *issues) err() error {
	if len(is.list) == 0 {
		return nil
	}
	return &authz.CatalogError{Issues: is.list}
}
