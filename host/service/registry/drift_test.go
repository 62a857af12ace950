package registry_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/service/registry"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/provider"
)

const docsCatalog = `{"namespaces":["docs"],"permissions":{"docs.files.read":true,"docs.files.write":true,"docs.old.read":true,"docs.new.read":true},
	"imports":{"zoom":{"permissions":{"zoom.breakout.manage":true,"zoom.rooms.read":true,"zoom.polls.*":true}}}}`

const day = 24 * 60 * 60 * 1000

func TestDriftNamesWhatRowsAndImportsStillMean(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	for _, id := range []string{"docs", "mute", "zoom"} {
		w.Register(id, id)
	}
	docs, mute := w.serve("docs", docsCatalog), w.serve("mute", `{"namespaces":["mute"],"permissions":{"mute.a.read":true}}`)
	mute.Instead(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusTeapot) })

	w.published("docs", document(t, []string{"docs"}, "docs.files.read", "docs.files.write", "docs.old.read"))
	w.published("docs", document(t, []string{"docs"}, "docs.files.read"))
	gone := w.Clock.Load()
	w.published("zoom", document(t, []string{"zoom"}, "zoom.breakout.manage", "zoom.rooms.read", "zoom.polls.read"))
	w.published("zoom", document(t, []string{"zoom"}, "zoom.rooms.read", "zoom.polls.read"))

	prov := authz.AdminProvenance("root")
	role := func(id string, patterns ...string) {
		t.Helper()
		_, err := docs.App.CreateRole(ctx, provider.RoleInput{ID: &id, Name: "Role " + id, Patterns: patterns}, prov)
		w.Must(err)
	}
	role("current", "docs.files.read", "docs.*", "*", "authz_internal.access.read", "zoom.rooms.read")
	role("stale", "docs.files.write", "docs.files.read", "docs.old.*", "docs.new.read")
	grant := func(in provider.GrantInput) authz.Grant {
		t.Helper()
		g, err := docs.App.CreateGrant(ctx, in, prov)
		w.Must(err)
		return g
	}
	grant(provider.GrantInput{Subject: "user:u_1", Pattern: "docs.files.*"})
	grant(provider.GrantInput{Subject: "user:u_1", RoleID: "stale"})
	stale := grant(provider.GrantInput{Subject: "user:u_2", Pattern: "docs.old.read"})
	in, err := catalog.ParseJSON([]byte(docsCatalog))
	w.Must(err)
	built, err := catalog.Build(in)
	w.Must(err)
	manifest, err := built.Manifest()
	w.Must(err)
	_, err = docs.App.PublishImports(ctx, manifest, prov)
	w.Must(err)

	w.Clock.Add(30 * day)
	got, err := w.Drift(ctx, "acme")
	w.Must(err)
	want := registry.Drift{GeneratedAt: w.Clock.Load(),
		Roles: []registry.RoleDrift{{Application: "docs", RoleID: "stale", Name: "Role stale", Missing: []registry.Missing{
			{Pattern: "docs.files.write", Reason: registry.Tombstoned, Since: &gone},
			{Pattern: "docs.old.*", Reason: registry.Tombstoned, Since: &gone},
			{Pattern: "docs.new.read", Reason: registry.Unpublished}}}},
		Grants: []registry.GrantDrift{{Application: "docs", GrantID: stale.ID, Subject: "user:u_2", Scope: "*", Missing: []registry.Missing{
			{Pattern: "docs.old.read", Reason: registry.Tombstoned, Since: &gone}}}},
		Imports: []registry.ImportDrift{{Application: "docs", Namespace: "zoom", Pattern: "zoom.breakout.manage", TombstonedAt: gone,
			Message: `Application "docs" imports zoom.breakout.manage, tombstoned 30 days ago.`}},
		Unavailable: []registry.Unavailable{{Application: "mute", Code: "application_protocol_error"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	other, err := w.Drift(ctx, "other")
	w.Must(err)
	if diff := cmp.Diff(registry.Drift{GeneratedAt: w.Clock.Load(), Roles: []registry.RoleDrift{}, Grants: []registry.GrantDrift{},
		Imports: []registry.ImportDrift{}, Unavailable: []registry.Unavailable{}}, other); diff != "" {
		t.Error(diff)
	}
}
