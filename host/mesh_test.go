package host_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/host"
	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/host/mesh"
	"github.com/authzhost/authz/plugins/postgres/postgres"
	"github.com/authzhost/authz/plugins/postgres/postgrestest"
	"github.com/authzhost/authz/plugins/sqlite/sqlite"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// meshCatalogs are those of the members; docs imports one key of billing.
var meshCatalogs = map[string]string{
	"docs":    "namespaces: [docs]\npermissions: {docs.files.read: true}\nimports: {billing: {permissions: {billing.invoices.read: true}}}\n",
	"billing": "namespaces: [billing]\npermissions: {billing.invoices.read: true, billing.invoices.void: true}\n",
	"hq":      "namespaces: [hq]\npermissions: {hq.people.read: true}\n",
}

// TestMembersInHostsOfTheirOwn runs each member of a mesh in a host of its own, with a
// plugin process of its own, over one database.
func TestMembersInHostsOfTheirOwn(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		buildPlugin(t, "sqlite")
		path := filepath.Join(t.TempDir(), "mesh.db")
		driver, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		membersInHosts(t, driver, "{plugin: sqlite, config: {path: "+path+"}}")
	})
	t.Run("postgres", func(t *testing.T) {
		dsn := postgrestest.Database(t)
		buildPlugin(t, "postgres")
		driver, err := postgres.New(t.Context(), postgres.Options{DSN: dsn})
		if err != nil {
			t.Fatal(err)
		}
		membersInHosts(t, driver, "{plugin: postgres, config: {dsn: \""+dsn+"\"}}")
	})
}

type meshMember struct {
	host *host.Host
	app  *provider.Hosted
}

