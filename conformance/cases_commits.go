package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// allKinds holds one change of every kind that writes, each free of conditions.
func (w *world) allKinds() []storage.Change {
	all := []storage.Change{
		storage.InsertGrant{Grant: grant("g", "user:u")}, storage.InsertRevoke{Revoke: revoke("v", "u", "*")},
		storage.InsertRequest{Request: fullRequest("q")}, storage.UpsertRole{Role: fullRole("r")},
		storage.UpsertGroup{Group: authz.Group{ID: "p"}}, storage.UpsertUser{User: user("u", in("p"))},
		storage.PatchUser{UserID: "w", GroupIDs: &[]string{"p"}}, putCatalog(1, 1, `{}`, nil),
	}
	all = append(all, w.ifHas(storage.CapImports, storage.PutImports{Version: 1, Manifest: json.RawMessage(`{}`)})...)
	all = append(all, w.ifHas(storage.CapAncestry, storage.PutScopeParents{Scope: "docs.doc:1"})...)
	return append(all, w.ifHas(storage.CapRecords,
		storage.PutRecord{Record: storage.Record{Collection: "c", ID: "i", Data: json.RawMessage(`{}`), Keys: [4]string{"k"}}})...)
}

// nothing expects a partition without a trace of allKinds.
func nothing(w *world) {
	none[authz.Grant](w)(w.GetGrant(w.ctx, "g"))
	none[authz.Revoke](w)(w.GetRevoke(w.ctx, "v"))
	none[authz.Request](w)(w.GetRequest(w.ctx, "q"))
	none[authz.Role](w)(w.GetRole(w.ctx, "r"))
	none[authz.Group](w)(w.GetGroup(w.ctx, "p"))
	none[authz.User](w)(w.GetUser(w.ctx, "u"))
	none[storage.CatalogHead](w)(w.GetCatalog(w.ctx))
	w.same([]string{}, w.members("p"))
	w.same("", w.audit(storage.AuditFilter{}))
	if w.has(storage.CapImports) {
		none[storage.ImportsHead](w)(w.GetImports(w.ctx))
	}
	if w.has(storage.CapHistory) {
		w.same([]storage.CatalogVersion{}, rows(w, w.ListCatalogVersions(w.ctx)))
	}
	if w.has(storage.CapAncestry) {
		parents, err := w.GetScopeParents(w.ctx, []string{"docs.doc:1"})
		w.code("", err)
		w.same(map[string][]string{}, parents)
	}
	if w.has(storage.CapRecords) {
		none[storage.Record](w)(w.GetRecord(w.ctx, "c", "i"))
		w.same([]storage.Record{}, rows(w, w.ListRecords(w.ctx, "c", storage.RecordFilter{Index: 1, Value: "k"}, storage.Page{})))
	}
	if w.has(storage.CapEvents) {
		w.same(int64(0), w.head())
	}
	if n, _ := w.CountGrants(w.ctx, storage.GrantFilter{}); n != 0 {
		w.Fatalf("%d grants", n)
	}
}

