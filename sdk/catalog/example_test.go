package catalog_test

import (
	"errors"
	"fmt"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

// docs is what an application keeps in a package of its own.
var docs = catalog.MustDefine(catalog.Input{
	Namespaces: []string{"docs"},

	ScopeTypes: []catalog.ScopeType{
		{Type: "docs.folder", Parent: "docs.folder", Requestable: &catalog.Requestable{
			MaxDurationMs: 8 * 60 * 60 * 1000,
			Patterns:      []string{"docs.files.*"},
			Stages: []authz.Stage{
				catalog.ApprovedWhen(catalog.InGroup("editors")),
				catalog.ApprovedByManager(1),
			},
		}},
		{Type: "docs.doc", Parent: "docs.folder"},
	},

	Permissions: []catalog.PermissionSet{
		catalog.Group("docs.files", catalog.GroupInput{Label: "Files", Scopes: []string{"docs.folder", "docs.doc"}},
			catalog.Permission{Key: "docs.files.read", ImpliedOnAncestors: true},
			catalog.Permission{Key: "docs.files.publish", RequiresCondition: true},
			catalog.Permission{Key: "docs.files.delete", Scopes: []string{"docs.folder"}},
			catalog.Permission{Key: "docs.files.delete_draft", Destructive: new(false)},
		),
		catalog.Leaves(
			catalog.Key("docs.reports.read"),
			catalog.Key("docs.reports.export"),
		),
	},

	Imports: []catalog.Import{{
		Namespace:   "meet",
		From:        "registry:meet@^3",
		Scopes:      []string{"docs.folder"},
		Permissions: []catalog.Permission{catalog.Key("meet.host"), catalog.Key("meet.rooms.*")},
	}},

	Groups: []catalog.GroupEntry{
		{Path: "docs", Group: catalog.GroupInput{Label: "Documents"}},
	},

	Navigation: []catalog.NavItem{
		{Label: "Files", Href: "/files", Permission: "docs.files.*"},
		{Label: "Reports", Href: "/reports", AnyOf: []string{"docs.reports.read", "docs.reports.export"}},
	},

	Constraints: catalog.Constraints{SoD: []catalog.SoDConstraint{
		{ID: "publish-vs-delete", Sets: [][]string{{"docs.files.publish"}, {"docs.files.delete"}}},
	}},
})

func ExampleDefine() {
	for _, key := range docs.KeysMatching("docs.*") {
		leaf, _ := docs.Leaf(key)
		fmt.Println(leaf.Key, leaf.Kind, leaf.Scopes)
	}
	fmt.Println(docs.KeyOrigin("meet.rooms.book"), docs.HasKey("meet.recordings.read"))
	fmt.Println(len(catalog.Lint(docs)), "lint issues")
	// Output:
	// docs.files.delete action [docs.folder]
	// docs.files.delete_draft action [docs.folder docs.doc]
	// docs.files.publish action [docs.folder docs.doc]
	// docs.files.read read [docs.folder docs.doc]
	// docs.reports.export action []
	// docs.reports.read read []
	// region false
	// 0 lint issues
}

func ExampleDefine_mistakes() {
	_, err := catalog.Define(catalog.Input{
		Namespaces: []string{"docs"},
		Permissions: []catalog.PermissionSet{
			catalog.Group("docs.files", catalog.GroupInput{Scopes: []string{"docs.folder"}},
				catalog.Key("docs.files.read"),
				catalog.Key("docs.file.delete"),
			),
		},
	})
	var invalid *authz.CatalogError
	if errors.As(err, &invalid) {
		for _, issue := range invalid.Issues {
			fmt.Println(issue.Code, issue.Path)
		}
	}
	// Output:
	// outside-block docs.file.delete
	// unknown-scope-type docs.files.read
	// unknown-scope-type docs.files
}

func ExampleTree_Toggle() {
	tree := docs.Tree()
	read, _ := tree.Node(catalog.NodeLeaf, "docs.files.read")
	selection := tree.Toggle([]string{"docs.*"}, read)
	for _, pattern := range selection {
		fmt.Println(pattern)
	}
	// Output:
	// docs.reports.*
	// docs.files.publish
	// docs.files.delete
	// docs.files.delete_draft
}
