package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/authzhost/authz/plugins/internal/relational"
	"github.com/authzhost/authz/sdk/authz"
)

// putSubjects keeps what entries are found by.
const putSubjects = `insert into "AuthzAuditSubject" ("app", "subject", "at", "id")
	select $1, n.subject, n.at, n.id from unnest($2::text[], $3::bigint[], $4::text[]) n(subject, at, id) on conflict ("app", "subject", "at", "id") do nothing`

// bulkSubjects is how many rows a statement writes, and those of one entry more.
const bulkSubjects = 10_000

// subjects plans the rows that the entries are found by.
func (p *plan) subjects(entries []authz.AuditEntry) {
	var rows subjectRows
	put := func() {
		if len(rows.subjects) > 0 {
			p.add(putSubjects, p.store.partition, rows.subjects, rows.ats, rows.ids)
			rows = subjectRows{}
		}
	}
	for _, e := range entries {
		if rows.add(e); len(rows.subjects) >= bulkSubjects {
			put()
		}
	}
	put()
}

// subjectRows are a list for each column.
type subjectRows struct {
	subjects, ids []string
	ats           []int64
}

func (r *subjectRows) add(e authz.AuditEntry) {
	for _, s := range e.Subjects() {
		r.subjects, r.ats, r.ids = append(r.subjects, s), append(r.ats, e.At), append(r.ids, e.ID)
	}
}

// What a migration reads of the log at once: the entry that reaches the bytes is the last.
const (
	migratedRows  = 1000
	migratedBytes = 1 << 20
)

// fillSubjects gives a new table of subjects, which has no key yet, those of the entries
// there are. It goes through the log by a cursor over the lengths of details, so that no
// piece of it is large.
func (d *driver) fillSubjects(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, d.sql(`declare authz_log no scroll cursor for
		select "app", "id", coalesce("detailBytes", octet_length("detail"::text), 0)::bigint from "AuthzAudit"`)); err != nil {
		return err
	}
	var apps, ids []string
	size := int64(0)
	for {
		rows, err := tx.Query(ctx, fmt.Sprintf("fetch forward %d from authz_log", migratedRows))
		if err != nil {
			return err
		}
		type place struct {
			App, ID string
			Bytes   int64
		}
		places, err := pgx.CollectRows(rows, pgx.RowToStructByPos[place])
		if err != nil {
			return err
		}
		for _, p := range places {
			apps, ids, size = append(apps, p.App), append(ids, p.ID), size+p.Bytes
			if len(ids) < migratedRows && size < migratedBytes {
				continue
			}
			if err := d.fillSubjectsOf(ctx, tx, apps, ids); err != nil {
				return err
			}
			apps, ids, size = nil, nil, 0
		}
		if len(places) < migratedRows {
			break
		}
	}
	if err := d.fillSubjectsOf(ctx, tx, apps, ids); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, "close authz_log")
	return err
}

// fillSubjectsOf writes the subjects of some entries.
func (d *driver) fillSubjectsOf(ctx context.Context, tx pgx.Tx, apps, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	rows, err := tx.Query(ctx, d.sql(`select t."app", `+relational.Shortened("t.", "")+` from unnest($1::text[], $2::text[]) n(app, id)
		cross join lateral (select * from "AuthzAudit" a where a."app" = n.app and a."id" = n.id offset 0) t`), apps, ids)
	if err != nil {
		return err
	}
	var written []string // the partitions of the rows
	var of subjectRows
	_, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (struct{}, error) {
		var app string
		e, err := relational.Audit.Scan(func(dest ...any) error { return row.Scan(slices.Insert(dest, 0, any(&app))...) })
		if err == nil {
			of.add(e)
		}
		for len(written) < len(of.ids) {
			written = append(written, app)
		}
		return struct{}{}, err
	})
	if err != nil || len(written) == 0 {
		return err
	}
	_, err = tx.Exec(ctx, d.sql(`insert into "AuthzAuditSubject" ("app", "subject", "at", "id")
		select n.app, n.subject, n.at, n.id from unnest($1::text[], $2::text[], $3::bigint[], $4::text[]) n(app, subject, at, id)`), written, of.subjects, of.ats, of.ids)
	return err
}
