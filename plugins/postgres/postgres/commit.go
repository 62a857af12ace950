package postgres

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/plugins/internal/relational"
	"github.com/authzhost/authz/plugins/internal/seam"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

const (
	// keepCommits is how long the id of a commit is recognised at least.
	keepCommits = `86400000`

	// One commit in sweepEvery forgets at most sweepRows older ones.
	sweepEvery = 256
	sweepRows  = 1024
)

func (s *store) Commit(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
	if err := s.usable(ctx); err != nil {
		return storage.CommitResult{}, err
	}
	digest, err := storage.CheckCommit(c)
	if err != nil {
		return storage.CommitResult{}, err
	}
	if err := s.capable(c); err != nil {
		return storage.CommitResult{}, err
	}
	p := &plan{store: s, c: c, digest: digest}
	if err := p.build(); err != nil {
		return storage.CommitResult{}, err
	}
	err = s.driver.transact(ctx, &p.transaction)
	if p.replayed != nil {
		return *p.replayed, nil
	}
	if err != nil {
		return storage.CommitResult{}, err
	}
	if len(c.Events) > 0 {
		s.driver.notifier.moved(s.partition, p.result.UpTo.Seq)
	}
	if s.commits.Add(1)%sweepEvery == 1 {
		s.driver.aside(s.sweepCommits)
	}
	return p.result, nil
}

func (s *store) GetCommit(ctx context.Context, id string) (storage.CommitResult, bool, error) {
	return get(ctx, s, `select "result" from "AuthzCommit" where "app" = $1 and "id" = $2`, func(scan relational.Scan) (storage.CommitResult, error) {
		var column []byte
		if err := scan(&column); err != nil {
			return storage.CommitResult{}, err
		}
		return relational.DecodeResult(column)
	}, id)
}

// capable refuses what needs a table that was left out.
func (s *store) capable(c storage.Commit) error {
	need := func(wanted bool, capability storage.Capability) error {
		if wanted && !s.driver.has(capability) {
			return storage.Unsupported(capability)
		}
		return nil
	}
	if err := need(len(c.Events) > 0, storage.CapEvents); err != nil {
		return err
	}
	for _, r := range c.Requires {
		_, head := r.(storage.RequireHead)
		_, record := r.(storage.RequireRecord)
		if err := need(head, storage.CapEvents); err != nil {
			return err
		}
		if err := need(record, storage.CapRecords); err != nil {
			return err
		}
	}
	for _, change := range c.Changes {
		var capability storage.Capability
		switch change.(type) {
		case storage.PutImports:
			capability = storage.CapImports
		case storage.PutScopeParents, storage.DeleteScopeParents:
			capability = storage.CapAncestry
		case storage.PutRecord, storage.DeleteRecord:
			capability = storage.CapRecords
		}
		if err := need(capability != "", capability); err != nil {
			return err
		}
	}
	return nil
}

// plan is a commit as statements. Its results are filled in while the answers
// arrive; a further attempt fills them in again.
type plan struct {
	transaction
	store  *store
	c      storage.Commit
	digest storage.Digest

	// answers says that results come out of the statements, so that they cannot be
	// recorded by statements sent together with them.
	answers bool

	result   storage.CommitResult
	replayed *storage.CommitResult
}

// build puts the statements in the order of judgement: the id, the life, fences,
// requirements, changes, audit, and last the numbers of the events.
func (p *plan) build() error {
	app := p.store.partition
	p.result.Results = make([]storage.ChangeResult, len(p.c.Changes))
	p.steps = append(p.steps, step{})
	if p.c.Incarnation != "" {
		p.life()
	}
	p.fences()
	if err := p.requirements(); err != nil {
		return err
	}
	if err := p.changes(); err != nil {
		return err
	}
	if err := p.audit(); err != nil {
		return err
	}
	recorded := "{}"
	if !p.answers && len(p.c.Events) == 0 {
		encoded, err := relational.EncodeResult(p.result)
		if err != nil {
			return err
		}
		recorded = encoded
	}
	// The key makes a resend wait for a first attempt that is still running.
	p.steps[0] = step{
		sql:   `insert into "AuthzCommit" ("app", "id", "digest", "result", "at") values ($1, $2, $3, $4, ` + clock + `)`,
		args:  []any{app, p.c.ID, p.digest.String(), recorded},
		taken: p.recognise,
	}
	if p.answers {
		p.rest = p.last
		return nil
	}
	last, err := p.last()
	p.steps = append(p.steps, last...)
	return err
}

