package main

import (
	"context"
	"fmt"
	"time"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// The world: Grants rows over users and groups, of which each measured principal is
// a member of memberships groups.
const (
	memberships = 20
	principals  = 1000 // measured in turn, so that no page is asked for twice in a row
	groups      = 2000
	batch       = 25_000

	// Catalog is the configuration's catalog.
	Catalog = `
namespaces: [docs]
scopeTypes:
  docs.folder: { parent: docs.folder }
groups:
  docs.files: {scopes: [docs.folder]}
permissions:
  docs.files.read: true
  docs.files.edit: true
  docs.files.share: true
`
)

// depths are how many recorded scopes a chain has.
var depths = []int{1, 5, 20}

func deep(depth, i int) string { return fmt.Sprintf("docs.folder:deep%d-%d", depth, i) }

func principal(n int) string { return fmt.Sprintf("p%d", n%principals) }

func groupsOf(n int) []string {
	ids := make([]string, memberships)
	for i := range ids {
		ids[i] = fmt.Sprintf("g%d", (n*7+i*97)%groups)
	}
	return ids
}

// Fill writes the world through the seam: the driver's own commits, in batches.
func Fill(ctx context.Context, store storage.Store, grants int, progress func(done, of int)) error {
	head, err := store.CountGrants(ctx, storage.GrantFilter{})
	if err != nil || head >= int64(grants) {
		return err
	}
	now := time.Now().UnixMilli()
	var changes []storage.Change
	flush := func(name string) error {
		if len(changes) == 0 {
			return nil
		}
		_, err := store.Commit(ctx, storage.Commit{ID: name, At: now, Changes: changes})
		changes = changes[:0]
		return err
	}
	for r := range 50 {
		changes = append(changes, storage.UpsertRole{Role: authz.Role{ID: fmt.Sprintf("r%d", r), Name: "role", Patterns: []string{"docs.files.read", "docs.files.edit"}}})
	}
	for g := range groups {
		changes = append(changes, storage.UpsertGroup{Group: authz.Group{ID: fmt.Sprintf("g%d", g), Name: "group"}})
	}
	for p := range principals {
		changes = append(changes, storage.UpsertUser{User: authz.User{UserID: principal(p), Active: true, GroupIDs: groupsOf(p)}})
	}
	for _, depth := range depths { // below each other, the deepest is asked about
		for i := range depth {
			above := []string{deep(depth, i+1)}
			if i == depth-1 {
				above = nil
			}
			changes = append(changes, storage.PutScopeParents{Scope: deep(depth, i), Parents: above})
		}
	}
	if err := flush("world"); err != nil {
		return err
	}
	for n := range grants {
		subject := fmt.Sprintf("user:u%d", n%200_000)
		switch {
		case n < 4*groups:
			subject = fmt.Sprintf("group:g%d", n%groups)
		case n < 4*groups+10*principals:
			subject = "user:" + principal(n)
		}
		g := authz.Grant{ID: fmt.Sprintf("grant-%07d", n), Subject: subject, Scope: fmt.Sprintf("docs.folder:f%d", n%50_000),
			Provenance: authz.AdminProvenance("bench"), CreatedAt: now}
		if n%3 == 0 {
			g.RoleID = fmt.Sprintf("r%d", n%50)
		} else {
			g.Pattern = "docs.files.read"
		}
		if changes = append(changes, storage.InsertGrant{Grant: g}); len(changes) == batch {
			if err := flush(fmt.Sprintf("grants-%d", n)); err != nil {
				return err
			}
			progress(n+1, grants)
		}
	}
	return flush("rest")
}
