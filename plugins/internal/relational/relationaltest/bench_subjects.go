package relationaltest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// BenchSubjects measures what the subjects of audit entries cost a commit: of one grant and
// of 10,000, by turns with the same commit whose entry is about nobody, in as many bytes.
func BenchSubjects(b *testing.B, s storage.Store) {
	b.Helper()
	commit := func(id string, grants int, kind, actor string) storage.Commit {
		c := storage.Commit{ID: id, At: 1, Events: []authz.Event{{Type: authz.EventAll}}}
		named := make([]string, grants)
		for i := range named {
			user := fmt.Sprintf("user:u_%06d", i)
			named[i] = `{"subject":"` + strings.Replace(user, "user", kind, 1) + `","pattern":"docs.files.read","scope":"*"}`
			c.Changes = append(c.Changes, storage.InsertGrant{Grant: authz.Grant{ID: fmt.Sprintf("%s-%06d", id, i), Subject: user, Pattern: "docs.files.read", Scope: "*",
				Provenance: authz.AdminProvenance("root"), CreatedAt: 1}})
		}
		c.Audit = []authz.AuditEntry{{ID: id, At: 1, Actor: actor, Action: "grant.create_bulk", Target: "t", Detail: []byte(`{"grants":[` + strings.Join(named, ",") + `]}`)}}
		return c
	}
	for _, grants := range []int{1, 10_000} {
		b.Run(fmt.Sprint(grants), func(b *testing.B) {
			var with, without []time.Duration
			for i := 0; b.Loop(); i++ {
				for _, c := range []struct {
					took        *[]time.Duration
					kind, actor string
				}{{&with, "user", "root"}, {&without, "uses", ""}} {
					next := commit(fmt.Sprint(c.kind, grants, "-", i), grants, c.kind, c.actor)
					began := time.Now()
					if _, err := s.Commit(b.Context(), next); err != nil {
						b.Fatal(err)
					}
					*c.took = append(*c.took, time.Since(began))
				}
			}
			for unit, took := range map[string][]time.Duration{"ms-with": with, "ms-without": without} {
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, unit)
			}
		})
	}
}