// errReplayed ends the transaction of a commit that was applied before.
var errReplayed = errors.New("the commit was applied before")

// recognise answers a commit whose id is there: nil when it is there no longer.
func (p *plan) recognise(ctx context.Context) error {
	type applied struct {
		digest string
		result storage.CommitResult
	}
	first, found, err := one(ctx, p.store, `select "digest", "result" from "AuthzCommit" where "app" = $1 and "id" = $2`,
		func(scan relational.Scan) (a applied, err error) {
			var column []byte
			if err := scan(&a.digest, &column); err != nil {
				return a, err
			}
			a.result, err = relational.DecodeResult(column)
			return a, err
		}, p.c.ID)
	switch {
	case err != nil:
		// It was applied, by us or as other content, and cannot be read just now.
		return relational.WithOutcome(err, authz.OutcomeUnknown)
	case !found:
		return nil
	case first.digest != p.digest.String():
		return storage.Errorf(storage.CodeConflict, "commit %s was applied with other content", spell.Quote(p.c.ID))
	}
	first.result.Replayed = true
	p.replayed = &first.result
	return errReplayed
}

// life is compared under a lock that a renewal waits for.
func (p *plan) life() {
	stored, _ := strings.CutSuffix(p.c.Incarnation, p.store.at.named(""))
	p.steps = append(p.steps, step{
		sql:     holds(`select 1 from "AuthzSchema" where "app" = $1 and "incarnation" = $2 for key share`),
		args:    []any{p.store.partition, stored},
		refused: func(context.Context) error { return storage.ErrOtherLife() },
	})
}

// fences are compared under a lock that keeps others from taking the section
// until the commit has ended.
func (p *plan) fences() {
	fences := slices.Clone(p.c.Fences)
	slices.SortFunc(fences, func(a, b storage.Fence) int { return strings.Compare(a.Key, b.Key) })
	for _, f := range fences {
		p.steps = append(p.steps, step{
			sql:  holds(`select 1 from "AuthzLock" where "app" = $1 and "key" = $2 and "fence" = $3 for share`),
			args: []any{p.store.partition, f.Key, f.Fence},
			refused: func(context.Context) error {
				return storage.Errorf(storage.CodeStaleFence, "section %s has moved on from fence %d", spell.Quote(f.Key), f.Fence)
			},
		})
	}
}

// holds is a statement that divides by zero unless the condition finds a row.
func holds(condition string) string {
	return `select 1 / count(*) from (` + condition + `) held`
}

func (p *plan) requirements() error {
	app := p.store.partition
	for _, r := range p.c.Requires {
		switch r := r.(type) {
		case storage.RequireRole:
			p.steps = append(p.steps, step{
				sql:     holds(`select 1 from "AuthzRole" where "app" = $1 and "id" = $2 for key share`),
				args:    []any{app, r.ID},
				refused: func(context.Context) error { return seam.Absent("role", r.ID) },
			})
		case storage.RequireRecord:
			p.steps = append(p.steps, step{
				sql:  holds(`select 1 from "AuthzRecord" where "app" = $1 and "collection" = $2 and "id" = $3 and "version" = $4 for share`),
				args: []any{app, r.Collection, r.ID, r.Version},
				refused: func(ctx context.Context) error {
					return p.recordMoved(ctx, r.Collection, r.ID, r.Version)
				},
			})
		case storage.RequireHead:
		default:
			return storage.Errorf(storage.CodeValidation, "%T is no requirement", r)
		}
	}
	return nil
}

// recordMoved says which version a record has instead of the one asked for.
func (p *plan) recordMoved(ctx context.Context, collection, id string, wanted int64) error {
	row, found, err := p.store.GetRecord(ctx, collection, id)
	switch {
	case err != nil:
		return relational.WithOutcome(err, authz.OutcomeNotApplied)
	case !found:
		return storage.Errorf(storage.CodeConflict, "record %s does not exist", spell.Quote(id))
	}
	return seam.Moved(row.Version, "record %s is at version %d, not %d", spell.Quote(id), row.Version, wanted)
}

func (p *plan) audit() error {
	if len(p.c.Audit) == 0 {
		return nil
	}
	if err := insertRows(p, auditTable, p.c.Audit, func(e authz.AuditEntry) string { return e.ID }, "audit entry"); err != nil {
		return err
	}
	if p.store.driver.has(storage.CapAuditSubjects) {
		p.subjects(p.c.Audit)
	}
	return nil
}

