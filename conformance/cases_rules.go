package conformance

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

var badStrings = map[string]string{"invalid UTF-8": "a\xff", "U+0000": "a\x00b", "a surrogate": "\xed\xa0\x80"}

// commitsWith places a string where commits keep strings.
func (w *world) commitsWith(s string) map[string]storage.Commit {
	role := fullRole("r")
	role.Requestable.Stages[1].Predicate.GroupID = s
	option := fullRole("r")
	option.Requestable.Prompts[0].Options[1] = s
	answer, answerKey := fullRequest("q"), fullRequest("q")
	answer.Justification = map[string]string{"k": s}
	answerKey.Justification = map[string]string{s: "v"}
	note := fullRequest("q")
	note.Decisions[0].Note = s
	provenance := grant("g", "user:u")
	provenance.Provenance.Via = s
	payload, _ := json.Marshal(s)
	if s == badStrings["invalid UTF-8"] || s == badStrings["a surrogate"] {
		payload = json.RawMessage(`"` + s + `"`)
	}
	detail := entry("a", 1)
	detail.Detail = json.RawMessage(`{"deep":[{"x":` + string(payload) + `}]}`)
	record := storage.Record{Collection: "c", ID: "i", Data: json.RawMessage(`1`)}
	keyed, data := record, record
	keyed.Keys[3], data.Data = s, json.RawMessage(`{`+string(payload)+`:1}`)
	actor, event := entry("a", 1), authz.RoleEvent(s)
	actor.Actor = s
	out := map[string]storage.Commit{
		"commit id": {ID: s}, "fence key": {ID: "c", Fences: []storage.Fence{{Key: s}}},
		"required role": {ID: "c", Requires: []storage.Requirement{storage.RequireRole{ID: s}}},
		"audit actor":   {ID: "c", Audit: []authz.AuditEntry{actor}}, "audit detail": {ID: "c", Audit: []authz.AuditEntry{detail}},
	}
	if w.has(storage.CapEvents) {
		out["event"] = storage.Commit{ID: "c", Events: []authz.Event{event}}
	}
	places := map[string]storage.Change{
		"grant id": storage.InsertGrant{Grant: grant(s, "user:u")}, "grant subject": storage.InsertGrant{Grant: grant("g", s)},
		"provenance": storage.InsertGrant{Grant: provenance}, "revoke": storage.InsertRevoke{Revoke: revoke("v", s, "*")},
		"predicate": storage.UpsertRole{Role: role}, "prompt option": storage.UpsertRole{Role: option},
		"answer": storage.InsertRequest{Request: answer}, "answer key": storage.UpdateRequest{Request: answerKey}, "decision": storage.InsertRequest{Request: note},
		"parent": storage.UpsertGroup{Group: authz.Group{ID: "g", Parents: []string{"p", s}}}, "org": storage.UpsertUser{User: authz.User{UserID: "u", OrgIDs: []string{s}}},
		"patched group": storage.PatchUser{UserID: "u", GroupIDs: &[]string{s}}, "manager": storage.PatchUser{UserID: "u", ManagerUserID: &s},
		"deleted id":     storage.DeleteGroup{ID: s},
		"expected state": storage.DeleteRequest{ID: "q", Expect: &storage.RequestExpect{State: authz.RequestState(s)}},
		"catalog":        putCatalog(1, 1, string(data.Data), nil),
	}
	for i, change := range w.ifHas(storage.CapRecords, storage.PutRecord{Record: keyed}, storage.PutRecord{Record: data}) {
		places[[]string{"record key", "record data"}[i]] = change
	}
	for _, change := range w.ifHas(storage.CapAncestry, storage.PutScopeParents{Scope: "s", Parents: []string{s}}) {
		places["scope parent"] = change
	}
	for name, change := range places {
		out[name] = storage.Commit{ID: "c", Changes: []storage.Change{storage.UpsertRole{Role: fullRole("first")}, change}}
	}
	return out
}

