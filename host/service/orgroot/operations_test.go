package orgroot_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/service/orgroot"
	"github.com/authzhost/authz/host/service/registry"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

func (w *world) instance(t testing.TB, application, user, scope string) authz.Grant {
	t.Helper()
	g, err := w.root.CreateAppGrant(ctx, w.by(t, "olga"), application, provider.GrantInput{Subject: "user:" + user, Pattern: application + ".files.read", Scope: scope})
	must(t, err)
	return g
}

func TestASubjectAndAScopeAreCleanedUpWhereTheyLie(t *testing.T) {
	w := newWorld(t)
	a := w.by(t, "olga")
	w.give(t, "user:u", "docs.admin.read")
	w.instance(t, "docs", "u", "docs.doc:1")
	_, err := w.docs.CreateRevoke(ctx, provider.RevokeInput{UserID: "u", Pattern: "docs.admin.read"}, authz.AdminProvenance("root"))
	must(t, err)
	gone, err := w.root.DeleteSubject(ctx, a, "user:u")
	must(t, err)
	if diff := cmp.Diff(orgroot.Deleted{CleanupResult: provider.CleanupResult{DeletedGrants: 2, DeletedRevokes: 1}, Members: []orgroot.Member{}}, gone); diff != "" {
		t.Error(diff)
	}
	if _, err := w.root.DeleteSubject(ctx, a, "nobody"); said(t, err) != "ProviderWriteRejectedError validation" {
		t.Error(err)
	}

	w.instance(t, "billing", "v", "billing.doc:1")
	kept := w.instance(t, "billing", "v", "billing.doc:2")
	cleaned, err := w.root.DeleteScope(ctx, a, "billing.doc:1")
	must(t, err)
	if cleaned != (provider.CleanupResult{DeletedGrants: 1}) {
		t.Errorf("%+v", cleaned)
	}
	l, err := w.root.AppGrants(ctx, a, "billing", grantQuery(), orgroot.Page{Limit: 10})
	must(t, err)
	if len(l.Rows) != 1 || l.Rows[0].ID != kept.ID {
		t.Errorf("%+v", l.Rows)
	}
	for _, scope := range []string{"*", "cloud.app:docs", "nowhere.doc:1", "no scope"} {
		if _, err := w.root.DeleteScope(ctx, a, scope); said(t, err) != "ProviderWriteRejectedError validation" {
			t.Errorf("%s: %v", scope, err)
		}
	}
}

func TestOnlyItsRequesterWithdrawsARequest(t *testing.T) {
	w := newWorld(t)
	role := "reader"
	_, err := w.docs.CreateRole(ctx, provider.RoleInput{ID: &role, Name: role, Patterns: []string{"docs.admin.read"},
		Requestable: &authz.Requestable{Stages: []authz.Stage{{Kind: authz.StageNamedApprovers, RoleID: role}}}}, authz.AdminProvenance("root"))
	must(t, err)
	a := w.by(t, "olga")
	mine, err := w.root.Submit(ctx, a, provider.RequestInput{RoleID: role})
	must(t, err)
	hers, err := w.docs.SubmitRequest(ctx, provider.RequestInput{RequesterUserID: "ann", RoleID: role})
	must(t, err)
	if _, err := w.root.CancelRequest(ctx, a, hers.ID, ""); said(t, err) != "ProviderWriteRejectedError validation" {
		t.Error(err)
	}
	if _, err := w.root.CancelRequest(ctx, a, mine.Request.ID, "docs"); said(t, err) != "ProviderWriteRejectedError not_found" {
		t.Error(err)
	}
	gone, err := w.root.CancelRequest(ctx, a, mine.Request.ID, "")
	must(t, err)
	if gone.Application != nil || gone.Request.ID != mine.Request.ID || gone.Request.State != authz.RequestCancelled {
		t.Errorf("%+v", gone)
	}
	if _, err := w.root.CancelRequest(ctx, a, mine.Request.ID, ""); said(t, err) != "ProviderWriteRejectedError conflict" {
		t.Error(err)
	}
	pending := authz.RequestPending
	l, err := w.root.AppRequests(ctx, a, "docs", provider.RequestQuery{State: &pending}, orgroot.Page{Limit: 10})
	must(t, err)
	if len(l.Rows) != 1 || l.Rows[0].ID != hers.ID {
		t.Errorf("%+v", l.Rows)
	}
}

// Who may not read requests learns nothing of the applications either.
func TestARequestOfNoApplicationIsDeniedLikeAnyOther(t *testing.T) {
	w := newWorld(t)
	a := w.by(t, "olga")
	if _, err := w.root.Request(ctx, a, "r", "absent"); said(t, err) != "AccessDeniedError forbidden" {
		t.Error(err)
	}
	w = newWorld(t) // read gates may be 5 s old
	w.give(t, "user:olga", "authz_internal.requests.*")
	if _, err := w.root.Request(ctx, w.by(t, "olga"), "r", "absent"); said(t, err) != "CloudError application_not_found" {
		t.Error(err)
	}
}

