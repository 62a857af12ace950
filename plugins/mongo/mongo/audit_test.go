package mongo

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/authzhost/authz/plugins/mongo/internal/layout"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// Entries of an older version are found by their subjects too, and those that an older
// host writes later.
func TestEntriesWithoutSubjectsAreFoundByThem(t *testing.T) {
	eachLayout(t, func(t *testing.T, d *database) {
		s := d.open(t)
		c := storage.Commit{ID: "log"}
		var want []string
		for i := range 120 {
			id := fmt.Sprintf("%04d", i)
			e := authz.AuditEntry{ID: id, At: int64(i / 5), Actor: "root", Action: "grant.create", Target: "g", Detail: json.RawMessage(fmt.Sprintf(`{"subject":"user:u%d"}`, i%3))}
			if c.Audit = append(c.Audit, e); i%3 == 1 {
				want = append(want, id)
			}
		}
		if _, err := s.Commit(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		in := s.partition.in(layout.Audit)
		for _, older := range [][]authz.AuditEntry{c.Audit[:100], c.Audit[7:8]} {
			for _, e := range older { // FerretDB stands still when it is to update many at once
				if found, err := in.Update(t.Context(), in.Key(e.ID), bson.D{{Key: "$unset", Value: bson.D{{Key: "subjects", Value: ""}}}}); err != nil || !found {
					t.Fatal(found, err)
				}
			}
			subject := "user:u1"
			var got []string
			for e, err := range s.ListAudit(t.Context(), storage.AuditFilter{Subject: &subject}) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, e.ID)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d of %d entries", len(got), len(want))
			}
			if left, err := in.Count(t.Context(), in.Where(unindexed)); err != nil || left != 0 {
				t.Errorf("%d entries are left without subjects, %v", left, err)
			}
		}
	})
}

func TestSubjectsThatFitADocument(t *testing.T) {
	all := []string{"user:a", "user:b", "user:c"}
	for room, want := range map[int]int{-1: 0, 0: 0, 21: 0, 22: 1, 45: 2, 66: 3, 1000: 3} {
		if got := fitting(all, room); len(got) != want || got == nil {
			t.Errorf("%d of %d", len(got), room)
		}
	}
}