var ruleCases = []storageCase{
	{ID: "S05", Rule: "invalid UTF-8 and U+0000 are a validation error wherever a commit holds a string", run: func(w *world) {
		for kind, s := range badStrings {
			for place, c := range w.commitsWith(s) {
				if _, err := w.Commit(w.ctx, c); storage.CodeOf(err) != storage.CodeValidation {
					w.Errorf("%s as %s: %v", kind, place, err)
				}
			}
		}
		none[authz.Role](w)(w.GetRole(w.ctx, "first"))
		none[storage.CommitResult](w)(w.GetCommit(w.ctx, "c"))
	}},
	{ID: "S06", Rule: "payloads that are no JSON, or spell half a surrogate pair, are a validation error; escaped text is not", run: func(w *world) {
		for _, bad := range []string{``, ` `, `{`, `{"a":}`, `1 2`, `"\u0000"`, `"\\\u0000"`, `{"\u0000":1}`, `"\ud800"`, `"\ud800\u0041"`, `"\udc00"`, `"\ud83d\ud83d\ude00"`, "\"\x01\"", `NaN`} {
			if _, err := w.Commit(w.ctx, changes(putCatalog(1, 1, bad, nil))); storage.CodeOf(err) != storage.CodeValidation {
				w.Errorf("%q: %v", bad, err)
			}
		}
		for _, good := range []string{`"\\u0000"`, `"\\\\u0000"`, `"\ud83d\ude00\ud83d\ude00"`, `"\n\"\/"`, ` {"a" : [1e400, "$ne"]} `, `null`, `"\uFFFF"`} {
			w.write(putCatalog(1, 1, good, nil))
			w.same(json.RawMessage(good), w.catalog().Document)
		}
	}},
	{ID: "S07", Rule: "invalid UTF-8 and U+0000 are a validation error in every argument of a read", run: func(w *world) {
		for _, s := range badStrings {
			_, _, err := w.GetGrant(w.ctx, s)
			w.code(storage.CodeValidation, err)
			_, _, err = w.GetUser(w.ctx, s)
			w.code(storage.CodeValidation, err)
			_, _, err = w.GetRevoke(w.ctx, s)
			w.code(storage.CodeValidation, err)
			_, _, err = w.GetRole(w.ctx, s)
			w.code(storage.CodeValidation, err)
			_, _, err = w.GetGroup(w.ctx, s)
			w.code(storage.CodeValidation, err)
			_, _, err = w.GetRequest(w.ctx, s)
			w.code(storage.CodeValidation, err)
			_, _, err = w.GetCommit(w.ctx, s)
			w.code(storage.CodeValidation, err)
			_, err = w.CountGrants(w.ctx, storage.GrantFilter{Subjects: []string{"a", s}})
			w.code(storage.CodeValidation, err)
			_, err = w.ReadAccess(w.ctx, storage.AccessQuery{UserID: s})
			w.code(storage.CodeValidation, err)
			_, err = w.Acquire(w.ctx, s)
			w.code(storage.CodeValidation, err)
			for _, f := range []storage.GrantFilter{{Scope: &s}, {Subject: &s}, {RoleID: &s}} {
				w.code(storage.CodeValidation, listError(w.ListGrants(w.ctx, f, storage.Page{})))
			}
			w.code(storage.CodeValidation, listError(w.ListGrants(w.ctx, storage.GrantFilter{}, storage.Page{After: s})))
			for _, f := range []storage.RevokeFilter{{UserID: &s}, {Scope: &s}} {
				w.code(storage.CodeValidation, listError(w.ListRevokes(w.ctx, f, storage.Page{})))
			}
			w.code(storage.CodeValidation, listError(w.ListRoles(w.ctx, storage.Page{After: s})))
			w.code(storage.CodeValidation, listError(w.ListUsersInGroup(w.ctx, s, storage.Page{})))
			w.code(storage.CodeValidation, listError(w.ListRequests(w.ctx, storage.RequestFilter{}, storage.RequestPage{AfterID: s})))
			for _, f := range []storage.RequestFilter{{State: ptr(authz.RequestState(s))}, {RequesterUserID: &s}, {RoleID: &s}, {Scope: &s}} {
				w.code(storage.CodeValidation, listError(w.ListRequests(w.ctx, f, storage.RequestPage{})))
			}
			for _, f := range []storage.AuditFilter{{Actor: &s}, {Target: &s}, {Action: &s}, {Cursor: &authz.AuditCursor{ID: s}}} {
				f.Limit = ptr(int64(1))
				w.code(storage.CodeValidation, listError(w.ListAudit(w.ctx, f)))
			}
			if w.has(storage.CapRecords) {
				_, _, err = w.GetRecord(w.ctx, "c", s)
				w.code(storage.CodeValidation, err)
				_, _, err = w.GetRecord(w.ctx, s, "c")
				w.code(storage.CodeValidation, err)
				w.code(storage.CodeValidation, listError(w.ListRecords(w.ctx, s, storage.RecordFilter{}, storage.Page{})))
				w.code(storage.CodeValidation, listError(w.ListRecords(w.ctx, "c", storage.RecordFilter{Index: 1, Value: s}, storage.Page{})))
			}
			if w.has(storage.CapBatchRoles) {
				_, err = w.GetRoles(w.ctx, []string{s})
				w.code(storage.CodeValidation, err)
			}
			if w.has(storage.CapAncestry) {
				_, err = w.GetScopeParents(w.ctx, []string{s})
				w.code(storage.CodeValidation, err)
			}
			if w.has(storage.CapMetrics) {
				w.code(storage.CodeValidation, listError(w.ReadMetrics(w.ctx, storage.MetricFilter{Dimension: s})))
				w.code(storage.CodeValidation, listError(w.ReadMetrics(w.ctx, storage.MetricFilter{Dimension: "key", Subjects: []string{s}})))
			}
		}
	}},
	{ID: "S08", Rule: "instants and versions beyond 2^53−1 are a validation error", run: func(w *world) {
		for _, n := range []int64{authz.MaxInstant + 1, -authz.MaxInstant - 1} {
			q, decided := fullRequest("q"), fullRequest("q")
			q.Decisions[0].At = n
			decided.DecidedAt = &n
			role := fullRole("r")
			role.Requestable.Stages[0].Layers = &n
			places := map[string]storage.Commit{
				"commit": {ID: "c", At: n}, "fence": {ID: "c", Fences: []storage.Fence{{Key: "k", Fence: n}}}, "audit": {ID: "c", Audit: []authz.AuditEntry{entry("a", n)}},
				"expiry":   changes(storage.InsertGrant{Grant: grant("g", "user:u", func(g *authz.Grant) { g.ExpiresAt = authz.ExpiresAt(n) })}),
				"grant":    changes(storage.InsertGrant{Grant: grant("g", "user:u", func(g *authz.Grant) { g.CreatedAt = n })}),
				"decision": changes(storage.InsertRequest{Request: q}), "decided": changes(storage.InsertRequest{Request: decided}),
				"layers": changes(storage.UpsertRole{Role: role}), "version": changes(putCatalog(n, 1, `1`, nil)), "expect": changes(putCatalog(1, 1, `1`, &n)),
			}
			if w.has(storage.CapRecords) {
				places["record"] = changes(storage.PutRecord{Record: storage.Record{Collection: "c", ID: "i", Data: json.RawMessage(`1`), UpdatedAt: n}})
			}
			if w.has(storage.CapEvents) {
				places["head"] = storage.Commit{ID: "c", Requires: []storage.Requirement{storage.RequireHead{Seq: n}}}
			}
			for place, c := range places {
				if _, err := w.Commit(w.ctx, c); storage.CodeOf(err) != storage.CodeValidation {
					w.Errorf("%s: %v", place, err)
				}
			}
			w.code(storage.CodeValidation, listError(w.ListRequests(w.ctx, storage.RequestFilter{}, storage.RequestPage{AfterCreatedAt: n, AfterID: "x"})))
			if w.has(storage.CapEvents) {
				_, err := w.PruneEvents(w.ctx, storage.PruneEvents{Before: &n})
				w.code(storage.CodeValidation, err)
			}
			if w.has(storage.CapMetrics) {
				_, err := w.PruneMetrics(w.ctx, n)
				w.code(storage.CodeValidation, err)
			}
			if w.has(storage.CapHistory) {
				_, _, err := w.GetCatalogVersion(w.ctx, n)
				w.code(storage.CodeValidation, err)
			}
		}
	}},
	{ID: "S09", Rule: "a record at its limits is kept, one past any of them is too_large", Needs: storage.Capabilities{storage.CapRecords}, run: func(w *world) {
		limits := storage.Record{Collection: strings.Repeat("c", 64), ID: strings.Repeat("i", 512), Data: json.RawMessage(`"` + strings.Repeat("d", 1<<20-2) + `"`)}
		for i := range limits.Keys {
			limits.Keys[i] = strings.Repeat("k", 512)
		}
		w.write(storage.PutRecord{Record: limits})
		for _, grow := range []func(*storage.Record){
			func(r *storage.Record) { r.Collection += "c" }, func(r *storage.Record) { r.ID += "i" },
			func(r *storage.Record) { r.Data = json.RawMessage(string(r.Data) + " ") },
			func(r *storage.Record) { r.Keys[0] += "k" }, func(r *storage.Record) { r.Keys[3] += "k" },
		} {
			r := limits
			grow(&r)
			w.refuse(storage.CodeTooLarge, changes(storage.PutRecord{Record: r, Expect: 1}))
		}
		w.same(int64(1), one[storage.Record](w)(w.GetRecord(w.ctx, limits.Collection, limits.ID)).Version)
	}},
	{ID: "S10", Rule: "rows without a key, changes that are none and commits without an id are a validation error", run: func(w *world) {
		keyless := []storage.Commit{{}, {ID: "c", Audit: []authz.AuditEntry{{}}}, {ID: "c", Requires: []storage.Requirement{nil}},
			changes(nil), changes(&storage.DeleteRole{ID: "r"}), changes(storage.InsertGrant{}), changes(storage.InsertRevoke{}), changes(storage.InsertRequest{}),
			changes(storage.UpsertRole{}), changes(storage.UpsertGroup{}), changes(storage.UpsertUser{}), changes(storage.PatchUser{})}
		for _, change := range slices.Concat(w.ifHas(storage.CapAncestry, storage.PutScopeParents{}), w.ifHas(storage.CapRecords, storage.PutRecord{}),
			w.ifHas(storage.CapImports, storage.PutImports{Version: 1})) {
			keyless = append(keyless, changes(change))
		}
		for _, c := range keyless {
			if _, err := w.Commit(w.ctx, c); storage.CodeOf(err) != storage.CodeValidation {
				w.Errorf("%+v: %v", c, err)
			}
		}
		_, err := w.Acquire(w.ctx, "")
		w.code(storage.CodeValidation, err)
	}},
	{ID: "S11", Rule: "reads by an empty id are none, never an error", run: func(w *world) {
		none[authz.Grant](w)(w.GetGrant(w.ctx, ""))
		if w.has(storage.CapRecords) {
			none[storage.Record](w)(w.GetRecord(w.ctx, "", ""))
		}
		w.same([]string{}, w.members(""))
		w.write(storage.DeleteGrant{ID: ""}, storage.DeleteUser{UserID: ""})
	}},
	{ID: "S12", Rule: "every method honours its context, and a list ends after its first error", run: func(w *world) {
		w.write(insertGrants(grant("a", "user:u"), grant("b", "user:u"), grant("c", "user:u"))...)
		ctx, cancel := context.WithCancel(w.ctx)
		defer cancel()
		var ended error
		n := 0
		for _, err := range w.ListGrants(ctx, storage.GrantFilter{}, storage.Page{}) {
			if ended != nil {
				w.Want("the list ends with its first error", "it went on")
			}
			if n++; n == 1 {
				w.code("", err)
				cancel()
				continue
			}
			if ended = err; err != nil { // rows that had arrived may still be given
				w.code(storage.CodeUnavailable, err)
			}
		}
		w.code(storage.CodeUnavailable, listError(w.ListGrants(ctx, storage.GrantFilter{}, storage.Page{})))
		_, err := w.Commit(ctx, changes())
		w.code(storage.CodeUnavailable, err)
		_, _, err = w.GetGrant(ctx, "a")
		w.code(storage.CodeUnavailable, err)
		_, err = w.ReadAccess(ctx, storage.AccessQuery{})
		w.code(storage.CodeUnavailable, err)
		if w.has(storage.CapEvents) {
			_, err = w.Head(ctx)
			w.code(storage.CodeUnavailable, err)
		}
		if w.has(storage.CapMetrics) {
			w.code(storage.CodeUnavailable, w.RecordMetrics(ctx, nil))
		}
		if w.has(storage.CapWatch) {
			w.codes(listError(w.Watch(ctx)), "", storage.CodeUnavailable)
		}
		w.code(storage.CodeUnavailable, listError(w.ListAudit(ctx, storage.AuditFilter{Limit: ptr(int64(1))})))
		_, err = w.Acquire(ctx, "k")
		w.code(storage.CodeUnavailable, err)
	}},
	{ID: "S22", Rule: "a group that names a parent twice, and a user a group, are a validation error", run: func(w *world) {
		repeated := []string{"p", "q", "p"}
		for _, change := range []storage.Change{
			storage.UpsertGroup{Group: authz.Group{ID: "g", Parents: repeated}}, storage.UpsertUser{User: authz.User{UserID: "u", GroupIDs: repeated}},
			storage.PatchUser{UserID: "u", GroupIDs: &repeated},
		} {
			w.refuse(storage.CodeValidation, changes(change))
		}
		none[authz.Group](w)(w.GetGroup(w.ctx, "g"))
		none[authz.User](w)(w.GetUser(w.ctx, "u"))
	}},
}
