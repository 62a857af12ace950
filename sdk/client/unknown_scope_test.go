package client_test

import (
	"context"
	"errors"
	"testing"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/authztest"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/provider"
)

// A caller may take an unknown scope for a resource that does not exist. So it is told of
// the scope that was asked about alone: not of one above it, nor of one at which a row is.
func TestAnUnknownScopeIsTheOneThatWasAskedAbout(t *testing.T) {
	for name, attach := range map[string]func(*testing.T, client.Source) client.Source{"local": local, "hosted": hosted} {
		t.Run(name, func(t *testing.T) {
			ctx, ann := context.WithoutCancel(t.Context()), authz.UserPrincipal("ann")
			cat := authztest.ParseCatalog(t, `{"namespaces":["docs"],"scopeTypes":{"docs.folder":{"parent":"docs.folder"},"docs.book":{"parent":"docs.folder"},"docs.page":{"parent":"docs.book"}},
				"permissions":{"docs.files.read":{"scopes":["docs.folder","docs.book","docs.page"],"impliedOnAncestors":true}}}`)
			app := authztest.New(t, cat, `
				scope docs.page:adrift parents docs.book:lost
				grant user:ann docs.files.read docs.page:gone`).Provider().(*application.Application)
			forget := []provider.ScopeParents{{Scope: "docs.book:lost"}, {Scope: "docs.page:gone"}}
			if _, err := app.SetScopeParents(ctx, forget, authz.AdminProvenance("test")); err != nil {
				t.Fatal(err)
			}
			c, err := client.New(client.Options{Provider: attach(t, app), Catalog: cat})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			for scope, unknown := range map[string]string{
				"docs.page:nosuch": "docs.page:nosuch",
				"docs.page:adrift": "", // of which the book is unknown
				"docs.folder:1":    "", // where a grant below could imply the key
			} {
				for shape, ask := range map[string]func() error{
					"Can":      func() error { _, err := c.Can(ctx, ann, "docs.files.read", scope); return err },
					"CanFresh": func() error { _, err := c.CanFresh(ctx, ann, "docs.files.read", scope); return err },
					"Explain":  func() error { _, err := c.Explain(ctx, ann, "docs.files.read", scope); return err },
				} {
					err := ask()
					if authz.CodeOf(err) != authz.CodeUnsupported {
						t.Errorf("%s at %s: %v", shape, scope, err)
					}
					told := ""
					if e := new(authz.UnknownScopeError); errors.As(err, &e) {
						told = e.Scope
					}
					if told != unknown {
						t.Errorf("%s at %s names the unknown scope %q, want %q", shape, scope, told, unknown)
					}
				}
			}
		})
	}
}
