package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/plugins/internal/relational"
	"github.com/authzhost/authz/plugins/internal/seam"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// deleteRows deletes the rows that n changes from i on name, and keeps them as
// their results. key takes a change apart, keep puts a row into a result.
func deleteRows[T any](p *plan, t table[T], i, n int, what string, key func(storage.Change) (id string, mustExist bool),
	keep func(*storage.ChangeResult, *T) (id string)) {
	p.answers = true
	for from := i; from < i+n; from += bulkRows {
		changes := p.c.Changes[from:min(from+bulkRows, i+n)]
		place := make(map[string]int, len(changes))
		ids := make([]string, len(changes))
		for k, change := range changes {
			ids[k], _ = key(change)
			place[ids[k]] = from + k
		}
		p.steps = append(p.steps, step{sql: t.deleteMany, args: []any{p.store.partition, ids}, read: func(rows pgx.Rows) error {
			clear(p.result.Results[from : from+len(changes)])
			found := make(map[string]bool, len(changes))
			for rows.Next() {
				row, err := t.entity.Scan(rows.Scan)
				if err != nil {
					return err
				}
				var result storage.ChangeResult
				id := keep(&result, &row)
				p.result.Results[place[id]] = result
				found[id] = true
			}
			for _, change := range changes {
				if id, mustExist := key(change); mustExist && !found[id] {
					return seam.Absent(what, id)
				}
			}
			return nil
		}})
	}
}

// expectRequest locks a request and judges it before the statement that follows
// changes it.
func (p *plan) expectRequest(id string, mustExist bool, expect *storage.RequestExpect) {
	p.answers = true
	p.steps = append(p.steps, step{
		sql:  `select "state", "stageIndex" from "AuthzRequest" where "app" = $1 and "id" = $2 for update`,
		args: []any{p.store.partition, id},
		read: func(rows pgx.Rows) error {
			var have storage.RequestExpect
			if !rows.Next() {
				if mustExist && rows.Err() == nil {
					return seam.Absent("request", id)
				}
				return nil
			}
			if err := rows.Scan(&have.State, &have.StageIndex); err != nil {
				return err
			}
			if expect != nil && have != *expect {
				return storage.Errorf(storage.CodeConflict, "request %s is %s at stage %d, not %s at stage %d", spell.Quote(id),
					spell.Echo(string(have.State)), have.StageIndex, spell.Echo(string(expect.State)), expect.StageIndex)
			}
			return nil
		},
	})
}

// upsertGroups writes groups and the difference of their old and new edges.
func (p *plan) upsertGroups(groups []authz.Group) error {
	if err := upsertRows(p, groupTable, groups); err != nil {
		return err
	}
	for piece := range slices.Chunk(groups, bulkRows) {
		var e edges
		for _, g := range piece {
			e.add(g.ID, g.Parents)
		}
		p.putEdges("AuthzGroupParent", "childId", "parentId", e)
	}
	return nil
}

// upsertUsers writes user records and the difference of their old and new
// memberships.
func (p *plan) upsertUsers(users []authz.User) error {
	if err := upsertRows(p, userTable, users); err != nil {
		return err
	}
	for piece := range slices.Chunk(users, bulkRows) {
		var memberships, orgs edges
		for _, u := range piece {
			memberships.add(u.UserID, u.GroupIDs)
			orgs.add(u.UserID, u.OrgIDs)
		}
		p.putEdges("AuthzMembership", "userId", "groupId", memberships)
		p.putDerived(storage.EdgeOrg, orgs)
	}
	return nil
}

// edges are the ordered edges that leave some rows.
type edges struct {
	owners   []string
	from, to []string
	ordinals []int64
}

// add lists the edges of one row. Each of ordered ones is named once.
func (e *edges) add(owner string, targets []string) {
	e.owners = append(e.owners, owner)
	for i, target := range targets {
		e.from, e.to, e.ordinals = append(e.from, owner), append(e.to, target), append(e.ordinals, int64(i))
	}
}

// putEdges replaces the edges that leave the owners. The rows of the owners have
// been written before, and so are locked.
func (p *plan) putEdges(table, from, to string, e edges) {
	app := p.store.partition
	from, to = `"`+from+`"`, `"`+to+`"`
	p.add(`delete from "`+table+`" where "app" = $1 and `+from+` = any($2::text[])
		and (`+from+`, `+to+`) not in (select n.a, n.b from unnest($3::text[], $4::text[]) n(a, b))`, app, e.owners, nonNil(e.from), nonNil(e.to))
	if len(e.from) > 0 {
		p.add(`insert into "`+table+`" as t ("app", `+from+`, `+to+`, "ordinal")
			select $1, n.a, n.b, n.ordinal from unnest($2::text[], $3::text[], $4::bigint[]) n(a, b, ordinal)
			on conflict ("app", `+from+`, `+to+`) do update set "ordinal" = excluded."ordinal" where t."ordinal" <> excluded."ordinal"`,
			app, e.from, e.to, e.ordinals)
	}
}