func TestAnApplicationShowsWhatItPublishedItsScopesAndItsCounts(t *testing.T) {
	w := newWorld(t)
	a := w.by(t, "olga")
	if published, imports, err := w.root.AppCatalog(ctx, a, "docs"); err != nil || published != nil || imports != nil {
		t.Errorf("%+v, %+v, %v", published, imports, err)
	}
	_, err := w.docs.PublishCatalog(ctx, document("docs"), authz.AdminProvenance("root"))
	must(t, err)
	published, _, err := w.root.AppCatalog(ctx, a, "docs")
	must(t, err)
	if published == nil || published.Version != 1 {
		t.Errorf("%+v", published)
	}
	ancestors, err := w.root.Ancestors(ctx, a, "docs", "docs.doc:1")
	must(t, err)
	if diff := cmp.Diff([]string{}, ancestors); diff != "" {
		t.Error(diff)
	}
	g := w.instance(t, "docs", "u", "docs.doc:1")
	for _, dimension := range []string{"grants", "revokes", "roles", "permissions", "scope-types"} {
		if _, err := w.root.Usage(ctx, a, "docs", dimension, provider.UsageQuery{IDs: &[]string{g.ID}}); said(t, err) != "ProviderWriteRejectedError unsupported" {
			t.Errorf("%s: %v", dimension, err)
		}
	}
	if _, err := w.root.Usage(ctx, a, "docs", "checks", provider.UsageQuery{}); said(t, err) != "CloudError dimension_not_found" {
		t.Error(err)
	}
	for name, err := range map[string]error{
		"catalog":   func() error { _, _, err := w.root.AppCatalog(ctx, a, "absent"); return err }(),
		"mesh":      func() error { _, err := w.root.AppMesh(ctx, a, "absent"); return err }(),
		"ancestors": func() error { _, err := w.root.Ancestors(ctx, a, "absent", "docs.doc:1"); return err }(),
		"usage":     func() error { _, err := w.root.Usage(ctx, a, "absent", "grants", provider.UsageQuery{}); return err }(),
	} {
		if said(t, err) != "CloudError application_not_found" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func document(namespace string) json.RawMessage {
	return json.RawMessage(`{"formatVersion":1,"namespace":"` + namespace + `","namespaces":["` + namespace + `"],"groups":[],"navigation":[],
		"leaves":[{"key":"` + namespace + `.files.read","scopes":["` + namespace + `.doc"]},{"key":"` + namespace + `.admin.read"}],
		"scopeTypes":[{"type":"` + namespace + `.doc","requestable":{"prompts":[],"policy":{"stages":[{"kind":"management","layers":1}]}}},
			{"type":"` + namespace + `.shelf"}]}`)
}

func TestTheCatalogOfTheOrgIsEveryHeadAndWhatMayBeAskedFor(t *testing.T) {
	w := newWorld(t)
	a := w.by(t, "olga")
	for _, role := range []string{"open", "shut"} {
		in := provider.RoleInput{ID: &role, Name: role, Patterns: []string{"docs.admin.read"}}
		if role == "open" {
			in.Requestable = &authz.Requestable{Stages: []authz.Stage{{Kind: authz.StageNamedApprovers, RoleID: "shut"}}}
		}
		_, err := w.docs.CreateRole(ctx, in, authz.AdminProvenance("root"))
		must(t, err)
	}
	_, err := w.catalog.PublishApplication(ctx, "olga", "acme", "docs", registry.Input{Document: document("docs")})
	must(t, err)
	all, err := w.root.Catalog(ctx, a, w.catalog)
	must(t, err)
	if len(all.Namespaces) != 1 || *all.Namespaces[0].Application != "docs" || *all.Namespaces[0].Version != 1 || string(all.Namespaces[0].Document) != string(document("docs")) {
		t.Errorf("%+v", all.Namespaces)
	}
	if len(all.Requestable.Roles) != 1 || all.Requestable.Roles[0].ID != "open" {
		t.Errorf("%+v", all.Requestable.Roles)
	}
	if len(all.Requestable.ScopeTypes) != 1 {
		t.Errorf("%s", all.Requestable.ScopeTypes)
	}
}

// An id that the root and account data both have is the role of account data
// wherever it is named, and so it is in the list.
func TestARoleIsListedOnceUnderItsID(t *testing.T) {
	w := newWorld(t)
	for _, id := range []string{"cloud_admin", "cloud_b", "z"} {
		_, err := w.docs.CreateRole(ctx, provider.RoleInput{ID: &id, Name: "of docs", Patterns: []string{"docs.admin.read"}}, authz.AdminProvenance("root"))
		must(t, err)
	}
	var got []string
	for p := (orgroot.Page{Limit: 1}); ; {
		l, err := w.root.Roles(ctx, w.by(t, "olga"), "", p)
		must(t, err)
		for _, role := range l.Rows {
			got = append(got, role.ID+" "+role.Patterns[0])
		}
		if p.After = l.Next; p.After == "" {
			break
		}
	}
	if diff := cmp.Diff([]string{"cloud_admin cloud.*", "cloud_b docs.admin.read", "cloud_owner cloud.*", "z docs.admin.read"}, got); diff != "" {
		t.Error(diff)
	}
}

// What the root imports is vocabulary that its rows may name.
func TestExplainKnowsWhatTheRootImports(t *testing.T) {
	w := newWorld(t)
	a := w.by(t, "olga")
	_, err := w.docs.PublishCatalog(ctx, document("docs"), authz.AdminProvenance("root"))
	must(t, err)
	_, err = w.docs.PublishImports(ctx, json.RawMessage(`{"formatVersion":1,"namespace":"docs","imports":[{"namespace":"meet","enumerated":false,
		"entries":[{"pattern":"meet.host","scopes":[]}],"keys":["meet.host"],"regions":[],"strict":false}]}`), authz.AdminProvenance("root"))
	must(t, err)
	for key, want := range map[string]string{"docs.admin.read": "ok", "meet.host": "ok", "meet.guest": "UnknownPermissionError "} {
		if _, err := w.root.Explain(ctx, a, authz.UserPrincipal("olga"), key, authz.Global); said(t, err) != want {
			t.Errorf("%s: %v", key, err)
		}
	}
}
