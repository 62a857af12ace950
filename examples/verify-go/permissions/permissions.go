// Package permissions declares what can be permitted in the notes service.
package permissions

import "github.com/authzhost/authz/sdk/catalog"

// The keys that the service asks for.
const (
	Read    = "notes.notes.read"
	Write   = "notes.notes.write"
	Publish = "notes.notes.publish"
)

// Catalog is the declaration. emit writes its document for the verifier.
//
//go:generate go run ./emit ../authz.catalog.json
var Catalog = catalog.MustDefine(catalog.Input{
	Namespaces: []string{"notes"},
	ScopeTypes: []catalog.ScopeType{{Type: "notes.book"}},
	Permissions: []catalog.PermissionSet{
		catalog.Group("notes.notes", catalog.GroupInput{Label: "Notes", Scopes: []string{"notes.book"}},
			catalog.Key(Read), catalog.Key(Write), catalog.Permission{Key: Publish, RequiresCondition: true}),
	},
})
