package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "modernc.org/sqlite"
)

// direct asks the database itself for what the driver reads and writes: as few
// round trips as it allows, no commit record, no lock, no judgement.
type direct interface {
	// read fetches what evaluating the principal needs, its subjects known.
	read(ctx context.Context, userID string, subjects []string) error

	// write is one durable transaction of a grant, an audit entry and an event.
	write(ctx context.Context, n int) error

	// list answers the first column of a statement's rows; it reads the others too. A
	// list among the arguments is one argument, as among has it.
	list(ctx context.Context, text string, args ...any) ([]string, error)

	// among is the condition that a column is in the list of the n-th argument.
	among(column string, n int) string

	// settle does what the database's own maintenance would soon have done after
	// so many new rows.
	settle(ctx context.Context) error

	close()
}

const partition = "bench"

// The rows of a write, in the shape of what the application writes.
const provenance = `{"kind":"admin","actorUserId":"bench"}`

type directPostgres struct{ pool *pgxpool.Pool }

func openPostgres(ctx context.Context, dsn string) (direct, error) {
	pool, err := pgxpool.New(ctx, dsn)
	return &directPostgres{pool}, err
}

func (d *directPostgres) settle(ctx context.Context) error {
	_, err := d.pool.Exec(ctx, "vacuum analyze")
	return err
}

func (d *directPostgres) close() { d.pool.Close() }

func (d *directPostgres) among(column string, n int) string {
	return fmt.Sprintf("%s = any($%d)", column, n)
}

func (d *directPostgres) list(ctx context.Context, text string, args ...any) (first []string, err error) {
	rows, err := d.pool.Query(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		first = append(first, string(rows.RawValues()[0]))
	}
	return first, rows.Err()
}

func (d *directPostgres) read(ctx context.Context, userID string, subjects []string) error {
	b := &pgx.Batch{}
	b.Queue(`select active, "orgIds", "managerUserId" from "AuthzUser" where app = $1 and "userId" = $2`, partition, userID)
	b.Queue(`select "groupId" from "AuthzMembership" where app = $1 and "userId" = $2 order by ordinal`, partition, userID)
	b.Queue(`select id, subject, "roleId", pattern, scope, "expiresAt", provenance, "createdAt" from "AuthzGrant" where app = $1 and subject = any($2) order by id`, partition, subjects)
	b.Queue(`select id, "userId", pattern, scope, provenance, "createdAt" from "AuthzRevoke" where app = $1 and "userId" = $2`, partition, userID)
	b.Queue(`select id, name, description, patterns, requestable from "AuthzRole" where app = $1 and id in (select "roleId" from "AuthzGrant" where app = $1 and subject = any($2))`, partition, subjects)
	b.Queue(`select seq from "AuthzEpoch" where app = $1`, partition)
	results := d.pool.SendBatch(ctx, b)
	for range b.Len() {
		rows, err := results.Query()
		if err != nil {
			return err
		}
		for rows.Next() {
			if _, err := rows.Values(); err != nil {
				return err
			}
		}
		if rows.Err() != nil {
			return rows.Err()
		}
	}
	return results.Close()
}

func (d *directPostgres) write(ctx context.Context, n int) error {
	id, now := fmt.Sprintf("direct-%d-%d", time.Now().UnixNano(), n), time.Now().UnixMilli()
	b := &pgx.Batch{}
	b.Queue("begin")
	b.Queue(`insert into "AuthzGrant" (app, id, subject, pattern, scope, provenance, "createdAt") values ($1, $2, $3, $4, $5, $6, $7)`,
		partition, id, "user:direct", "docs.files.read", "docs.folder:f1", provenance, now)
	b.Queue(`insert into "AuthzAudit" (app, id, at, actor, action, target, detail) values ($1, $2, $3, $4, $5, $6, $7)`,
		partition, id, now, "bench", "grant.create", id, `{"subject":"user:direct","pattern":"docs.files.read","scope":"docs.folder:f1"}`)
	b.Queue(`with e as (insert into "AuthzEpoch" as h (app, seq) values ($1, 2) on conflict (app, id) do update set seq = h.seq + 2 returning seq)
		insert into "AuthzEvent" (app, seq, type, payload, at) select $1, e.seq - 1, 'subject', $2::json, $3::bigint from e union all select $1, e.seq, 'user', $4::json, $3::bigint from e`,
		partition, `{"subject":"user:direct"}`, now, `{"userId":"direct"}`)
	b.Queue("commit")
	return d.pool.SendBatch(ctx, b).Close()
}