// putDerived replaces the edges that a table repeats from the lists of the owners,
// whose rows are locked as with putEdges.
func (p *plan) putDerived(kind storage.EdgeKind, e edges) {
	if !p.store.driver.has(storage.CapLookups) {
		return
	}
	app, to := p.store.partition, relational.EdgeSources[kind]
	p.add(fmt.Sprintf(`delete from %q where "app" = $1 and %q = any($2::text[])
		and (%q, %q) not in (select n.a, n.b from unnest($3::text[], $4::text[]) n(a, b))`, to.Table, to.From, to.From, to.Of), app, e.owners, nonNil(e.from), nonNil(e.to))
	if len(e.from) > 0 {
		p.add(fmt.Sprintf(`insert into %q ("app", %q, %q) select $1, n.a, n.b from unnest($2::text[], $3::text[]) n(a, b)
			on conflict ("app", %q, %q) do nothing`, to.Table, to.From, to.Of, to.Of, to.From), app, e.from, e.to)
	}
}

// deleteOwner deletes a row and the edges that leave it.
func (p *plan) deleteOwner(owner, key, id, table, from string) {
	p.add(fmt.Sprintf(`delete from %q where "app" = $1 and %q = $2`, owner, key), p.store.partition, id)
	p.deleteEdges(table, from, owner, key, id)
}

// deleteDerived deletes the edges that a table repeats from the list of a row that was
// deleted before.
func (p *plan) deleteDerived(kind storage.EdgeKind, owner, key, id string) {
	if p.store.driver.has(storage.CapLookups) {
		to := relational.EdgeSources[kind]
		p.deleteEdges(to.Table, to.From, owner, key, id)
	}
}

// deleteEdges deletes the edges that leave a row that was deleted before. Its lock
// makes others wait who write its edges. Where there was no row there is no lock: who
// wrote it meanwhile keeps it with its edges.
func (p *plan) deleteEdges(table, from, owner, key, id string) {
	p.add(fmt.Sprintf(`delete from %q where "app" = $1 and %q = $2 and not exists (select 1 from %q o where o."app" = $1 and o.%q = $2)`,
		table, from, owner, key), p.store.partition, id)
}

func nonNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// patchUser creates the record when it is absent, then changes the members given.
func (p *plan) patchUser(ch storage.PatchUser) error {
	var orgs, manager *string
	if ch.OrgIDs != nil {
		encoded, err := relational.EncodeStrings(*ch.OrgIDs)
		if err != nil {
			return errEncoding("a list of organisations", err)
		}
		orgs = &encoded
	}
	if ch.ManagerUserID != nil && *ch.ManagerUserID != "" {
		manager = ch.ManagerUserID
	}
	p.add(`insert into "AuthzUser" as t ("app", "userId", "active", "orgIds", "managerUserId")
		values ($1, $2, coalesce($3::boolean, true), coalesce($4::json, '[]'), $5::text)
		on conflict ("app", "userId") do update set "active" = coalesce($3::boolean, t."active"), "orgIds" = coalesce($4::json, t."orgIds"),
			"managerUserId" = case when $6::boolean then $5::text else t."managerUserId" end`,
		p.store.partition, ch.UserID, ch.Active, orgs, manager, ch.ManagerUserID != nil)
	if ch.OrgIDs != nil {
		var e edges
		e.add(ch.UserID, *ch.OrgIDs)
		p.putDerived(storage.EdgeOrg, e)
	}
	if ch.GroupIDs != nil {
		var e edges
		e.add(ch.UserID, *ch.GroupIDs)
		p.putEdges("AuthzMembership", "userId", "groupId", e)
	}
	return nil
}

// deleteRole with Unnamed locks the role before it counts, in a statement of its
// own, so that it sees every grant whose writer held the role.
func (p *plan) deleteRole(ch storage.DeleteRole) {
	app := p.store.partition
	if ch.Unnamed {
		p.answers = true
		p.add(`select 1 from "AuthzRole" where "app" = $1 and "id" = $2 for update`, app, ch.ID)
		p.steps = append(p.steps, step{
			sql:  `select count(*) from "AuthzGrant" where "app" = $1 and "roleId" = $2`,
			args: []any{app, ch.ID},
			read: func(rows pgx.Rows) error {
				var n int64
				for rows.Next() {
					if err := rows.Scan(&n); err != nil {
						return err
					}
				}
				if n == 0 {
					return nil
				}
				err := storage.Errorf(storage.CodeConflict, "%d grants name role %s", n, spell.Quote(ch.ID))
				err.Grants = n
				return err
			},
		})
	}
	p.add(`delete from "AuthzRole" where "app" = $1 and "id" = $2`, app, ch.ID)
}

