package relationaltest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// FillLog commits entries about subjects: more than a migration reads at once, by their
// number and by their size.
func FillLog(t *testing.T, s storage.Store) {
	t.Helper()
	var log []authz.AuditEntry
	for i := range 1300 {
		e := authz.AuditEntry{ID: fmt.Sprintf("%04d", i), At: int64(i / 3), Actor: fmt.Sprint("a", i%7), Action: "user.set_groups", Target: fmt.Sprint("u", i%11)}
		switch i % 4 {
		case 0:
			e.Detail = json.RawMessage(`{"groupIds":["g", "h"], "more":{"subject":"group:é"}}`)
		case 1:
			e.Detail = json.RawMessage(`null`)
		}
		if i%500 == 3 {
			e.Detail = json.RawMessage(`{"note":"` + strings.Repeat("x", 600_000) + `","subject":"directs:boss"}`)
		}
		log = append(log, e)
	}
	if _, err := s.Commit(t.Context(), storage.Commit{ID: "log", Audit: log}); err != nil {
		t.Fatal(err)
	}
}

// HasSubjects expects every entry to be found by each subject that it is about, and by no
// other: of those that a migration met, and of one that is written now.
func HasSubjects(t *testing.T, s storage.Store) {
	t.Helper()
	after := authz.AuditEntry{ID: "zz", At: 9999, Actor: "a1", Action: "group.update", Target: "g"}
	if _, err := s.Commit(t.Context(), storage.Commit{ID: "one more", Audit: []authz.AuditEntry{after}}); err != nil {
		t.Fatal(err)
	}
	list := func(f storage.AuditFilter) (ids []string, entries []authz.AuditEntry) {
		for e, err := range s.ListAudit(t.Context(), f) {
			if err != nil {
				t.Fatal(err)
			}
			ids, entries = append(ids, e.ID), append(entries, e)
		}
		return ids, entries
	}
	_, log := list(storage.AuditFilter{})
	if len(log) != 1301 {
		t.Fatalf("%d entries", len(log))
	}
	for _, subject := range []string{"user:a1", "user:u3", "group:g", "group:é", "user:boss", "directs:boss", "group:u3", "user:nobody"} {
		var want []string
		for _, e := range log {
			if e.IsAbout(subject) {
				want = append(want, e.ID)
			}
		}
		got, _ := list(storage.AuditFilter{Subject: &subject})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("about %s (-want +got):\n%s", subject, diff)
		}
	}
}
