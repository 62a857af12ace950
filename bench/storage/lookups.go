package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// The world of the lookups: 1,000 folders of 100 below one, 101,001 recorded scopes, and
// so many users as have ten grants each: one at the folder above all, nine below it. All of them are in one group, which has a grant
// there too.
const (
	lookupPartition = "lookups"
	lookupTop       = "docs.folder:top"
	lookupFolders   = 1000
	lookupInner     = 100
	grantsEach      = 10
)

func inner(n int) string {
	return fmt.Sprintf("docs.folder:%d-%d", n/lookupInner%lookupFolders, n%lookupInner)
}

// FillLookups writes the world of the lookups.
func FillLookups(ctx context.Context, store storage.Store, grants int, progress func(done, of int)) error {
	if n, err := store.CountGrants(ctx, storage.GrantFilter{}); err != nil || n >= int64(grants) {
		return err
	}
	now := time.Now().UnixMilli()
	all := authz.Grant{ID: "grant-of-all", Subject: "group:all", Scope: lookupTop, Pattern: "docs.files.share", Provenance: authz.AdminProvenance("bench"), CreatedAt: now}
	changes := []storage.Change{storage.PutScopeParents{Scope: lookupTop}, storage.UpsertGroup{Group: authz.Group{ID: "all", Name: "all"}}, storage.InsertGrant{Grant: all}}
	flush := func(id string) error {
		_, err := store.Commit(ctx, storage.Commit{ID: id, At: now, Changes: changes})
		changes = changes[:0]
		return err
	}
	for f := range lookupFolders {
		folder := fmt.Sprintf("docs.folder:%d", f)
		changes = append(changes, storage.PutScopeParents{Scope: folder, Parents: []string{lookupTop}})
		for i := range lookupInner {
			changes = append(changes, storage.PutScopeParents{Scope: inner(f*lookupInner + i), Parents: []string{folder}})
		}
		if len(changes) >= batch {
			if err := flush(fmt.Sprint("scopes", f)); err != nil {
				return err
			}
		}
	}
	users := grants / grantsEach
	for u := range users {
		changes = append(changes, storage.UpsertUser{User: authz.User{UserID: fmt.Sprint("u", u), Active: true, GroupIDs: []string{"all"}}})
		if len(changes) >= batch {
			if err := flush(fmt.Sprint("users", u)); err != nil {
				return err
			}
		}
	}
	for n := range grants {
		g := authz.Grant{ID: fmt.Sprintf("grant-%07d", n), Subject: fmt.Sprint("user:u", n%users), Scope: lookupTop, Pattern: "docs.files.read",
			Provenance: authz.AdminProvenance("bench"), CreatedAt: now}
		if n >= users {
			g.Scope, g.Pattern = inner(n*7919), "docs.files.edit"
		}
		if changes = append(changes, storage.InsertGrant{Grant: g}); len(changes) == batch || n == grants-1 {
			if err := flush(fmt.Sprint("grants", n)); err != nil {
				return err
			}
			progress(n+1, grants)
		}
	}
	return nil
}

