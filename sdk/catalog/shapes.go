package catalog

import "github.com/authzhost/authz/sdk/catalog/internal/text"

// The members that the objects of a declaration may have.
var (
	inputShape       = text.Shape{What: "the catalog input", Members: []string{"namespaces", "permissions", "imports", "groups", "scopeTypes", "navigation", "conventions", "includeAuthzInternal", "constraints"}}
	blockShape       = text.Shape{What: "a block", Members: []string{"kind", "path", "group", "leaves"}}
	groupShape       = text.Shape{What: "a group", Members: []string{"label", "description", "scopes"}}
	leafShape        = text.Shape{What: "a permission", Members: []string{"label", "description", "kind", "destructive", "scopes", "impliedOnAncestors", "requiresCondition"}}
	importShape      = text.Shape{What: "an import", Members: []string{"from", "document", "scopes", "permissions", "strict"}}
	navigationShape  = text.Shape{What: "a navigation entry", Members: []string{"label", "href", "permission", "children"}}
	conventionsShape = text.Shape{What: "conventions", Members: []string{"depth"}}
	constraintsShape = text.Shape{What: "constraints", Members: []string{"sod"}}
	sodShape         = text.Shape{What: "a separation of duties", Members: []string{"id", "description", "sets"}}
	scopeTypeShape   = text.Shape{What: "a scope type", Members: []string{"description", "parent", "multiParent", "requestable"}}
	requestableShape = text.Shape{What: "requestable", Members: []string{"prompts", "maxDurationMs", "requireExpiry", "patterns", "policy"}}
	policyShape      = text.Shape{What: "a policy", Members: []string{"stages"}}
	promptShape      = text.Shape{What: "a prompt", Members: []string{"id", "label", "kind", "options", "required"}}
	stageShape       = text.Shape{What: "a stage", Members: []string{"kind", "roleId", "layers", "predicate"}}
	predicateShape   = text.Shape{What: "a predicate", Members: []string{"type", "groupId", "orgId", "subject", "pattern"}}
	anyNames         = text.Shape{} // the declaration itself names them
)