// last are the statements that take the head and record the result: they hold
// the partition's queue, and nothing comes between them and the commit.
func (p *plan) last() ([]step, error) {
	app := p.store.partition
	var steps []step
	for _, r := range p.c.Requires {
		if head, ok := r.(storage.RequireHead); ok {
			steps = append(steps, p.head(authz.Position(head))...)
		}
	}
	p.result.UpTo = authz.Position{} // an earlier attempt may have left its own
	encoded, err := relational.EncodeResult(p.result)
	if err != nil {
		return nil, err
	}
	if len(p.c.Events) == 0 {
		if p.answers {
			steps = append(steps, step{sql: `update "AuthzCommit" set "result" = $3 where "app" = $1 and "id" = $2`, args: []any{app, p.c.ID, encoded}})
		}
		return steps, nil
	}
	types, payloads := make([]string, len(p.c.Events)), make([]string, len(p.c.Events))
	for i, e := range p.c.Events {
		types[i] = string(e.Type)
		if payloads[i], err = relational.EventPayload(e); err != nil {
			return nil, storage.Errorf(storage.CodeValidation, "event %d cannot be written as JSON", i)
		}
	}
	return append(steps, step{
		sql: `with here as (select 1 / ` + guard(`$8`, `$9::bigint`) + `::int as one), head as (
				insert into "AuthzEpoch" as t ("app", "id", "seq", "prunedThrough", "identity")
				select $1, here.one, $2, 0, ` + follow(`''`, `$6`, `$2::bigint`) + ` from here
				on conflict ("app", "id") do update set "seq" = t."seq" + $2,
					"identity" = ` + follow(`coalesce(t."identity", '')`, `$6`, `(t."seq" + $2)`) + ` returning t."seq", t."identity"),
			numbered as (
				insert into "AuthzEvent" ("app", "seq", "type", "payload", "at", "identity")
				select $1, head."seq" - $2 + n.ordinal, n.type, n.payload::json, $3::bigint, head."identity"
				from head, unnest($4::text[], $5::text[]) with ordinality n(type, payload, ordinal)),
			recorded as (
				update "AuthzCommit" set "result" = ($7::text || head."seq" || ',"identity":"' || head."identity" || '"}')::json
				from head where "app" = $1 and "id" = $6)
			select "seq", "identity" from head`,
		args:    []any{app, int64(len(types)), p.c.At, types, payloads, p.c.ID, strings.TrimSuffix(encoded, "0}")},
		late:    p.store.driver.primary.arguments,
		refused: p.store.driver.errMoved,
		read: func(rows pgx.Rows) error {
			for rows.Next() {
				if err := rows.Scan(&p.result.UpTo.Seq, &p.result.UpTo.Identity); err != nil {
					return err
				}
			}
			return nil
		},
	}), nil
}

// follow is the SQL of storage.Follow.
func follow(before, commit, last string) string {
	return `substr(encode(sha256(convert_to(` + before + ` || '/' || ` + commit + `::text || '/' || ` + last + `::text, 'UTF8')), 'hex'), 1, 32)`
}

// head compares the log's head under the lock that numbers are taken under.
func (p *plan) head(want authz.Position) []step {
	app := p.store.partition
	var steps []step
	if want.Seq == 0 {
		steps = append(steps, step{sql: `insert into "AuthzEpoch" ("app", "id", "seq", "prunedThrough") values ($1, 1, 0, 0)
			on conflict ("app", "id") do nothing`, args: []any{app}})
	}
	return append(steps, step{
		sql: holds(`select 1 from "AuthzEpoch" where "app" = $1 and "seq" = $2
			and ($3 = '' or coalesce("identity", $3) = $3) for no key update`),
		args: []any{app, want.Seq, want.Identity},
		refused: func(ctx context.Context) error {
			current, err := p.store.Head(ctx)
			if err != nil {
				return relational.WithOutcome(err, authz.OutcomeNotApplied)
			}
			return storage.Errorf(storage.CodeConflict, "the log head is %s, not %s", current, want)
		},
	})
}

func (s *store) sweepCommits(ctx context.Context) {
	_ = s.driver.transact(ctx, &transaction{steps: []step{{ // the next sweep has it again
		sql: `delete from "AuthzCommit" where "app" = $1 and "id" in (select "id" from "AuthzCommit" where "app" = $1 and "at" < ` + clock + ` - ` + keepCommits + `
			order by "at" limit $2 for update skip locked)`,
		args: []any{s.partition, sweepRows},
	}}})
}
