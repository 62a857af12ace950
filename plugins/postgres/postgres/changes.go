package postgres

import (
	"context"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/plugins/internal/seam"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// changes plans the changes in their order. A run of changes of one kind to
// different rows becomes one statement: no two of them can be told apart by their
// order.
func (p *plan) changes() error {
	for i := 0; i < len(p.c.Changes); {
		n, err := p.change(i)
		if err != nil {
			return err
		}
		i += n
	}
	return nil
}

// change plans the change at i and returns how many changes that covers.
func (p *plan) change(i int) (int, error) {
	app := p.store.partition
	switch ch := p.c.Changes[i].(type) {
	case storage.InsertGrant:
		rows := run(p, i, func(c storage.InsertGrant) (authz.Grant, string) { return c.Grant, c.Grant.ID })
		return len(rows), insertRows(p, grantTable, rows, func(g authz.Grant) string { return g.ID }, "grant")
	case storage.InsertRevoke:
		rows := run(p, i, func(c storage.InsertRevoke) (authz.Revoke, string) { return c.Revoke, c.Revoke.ID })
		return len(rows), insertRows(p, revokeTable, rows, func(r authz.Revoke) string { return r.ID }, "revoke")
	case storage.InsertRequest:
		return 1, insertRows(p, requestTable, []authz.Request{ch.Request}, func(r authz.Request) string { return r.ID }, "request")
	case storage.DeleteGrant:
		keys := run(p, i, func(c storage.DeleteGrant) (bool, string) { return c.MustExist, c.ID })
		deleteRows(p, grantTable, i, len(keys), "grant", func(change storage.Change) (string, bool) {
			c := change.(storage.DeleteGrant)
			return c.ID, c.MustExist
		}, func(r *storage.ChangeResult, g *authz.Grant) string { r.Grant = g; return g.ID })
		return len(keys), nil
	case storage.DeleteRevoke:
		keys := run(p, i, func(c storage.DeleteRevoke) (bool, string) { return c.MustExist, c.ID })
		deleteRows(p, revokeTable, i, len(keys), "revoke", func(change storage.Change) (string, bool) {
			c := change.(storage.DeleteRevoke)
			return c.ID, c.MustExist
		}, func(r *storage.ChangeResult, v *authz.Revoke) string { r.Revoke = v; return v.ID })
		return len(keys), nil
	case storage.DeleteRequest:
		p.expectRequest(ch.ID, ch.MustExist, ch.Expect)
		deleteRows(p, requestTable, i, 1, "request", func(storage.Change) (string, bool) { return ch.ID, false },
			func(r *storage.ChangeResult, q *authz.Request) string { r.Request = q; return q.ID })
		if ch.Expect != nil { // no lock keeps away a request that was not there to be judged
			last := &p.steps[len(p.steps)-1]
			last.sql, last.args = deleteExpected, append(last.args, string(ch.Expect.State), ch.Expect.StageIndex)
		}
		return 1, nil
	case storage.UpdateRequest:
		p.expectRequest(ch.Request.ID, true, ch.Expect)
		return 1, upsertRows(p, requestTable, []authz.Request{ch.Request})
	case storage.UpsertRole:
		rows := run(p, i, func(c storage.UpsertRole) (authz.Role, string) { return c.Role, c.Role.ID })
		return len(rows), upsertRows(p, roleTable, rows)
	case storage.UpsertGroup:
		rows := run(p, i, func(c storage.UpsertGroup) (authz.Group, string) { return c.Group, c.Group.ID })
		return len(rows), p.upsertGroups(rows)
	case storage.UpsertUser:
		rows := run(p, i, func(c storage.UpsertUser) (authz.User, string) { return c.User, c.User.UserID })
		return len(rows), p.upsertUsers(rows)
	case storage.PatchUser:
		return 1, p.patchUser(ch)
	case storage.DeleteRole:
		p.deleteRole(ch)
	case storage.DeleteGroup:
		p.deleteOwner("AuthzGroup", "id", ch.ID, "AuthzGroupParent", "childId")
	case storage.DeleteUser:
		p.deleteOwner("AuthzUser", "userId", ch.UserID, "AuthzMembership", "userId")
		p.deleteDerived(storage.EdgeOrg, "AuthzUser", "userId", ch.UserID)
	case storage.PutCatalog:
		return 1, p.putCatalog(ch)
	case storage.PutImports:
		return 1, p.putHead("AuthzImports", "manifest", "the import manifest", ch.Version, string(ch.Manifest), ch.Expect)
	case storage.PutScopeParents:
		rows := run(p, i, func(c storage.PutScopeParents) (storage.PutScopeParents, string) { return c, c.Scope })
		return len(rows), p.putScopeParents(rows)
	case storage.DeleteScopeParents:
		p.add(`delete from "AuthzScopeParent" where "app" = $1 and "scope" = $2`, app, ch.Scope)
		p.deleteDerived(storage.EdgeParent, "AuthzScopeParent", "scope", ch.Scope)
	case storage.PutRecord:
		return 1, p.putRecord(i, ch)
	case storage.DeleteRecord:
		p.expectRecord(ch.Collection, ch.ID, ch.Expect)
		// No lock keeps away a record that was absent when it was judged.
		p.add(`delete from "AuthzRecord" where "app" = $1 and "collection" = $2 and "id" = $3 and "version" = $4`, app, ch.Collection, ch.ID, ch.Expect)
	default:
		return 0, storage.Errorf(storage.CodeValidation, "%T is no change", ch)
	}
	return 1, nil
}

func (p *plan) add(text string, args ...any) { p.steps = append(p.steps, step{sql: text, args: args}) }

// run collects the changes from i on that are of one kind and touch different
// rows.
func run[C storage.Change, T any](p *plan, i int, of func(C) (row T, key string)) []T {
	first, firstKey := of(p.c.Changes[i].(C))
	rows := []T{first}
	var seen map[string]bool // most changes are alone
	for _, change := range p.c.Changes[i+1:] {
		c, same := change.(C)
		if !same {
			break
		}
		if seen == nil {
			seen = map[string]bool{firstKey: true}
		}
		row, key := of(c)
		if seen[key] {
			break
		}
		seen[key] = true
		rows = append(rows, row)
	}
	return rows
}

func insertRows[T any](p *plan, t table[T], rows []T, id func(T) string, what string) error {
	steps, err := t.write(p.store.partition, t.insertOne, t.insertMany, rows)
	if err != nil {
		return errEncoding(what, err)
	}
	for i := range steps {
		piece := rows[i*bulkRows : min((i+1)*bulkRows, len(rows))]
		steps[i].taken = func(context.Context) error {
			if len(piece) == 1 {
				return seam.Taken(what, id(piece[0]))
			}
			return storage.Errorf(storage.CodeConflict, "one of %d rows exists already: %s %s to %s", len(piece), what, spell.Quote(id(piece[0])),
				spell.Quote(id(piece[len(piece)-1])))
		}
	}
	p.steps = append(p.steps, steps...)
	return nil
}

func upsertRows[T any](p *plan, t table[T], rows []T) error {
	steps, err := t.write(p.store.partition, t.upsertOne, t.upsertMany, rows)
	if err != nil {
		return errEncoding("a row", err)
	}
	p.steps = append(p.steps, steps...)
	return nil
}

func errEncoding(what string, err error) error {
	return &storage.Error{Code: storage.CodeValidation, Message: what + " cannot be written as JSON", Cause: err}
}