var commitCases = []storageCase{
	{ID: "B58", Rule: "a commit whose last change, audit entry or head is refused leaves nothing, not even its id", run: func(w *world) {
		c := storage.Commit{ID: "c", At: 1, Changes: w.allKinds(), Audit: []authz.AuditEntry{entry("a", 1)}, Events: w.events(authz.Event{Type: authz.EventAll})}
		whole := c
		c.Changes = append(w.allKinds(), storage.DeleteGrant{ID: "absent", MustExist: true})
		w.refuse(storage.CodeNotFound, c)
		nothing(w)
		c.Changes, c.Audit = w.allKinds(), []authz.AuditEntry{entry("a", 1), entry("a", 2)}
		w.refuse(storage.CodeConflict, c)
		nothing(w)
		if w.has(storage.CapEvents) {
			c.Audit, c.Requires = whole.Audit, []storage.Requirement{storage.RequireHead{Seq: 7}}
			w.refuse(storage.CodeConflict, c)
			nothing(w)
		}
		none[storage.CommitResult](w)(w.GetCommit(w.ctx, "c"))
		if got := w.do(whole); got.Replayed || got.UpTo.Seq != int64(len(whole.Events)) {
			w.Fatalf("after refusals: %+v", got)
		}
	}},
	{ID: "B59", Rule: "the same commit sent twice, also after reopening, is applied once and answers the first result", Needs: storage.Capabilities{storage.CapRecords, storage.CapEvents}, run: func(w *world) {
		w.write(insertGrants(grant("old", "user:u"))...)
		c := storage.Commit{ID: "c", At: 5, Changes: []storage.Change{storage.DeleteGrant{ID: "old"},
			storage.PutRecord{Record: storage.Record{Collection: "c", ID: "i", Data: json.RawMessage(`1`)}}, storage.DeleteGrant{ID: "none"}},
			Events: []authz.Event{{Type: authz.EventAll}}}
		first := w.do(c)
		w.same("old", first.Results[0].Grant.ID)
		w.same(int64(1), first.Results[1].Version)
		w.same(int64(1), first.UpTo.Seq)
		first.Replayed = true
		w.same(first, w.do(c))
		w.named = w.reopen()
		w.same(first, w.do(c))
		w.same(int64(1), w.head())
		first.Replayed = false
		w.same(first, one[storage.CommitResult](w)(w.GetCommit(w.ctx, "c")))
		none[storage.CommitResult](w)(w.GetCommit(w.ctx, "d"))
	}},
	{ID: "B60", Rule: "the same id with other content is a conflict and writes nothing", run: func(w *world) {
		base := func() storage.Commit {
			return storage.Commit{ID: "c", At: 5, Changes: []storage.Change{storage.PatchUser{UserID: "u"}, storage.DeleteRole{ID: "r"}},
				Audit: []authz.AuditEntry{entry("a", 1)}, Events: w.events(authz.UserEvent("u"))}
		}
		w.do(base())
		for name, alter := range map[string]func(*storage.Commit){
			"instant":  func(c *storage.Commit) { c.At++ },
			"change":   func(c *storage.Commit) { c.Changes[0] = storage.PatchUser{UserID: "u2"} },
			"kind":     func(c *storage.Commit) { c.Changes[1] = storage.DeleteGroup{ID: "r"} },
			"one more": func(c *storage.Commit) { c.Changes = append(c.Changes, storage.DeleteGroup{ID: "x"}) },
			"order":    func(c *storage.Commit) { c.Changes[0], c.Changes[1] = c.Changes[1], c.Changes[0] },
			"member":   func(c *storage.Commit) { c.Changes[0] = storage.PatchUser{UserID: "u", Active: ptr(true)} },
			"list":     func(c *storage.Commit) { c.Changes[0] = storage.PatchUser{UserID: "u", GroupIDs: &[]string{}} },
			"audit":    func(c *storage.Commit) { c.Audit[0].Actor = "x" },
			"event": func(c *storage.Commit) {
				c.Events = append(c.Events, w.events(authz.UserEvent("x"))...)
				c.At += int64(1 - len(c.Events)/2)
			},
			"requirement": func(c *storage.Commit) { c.Requires = []storage.Requirement{storage.RequireRole{ID: "x"}} },
		} {
			c := base()
			alter(&c)
			if _, err := w.Commit(w.ctx, c); storage.CodeOf(err) != storage.CodeConflict {
				w.Errorf("another %s: %v", name, err)
			}
		}
		if w.has(storage.CapEvents) {
			w.same(int64(1), w.head())
		}
		none[authz.User](w)(w.GetUser(w.ctx, "u2"))
		if !w.do(base()).Replayed {
			w.Fatalf("the first content is no longer recognised")
		}
	}},
	{ID: "B60b", Rule: "lists nil or empty, JSON spaced otherwise, and the version of a record put, which is ignored, are the same content", Needs: storage.Capabilities{storage.CapRecords, storage.CapAncestry}, run: func(w *world) {
		record := storage.Record{Collection: "c", ID: "i", Data: json.RawMessage(`1`)}
		c := storage.Commit{ID: "c", Changes: []storage.Change{storage.PatchUser{UserID: "u", GroupIDs: ptr([]string(nil))},
			storage.PutScopeParents{Scope: "s"}, putCatalog(1, 1, `{"a": [1]}`, nil), storage.PutRecord{Record: record}}}
		w.do(c)
		c.Requires, c.Fences, c.Audit = []storage.Requirement{}, []storage.Fence{}, []authz.AuditEntry{}
		c.Changes = []storage.Change{storage.PatchUser{UserID: "u", GroupIDs: &[]string{}},
			storage.PutScopeParents{Scope: "s", Parents: []string{}}, putCatalog(1, 1, `{"a":[1]}`, nil), nil}
		record.Version = 7
		c.Changes[3] = storage.PutRecord{Record: record}
		if !w.do(c).Replayed {
			w.Fatalf("applied again")
		}
	}},
	{ID: "B60c", Rule: "an empty commit takes its id: what comes under it later is refused and writes nothing", run: func(w *world) {
		empty := storage.Commit{ID: "c", At: 5}
		w.do(empty)
		late := storage.Commit{ID: "c", At: 5, Changes: []storage.Change{storage.PatchUser{UserID: "u"}}}
		if _, err := w.Commit(w.ctx, late); storage.CodeOf(err) != storage.CodeConflict {
			w.Errorf("the id was free: %v", err)
		}
		none[authz.User](w)(w.GetUser(w.ctx, "u"))
		if !w.do(empty).Replayed {
			w.Errorf("it was applied again")
		}
	}},
	{ID: "B62", large: true, Rule: "a commit that replaces grants and revokes is never seen in part", run: func(w *world) {
		swap := func(old, new int) storage.Commit {
			c := changes()
			for i := range 20 {
				c.Changes = append(c.Changes, storage.DeleteGrant{ID: fmt.Sprintf("g%d-%d", old, i)}, storage.DeleteRevoke{ID: fmt.Sprintf("v%d-%d", old, i)},
					storage.InsertGrant{Grant: grant(fmt.Sprintf("g%d-%d", new, i), "user:u", func(g *authz.Grant) { g.CreatedAt = int64(new) })})
				r := revoke(fmt.Sprintf("v%d-%d", new, i), "u", "*")
				r.CreatedAt = int64(new)
				c.Changes = append(c.Changes, storage.InsertRevoke{Revoke: r})
			}
			return c
		}
		w.do(swap(0, 1))
		reader := w.another("")
		w.against(func() bool {
			a, err := reader.ReadAccess(w.ctx, storage.AccessQuery{UserID: "u", Subjects: []string{"user:u"}})
			if err != nil || len(a.Grants) != 20 || len(a.Revokes) != 20 {
				w.Errorf("%d grants, %d revokes, %v", len(a.Grants), len(a.Revokes), err)
				return false
			}
			for i := range a.Grants {
				if a.Grants[i].CreatedAt != a.Revokes[0].CreatedAt || a.Revokes[i].CreatedAt != a.Revokes[0].CreatedAt {
					w.Errorf("generations %d and %d in one answer", a.Grants[i].CreatedAt, a.Revokes[0].CreatedAt)
					return false
				}
			}
			return true
		}, 100, func(round int) {
			w.do(swap(round+1, round+2))
		})
	}},
	{ID: "B63", large: true, Rule: "a commit larger than one message is applied; one over a limit is too_large and writes nothing", run: func(w *world) {
		big := changes()
		for i := range 20_000 {
			big.Changes = append(big.Changes, storage.InsertGrant{Grant: grant(fmt.Sprintf("g%d", i), "user:u", at("docs.doc:"+strings.Repeat("x", 200)))})
		}
		w.do(big)
		if n, _ := w.CountGrants(w.ctx, storage.GrantFilter{}); n != 20_000 {
			w.Fatalf("%d grants", n)
		}
		many := changes(make([]storage.Change, storage.MaxCommitChanges+1)...)
		for i := range many.Changes {
			many.Changes[i] = storage.DeleteRole{ID: "r"}
		}
		w.refuse(storage.CodeTooLarge, many)
		many.Changes = many.Changes[1:]
		w.do(many)
		w.refuse(storage.CodeTooLarge, changes(putCatalog(1, 1, `"`+strings.Repeat("x", storage.MaxCommitBytes)+`"`, nil)))
		none[storage.CatalogHead](w)(w.GetCatalog(w.ctx))
	}},
	{ID: "B66", Rule: "the integers 0, 1 and 2^53−1 are exact in every instant", run: func(w *world) {
		for i, n := range []int64{0, 1, authz.MaxInstant, -authz.MaxInstant} {
			id := fmt.Sprint(i)
			g := grant(id, "user:u", func(g *authz.Grant) { g.CreatedAt, g.ExpiresAt = n, authz.ExpiresAt(n) })
			v := revoke(id, "u", "*")
			v.CreatedAt = n
			q := fullRequest(id)
			q.CreatedAt, q.DecidedAt, q.ProposedExpiresAt, q.Decisions[0].At, q.StageIndex = n, &n, authz.ExpiresAt(n), n, n
			rec := storage.Record{Collection: "c", ID: id, Data: json.RawMessage(`{}`), UpdatedAt: n}
			records := w.ifHas(storage.CapRecords, storage.PutRecord{Record: rec})
			w.do(storage.Commit{ID: "c" + id, At: n, Changes: append(records, storage.InsertGrant{Grant: g}, storage.InsertRevoke{Revoke: v},
				storage.InsertRequest{Request: q}, putCatalog(n, n, `{}`, nil)), Audit: []authz.AuditEntry{entry(id, n)}})
			rec.Version = 1
			w.same(g, one[authz.Grant](w)(w.GetGrant(w.ctx, id)))
			w.same(v, one[authz.Revoke](w)(w.GetRevoke(w.ctx, id)))
			w.same(q, one[authz.Request](w)(w.GetRequest(w.ctx, id)))
			w.same(n, w.catalog().Version)
			if w.has(storage.CapRecords) {
				w.same(rec, one[storage.Record](w)(w.GetRecord(w.ctx, "c", id)))
			}
			if w.has(storage.CapHistory) {
				w.same(n, one[storage.CatalogVersion](w)(w.GetCatalogVersion(w.ctx, n)).PublishedAt)
			}
			w.same(id, w.audit(storage.AuditFilter{From: &n, Limit: ptr(int64(1)), Cursor: cursor(-authz.MaxInstant, "")}))
		}
	}},
	{ID: "B80", Rule: "one commit sent twice at the same time is applied once, 100 rounds", Needs: storage.Capabilities{storage.CapRecords, storage.CapEvents}, run: func(w *world) {
		other := w.another("")
		for round := range 100 {
			c := storage.Commit{ID: fmt.Sprintf("c%d", round), Events: []authz.Event{{Type: authz.EventAll}}, Changes: []storage.Change{
				storage.PutRecord{Record: storage.Record{Collection: "c", ID: fmt.Sprint(round), Data: json.RawMessage(`1`)}}}}
			results, errs := make([]storage.CommitResult, 2), make([]error, 2)
			w.Each(2, func(i int) { results[i], errs[i] = []*named{w.named, other}[i].Commit(w.ctx, c) })
			if errs[0] != nil || errs[1] != nil || results[0].Replayed == results[1].Replayed {
				w.Fatalf("%+v, %v", results, errs)
			}
			w.same(int64(round+1), w.head())
		}
	}},
	{ID: "B84", Rule: "a required record version or head that has moved is a conflict, held until the commit ends; of two commits on the old head one wins", Needs: storage.Capabilities{storage.CapRecords, storage.CapEvents}, run: func(w *world) {
		put := func(expect int64) storage.PutRecord {
			return storage.PutRecord{Expect: expect, Record: storage.Record{Collection: "system", ID: "authority", Data: json.RawMessage(`{}`)}}
		}
		requiring := func(r storage.Requirement, id string) storage.Commit {
			c := changes(storage.InsertGrant{Grant: grant(id, "user:u")})
			c.Requires, c.Events = []storage.Requirement{r}, []authz.Event{{Type: authz.EventAll}}
			return c
		}
		record := func(version int64) storage.RequireRecord {
			return storage.RequireRecord{Collection: "system", ID: "authority", Version: version}
		}
		w.refuse(storage.CodeConflict, requiring(record(1), "g"))
		w.refuse(storage.CodeConflict, requiring(record(0), "g"))
		w.write(put(0))
		w.do(requiring(record(1), "g1"))
		w.write(put(1))
		if r := w.refuse(storage.CodeConflict, requiring(record(1), "g")); r.Version != 2 {
			w.Fatalf("current version %d", r.Version)
		}
		w.refuse(storage.CodeConflict, requiring(storage.RequireHead{Seq: 0}, "g"))
		w.refuse(storage.CodeNotFound, requiring(storage.RequireRole{ID: "absent"}, "g"))
		none[authz.Grant](w)(w.GetGrant(w.ctx, "g"))
		stores := []*named{w.named, w.another("")}
		for round := int64(1); round <= 30; round++ {
			_, errs := w.race(stores, requiring(storage.RequireHead{Seq: round}, fmt.Sprintf("r%d-0", round)),
				requiring(storage.RequireHead{Seq: round}, fmt.Sprintf("r%d-1", round)))
			w.oneWins(errs)
		}
		for version := int64(2); version < 22; version++ {
			moving := changes(put(version))
			moving.Events = []authz.Event{{Type: authz.EventAll}}
			results, errs := w.race(stores, moving, requiring(record(version), fmt.Sprintf("v%d", version)))
			w.code("", errs[0])
			if errs[1] != nil {
				w.code(storage.CodeConflict, errs[1])
			} else if results[1].UpTo.Seq > results[0].UpTo.Seq {
				w.Want(fmt.Sprintf("the commit requiring version %d before event %d, which moved the record", version, results[0].UpTo.Seq), "event %d", results[1].UpTo.Seq)
			}
			slices.Reverse(stores)
		}
	}},
	{ID: "S03", Rule: "a commit is judged in order: id, fences, requirements, changes, head", Needs: storage.Capabilities{storage.CapRecords, storage.CapEvents}, run: func(w *world) {
		c := storage.Commit{ID: "c", Fences: []storage.Fence{{Key: "k", Fence: 1}},
			Requires: []storage.Requirement{storage.RequireHead{Seq: 9}, storage.RequireRole{ID: "r"}},
			Changes:  []storage.Change{storage.PutRecord{Expect: 5, Record: storage.Record{Collection: "c", ID: "i", Data: json.RawMessage(`1`)}}}}
		w.refuse(storage.CodeStaleFence, c)
		c.Fences = nil
		w.refuse(storage.CodeNotFound, c)
		w.write(storage.UpsertRole{Role: fullRole("r")})
		w.refuse(storage.CodeConflict, c)
		c.Changes = nil
		w.refuse(storage.CodeConflict, c)
		free := c
		free.ID, free.Requires = "free of the head", c.Requires[1:]
		w.do(free)
		w.do(storage.Commit{ID: "c"})
		w.refuse(storage.CodeConflict, c)
	}},
}
