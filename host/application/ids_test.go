package application_test

import (
	"strings"
	"testing"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

func TestNewIDsHoldNoControlCharacters(t *testing.T) {
	app := newApp(t, application.Options{})
	ctx := t.Context()
	for _, bad := range []string{"a\nb", "a\x1b[2J", "a\x7f", "a\u0085b", "a\xffb"} {
		for op, do := range map[string]func() error{
			"role": func() error {
				_, err := app.CreateRole(ctx, provider.RoleInput{ID: &bad, Name: "R", Patterns: []string{}}, root)
				return err
			},
			"group": func() error {
				_, err := app.CreateGroup(ctx, provider.GroupInput{ID: &bad, Name: "G"}, root)
				return err
			},
			"active":     func() error { return app.SetUserActive(ctx, bad, false, root) },
			"manager":    func() error { return app.SetReportingEdge(ctx, "u", bad, root) },
			"managed":    func() error { return app.SetReportingEdge(ctx, bad, "", root) },
			"membership": func() error { return app.SetGroupMembership(ctx, bad, nil, root) },
			"grant": func() error {
				_, err := app.CreateGrant(ctx, provider.GrantInput{Subject: "user:" + bad, Pattern: "docs.*"}, root)
				return err
			},
			"service": func() error {
				_, err := app.CreateGrant(ctx, provider.GrantInput{Subject: "service:" + bad, Pattern: "docs.*"}, root)
				return err
			},
			"grant scope": func() error {
				_, err := app.CreateGrant(ctx, provider.GrantInput{Subject: "user:u", Pattern: "docs.*", Scope: "docs.doc:" + bad}, root)
				return err
			},
			"grants": func() error {
				_, err := app.CreateGrants(ctx, []provider.GrantInput{{Subject: "org:" + bad, Pattern: "docs.*"}}, root)
				return err
			},
			"revoke": func() error {
				_, err := app.CreateRevoke(ctx, provider.RevokeInput{UserID: bad, Pattern: "docs.*"}, root)
				return err
			},
			"revoke at": func() error {
				_, err := app.CreateRevoke(ctx, provider.RevokeInput{UserID: "u", Pattern: "docs.*", Scope: "docs.doc:" + bad}, root)
				return err
			},
			"request": func() error {
				_, err := app.SubmitRequest(ctx, provider.RequestInput{RequesterUserID: bad, Pattern: "docs.*"})
				return err
			},
			"person": func() error {
				_, err := app.ImportDirectory(ctx, directory.Snapshot{Users: []directory.User{{UserID: bad}}}, "hr", directory.Options{})
				return err
			},
			"member": func() error {
				_, err := app.ImportDirectory(ctx, directory.Snapshot{Memberships: map[string][]string{bad: {}}}, "hr", directory.Options{})
				return err
			},
			"org": func() error {
				_, err := app.ImportDirectory(ctx, directory.Snapshot{Orgs: map[string][]string{"u": {bad}}}, "hr", directory.Options{})
				return err
			},
			"directory's group": func() error {
				_, err := app.ImportDirectory(ctx, directory.Snapshot{Groups: []directory.Group{{ID: bad, Name: "G"}}}, "hr", directory.Options{})
				return err
			},
		} {
			err := do()
			if authz.CodeOf(err) != authz.CodeValidation || !strings.Contains(err.Error(), "control characters") && !strings.Contains(err.Error(), "UTF-8") {
				t.Errorf("%s %q: %v", op, bad, err)
			}
		}
	}
}

func TestStoredIDsWithControlCharactersStayReadableAndDeletable(t *testing.T) {
	store := openStore(t)
	ctx := t.Context()
	app := newApp(t, application.Options{Store: store})
	bad := "a\nb"
	for id, change := range map[string]storage.Change{
		"1": storage.UpsertRole{Role: authz.Role{ID: bad, Name: "R", Patterns: []string{"docs.*"}}},
		"2": storage.UpsertGroup{Group: authz.Group{ID: bad, Name: "G"}},
		"3": storage.PatchUser{UserID: bad, Active: ptr(true), GroupIDs: &[]string{bad}},
		"4": storage.InsertGrant{Grant: authz.Grant{ID: bad, Subject: "user:" + bad, RoleID: bad, Scope: "docs.doc:" + bad, Provenance: root, CreatedAt: now}},
		"5": storage.InsertGrant{Grant: authz.Grant{ID: "g5", Subject: "user:" + bad, Pattern: "docs.*", Scope: "*", Provenance: root, CreatedAt: now}},
		"6": storage.InsertRevoke{Revoke: authz.Revoke{ID: bad, UserID: bad, Pattern: "docs.*", Scope: "docs.doc:" + bad, Provenance: root, CreatedAt: now}},
	} {
		_, err := store.Commit(ctx, storage.Commit{ID: "old" + id, At: now, Changes: []storage.Change{change}})
		must(t, err)
	}
	access, err := app.GetSubjectAccess(ctx, authz.UserPrincipal(bad))
	must(t, err)
	if len(access.Grants) != 2 || len(access.Revokes) != 1 {
		t.Errorf("access: %+v", access)
	}
	// What is stored may still be switched off, told by a directory, and taken away.
	must(t, app.SetUserActive(ctx, bad, false, root))
	must(t, app.SetGroupMembership(ctx, bad, nil, root))
	_, err = app.ImportDirectory(ctx, directory.Snapshot{Users: []directory.User{{UserID: bad}}}, "hr", directory.Options{})
	must(t, err)
	must(t, app.DeleteRevoke(ctx, bad, root))
	must(t, app.DeleteGrant(ctx, bad, root))
	_, err = app.DeleteScope(ctx, "docs.doc:"+bad, root)
	must(t, err)
	must(t, app.DeleteRole(ctx, bad, root))
	must(t, app.DeleteGroup(ctx, bad, root))
	_, err = app.DeleteSubject(ctx, "user:"+bad, root)
	must(t, err)
	if got := rows(t, store.ListGrants(ctx, storage.GrantFilter{}, storage.Page{})); len(got) != 0 {
		t.Errorf("left: %+v", got)
	}
}
