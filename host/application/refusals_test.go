package application_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// seed is the state that the refusals are judged by.
func seed(t testing.TB, store storage.Store) {
	t.Helper()
	_, err := store.Commit(context.Background(), storage.Commit{ID: "seed", At: now, Changes: []storage.Change{
		storage.UpsertRole{Role: authz.Role{ID: "reader", Name: "Reader", Patterns: []string{"docs.files.read"}}},
		storage.UpsertRole{Role: authz.Role{ID: "wanted", Name: "Wanted", Patterns: []string{"docs.admin.read"}}},
		storage.UpsertRole{Role: authz.Role{ID: "approver", Name: "Approver"}},
		storage.UpsertGroup{Group: authz.Group{ID: "a", Name: "A"}},
		storage.UpsertGroup{Group: authz.Group{ID: "b", Name: "B", Parents: []string{"a"}}},
		storage.UpsertGroup{Group: authz.Group{ID: "c", Name: "C", Parents: []string{"b"}}},
		storage.UpsertGroup{Group: authz.Group{ID: "dangling", Name: "D", Parents: []string{"later"}}},
		storage.UpsertUser{User: authz.User{UserID: "member", Active: true, GroupIDs: []string{"b", "c"}}},
		storage.InsertGrant{Grant: authz.Grant{ID: "g-expired", Subject: "user:u", RoleID: "reader", Scope: "*", ExpiresAt: authz.ExpiresAt(1), Provenance: root}},
		storage.InsertGrant{Grant: authz.Grant{ID: "g-global", Subject: "group:b", Pattern: "docs.*", Scope: "*", Provenance: root}},
		storage.InsertGrant{Grant: authz.Grant{ID: "g-doc", Subject: "user:u", Pattern: "docs.*", Scope: "docs.doc:1", Provenance: root}},
		storage.InsertRevoke{Revoke: authz.Revoke{ID: "v-global", UserID: "u", Pattern: "docs.*", Scope: "*", Provenance: root}},
		storage.InsertRequest{Request: authz.Request{ID: "q", RequesterUserID: "u", RoleID: "wanted", Scope: "*", State: authz.RequestPending,
			Stages: []authz.Stage{{Kind: authz.StageNamedApprovers, RoleID: "approver"}}}},
		storage.InsertRequest{Request: authz.Request{ID: "q-old", RequesterUserID: "u", RoleID: "reader", Scope: "*", State: authz.RequestDenied}},
		storage.PutScopeParents{Scope: "docs.folder:low", Parents: []string{"docs.folder:top"}},
	}})
	must(t, err)
}

// everything reads all rows, the audit log and the number of the head.
func everything(t testing.TB, s storage.Store) map[string]any {
	t.Helper()
	ctx := context.Background()
	head, err := s.Head(ctx)
	must(t, err)
	catalogHead, _, err := s.GetCatalog(ctx)
	must(t, err)
	imports, _, err := s.GetImports(ctx)
	must(t, err)
	parents, err := s.GetScopeParents(ctx, []string{"docs.folder:low", "docs.folder:top", "docs.folder:1", "docs.folder:2", "docs.doc:1"})
	must(t, err)
	return map[string]any{
		"grants":   rows(t, s.ListGrants(ctx, storage.GrantFilter{}, storage.Page{})),
		"revokes":  rows(t, s.ListRevokes(ctx, storage.RevokeFilter{}, storage.Page{})),
		"roles":    rows(t, s.ListRoles(ctx, storage.Page{})),
		"groups":   rows(t, s.ListGroups(ctx, storage.Page{})),
		"users":    rows(t, s.ListUsers(ctx, storage.UserFilter{}, storage.Page{})),
		"requests": rows(t, s.ListRequests(ctx, storage.RequestFilter{}, storage.RequestPage{})),
		"audit":    rows(t, s.ListAudit(ctx, storage.AuditFilter{})),
		"parents":  parents, "catalog": catalogHead, "imports": imports, "head": head.Seq,
	}
}

var unexported = cmp.AllowUnexported(authz.Expiry{})

func TestRefusalsSayWhyAndChangeNothing(t *testing.T) {
	for _, r := range slices.Concat(refusals, cleanupRefusals) {
		t.Run(r.sentence, func(t *testing.T) {
			store := openStore(t)
			seed(t, store)
			app := newApp(t, application.Options{Store: store})
			heard := 0
			app.OnInvalidate(func(authz.Event) { heard++ })
			before := everything(t, store)
			err := r.do(t.Context(), app)
			var refused *authz.WriteRejectedError
			if !errors.As(err, &refused) {
				t.Fatalf("got %v, want a refusal", err)
			}
			if refused.Code != r.code || !strings.Contains(refused.Message, r.message) {
				t.Errorf("got %s %q, want %s …%q", refused.Code, refused.Message, r.code, r.message)
			}
			if r.code == authz.CodeGraphCycle && "cycle: "+strings.Join(refused.Path, " → ") != refused.Message {
				t.Errorf("path %v does not spell the message %q", refused.Path, refused.Message)
			}
			if diff := cmp.Diff(before, everything(t, store), unexported); diff != "" || heard > 0 {
				t.Errorf("the refusal told %d events and left:\n%s", heard, diff)
			}
		})
	}
}