type directSQLite struct{ db *sql.DB }

func openSQLite(ctx context.Context, path string) (direct, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(wal)&_pragma=synchronous(full)&_pragma=busy_timeout(10000)&_txlock=immediate")
	if err == nil {
		err = db.PingContext(ctx)
	}
	return &directSQLite{db}, err
}

func (d *directSQLite) settle(ctx context.Context) error {
	_, err := d.db.ExecContext(ctx, "pragma wal_checkpoint(truncate)")
	return err
}

func (d *directSQLite) close() { _ = d.db.Close() }

func (d *directSQLite) among(column string, n int) string {
	return fmt.Sprintf("%s in (select value from json_each($%d))", column, n)
}

func (d *directSQLite) list(ctx context.Context, text string, args ...any) (first []string, err error) {
	for i, arg := range args {
		if list, ok := arg.([]string); ok {
			text, err := json.Marshal(list)
			if err != nil {
				return nil, err
			}
			args[i] = string(text)
		}
	}
	rows, err := d.db.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	values := make([]any, len(columns))
	for i := range values {
		values[i] = new(sql.RawBytes)
	}
	for rows.Next() {
		if err := rows.Scan(values...); err != nil {
			return nil, err
		}
		first = append(first, string(*values[0].(*sql.RawBytes)))
	}
	return first, rows.Err()
}

func (d *directSQLite) read(ctx context.Context, userID string, subjects []string) error {
	marks, list := strings.Repeat(", ?", len(subjects))[2:], []any{partition}
	for _, subject := range subjects {
		list = append(list, subject)
	}
	byUser := []any{partition, userID}
	for _, q := range []struct {
		text string
		args []any
	}{
		{`select active, "orgIds", "managerUserId" from "AuthzUser" where app = ? and "userId" = ?`, byUser},
		{`select "groupId" from "AuthzMembership" where app = ? and "userId" = ? order by ordinal`, byUser},
		{`select id, subject, "roleId", pattern, scope, "expiresAt", provenance, "createdAt" from "AuthzGrant" indexed by "AuthzGrant_subject" where app = ? and subject in (` + marks + `)`, list},
		{`select id, "userId", pattern, scope, provenance, "createdAt" from "AuthzRevoke" where app = ? and "userId" = ?`, byUser},
		{`select id, name, description, patterns, requestable from "AuthzRole" where app = ?1 and id in (select "roleId" from "AuthzGrant" indexed by "AuthzGrant_subject" where app = ?1 and subject in (` + marks + `))`, list},
		{`select seq from "AuthzEpoch" where app = ?`, list[:1]},
	} {
		rows, err := d.db.QueryContext(ctx, q.text, q.args...)
		if err != nil {
			return err
		}
		columns, err := rows.Columns()
		if err != nil {
			return err
		}
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		for rows.Next() {
			if err := rows.Scan(values...); err != nil {
				return err
			}
		}
		if err := rows.Close(); err != nil {
			return err
		}
	}
	return nil
}

func (d *directSQLite) write(ctx context.Context, n int) error {
	id, now := fmt.Sprintf("direct-%d-%d", time.Now().UnixNano(), n), time.Now().UnixMilli()
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing to undo after the commit
	var seq int64
	if _, err = tx.ExecContext(ctx, `insert into "AuthzGrant" (app, id, subject, pattern, scope, provenance, "createdAt") values (?, ?, ?, ?, ?, ?, ?)`,
		partition, id, "user:direct", "docs.files.read", "docs.folder:f1", provenance, now); err == nil {
		_, err = tx.ExecContext(ctx, `insert into "AuthzAudit" (app, id, at, actor, action, target, detail) values (?, ?, ?, ?, ?, ?, ?)`,
			partition, id, now, "bench", "grant.create", id, `{"subject":"user:direct","pattern":"docs.files.read","scope":"docs.folder:f1"}`)
	}
	if err == nil {
		err = tx.QueryRowContext(ctx, `insert into "AuthzEpoch" (app, seq) values (?, 2) on conflict (app, id) do update set seq = seq + 2 returning seq`, partition).Scan(&seq)
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, `insert into "AuthzEvent" (app, seq, type, payload, at) values (?1, ?2 - 1, 'subject', ?3, ?5), (?1, ?2, 'user', ?4, ?5)`,
			partition, seq, `{"subject":"user:direct"}`, `{"userId":"direct"}`, now)
	}
	if err != nil {
		return err
	}
	return tx.Commit()
}