// lookups asks who may, where and what of a host process over 100,000 recorded scopes,
// page by page.
func lookups(ctx context.Context, o Options, database direct, add func(string, string, ...any)) (err error) {
	if err := fill(ctx, o, lookupPartition, FillLookups); err != nil {
		return fmt.Errorf("fill: %w", err)
	}
	if err := database.settle(ctx); err != nil {
		return err
	}
	p, err := serve(ctx, o, lookupPartition, lookupPartition)
	if err != nil {
		return err
	}
	defer p.stop(&err)
	if err := bareLookups(ctx, o, database, add); err != nil {
		return err
	}
	if err := throughPlugin(ctx, o, lookupPartition, func(store storage.Store) error { return seamLookups(ctx, o, store, add) }); err != nil {
		return err
	}
	type query = map[string]any
	who := func(key string, i int) query { return query{"key": key, "scope": inner(i)} }
	by := func(i int) authz.Principal { return authz.UserPrincipal(fmt.Sprint("u", i)) }
	for _, list := range []struct {
		what, operation string
		ask             func(i int) query
		least           int // rows of the whole list, which is read when it has many
	}{
		{"who-can, of a key that all have from above", "listSubjects", func(i int) query { return who("docs.files.read", i) }, o.Grants / grantsEach},
		{"who-can, of a key that a group of all has", "listSubjects", func(i int) query { return who("docs.files.share", i) }, o.Grants / grantsEach},
		{"who-can, of a key that few have", "listSubjects", func(i int) query { return who("docs.files.edit", i*1009) }, 0},
		{"where-can, of a key held above all", "listScopes", func(i int) query { return query{"principal": by(i), "key": "docs.files.read"} }, lookupFolders * lookupInner},
		{"where-can, of a key held in nine folders", "listScopes", func(i int) query { return query{"principal": by(i), "key": "docs.files.edit"} }, 0},
		{"what-can", "listKeys", func(i int) query { return query{"principal": by(i), "scope": inner(i)} }, 0},
	} {
		if _, _, err := looked(ctx, p.base, list.operation, list.ask(0), ""); err != nil { // what is loaded at first use
			return err
		}
		p.settle()
		first, err := measure(min(o.Rounds, 200), func(i int) error {
			_, _, err := looked(ctx, p.base, list.operation, list.ask(i+1), "")
			return err
		})
		if err != nil {
			return err
		}
		add(list.what+", first page", "p50 %s, p99 %s", micro(first.P50), micro(first.P99))
		if list.least == 0 {
			continue
		}
		err = p.watch(list.what+", whole", list.least, add, func() (int, error) {
			rows, after := 0, ""
			for {
				n, next, err := looked(ctx, p.base, list.operation, list.ask(1), after)
				if rows += n; err != nil || next == "" {
					return rows, err
				}
				after = next
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// bareLookups asks the database itself for the rows that two of the lists are made of, a
// page of a thousand after the other.
func bareLookups(ctx context.Context, o Options, database direct, add func(string, string, ...any)) error {
	const at = lookupPartition
	who := func(after string) (last string, rows int, err error) {
		subjects, err := database.list(ctx, `select "subject", "id", "roleId", "pattern", "expiresAt" from "AuthzGrant"
			where "app" = $1 and "scope" = $2 and "subject" > $3 order by "subject", "id" limit 1000`, at, lookupTop, after)
		if err != nil || len(subjects) == 0 {
			return "", 0, err
		}
		ids := make([]string, len(subjects))
		for i, s := range subjects {
			ids[i] = strings.TrimPrefix(s, "user:")
		}
		for _, rows := range []string{`"userId", "active", "orgIds" from "AuthzUser"`, `"userId", "groupId" from "AuthzMembership"`, `"userId", "pattern", "scope" from "AuthzRevoke"`} {
			if _, err := database.list(ctx, "select "+rows+` where "app" = $1 and `+database.among(`"userId"`, 2), at, ids); err != nil {
				return "", 0, err
			}
		}
		return subjects[len(subjects)-1], len(subjects), nil
	}
	n := 0
	where := func(string) (last string, rows int, err error) {
		folders := make([]string, 10)
		for i := range folders {
			folders[i] = fmt.Sprintf("docs.folder:%d", n%lookupFolders)
			n++
		}
		scopes, err := database.list(ctx, `select "childId", "parentId" from "AuthzScopeEdge" where "app" = $1 and `+database.among(`"parentId"`, 2), at, folders)
		if err != nil {
			return "", 0, err
		}
		_, err = database.list(ctx, `select "scope", "parents" from "AuthzScopeParent" where "app" = $1 and `+database.among(`"scope"`, 2), at, scopes)
		if n >= lookupFolders {
			return "", len(scopes), err
		}
		return "more", len(scopes), err
	}
	for _, list := range []struct {
		what string
		page func(after string) (string, int, error)
	}{{"the rows of who-can", who}, {"the rows of where-can", where}} {
		first, err := measure(min(o.Rounds, 200), func(int) error {
			n = 0
			_, _, err := list.page("user:")
			return err
		})
		if err != nil {
			return err
		}
		n = 0
		rows, start := 0, time.Now()
		for after := "user:"; after != ""; {
			last, some, err := list.page(after)
			if err != nil {
				return err
			}
			rows, after = rows+some, last
		}
		add(list.what+" from the database directly", "first page p50 %s, whole %.0f rows/s", micro(first.P50), float64(rows)/time.Since(start).Seconds())
	}
	return nil
}

// seamLookups asks a plugin, without a host, what the same two pages ask of it at least.
func seamLookups(ctx context.Context, o Options, store storage.Store, add func(string, string, ...any)) error {
	for _, list := range []struct {
		what string
		page func(i int) error
	}{
		{"who-can", func(int) error {
			var ids []string
			for g, err := range store.ListGrantsAt(ctx, []string{lookupTop}, storage.GrantsAtPage{Limit: 1000}) {
				if err != nil {
					return err
				}
				ids = append(ids, strings.TrimPrefix(g.Subject, "user:"))
			}
			_, err := store.ReadPeople(ctx, storage.PeopleQuery{UserIDs: ids, Scopes: []string{lookupTop}, WithoutGrants: true})
			return err
		}},
		{"where-can", func(i int) error {
			folders, scopes := make([]string, 10), []string(nil)
			for n := range folders {
				folders[n] = fmt.Sprintf("docs.folder:%d", (10*i+n)%lookupFolders)
			}
			for e, err := range store.ListEdges(ctx, storage.EdgeParent, folders, storage.EdgePage{Limit: 1000}) {
				if err != nil {
					return err
				}
				scopes = append(scopes, e.From)
			}
			for _, err := range store.ListEdges(ctx, storage.EdgeParent, scopes, storage.EdgePage{Limit: 1000}) {
				if err != nil {
					return err
				}
			}
			return nil
		}},
	} {
		took, err := measure(min(o.Rounds, 200), list.page)
		if err != nil {
			return err
		}
		add("the plugin's calls of a page of "+list.what, "p50 %s, which alone is %.0f rows/s", micro(took.P50), 1000/took.P50.Seconds())
	}
	return nil
}

// looked is one page of a lookup: how many rows it has, and where the next one begins.
func looked(ctx context.Context, base, operation string, ask map[string]any, after string) (rows int, next string, err error) {
	if after != "" {
		ask["after"] = after
	}
	body, err := json.Marshal(ask)
	if err != nil {
		return 0, "", err
	}
	res, err := post(ctx, base, operation, string(body))
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	var answer struct {
		Subjects, Scopes, Keys []struct{}
		Next                   string
	}
	err = json.NewDecoder(res.Body).Decode(&answer)
	return len(answer.Subjects) + len(answer.Scopes) + len(answer.Keys), answer.Next, err
}
