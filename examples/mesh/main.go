// Mesh shows three applications of one company over one database: docs, billing and
// hq. Each has a partition of its own. The registry of the mesh says who may reach
// whom. docs imports a key of billing's, and billing's rows decide it. hq writes into
// billing through an edge, by billing's rules. In the end hq takes over the people,
// roles and global grants of all three.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/authzhost/authz/examples/internal/demo/database"
	"github.com/authzhost/authz/host/mesh"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

func main() {
	var at database.At
	flag.StringVar(&at.File, "db", "", "a file for SQLite, without a mesh; none is one for the time of the run")
	flag.StringVar(&at.DSN, "dsn", "", "a PostgreSQL database without a mesh, instead")
	flag.Parse()
	if err := tour(context.Background(), at, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func tour(ctx context.Context, at database.At, out io.Writer) error {
	c, err := open(ctx, at, out)
	if err != nil {
		return err
	}
	defer c.close()
	docs, billing, hq := c.members["docs"], c.members["billing"], c.members["hq"]

	c.says("The company is in " + c.driver.Info().Name + ".")
	c.says("1. The rows of an owner decide what others import of it.")
	c.try(docs.explain(ctx, "jane", "billing.invoices.read"))
	c.try(create(billing.CreateRole(ctx, provider.RoleInput{ID: new("auditor"), Name: "Auditor", Patterns: []string{"billing.*"}}, admin)))
	c.try(create(billing.CreateGrant(ctx, provider.GrantInput{Subject: "user:jane", RoleID: "auditor"}, admin)))
	c.try(create(billing.CreateGrant(ctx, provider.GrantInput{Subject: "user:ada", Pattern: "*"}, admin)))
	c.try(docs.explain(ctx, "jane", "billing.invoices.read"))
	c.try(docs.explain(ctx, "ada", "docs.files.read")) // no owner reaches keys of docs'

	c.says("2. Writing at a neighbour takes an edge, and is the neighbour's own operation.")
	_, err = docs.conn.OpenPeer(ctx, "billing", mesh.PeerOptions{As: "m.reyes", Mode: authz.MeshWrite})
	c.refused(err)
	peer, err := hq.conn.OpenPeer(ctx, "billing", mesh.PeerOptions{As: "m.reyes"})
	if err != nil {
		return err
	}
	row, err := peer.CreateGrant(ctx, provider.GrantInput{Subject: "user:bob", Pattern: "billing.invoices.*"}, admin)
	c.try(err)
	c.try(billing.audited(ctx, row.ID))
	_, err = peer.CreateGrant(ctx, provider.GrantInput{Subject: "user:bob", Pattern: "docs.files.read"}, admin)
	c.refused(err) // billing does not know it

	c.says("3. hq takes over the organization, and each member reads it there.")
	plan, answers, err := c.plan(ctx, hq)
	if err != nil {
		return err
	}
	done, err := hq.conn.PromoteOrgPartition(ctx, mesh.Promote{Resolutions: answers, Fingerprint: plan.Fingerprint}, admin)
	if err != nil {
		return err
	}
	c.says(fmt.Sprintf("moved to %s: %d role, %d global grants", done.Registry.Org.Partition, done.Moved.Roles, done.Moved.GlobalGrants))
	c.try(docs.explain(ctx, "ada", "docs.files.read")) // her row was narrowed to billing's keys
	c.refused(billing.SetUserActive(ctx, "jane", false, admin))
	c.try(docs.explain(ctx, "jane", "billing.invoices.read"))
	c.try(hq.SetUserActive(ctx, "jane", false, admin))
	c.try(docs.explain(ctx, "jane", "billing.invoices.read"))
	c.try(billing.explain(ctx, "jane", "billing.invoices.read"))
	return c.err
}