func (p *plan) putScopeParents(rows []storage.PutScopeParents) error {
	for piece := range slices.Chunk(rows, bulkRows) {
		var e edges
		scopes, parents := make([]string, len(piece)), make([]string, len(piece))
		for i, r := range piece {
			encoded, err := relational.EncodeStrings(r.Parents)
			if err != nil {
				return errEncoding("a list of scopes", err)
			}
			scopes[i], parents[i] = r.Scope, encoded
			e.add(r.Scope, r.Parents)
		}
		p.add(`insert into "AuthzScopeParent" ("app", "scope", "parents") select $1, n.scope, n.parents::json from unnest($2::text[], $3::text[]) n(scope, parents)
			on conflict ("app", "scope") do update set "parents" = excluded."parents"`, p.store.partition, scopes, parents)
		p.putDerived(storage.EdgeParent, e)
	}
	return nil
}

// expectVersion locks the one row that a statement selects and judges its version;
// an absent one has version 0.
func (p *plan) expectVersion(expect int64, format, text string, args ...any) {
	p.answers = true
	p.steps = append(p.steps, step{sql: text, args: append([]any{p.store.partition}, args...), read: func(rows pgx.Rows) error {
		var have int64
		for rows.Next() {
			if err := rows.Scan(&have); err != nil {
				return err
			}
		}
		if have != expect {
			return seam.Moved(have, format, have, expect)
		}
		return nil
	}})
}

func (p *plan) putCatalog(ch storage.PutCatalog) error {
	if err := p.putHead("AuthzCatalog", "document", "the catalog", ch.Version, string(ch.Document), ch.Expect); err != nil {
		return err
	}
	if p.store.driver.has(storage.CapHistory) {
		p.add(`insert into "AuthzCatalogVersion" ("app", "version", "document", "publishedAt") values ($1, $2, $3, $4)
			on conflict ("app", "version") do update set "document" = excluded."document", "publishedAt" = excluded."publishedAt"`,
			p.store.partition, ch.Version, string(ch.Document), ch.PublishedAt)
	}
	return nil
}

// putHead writes one of the rows of which a partition has one.
func (p *plan) putHead(table, column, what string, version int64, document string, expect *int64) error {
	app := p.store.partition
	if expect != nil {
		p.expectVersion(*expect, what+" is at version %d, not %d", `select "version" from "`+table+`" where "app" = $1 for update`)
	}
	write := step{
		sql: `insert into "` + table + `" as t ("app", "id", "version", "` + column + `") values ($1, 1, $2, $3)
			on conflict ("app", "id") do update set "version" = excluded."version", "` + column + `" = excluded."` + column + `"`,
		args: []any{app, version, document},
	}
	if expect != nil && *expect == 0 {
		// Two that both saw no row: the second meets the row of the first here.
		write.sql = `with written as (` + write.sql + ` where t."version" = 0 returning 1) select 1 / count(*) from written`
		write.refused = func(ctx context.Context) error {
			current, _, err := one(ctx, p.store, `select "version" from "`+table+`" where "app" = $1`, scanNumber)
			if err != nil {
				return relational.WithOutcome(err, authz.OutcomeNotApplied)
			}
			return seam.Moved(current, what+" is at version %d, not %d", current, 0)
		}
	}
	p.steps = append(p.steps, write)
	return nil
}

func (p *plan) expectRecord(collection, id string, expect int64) {
	p.expectVersion(expect, "record "+strings.ReplaceAll(spell.Quote(id), "%", "%%")+" is at version %d, not %d",
		`select "version" from "AuthzRecord" where "app" = $1 and "collection" = $2 and "id" = $3 for update`, collection, id)
}

func (p *plan) putRecord(i int, ch storage.PutRecord) error {
	row := ch.Record
	row.Version = ch.Expect + 1
	p.result.Results[i].Version = row.Version
	p.expectRecord(row.Collection, row.ID, ch.Expect)
	if ch.Expect != 0 {
		return upsertRows(p, recordTable, []storage.Record{row})
	}
	if err := insertRows(p, recordTable, []storage.Record{row}, func(r storage.Record) string { return r.ID }, "record"); err != nil {
		return err
	}
	p.steps[len(p.steps)-1].taken = func(ctx context.Context) error { return p.recordMoved(ctx, row.Collection, row.ID, 0) }
	return nil
}
