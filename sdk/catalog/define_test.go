package catalog_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

func TestAGoDeclarationIsTheSameCatalogAsAFile(t *testing.T) {
	c, err := catalog.Define(catalog.Input{
		Namespaces: []string{"docs", "docs"},
		Permissions: []catalog.PermissionSet{
			catalog.Group("docs.files", catalog.GroupInput{Label: "Files", Scopes: []string{"docs.folder", "docs.doc"}},
				catalog.Permission{Key: "docs.files.read", Label: "View", ImpliedOnAncestors: true},
				catalog.Permission{Key: "docs.files.approve_draft", Scopes: []string{}, RequiresCondition: true},
				catalog.Permission{Key: "docs.files.delete", Scopes: []string{"docs.folder", "docs.folder"}},
			),
			catalog.Leaves(catalog.Key("docs.reports.read")),
		},
		Groups: []catalog.GroupEntry{{Path: "docs", Group: catalog.GroupInput{Label: "Documents"}}},
		ScopeTypes: []catalog.ScopeType{
			{Type: "docs.folder", Parent: "docs.folder", Requestable: &catalog.Requestable{
				Prompts: []authz.Prompt{{ID: "why", Label: "Reason"}}, MaxDurationMs: 28800000, RequireExpiry: true, Patterns: []string{"docs.files.*"},
				Stages: []authz.Stage{catalog.ApprovedWhen(catalog.InGroup("editors")), catalog.ApprovedByManager(1)},
			}},
			{Type: "docs.doc", Description: "One document", Parent: "docs.folder"},
		},
		Navigation: []catalog.NavItem{{Label: "Files", Href: "/files", Permission: "docs.files.*", Children: []catalog.NavItem{
			{Label: "Trash", AnyOf: []string{"docs.files.read", "docs.files.delete"}},
		}}},
		IncludeAuthzInternal: new(false),
		Constraints:          catalog.Constraints{SoD: []catalog.SoDConstraint{{ID: "approve-vs-delete", Sets: [][]string{{"docs.files.approve_draft"}, {"docs.files.delete"}}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sampleDocument, document(t, c)); diff != "" {
		t.Error(diff)
	}
}

func TestMustDefinePanicsWithEverythingThatIsWrong(t *testing.T) {
	defer func() {
		refused, ok := recover().(*authz.CatalogError)
		if !ok || len(refused.Issues) != 2 {
			t.Errorf("panicked with %v", refused)
		}
	}()
	catalog.MustDefine(catalog.Input{Permissions: []catalog.PermissionSet{catalog.Leaves(catalog.Key("docs"))}})
	t.Error("a catalog without a namespace was defined")
}

func TestStagesAndPredicatesAreWhatAFileDeclares(t *testing.T) {
	c := catalog.MustDefine(catalog.Input{Namespaces: []string{"docs"}, IncludeAuthzInternal: new(false), ScopeTypes: []catalog.ScopeType{{Type: "docs.f", Requestable: &catalog.Requestable{
		Stages: []authz.Stage{catalog.ApprovedWhen(catalog.InGroup("g")), catalog.ApprovedWhen(catalog.InOrg("o")), catalog.ApprovedWhen(catalog.MemberOf("directs:u")),
			catalog.ApprovedWhen(catalog.HoldsPattern("docs.*")), catalog.ApprovedByRole("r"), catalog.ApprovedByManager(2)},
	}}}})
	file := mustBuild(t, `{"namespaces":["docs"],"permissions":{},"includeAuthzInternal":false,"scopeTypes":{"docs.f":{"requestable":{"policy":{"stages":[
	 {"kind":"auto","predicate":{"type":"in_group","groupId":"g"}},{"kind":"auto","predicate":{"type":"in_org","orgId":"o"}},{"kind":"auto","predicate":{"type":"member_of","subject":"directs:u"}},
	 {"kind":"auto","predicate":{"type":"holds_pattern","pattern":"docs.*"}},{"kind":"named_approvers","roleId":"r"},{"kind":"management","layers":2}]}}}}}`)
	if diff := cmp.Diff(document(t, file), document(t, c)); diff != "" {
		t.Error(diff)
	}
}