// openMember starts the host of one member.
func openMember(t *testing.T, name, plugin, options string) (meshMember, error) {
	t.Helper()
	dir := filepath.Dir(configFile(t, ""))
	write(t, filepath.Join(dir, "catalog.yaml"), meshCatalogs[name])
	path := filepath.Join(dir, "authz.yaml")
	write(t, path, `
listen: 127.0.0.1:0
ops_listen: 127.0.0.1:0
run_dir: run
plugin_dirs: [`+plugins+`]
plugins: {main: `+plugin+`}
applications:
  `+name+`:
    catalog: catalog.yaml
    storage: {driver: main, partition: `+name+`}
    provider: {secret: "file:secret"}
    mesh: {enabled: true`+options+`}
`)
	cfg, err := config.Load(config.Source{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.Open(t.Context(), cfg, host.Options{Version: "test", Logger: hclog.NewNullLogger()})
	if err != nil {
		return meshMember{}, err
	}
	t.Cleanup(func() { closeHost(t, h) })
	app, err := provider.NewHosted(provider.HostedOptions{URL: "http://" + h.Address(), Secret: testSecret})
	if err != nil {
		t.Fatal(err)
	}
	return meshMember{h, app}, nil
}

func membersInHosts(t *testing.T, driver storage.Driver, plugin string) {
	t.Cleanup(func() { _ = driver.Close() })
	conn, err := mesh.Connect(mesh.Options{Partition: "hq", Driver: driver.Info(), Open: driver.Open})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	admin := authz.AdminProvenance("m.reyes")
	if _, err := openMember(t, "billing", plugin, ""); err == nil || !strings.Contains(err.Error(), "no_registry") {
		t.Fatalf("a member starts without a registry: %v", err)
	}
	if _, err := conn.PutRegistry(t.Context(), mesh.Put{
		Members: []authz.MeshMember{{Partition: "docs", Namespaces: []string{"docs"}}, {Partition: "billing", Namespaces: []string{"billing"}}, {Partition: "hq", Namespaces: []string{"hq"}}},
		Edges:   []authz.MeshEdge{{From: "docs", To: "billing", Mode: authz.MeshRead}},
	}, admin); err != nil {
		t.Fatal(err)
	}
	started := func(name, options string) meshMember {
		t.Helper()
		m, err := openMember(t, name, plugin, options)
		if err != nil {
			t.Fatal(err)
		}
		published, err := m.app.GetPublishedCatalog(t.Context())
		if err == nil && published == nil {
			app, _ := m.host.Application(name)
			document, documentErr := app.Catalog().Document()
			if documentErr != nil {
				t.Fatal(documentErr)
			}
			_, err = m.app.PublishCatalog(t.Context(), document, admin)
		}
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	if _, err := openMember(t, "docs", plugin, ", imports: true"); err == nil || !strings.Contains(err.Error(), "peer_not_published") {
		t.Errorf("imports of an owner that has published nothing: %v", err)
	}
	billing, hq := started("billing", ""), started("hq", "")
	file := billing.host.ReloadCatalogs(t.Context(), admin)[0].File
	write(t, file, strings.Replace(meshCatalogs["billing"], "permissions: {", "permissions: {billing.grown.read: true, ", 1))
	if list := billing.host.ReloadCatalogs(t.Context(), admin); !strings.Contains(list[0].Refused, "is in a mesh") {
		t.Errorf("a member's catalog that grows: %+v", list)
	}
	if _, err := openMember(t, "docs", plugin, ", verify: {write: [billing]}"); err == nil || !strings.Contains(err.Error(), "no_mesh_edge") {
		t.Errorf("a member starts without the edge that it needs: %v", err)
	}
	docs := started("docs", ", imports: true")
	view, err := docs.app.GetMesh(t.Context())
	if err != nil || view == nil || view.Partition != "docs" || len(view.Registry.Members) != 3 {
		t.Errorf("%+v %v", view, err)
	}

	asks := func(m meshMember, name, user, key string) bool {
		t.Helper()
		app, _ := m.host.Application(name)
		allowed, err := app.Client().Can(t.Context(), authz.UserPrincipal(user), key, "*")
		if err != nil {
			t.Fatal(err)
		}
		return allowed
	}
	const read = "billing.invoices.read"
	if asks(docs, "docs", "jane", read) {
		t.Fatal("allowed without a row")
	}
	grant, err := billing.app.CreateGrant(t.Context(), provider.GrantInput{Subject: "user:jane", Pattern: "billing.*", Scope: "*"}, admin)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the importing member allows by the owner's grant", func() bool { return asks(docs, "docs", "jane", read) })
	app, _ := docs.host.Application("docs")
	explained, err := app.Client().Explain(t.Context(), authz.UserPrincipal("jane"), read, "*")
	if err != nil || len(explained.MatchedGrants) != 1 || explained.MatchedGrants[0].ID != "mesh:billing:"+grant.ID {
		t.Errorf("%+v %v", explained, err)
	}
	told, err := app.Explain(t.Context(), &provider.Explain{Principal: authz.UserPrincipal("john"), Key: read})
	if err != nil || told.Near == nil || told.Near.LentBy != "billing" || len(told.Near.Roles) > 0 {
		t.Errorf("what would allow an imported key: %+v %v", told.Near, err)
	}
	if told, err = app.Explain(t.Context(), &provider.Explain{Principal: authz.UserPrincipal("john"), Key: "docs.files.read"}); err != nil || told.Near.LentBy != "" {
		t.Errorf("of an own key: %+v %v", told.Near, err)
	}
	if _, err := billing.app.CreateRevoke(t.Context(), provider.RevokeInput{UserID: "jane", Pattern: read, Scope: "*"}, admin); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the owner's revoke is seen", func() bool { return !asks(docs, "docs", "jane", read) })

	// A member's host that dies takes nobody else with it.
	closing, cancel := context.WithCancel(context.Background())
	cancel()
	_ = billing.host.Close(closing)
	if asks(docs, "docs", "jane", read) || asks(docs, "docs", "jane", "docs.files.read") {
		t.Error("another member's host that ended changed an answer")
	}
	billing = started("billing", "")

	if _, err := hq.app.CreateGrant(t.Context(), provider.GrantInput{Subject: "user:boss", Pattern: "*", Scope: "*"}, admin); err != nil {
		t.Fatal(err)
	}
	promoted := mesh.Promote{To: "hq"}
	if _, err = conn.PromoteOrgPartition(t.Context(), promoted, admin); err != nil {
		conflict, ok := err.(*authz.PromotionConflictError)
		if !ok {
			t.Fatal(err)
		}
		promoted.Fingerprint, promoted.Resolutions = conflict.Fingerprint, map[string]authz.Resolution{}
		for _, c := range conflict.Conflicts {
			promoted.Resolutions[c.ID] = authz.Resolution{Action: authz.ActionAccept}
		}
		_, err = conn.PromoteOrgPartition(t.Context(), promoted, admin)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := docs.app.SetUserActive(t.Context(), "x", false, admin); authz.CodeOf(err) != authz.CodeNotOrgRoot {
		t.Errorf("a member's host still writes as a root: %v", err)
	}
	eventually(t, "the members read the organization where it lives", func() bool {
		return asks(docs, "docs", "boss", "docs.files.read") && asks(billing, "billing", "boss", "billing.invoices.void")
	})
	if asks(docs, "docs", "jane", read) {
		t.Error("a revoke was lost on the way")
	}
	app, _ = billing.host.Application("billing")
	if found, err := app.ReconcileRows(t.Context(), provider.Reconciliation{}); err != nil || found.Superseded == 0 {
		t.Errorf("what is left of the organization is not told: %+v %v", found, err)
	}
	if err := hq.app.SetUserActive(t.Context(), "boss", false, admin); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a deactivation at the org partition is seen", func() bool { return !asks(docs, "docs", "boss", "docs.files.read") })
	started("docs", ", imports: true, org_root: false") // as it is after a restart
}
