package relationaltest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// LeavesOutDetails expects that a detail longer than a limit stays in the database, and
// that it comes whole where its length is unknown, as in the entries of version 4. forget
// takes the lengths from the rows. (Conformance lets a driver leave nothing out.)
func LeavesOutDetails(t *testing.T, s storage.Store, forget func()) {
	t.Helper()
	const entries = 70 // more than a driver reads backwards
	whole := make([]authz.AuditEntry, entries)
	shortened := make([]authz.AuditEntry, entries)
	for i := range whole {
		e := authz.AuditEntry{ID: fmt.Sprintf("%03d", i), At: int64(i), Actor: "root", Action: "role.create", Target: "r"}
		switch i % 3 {
		case 0:
			e.Detail = json.RawMessage(`"` + strings.Repeat("x", 200+i) + `"`)
		case 1:
			e.Detail = json.RawMessage(`"` + strings.Repeat("x", 98) + `"`)
		}
		whole[i], shortened[i] = e, e
		if i%3 == 0 {
			shortened[i].Detail, shortened[i].DetailBytes = nil, int64(len(e.Detail))
		}
	}
	if _, err := s.Commit(t.Context(), storage.Commit{ID: "details", Audit: whole}); err != nil {
		t.Fatal(err)
	}
	few, many, limit := int64(4), int64(entries-2), int64(100)
	lists := func(want []authz.AuditEntry) {
		t.Helper()
		for name, c := range map[string]struct {
			filter storage.AuditFilter
			want   []authz.AuditEntry
		}{
			"all":               {storage.AuditFilter{}, want},
			"a few of the last": {storage.AuditFilter{Limit: &few}, want[entries-few:]},
			"most":              {storage.AuditFilter{Limit: &many}, want[entries-many:]},
			"from a position":   {storage.AuditFilter{Cursor: &authz.AuditCursor{At: 5, ID: "005"}, Limit: &few}, want[6 : 6+few]},
			"selected":          {storage.AuditFilter{Target: new("r"), Actor: new("root"), Action: new("role.create"), From: new(int64(3)), To: new(int64(9))}, want[3:9]},
		} {
			c.filter.DetailLimit = &limit
			var got []authz.AuditEntry
			for e, err := range s.ListAudit(t.Context(), c.filter) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, e)
			}
			if diff := cmp.Diff(slices.Clip(c.want), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	}
	lists(shortened)
	forget()
	lists(whole)
}
