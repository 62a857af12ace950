package postgres_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/authzhost/authz/plugins/internal/relational/relationaltest"
	"github.com/authzhost/authz/plugins/postgres/postgres"
	"github.com/authzhost/authz/plugins/postgres/postgrestest"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// reportMedian adds the median of the times of single operations.
func reportMedian(b *testing.B, times []time.Duration) {
	b.Helper()
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), "p99-µs")
}

func timed(b *testing.B, f func(i int)) {
	b.Helper()
	times := make([]time.Duration, 0, b.N)
	for i := 0; b.Loop(); i++ {
		start := time.Now()
		f(i)
		times = append(times, time.Since(start))
	}
	reportMedian(b, times)
}

func smallCommit(i int) storage.Commit {
	id := fmt.Sprintf("grant-%09d", i)
	return storage.Commit{ID: "commit-" + id, At: 1,
		Changes: []storage.Change{storage.InsertGrant{Grant: grant(id, fmt.Sprint("user:", i%1000))}},
		Audit:   []authz.AuditEntry{{ID: id, At: int64(i), Actor: "user:root", Action: "createGrant", Target: "user:x", Detail: []byte(`{"grant":"x"}`)}},
		Events:  []authz.Event{authz.UserEvent("x")}}
}

// A grant, its audit entry and its event, the commonest write, turn by turn with
// the same rows in one pipelined transaction written by hand: what it costs at
// least. Each has a connection of its own.
func BenchmarkCommitGrant(b *testing.B) {
	dsn := postgrestest.Database(b)
	s := open(b, connect(b, postgres.Options{DSN: dsn}), "p")
	open(b, connect(b, postgres.Options{DSN: dsn}), "bare")
	pool := must[*pgxpool.Pool](b)(pgxpool.New(context.Background(), dsn))
	defer pool.Close()
	bare := func(i int) {
		id := fmt.Sprintf("grant-%09d", i)
		batch := &pgx.Batch{}
		batch.Queue("begin")
		batch.Queue(`insert into "AuthzCommit" ("app", "id", "digest", "result", "at") values ($1, $2, $3, $4, $5)`, "bare", "commit-"+id,
			"0123456789012345678901234567890123456789012345678901234567890123", `{"count":1,"results":[],"upTo":1}`, int64(1))
		batch.Queue(`insert into "AuthzGrant" ("app", "id", "subject", "pattern", "scope", "provenance", "createdAt") values ($1, $2, $3, $4, $5, $6, $7)`,
			"bare", id, fmt.Sprint("user:", i%1000), "docs.*", "*", `{"kind":"admin","actorUserId":"root"}`, int64(1))
		batch.Queue(`insert into "AuthzAudit" ("app", "id", "at", "actor", "action", "target", "detail") values ($1, $2, $3, $4, $5, $6, $7)`,
			"bare", id, int64(i), "user:root", "createGrant", "user:x", `{"grant":"x"}`)
		batch.Queue(`insert into "AuthzEpoch" as t ("app", "seq") values ($1, 1) on conflict ("app", "id") do update set "seq" = t."seq" + 1`, "bare")
		batch.Queue(`insert into "AuthzEvent" ("app", "seq", "type", "payload", "at") values ($1, $2, $3, $4, $5)`, "bare", int64(i+2), "user", `{"userId":"x"}`, int64(1))
		batch.Queue("commit")
		if err := pool.SendBatch(context.Background(), batch).Close(); err != nil {
			b.Fatal(err)
		}
	}
	ours := func(i int) {
		if _, err := s.Commit(context.Background(), smallCommit(i)); err != nil {
			b.Fatal(err)
		}
	}
	var times, least []time.Duration
	for i := -200; i < 0; i++ {
		bare(i)
		ours(i)
	}
	for i := 0; b.Loop(); i++ {
		start := time.Now()
		bare(i)
		half := time.Now()
		ours(i)
		least, times = append(least, half.Sub(start)), append(times, time.Since(half))
	}
	slices.Sort(least)
	slices.Sort(times)
	median := func(sorted []time.Duration) float64 { return float64(sorted[len(sorted)/2].Nanoseconds()) / 1000 }
	b.ReportMetric(median(times), "p50-µs")
	b.ReportMetric(median(least), "bare-p50-µs")
	b.ReportMetric(median(times)/median(least), "p50-ratio")
	b.ReportMetric(float64(times[len(times)/10])/float64(least[len(least)/10]), "p10-ratio")
}

