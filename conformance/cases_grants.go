package conformance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// odd are strings that a database may take for each other, or order otherwise than
// by their bytes.
var odd = []string{"é", "e\u0301", " a", "a ", "a", "a\tb", "%", "_", `\`, `"`, "'", "$ne", "' OR 1=1", "日本", "\U0001F600", "\uFFFD", "A", "Ann", "ann"}

var grantCases = []storageCase{
	{ID: "B01", Rule: "grants with every field, provenance kind, role and pattern form read back equal", run: func(w *world) {
		kinds := []authz.Provenance{
			authz.AdminProvenance("root"),
			{Kind: authz.ProvenanceRequest, RequestID: "q1", ApprovedBy: "boss"},
			{Kind: authz.ProvenanceDissolution, VirtualParentID: "v", OriginalGrantID: "g"},
			{Kind: authz.ProvenanceMerge, Source: "other"},
			authz.ImportProvenance("ldap"),
			{Kind: authz.ProvenanceReconciler, IntegrationID: "i1"},
			{Kind: authz.ProvenanceSystem, Note: "seed", Via: "peer"},
		}
		var want []authz.Grant
		for i, p := range kinds {
			g := authz.Grant{ID: fmt.Sprintf("g%d", i), Subject: "user:u1", Scope: "docs.doc:1", ExpiresAt: authz.ExpiresAt(99),
				Provenance: p, CreatedAt: int64(i)}
			if i%2 == 0 {
				g.RoleID = "r1"
			} else {
				g.Pattern = "docs.*"
			}
			want = append(want, g)
		}
		w.write(insertGrants(want...)...)
		w.same(want, rows(w, w.ListGrants(w.ctx, storage.GrantFilter{}, storage.Page{})))
		w.same(want[1], one[authz.Grant](w)(w.GetGrant(w.ctx, "g1")))
	}},
	{ID: "B02", Rule: "optional fields that are absent come back absent", run: func(w *world) {
		g := authz.Grant{ID: "g", Subject: "everyone", Pattern: "*", Scope: "*", Provenance: authz.Provenance{Kind: authz.ProvenanceSystem}}
		q := authz.Request{ID: "q", RequesterUserID: "u", Pattern: "*", Scope: "*", State: authz.RequestPending}
		w.do(storage.Commit{ID: "c", Changes: []storage.Change{
			storage.InsertGrant{Grant: g}, storage.InsertRequest{Request: q},
			storage.UpsertRole{Role: authz.Role{ID: "r", Name: "R"}}, storage.UpsertGroup{Group: authz.Group{ID: "g", Name: "G"}},
		}, Audit: []authz.AuditEntry{{ID: "a"}}})
		got := one[authz.Grant](w)(w.GetGrant(w.ctx, "g"))
		if got.RoleID != "" || !got.ExpiresAt.IsZero() {
			w.Fatalf("absent members came back: %+v", got)
		}
		if q := one[authz.Request](w)(w.GetRequest(w.ctx, "q")); q.RoleID != "" || q.DecidedAt != nil || !q.ProposedExpiresAt.IsZero() {
			w.Fatalf("absent members came back: %+v", q)
		}
		if r := one[authz.Role](w)(w.GetRole(w.ctx, "r")); r.Requestable != nil || r.Description != "" {
			w.Fatalf("absent members came back: %+v", r)
		}
		if g := one[authz.Group](w)(w.GetGroup(w.ctx, "g")); g.Virtual || g.Description != "" {
			w.Fatalf("absent members came back: %+v", g)
		}
		if a := rows(w, w.ListAudit(w.ctx, storage.AuditFilter{}))[0]; a.Detail != nil || a.Hash != "" || a.PrevHash != "" {
			w.Fatalf("absent members came back: %+v", a)
		}
	}},
	{ID: "B03", Rule: "a filter on subject, subjects, scope or roleId selects exactly the matching rows", run: func(w *world) {
		threeGrants(w)
		w.same([]string{"g1", "g3"}, w.grantIDs(storage.GrantFilter{Subject: ptr("user:u1")}))
		w.same([]string{"g1", "g2", "g3"}, w.grantIDs(storage.GrantFilter{Subjects: []string{"user:u2", "user:u1", "user:u1", "user:u9"}}))
		w.same([]string{"g2", "g3"}, w.grantIDs(storage.GrantFilter{Scope: ptr("docs.doc:1")}))
		w.same([]string{"g1", "g2"}, w.grantIDs(storage.GrantFilter{RoleID: ptr("r1")}))
	}},
	{ID: "B04", Rule: "filters combine with AND, and a contradiction is empty", run: func(w *world) {
		threeGrants(w)
		w.same([]string{"g3"}, w.grantIDs(storage.GrantFilter{Subject: ptr("user:u1"), Scope: ptr("docs.doc:1")}))
		w.same([]string{"g2"}, w.grantIDs(storage.GrantFilter{Subjects: []string{"user:u1", "user:u2"}, Scope: ptr("docs.doc:1"), RoleID: ptr("r1")}))
		w.same([]string{"g1", "g3"}, w.grantIDs(storage.GrantFilter{Subject: ptr("user:u1"), Subjects: []string{"user:u1", "user:u2"}}))
		w.same([]string{}, w.grantIDs(storage.GrantFilter{Subject: ptr("user:u1"), Subjects: []string{"user:u2"}}))
	}},
	{ID: "B05", Rule: "an empty list of subjects selects nothing", run: func(w *world) {
		threeGrants(w)
		w.same([]string{}, w.grantIDs(storage.GrantFilter{Subjects: []string{}}))
		if n, err := w.CountGrants(w.ctx, storage.GrantFilter{Subjects: []string{}}); n != 0 || err != nil {
			w.Fatalf("count %d, %v", n, err)
		}
	}},
	{ID: "B06", Rule: "no filter selects all rows", run: func(w *world) {
		threeGrants(w)
		w.same([]string{"g1", "g2", "g3"}, w.grantIDs(storage.GrantFilter{}))
	}},
	{ID: "B07", Rule: "a roleId that is present but empty never selects grants without a role", run: func(w *world) {
		threeGrants(w)
		w.same([]string{}, w.grantIDs(storage.GrantFilter{RoleID: ptr("")}))
		w.same([]string{}, w.grantIDs(storage.GrantFilter{RoleID: ptr(""), Subject: ptr("user:u1")}))
		w.same([]string{}, w.grantIDs(storage.GrantFilter{RoleID: ptr("null")}))
	}},
	{ID: "B08", Rule: "countGrants equals the length of the list for every filter shape", run: func(w *world) {
		threeGrants(w)
		for _, subject := range []*string{nil, ptr("user:u1"), ptr("user:u9")} {
			for _, subjects := range [][]string{nil, {}, {"user:u1", "user:u2", "user:u1"}} {
				for _, scope := range []*string{nil, ptr("docs.doc:1")} {
					for _, role := range []*string{nil, ptr("r1"), ptr("")} {
						f := storage.GrantFilter{Subject: subject, Subjects: subjects, Scope: scope, RoleID: role}
						n, err := w.CountGrants(w.ctx, f)
						if err != nil || int(n) != len(w.grantIDs(f)) {
							w.Fatalf("%+v: count %d, %v; list %v", f, n, err, w.grantIDs(f))
						}
					}
				}
			}
		}
	}},
	{ID: "B09", Rule: "inserting an existing id is a conflict and leaves the first row unchanged", run: func(w *world) {
		w.do(storage.Commit{ID: "first", Changes: []storage.Change{
			storage.InsertGrant{Grant: grant("x", "user:u1")}, storage.InsertRevoke{Revoke: revoke("x", "u1", "*")},
			storage.InsertRequest{Request: request("x", 1)},
		}, Audit: []authz.AuditEntry{entry("x", 1)}})
		w.refuse(storage.CodeConflict, changes(storage.InsertGrant{Grant: grant("x", "user:u2")}))
		w.refuse(storage.CodeConflict, changes(storage.InsertRevoke{Revoke: revoke("x", "u2", "*")}))
		w.refuse(storage.CodeConflict, changes(storage.InsertRequest{Request: request("x", 2)}))
		w.refuse(storage.CodeConflict, storage.Commit{ID: "c4", Audit: []authz.AuditEntry{entry("x", 2)}})
		w.refuse(storage.CodeConflict, storage.Commit{ID: "c5", Audit: []authz.AuditEntry{entry("y", 2), entry("y", 3)}})
		w.same(grant("x", "user:u1"), one[authz.Grant](w)(w.GetGrant(w.ctx, "x")))
		w.same(revoke("x", "u1", "*"), one[authz.Revoke](w)(w.GetRevoke(w.ctx, "x")))
		w.same(request("x", 1), one[authz.Request](w)(w.GetRequest(w.ctx, "x")))
		w.same([]authz.AuditEntry{entry("x", 1)}, rows(w, w.ListAudit(w.ctx, storage.AuditFilter{})))
	}},
	{ID: "B10", Rule: "deleting a grant returns the row, then none; mustExist is not_found", run: func(w *world) {
		threeGrants(w)
		w.same(ptr(grant("g2", "user:u2", at("docs.doc:1"), ofRole("r1"))), w.write(storage.DeleteGrant{ID: "g2"})[0].Grant)
		if again := w.write(storage.DeleteGrant{ID: "g2"})[0].Grant; again != nil {
			w.Fatalf("deleted twice: %+v", again)
		}
		w.refuse(storage.CodeNotFound, changes(storage.DeleteGrant{ID: "g2", MustExist: true}))
		w.same([]string{}, w.grantIDs(storage.GrantFilter{Subject: ptr("user:u2")}))
		w.same([]string{"g3"}, w.grantIDs(storage.GrantFilter{Scope: ptr("docs.doc:1")}))
		w.same([]string{"g1"}, w.grantIDs(storage.GrantFilter{RoleID: ptr("r1")}))
	}},
	{ID: "B10b", Rule: "a grant that is deleted and inserted again in one commit is the new row, found by what the new row says", run: func(w *world) {
		threeGrants(w)
		again := grant("g2", "user:u9", at("docs.doc:2"), until(9))
		w.write(storage.DeleteGrant{ID: "g2", MustExist: true}, storage.InsertGrant{Grant: again})
		found, _, err := w.GetGrant(w.ctx, "g2")
		w.same(again, found)
		w.code("", err)
		w.same([]string{"g2"}, w.grantIDs(storage.GrantFilter{Subject: ptr("user:u9")}))
		w.same([]string{}, w.grantIDs(storage.GrantFilter{Subject: ptr("user:u2")}))
		w.same([]string{"g3"}, w.grantIDs(storage.GrantFilter{Scope: ptr("docs.doc:1")}))
		w.same([]string{"g1"}, w.grantIDs(storage.GrantFilter{RoleID: ptr("r1")}))
	}},
	{ID: "B11", Rule: "of two concurrent deletes exactly one gets the row", run: func(w *world) {
		stores := []*named{w.named, w.another("")}
		for round := range 50 {
			id := fmt.Sprintf("g%d", round)
			w.write(storage.InsertGrant{Grant: grant(id, "user:u1")})
			got := make([]*authz.Grant, 2)
			w.Each(2, func(i int) {
				if r, err := stores[i].Commit(w.ctx, changes(storage.DeleteGrant{ID: id})); err == nil {
					got[i] = r.Results[0].Grant
				}
			})
			if (got[0] == nil) == (got[1] == nil) {
				w.Fatalf("round %d: %v and %v", round, got[0], got[1])
			}
		}
	}},
	{ID: "B12", Rule: "strings are stored and matched byte for byte", run: func(w *world) {
		var list []authz.Grant
		for _, s := range odd {
			list = append(list, grant("id "+s, "user:"+s, at("docs.doc:"+s)))
		}
		w.write(insertGrants(list...)...)
		for i, s := range odd {
			w.same([]authz.Grant{list[i]}, rows(w, w.ListGrants(w.ctx, storage.GrantFilter{Subject: ptr("user:" + s)}, storage.Page{})))
			w.same([]string{"id " + s}, w.grantIDs(storage.GrantFilter{Scope: ptr("docs.doc:" + s)}))
			w.same(list[i], one[authz.Grant](w)(w.GetGrant(w.ctx, "id "+s)))
		}
		sorted := ids(list, grantID)
		slices.Sort(sorted)
		w.same(sorted, w.grantIDs(storage.GrantFilter{}))
	}},
	{ID: "B13", Rule: "nothing is matched by prefix or folded", run: func(w *world) {
		w.write(insertGrants(grant("1", "user:Ann", at("docs.doc:1")), grant("2", "user:ann", at("docs.doc:10")))...)
		w.same([]string{"1"}, w.grantIDs(storage.GrantFilter{Scope: ptr("docs.doc:1")}))
		w.same([]string{"2"}, w.grantIDs(storage.GrantFilter{Subject: ptr("user:ann")}))
	}},
	{ID: "B14", large: true, Rule: "a list of 2500 rows yields each once, ascending, and a page bounds and resumes it", run: func(w *world) {
		want := manyGrants(w, 2500)
		w.same(want, w.grantIDs(storage.GrantFilter{}))
		w.same(want, w.grantIDs(storage.GrantFilter{Subjects: []string{"user:u0", "user:u1", "user:u2"}}))
		list := w.ListGrants(w.ctx, storage.GrantFilter{}, storage.Page{})
		w.same(rows(w, list), rows(w, list)) // a sequence starts anew
		for _, f := range []storage.GrantFilter{{}, {Subjects: []string{"user:u2", "user:u0", "user:u1"}}} {
			for _, limit := range []int{70, 700, 1250, 2500, 9000} {
				w.same(want, w.paged(limit, func(p storage.Page) []string { return ids(rows(w, w.ListGrants(w.ctx, f, p)), grantID) }))
			}
		}
		w.code(storage.CodeValidation, listError(w.ListGrants(w.ctx, storage.GrantFilter{}, storage.Page{Limit: -1})))
	}},
	{ID: "B14c", large: true, Rule: "of 2500 rows a page of 1000 or 2000 holds as many and no more, of grants and of audit entries", run: func(w *world) {
		want := manyGrants(w, 2500)
		entries := make([]authz.AuditEntry, len(want))
		for i := range entries {
			entries[i] = entry(fmt.Sprintf("%04d", i), int64(i/7))
		}
		w.do(storage.Commit{ID: "entries", Audit: entries})
		audit := func(c *authz.AuditCursor, limit int) []authz.AuditEntry {
			return rows(w, w.ListAudit(w.ctx, storage.AuditFilter{Cursor: c, Limit: ptr(int64(limit))}))
		}
		for _, limit := range []int{1000, 2000} {
			next := min(2*limit, len(want))
			for _, f := range []storage.GrantFilter{{}, {Subjects: []string{"user:u2", "user:u0", "user:u1"}}} {
				w.same(want[:limit], ids(rows(w, w.ListGrants(w.ctx, f, storage.Page{Limit: limit})), grantID))
				w.same(want[limit:next], ids(rows(w, w.ListGrants(w.ctx, f, storage.Page{After: want[limit-1], Limit: limit})), grantID))
			}
			w.same(entries[len(entries)-limit:], audit(nil, limit))
			w.same(entries[:limit], audit(cursor(0, ""), limit))
			w.same(entries[limit:next], audit(ptr(entries[limit-1].Cursor()), limit))
		}
	}},
	{ID: "B15", Rule: "a list resumed while rows come and go yields stable rows once and none twice", run: func(w *world) {
		stable := manyGrants(w, 3000)
		seen := map[string]int{}
		n := 0
		for g, err := range w.ListGrants(w.ctx, storage.GrantFilter{}, storage.Page{}) {
			if err != nil {
				w.Fatalf("%v", err)
			}
			seen[g.ID]++
			if n++; n%500 == 0 {
				w.write(storage.InsertGrant{Grant: grant(g.ID+"+", "user:new")}, storage.InsertGrant{Grant: grant(fmt.Sprintf("a%d", n), "user:new")},
					storage.InsertGrant{Grant: grant(fmt.Sprintf("z%d", n), "user:new")}, storage.DeleteGrant{ID: fmt.Sprintf("z%d", n-500)})
			}
		}
		for _, id := range stable {
			if seen[id] != 1 {
				w.Fatalf("%s came %d times", id, seen[id])
			}
		}
		for id, times := range seen {
			if times != 1 {
				w.Fatalf("%s came %d times", id, times)
			}
		}
	}},
	{ID: "B16", Rule: "an expired grant is listed, counted and returned by readAccess", run: func(w *world) {
		w.write(storage.InsertGrant{Grant: grant("g", "user:u1", func(g *authz.Grant) { g.ExpiresAt = authz.ExpiresAt(1) })})
		w.same([]string{"g"}, w.grantIDs(storage.GrantFilter{}))
		if n, _ := w.CountGrants(w.ctx, storage.GrantFilter{}); n != 1 {
			w.Fatalf("count %d", n)
		}
		w.same([]string{"g"}, ids(w.access(storage.AccessQuery{Subjects: []string{"user:u1"}}).Grants, grantID))
	}},
	{ID: "B21", Rule: "revokes are filtered by user, by scope and by both; a user filter keeps rows at *", run: func(w *world) {
		w.write(storage.InsertRevoke{Revoke: revoke("1", "u1", "*")}, storage.InsertRevoke{Revoke: revoke("2", "u1", "docs.doc:1")},
			storage.InsertRevoke{Revoke: revoke("3", "u2", "docs.doc:1")})
		list := func(f storage.RevokeFilter) string {
			return strings.Join(ids(rows(w, w.ListRevokes(w.ctx, f, storage.Page{})), func(r authz.Revoke) string { return r.ID }), " ")
		}
		w.same("1 2", list(storage.RevokeFilter{UserID: ptr("u1")}))
		w.same("2 3", list(storage.RevokeFilter{Scope: ptr("docs.doc:1")}))
		w.same("2", list(storage.RevokeFilter{UserID: ptr("u1"), Scope: ptr("docs.doc:1")}))
		w.same("1 2 3", list(storage.RevokeFilter{}))
		w.same("", list(storage.RevokeFilter{UserID: ptr("")}))
	}},
	{ID: "B22", Rule: "deleting a revoke returns the row, then none", run: func(w *world) {
		w.write(storage.InsertRevoke{Revoke: revoke("1", "u1", "*")})
		w.same(ptr(revoke("1", "u1", "*")), w.write(storage.DeleteRevoke{ID: "1"})[0].Revoke)
		if r := w.write(storage.DeleteRevoke{ID: "1"}, storage.DeleteRevoke{ID: "unknown"}); r[0].Revoke != nil || r[1].Revoke != nil {
			w.Fatalf("deleted again: %+v", r)
		}
		w.refuse(storage.CodeNotFound, changes(storage.DeleteRevoke{ID: "1", MustExist: true}))
		w.same([]authz.Revoke{}, rows(w, w.ListRevokes(w.ctx, storage.RevokeFilter{UserID: ptr("u1")}, storage.Page{})))
	}},
}

func threeGrants(w *world) {
	w.write(insertGrants(
		grant("g2", "user:u2", at("docs.doc:1"), ofRole("r1")),
		grant("g1", "user:u1", ofRole("r1")),
		grant("g3", "user:u1", at("docs.doc:1")))...)
}

// manyGrants inserts n rows out of order, spread over three subjects.
func manyGrants(w *world, n int) []string {
	list := make([]authz.Grant, n)
	for i := range n {
		list[i] = grant(fmt.Sprintf("g%06d", i*7919%n), fmt.Sprintf("user:u%d", i%3))
	}
	w.write(insertGrants(list...)...)
	sorted := ids(list, grantID)
	slices.Sort(sorted)
	return sorted
}
