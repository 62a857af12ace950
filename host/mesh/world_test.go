package mesh_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/mesh"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

var admin = authz.AdminProvenance("m.reyes")

// world is one database with a mesh of applications.
type world struct {
	*testing.T
	driver storage.Driver
	info   storage.DriverInfo
	clock  func() int64 // of connections; nil is the wall clock
}

func newWorld(t *testing.T) *world {
	d := memory.New(memory.Options{})
	t.Cleanup(func() { _ = d.Close() })
	return &world{T: t, driver: d, info: storage.DriverInfo{Name: "memory", CrossProcess: true}}
}

// connect is a connection of a partition, in a process of its own as far as caches go.
func (w *world) connect(partition string) *mesh.Connection {
	w.Helper()
	c, err := mesh.Connect(mesh.Options{Partition: partition, Driver: w.info, Open: w.driver.Open, Clock: w.clock})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = c.Close() })
	return c
}

// declare reads a catalog.
func (w *world) declare(text string) *catalog.Catalog {
	w.Helper()
	in, err := catalog.ParseYAML([]byte(text))
	if err != nil {
		w.Fatal(err)
	}
	c, err := catalog.Build(in)
	if err != nil {
		w.Fatal(err)
	}
	return c
}

// application opens a member's own application and publishes its catalog.
func (w *world) application(partition string, c *catalog.Catalog) *application.Application {
	w.Helper()
	s, err := w.driver.Open(w.Context(), partition)
	if err != nil {
		w.Fatal(err)
	}
	app, err := application.New(w.Context(), application.Options{Name: partition, Catalog: c, Store: s})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = app.Close() })
	document, err := c.Document()
	if err != nil {
		w.Fatal(err)
	}
	if _, err := app.PublishCatalog(w.Context(), document, admin); err != nil {
		w.Fatal(err)
	}
	return app
}

func member(partition string, namespaces ...string) authz.MeshMember {
	return authz.MeshMember{Partition: partition, Namespaces: namespaces}
}

func edge(from, to string, mode authz.MeshMode) authz.MeshEdge {
	return authz.MeshEdge{From: from, To: to, Mode: mode}
}

func (w *world) put(c *mesh.Connection, in mesh.Put) authz.Mesh {
	w.Helper()
	m, err := c.PutRegistry(w.Context(), in, admin)
	if err != nil {
		w.Fatal(err)
	}
	return m
}

// refused wants a MeshError of a code and answers it.
func refused(t testing.TB, err error, code authz.MeshCode) *authz.MeshError {
	t.Helper()
	var e *authz.MeshError
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("%v, want %s", err, code)
	}
	return e
}

func log(t testing.TB, s storage.Store) (entries []authz.AuditEntry) {
	t.Helper()
	for e, err := range s.ListAudit(t.Context(), storage.AuditFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e)
	}
	return entries
}

func actions(entries []authz.AuditEntry) string {
	var texts []string
	for _, e := range entries {
		texts = append(texts, e.Actor+" "+e.Action+" "+e.Target)
	}
	return strings.Join(texts, "\n")
}

func grants(t testing.TB, p provider.Provider) (rows []authz.Grant) {
	t.Helper()
	for g, err := range p.ListGrants(t.Context(), provider.GrantQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, g)
	}
	return rows
}

func (w *world) open(c *mesh.Connection, member string, o mesh.PeerOptions) *mesh.Peer {
	w.Helper()
	if o.As == "" {
		o.As = "m.reyes"
	}
	p, err := c.OpenPeer(w.Context(), member, o)
	if err != nil {
		w.Fatal(err)
	}
	return p
}

func (w *world) store(partition string) storage.Store {
	w.Helper()
	s, err := w.driver.Open(context.Background(), partition)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = s.Close() })
	return s
}

func ptr[T any](v T) *T { return &v }
