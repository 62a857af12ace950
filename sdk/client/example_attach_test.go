package client_test

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/authztest"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/provider"
)

// newClient makes the client of a program that runs beside its host.
func newClient(ctx context.Context, url, secretFile, catalogFile string) (*client.Client, error) {
	secret, err := os.ReadFile(secretFile) // one of provider.read_secrets
	if err != nil {
		return nil, err
	}
	hosted, err := provider.NewHosted(provider.HostedOptions{URL: url, Secret: strings.TrimSpace(string(secret))})
	if err != nil {
		return nil, err
	}
	input, err := catalog.Load(catalogFile) // the host's own
	if err != nil {
		return nil, err
	}
	vocabulary, err := catalog.Build(input)
	if err != nil {
		return nil, err
	}
	c, err := client.New(client.Options{Provider: hosted, Catalog: vocabulary, UnknownScopeTypes: client.ScopeTypeError})
	if err != nil {
		return nil, err
	}
	// A host that is away, and a secret that is wrong or opens too little, show now.
	if _, err := c.HeldKeys(ctx, authz.ServicePrincipal("start")); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// record says where a page lies that was created, and forgets one that is gone.
func record(ctx context.Context, app provider.Provider, page, project string, who authz.Principal, gone bool) error {
	by := authz.AdminProvenance(who.UserID) // in the audit log
	if !gone {
		_, err := app.SetScopeParents(ctx, []provider.ScopeParents{{Scope: page, Parents: &[]string{project}}}, by)
		return err
	}
	if _, err := app.DeleteScope(ctx, page, by); err != nil { // the rows at it
		return err
	}
	_, err := app.SetScopeParents(ctx, []provider.ScopeParents{{Scope: page}}, by) // and where it lay
	return err
}

func TestAProgramAttachesAndRecords(t *testing.T) {
	const vocabulary = "namespaces: [notes]\nscopeTypes:\n  notes.project: {}\n  notes.page: {parent: notes.project}\n" +
		"permissions:\n  notes.pages.read: {scopes: [notes.project, notes.page]}\n"
	ctx, dir, ann := context.WithoutCancel(t.Context()), t.TempDir(), authz.UserPrincipal("ann")
	app := authztest.New(t, authztest.ParseCatalog(t, vocabulary), "grant user:ann notes.pages.read notes.project:p").Provider().(*application.Application)
	handler, err := api.NewProviderHandler(api.ProviderOptions{Application: app, ApplicationID: "notes",
		Secrets: func() []string { return nil },
		Limited: func() api.Limited {
			return api.Limited{Read: []string{"a-secret-that-reads"}, Check: []string{"a-secret-that-checks"}}
		}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	cat := write("catalog.yaml", vocabulary)
	for secret, told := range map[string]string{"a-secret-that-checks": "provider.read_secrets", "another-secret": "unauthorized"} {
		if _, err := newClient(ctx, server.URL, write("secret", secret), cat); err == nil || !strings.Contains(err.Error(), told) {
			t.Errorf("%s: %v", secret, err)
		}
	}
	c, err := newClient(ctx, server.URL, write("secret", "a-secret-that-reads\n"), cat)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	for _, gone := range []bool{false, true} {
		if err := record(ctx, app, "notes.page:new", "notes.project:p", ann, gone); err != nil {
			t.Fatal(err)
		}
		if may, err := c.CanFresh(ctx, ann, "notes.pages.read", "notes.page:new"); may == gone || (err != nil) != gone {
			t.Errorf("a page that is gone (%v) may be read: %v, %v", gone, may, err)
		}
	}
}