// gated are the writes that belong to the org root.
var gated = map[string]func(context.Context, *application.Application) error{
	"a global-scope grant": createGrant(provider.GrantInput{Subject: "everyone", Pattern: "docs.*"}),
	"a global-scope grant ": func(ctx context.Context, a *application.Application) error {
		return a.DeleteGrant(ctx, "g-global", root)
	},
	"a global-scope revoke": createRevoke(provider.RevokeInput{UserID: "u", Pattern: "docs.*"}),
	"a global-scope revoke ": func(ctx context.Context, a *application.Application) error {
		return a.DeleteRevoke(ctx, "v-global", root)
	},
	"a role definition": createRole(provider.RoleInput{Name: "r"}),
	"a role definition ": func(ctx context.Context, a *application.Application) error {
		_, err := a.UpdateRole(ctx, "reader", provider.RoleUpdate{Name: ptr("x")}, root)
		return err
	},
	"a role definition  ": func(ctx context.Context, a *application.Application) error { return a.DeleteRole(ctx, "none", root) },
	"a user group":        createGroup(provider.GroupInput{Name: "g"}),
	"a user group ": func(ctx context.Context, a *application.Application) error {
		_, err := a.UpdateGroup(ctx, "a", provider.GroupUpdate{Name: ptr("x")}, root)
		return err
	},
	"a user group  ":  func(ctx context.Context, a *application.Application) error { return a.DeleteGroup(ctx, "c", root) },
	"group parentage": setParents("a"),
	"group membership": func(ctx context.Context, a *application.Application) error {
		return a.SetGroupMembership(ctx, "u", nil, root)
	},
	"user provisioning": func(ctx context.Context, a *application.Application) error {
		return a.SetUserActive(ctx, "u", false, root)
	},
	"a reporting edge": func(ctx context.Context, a *application.Application) error {
		return a.SetReportingEdge(ctx, "u", "boss", root)
	},
	"directory ingestion":                    importing(directory.Snapshot{}),
	"a virtual parent":                       dissolve("b", root),
	"offboarding a user":                     deleteSubject("user:nobody", root),
	"deleting a subject's global-scope rows": deleteSubject("group:b", root),
	"sweeping global-scope rows":             reconcile(provider.Reconciliation{Sweep: true, Provenance: root, UserExists: nothing()}),
}

func TestOrganizationalWritesBelongToTheOrgRoot(t *testing.T) {
	for noun, do := range gated {
		t.Run(noun, func(t *testing.T) {
			store := openStore(t)
			seed(t, store)
			app := newApp(t, application.Options{Store: store, OrgRoot: ptr(false)})
			before := everything(t, store)
			err := do(t.Context(), app)
			want := strings.TrimSpace(noun) + " is organizational-domain data: this Application is not the org root and holds it as a read model"
			if authz.CodeOf(err) != authz.CodeNotOrgRoot || err.Error() != want {
				t.Fatalf("got %v, want %q", err, want)
			}
			if diff := cmp.Diff(before, everything(t, store), unexported); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestInstanceScopedRowsStayWritableOnANonRoot(t *testing.T) {
	store := openStore(t)
	seed(t, store)
	app := newApp(t, application.Options{Store: store, OrgRoot: ptr(false)})
	must(t, createGrant(provider.GrantInput{Subject: "everyone", RoleID: "reader", Scope: "docs.doc:2"})(t.Context(), app))
	must(t, createRevoke(provider.RevokeInput{UserID: "u", Pattern: "docs.*", Scope: "docs.doc:2"})(t.Context(), app))
	must(t, app.DeleteGrant(t.Context(), "g-doc", root))
	must(t, deleteScope("docs.doc:2", root)(t.Context(), app))
	must(t, deleteSubject("group:a", root)(t.Context(), app))
	must(t, publishImports(`{"formatVersion":1,"namespace":"docs","imports":[]}`)(t.Context(), app))
	must(t, setScopeParents(under("docs.folder:1"))(t.Context(), app))
	must(t, app.NotifyScopeMoved(t.Context(), "docs.doc:1"))
}
