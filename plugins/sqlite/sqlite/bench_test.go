package sqlite_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/authzhost/authz/plugins/internal/relational/relationaltest"
	"github.com/authzhost/authz/plugins/sqlite/sqlite"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func openBench(b *testing.B) storage.Store {
	b.Helper()
	d, err := sqlite.Open(b.Context(), sqlite.Options{Path: b.TempDir() + "/authz.db"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = d.Close() })
	s, err := d.Open(b.Context(), "bench")
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func benchGrant(i int) authz.Grant {
	g := authz.Grant{ID: fmt.Sprintf("g%09d", i), Subject: "user:u" + strconv.Itoa(i%100_000), Scope: "docs.doc:" + strconv.Itoa(i%5000),
		Provenance: authz.AdminProvenance("root"), CreatedAt: 1}
	if i%2 == 0 {
		g.RoleID = "r" + strconv.Itoa(i%200)
	} else {
		g.Pattern = "docs.doc:read"
	}
	return g
}

func commitGrants(b *testing.B, s storage.Store, from, n int) {
	b.Helper()
	c := storage.Commit{ID: fmt.Sprintf("c%d-%d", from, n), At: 1}
	for i := from; i < from+n; i++ {
		c.Changes = append(c.Changes, storage.InsertGrant{Grant: benchGrant(i)})
	}
	c.Audit = []authz.AuditEntry{{ID: c.ID, At: 1, Actor: "root", Action: "grant.create", Target: "t"}}
	c.Events = []authz.Event{{Type: authz.EventAll}}
	if _, err := s.Commit(b.Context(), c); err != nil {
		b.Fatal(err)
	}
}

// One grant, its audit entry and its event, synced.
func BenchmarkCommitGrant(b *testing.B) {
	s := openBench(b)
	for i := 0; b.Loop(); i++ {
		commitGrants(b, s, i, 1)
	}
}

func BenchmarkCreateGrants10000(b *testing.B) {
	s := openBench(b)
	i := 0
	for b.Loop() {
		commitGrants(b, s, i*10_000, 10_000)
		i++
	}
	b.ReportMetric(float64(i)*10_000/b.Elapsed().Seconds(), "rows/s")
}

// AUTHZ_BENCH_GRANTS sizes the table.
func BenchmarkReadAccess(b *testing.B) {
	n, err := strconv.Atoi(os.Getenv("AUTHZ_BENCH_GRANTS"))
	if err != nil {
		n = 20_000
	}
	s := openBench(b)
	for i := 0; i < n; i += 10_000 {
		commitGrants(b, s, i, 10_000)
	}
	var directory []storage.Change
	for i := range 200 {
		directory = append(directory, storage.UpsertRole{Role: authz.Role{ID: "r" + strconv.Itoa(i), Name: "r", Patterns: []string{"docs.doc:read", "docs.doc:write"}}})
		directory = append(directory, storage.UpsertGroup{Group: authz.Group{ID: "g" + strconv.Itoa(i), Name: "g", Parents: []string{"g" + strconv.Itoa(i+1)}}})
	}
	for i := range 1000 {
		directory = append(directory, storage.UpsertUser{User: authz.User{UserID: "u" + strconv.Itoa(i), Active: true, OrgIDs: []string{"o"},
			GroupIDs: []string{"g195", "g190"}, ManagerUserID: "u" + strconv.Itoa(i/8)}})
	}
	if _, err := s.Commit(b.Context(), storage.Commit{ID: "directory", Changes: directory}); err != nil {
		b.Fatal(err)
	}
	for name, q := range map[string]storage.AccessQuery{
		"subjects": {Subjects: []string{"everyone", "org:o", "group:g195", "group:g196", "orgof:u1", "directs:u1"}},
		"expand":   {Expand: true},
	} {
		b.Run(name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				q.UserID = "u" + strconv.Itoa(i*7919%1000)
				asked := q
				if !q.Expand {
					asked.Subjects = append([]string{"user:" + q.UserID}, q.Subjects...)
				}
				a, err := s.ReadAccess(b.Context(), asked)
				if err != nil || len(a.Grants) == 0 {
					b.Fatal(len(a.Grants), err)
				}
			}
		})
	}
	b.Run("count", func(b *testing.B) {
		for b.Loop() {
			if got, err := s.CountGrants(b.Context(), storage.GrantFilter{}); err != nil || got != int64(n) {
				b.Fatal(got, err)
			}
		}
	})
	b.Run("list", func(b *testing.B) {
		rows := 0
		for b.Loop() {
			for _, err := range s.ListGrants(b.Context(), storage.GrantFilter{}, storage.Page{}) {
				if err != nil {
					b.Fatal(err)
				}
				rows++
			}
		}
		b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
	})
}

func BenchmarkLookups(b *testing.B) { relationaltest.BenchLookups(b, openBench(b), func() {}) }

func BenchmarkSubjects(b *testing.B) { relationaltest.BenchSubjects(b, openBench(b)) }