func BenchmarkCreateGrants10000(b *testing.B) {
	dsn := postgrestest.Database(b)
	s := open(b, connect(b, postgres.Options{DSN: dsn}), "p")
	const rows = 10_000
	n := 0
	for b.Loop() {
		c := storage.Commit{ID: fmt.Sprint("bulk", n), At: 1, Audit: []authz.AuditEntry{{ID: fmt.Sprint("bulk", n)}}, Events: []authz.Event{{Type: authz.EventAll}}}
		for range rows {
			c.Changes = append(c.Changes, storage.InsertGrant{Grant: grant(fmt.Sprintf("grant-%09d", n), fmt.Sprint("user:", n%5000))})
			n++
		}
		if _, err := s.Commit(context.Background(), c); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(rows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

// benchWorld has a million grants and one user in twenty groups that have parents,
// under three managers.
func benchWorld(b *testing.B) (dsn string, s storage.Store, subjects []string) {
	b.Helper()
	if testing.Short() {
		b.Skip("short: a million grants are left out")
	}
	dsn = postgrestest.Database(b)
	s = open(b, connect(b, postgres.Options{DSN: dsn}), "p")
	const grants, batch = 1_000_000, 50_000
	for from := 0; from < grants; from += batch {
		c := storage.Commit{ID: fmt.Sprint("world", from), At: 1}
		for i := from; i < from+batch; i++ {
			g := grant(fmt.Sprintf("g%07d", i), fmt.Sprintf("user:u%d", i%200_000))
			if i%500 == 0 {
				g.Subject, g.Pattern, g.RoleID = fmt.Sprintf("group:g%d", i/500%2000), "", fmt.Sprint("r", i/500%30)
			}
			c.Changes = append(c.Changes, storage.InsertGrant{Grant: g})
		}
		if _, err := s.Commit(context.Background(), c); err != nil {
			b.Fatal(err)
		}
	}
	var changes []storage.Change
	for i := range 30 {
		changes = append(changes, storage.UpsertRole{Role: authz.Role{ID: fmt.Sprint("r", i), Name: "r", Patterns: []string{"docs.doc.read", "docs.doc.write"}}})
	}
	for i := range 2000 {
		changes = append(changes, storage.UpsertGroup{Group: authz.Group{ID: fmt.Sprint("g", i), Name: "g", Parents: []string{fmt.Sprint("g", i/10)}}})
	}
	for i := range 20_000 {
		u := authz.User{UserID: fmt.Sprint("u", i), Active: true, OrgIDs: []string{"o"}}
		if i > 0 {
			u.ManagerUserID = fmt.Sprint("u", i/20)
		}
		for k := range 20 {
			u.GroupIDs = append(u.GroupIDs, fmt.Sprint("g", (i+k*97)%2000))
		}
		changes = append(changes, storage.UpsertUser{User: u})
	}
	if _, err := s.Commit(context.Background(), storage.Commit{ID: "people", At: 1, Changes: changes, Events: []authz.Event{{Type: authz.EventAll}}}); err != nil {
		b.Fatal(err)
	}
	sql(b, dsn, "vacuum analyze")
	a := must[storage.Access](b)(s.ReadAccess(context.Background(), storage.AccessQuery{UserID: "u15000", Expand: true}))
	b.Logf("closure %d, grants %d, roles %d, managers %d", len(a.Closure), len(a.Grants), len(a.Roles), len(a.ManagerChain))
	return dsn, s, a.Closure
}

func BenchmarkReadAccess(b *testing.B) {
	dsn, s, subjects := benchWorld(b)
	ctx := context.Background()
	b.Run("given", func(b *testing.B) {
		timed(b, func(int) {
			if _, err := s.ReadAccess(ctx, storage.AccessQuery{UserID: "u15000", Subjects: subjects}); err != nil {
				b.Fatal(err)
			}
		})
	})
	b.Run("expand", func(b *testing.B) {
		timed(b, func(i int) {
			if _, err := s.ReadAccess(ctx, storage.AccessQuery{UserID: fmt.Sprint("u", 10_000+i%10_000), Expand: true}); err != nil {
				b.Fatal(err)
			}
		})
	})
	b.Run("parallel", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := s.ReadAccess(ctx, storage.AccessQuery{UserID: "u15000", Expand: true}); err != nil {
					b.Error(err)
				}
			}
		})
	})
	b.Run("5000 subjects", func(b *testing.B) {
		var many []string
		for i := range 5000 {
			many = append(many, fmt.Sprint("user:u", i*7))
		}
		timed(b, func(int) {
			if _, err := s.ReadAccess(ctx, storage.AccessQuery{UserID: "u15000", Subjects: many}); err != nil {
				b.Fatal(err)
			}
		})
	})
	b.Run("bare", func(b *testing.B) { // the grants alone, by hand
		pool := must[*pgxpool.Pool](b)(pgxpool.New(ctx, dsn))
		defer pool.Close()
		timed(b, func(int) {
			rows, err := pool.Query(ctx, `select "id", "subject", "roleId", "pattern", "scope", "expiresAt", "provenance", "createdAt" from "AuthzGrant"
				where "app" = $1 and "subject" = any($2)`, "p", subjects)
			if err != nil {
				b.Fatal(err)
			}
			for rows.Next() {
				var id, subject, scope string
				var role, pattern *string
				var expires *int64
				var provenance []byte
				var created int64
				if err := rows.Scan(&id, &subject, &role, &pattern, &scope, &expires, &provenance, &created); err != nil {
					b.Fatal(err)
				}
			}
			if rows.Err() != nil {
				b.Fatal(rows.Err())
			}
		})
	})
}

func BenchmarkLookups(b *testing.B) {
	dsn := postgrestest.Database(b)
	relationaltest.BenchLookups(b, open(b, connect(b, postgres.Options{DSN: dsn}), "p"), func() { sql(b, dsn, "vacuum analyze") })
}

func BenchmarkSubjects(b *testing.B) {
	relationaltest.BenchSubjects(b, open(b, connect(b, postgres.Options{DSN: postgrestest.Database(b)}), "p"))
}
