package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/authzhost/authz/examples/internal/demo/database"
	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/mesh"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// admin is who administers the company.
var admin = authz.AdminProvenance("m.reyes")

// vocabularies are what each application may ask about.
var vocabularies = map[string]*catalog.Catalog{
	"docs": define(`
namespaces: [docs]
permissions: {docs.files.read: true}
imports: {billing: {permissions: {billing.invoices.read: true}}}
`),
	"billing": define(`
namespaces: [billing]
permissions: {billing.invoices.read: true, billing.invoices.delete: true}
`),
	"hq": define(`
namespaces: [hq]
permissions: {hq.people.read: true}
`),
}

// registry says who belongs to the mesh, and who may reach whom.
var registry = mesh.Put{
	Members: []authz.MeshMember{
		{Partition: "docs", Namespaces: []string{"docs"}},
		{Partition: "billing", Namespaces: []string{"billing"}},
		{Partition: "hq", Namespaces: []string{"hq"}},
	},
	Edges: []authz.MeshEdge{
		{From: "docs", To: "billing", Mode: authz.MeshRead},
		{From: "hq", To: "billing", Mode: authz.MeshWrite},
	},
	Expect: new(int64(0)), // there is no registry yet
}

func define(text string) *catalog.Catalog {
	in, err := catalog.ParseYAML([]byte(text))
	if err != nil {
		panic(err)
	}
	return catalog.MustDefine(in)
}

// company is the database with its three applications. Yours are in processes of their
// own: nothing here is shared but the driver.
type company struct {
	folder  string // of the database, when it ends with the program
	driver  storage.Driver
	members map[string]*member
	out     io.Writer
	err     error // the first that nobody expected
}

// member is an application with its connection to the mesh.
type member struct {
	*application.Application
	name   string
	conn   *mesh.Connection
	client *client.Client
	out    io.Writer
}

func open(ctx context.Context, at database.At, out io.Writer) (*company, error) {
	c := &company{members: map[string]*member{}, out: out}
	if err := c.begin(ctx, at); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// begin opens the database, registers the mesh and opens its members.
func (c *company) begin(ctx context.Context, at database.At) (err error) {
	if at == (database.At{}) {
		if c.folder, err = os.MkdirTemp("", "authz-mesh-"); err != nil {
			return err
		}
		at.File = filepath.Join(c.folder, "company.db")
	}
	if c.driver, err = database.Open(ctx, at); err != nil {
		return err
	}
	for name := range vocabularies {
		conn, err := mesh.Connect(mesh.Options{Partition: name, Open: c.driver.Open, Driver: c.driver.Info(), IDs: numbered(name + "-visit")})
		if err != nil {
			return err
		}
		c.members[name] = &member{name: name, conn: conn, out: c.out}
	}
	if _, err := c.members["hq"].conn.PutRegistry(ctx, registry, admin); err != nil {
		return err
	}
	for _, m := range c.members {
		if err := m.start(ctx); err != nil {
			return err
		}
	}
	// Somebody has to administer the organization in the end.
	_, err = c.members["hq"].CreateGrant(ctx, provider.GrantInput{Subject: "user:m.reyes", Pattern: "authz_internal.*"}, admin)
	return err
}

// start does what a host does with mesh.enabled and mesh.imports.
func (m *member) start(ctx context.Context) error {
	own, err := m.conn.Storage(ctx)
	if err != nil {
		return err
	}
	vocabulary := vocabularies[m.name]
	store := m.conn.Member(own, vocabulary, mesh.MemberOptions{Imports: true})
	m.Application, err = application.New(ctx, application.Options{
		Name: m.name, Catalog: vocabulary, Store: store, Log: store.Log, Elsewhere: store.Elsewhere, IDs: numbered(m.name),
	})
	if err != nil {
		return err
	}
	if m.client, err = client.New(client.Options{Provider: m, Catalog: vocabulary, Strict: true}); err != nil {
		return err
	}
	document, err := vocabulary.Document()
	if err != nil {
		return err
	}
	_, err = m.PublishCatalog(ctx, document, admin)
	return err
}

// numbered makes ids that a reader of the output can tell apart.
func numbered(prefix string) func() string {
	var last atomic.Int64
	return func() string { return fmt.Sprintf("%s-%d", prefix, last.Add(1)) }
}

// close ends the applications, then their stores, then the driver.
func (c *company) close() {
	for _, m := range c.members {
		if m.client != nil {
			m.client.Close()
		}
		if m.Application != nil {
			_ = m.Application.Close() // ends background work, which cannot fail
		}
		_ = m.conn.Close() // nothing is written any more
	}
	if c.driver != nil {
		_ = c.driver.Close()
	}
	if c.folder != "" {
		_ = os.RemoveAll(c.folder)
	}
}

// plan asks what a promotion has to be told. Here that is which rows may speak for the
// whole company: what reaches beyond its application is narrowed to it, where something
// of it is left then.
func (c *company) plan(ctx context.Context, hq *member) (*authz.PromotionConflictError, map[string]authz.Resolution, error) {
	_, err := hq.conn.PromoteOrgPartition(ctx, mesh.Promote{DryRun: true}, admin)
	var plan *authz.PromotionConflictError
	if !errors.As(err, &plan) {
		return nil, nil, fmt.Errorf("the plan has no conflicts: %w", err)
	}
	answers := map[string]authz.Resolution{}
	for _, conflict := range plan.Conflicts {
		action := authz.ActionAccept
		if len(conflict.Narrowed) > 0 {
			action = authz.ActionNarrow
		}
		answers[conflict.ID] = authz.Resolution{Action: action}
		c.says(fmt.Sprintf("%s: %s", conflict.ID, action))
	}
	return plan, answers, nil
}

// explain prints an answer with the rows that decided it.
func (m *member) explain(ctx context.Context, user, key string) error {
	// A host looks at the logs of the mesh every 5 s. A demonstration does not wait: it
	// looks now, and a registry that has moved is read anew.
	if _, err := m.EventLog().Head(ctx); err != nil {
		return err
	}
	e, err := m.client.Explain(ctx, authz.UserPrincipal(user), key, "*")
	if err != nil {
		return err
	}
	fmt.Fprintf(m.out, "%s: may %s %s? %t", m.name, user, key, e.Allowed)
	for _, g := range e.MatchedGrants {
		fmt.Fprintf(m.out, ", by grant %s", g.ID)
	}
	if !e.Active {
		fmt.Fprint(m.out, ", because the user is inactive")
	}
	fmt.Fprintln(m.out)
	return nil
}

// audited prints what the audit log keeps of a row.
func (m *member) audited(ctx context.Context, row string) error {
	for entry, err := range m.ListAuditEvents(ctx, provider.AuditQuery{}) {
		if err != nil {
			return err
		}
		if entry.Target == row {
			fmt.Fprintf(m.out, "%s's audit log: %s %s %s\n", m.name, entry.Actor, entry.Action, row)
			return nil
		}
	}
	return fmt.Errorf("%s is in no audit log", row)
}

func (c *company) says(text string) { fmt.Fprintln(c.out, text) }

// try keeps the first error.
func (c *company) try(err error) {
	if c.err == nil {
		c.err = err
	}
}

// refused prints why something was refused, as it has to be.
func (c *company) refused(err error) {
	if err == nil {
		c.try(errors.New("something was permitted that must not be"))
		return
	}
	var known authz.Error
	if !errors.As(err, &known) {
		c.try(err)
		return
	}
	fmt.Fprintf(c.out, "refused: %s: %v\n", known.ErrorCode(), err)
}

// create is the error of a creation.
func create[Row any](_ Row, err error) error { return err }
