package conformance

import (
	"encoding/json"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// The operations of a capability that is absent answer unsupported, and a commit
// that holds one is refused whole.
var absenceCases = []storageCase{
	{ID: "B47", Rule: "without history the operations answer unsupported and the head still works", Without: storage.CapHistory, run: func(w *world) {
		w.write(putCatalog(1, 1, `{"v":1}`, nil))
		w.write(putCatalog(2, 2, `{"v":2}`, ptr(int64(1))))
		w.same(int64(2), w.catalog().Version)
		_, _, err := w.GetCatalogVersion(w.ctx, 1)
		w.code(storage.CodeUnsupported, err)
		w.code(storage.CodeUnsupported, listError(w.ListCatalogVersions(w.ctx)))
	}},
	{ID: "M09", Rule: "without metrics the operations answer unsupported", Without: storage.CapMetrics, run: func(w *world) {
		w.code(storage.CodeUnsupported, w.RecordMetrics(w.ctx, []storage.MetricBucket{bucket(0, "grant", "g", "matched", 1)}))
		w.code(storage.CodeUnsupported, listError(w.ReadMetrics(w.ctx, storage.MetricFilter{Dimension: "grant"})))
		_, err := w.PruneMetrics(w.ctx, 1)
		w.code(storage.CodeUnsupported, err)
	}},
	{ID: "S14", Rule: "without events the operations, and a commit with events, answer unsupported", Without: storage.CapEvents, run: func(w *world) {
		_, err := w.Head(w.ctx)
		w.code(storage.CodeUnsupported, err)
		_, err = w.EventsSince(w.ctx, authz.Position{}, 1)
		w.code(storage.CodeUnsupported, err)
		_, err = w.PruneEvents(w.ctx, storage.PruneEvents{})
		w.code(storage.CodeUnsupported, err)
		c := changes(storage.UpsertRole{Role: fullRole("r")})
		c.Events = []authz.Event{{Type: authz.EventAll}}
		w.refuse(storage.CodeUnsupported, c)
		none[authz.Role](w)(w.GetRole(w.ctx, "r"))
	}},
	{ID: "S15", Rule: "without imports the operations answer unsupported", Without: storage.CapImports, run: func(w *world) {
		_, _, err := w.GetImports(w.ctx)
		w.code(storage.CodeUnsupported, err)
		w.refuse(storage.CodeUnsupported, changes(storage.UpsertRole{Role: fullRole("r")}, storage.PutImports{Version: 1, Manifest: json.RawMessage(`{}`)}))
		none[authz.Role](w)(w.GetRole(w.ctx, "r"))
	}},
	{ID: "S16", Rule: "without batchRoles getRoles answers unsupported", Without: storage.CapBatchRoles, run: func(w *world) {
		_, err := w.GetRoles(w.ctx, []string{"r"})
		w.code(storage.CodeUnsupported, err)
	}},
	{ID: "S17", Rule: "without expand readAccess with it answers unsupported", Without: storage.CapExpand, run: func(w *world) {
		_, err := w.ReadAccess(w.ctx, storage.AccessQuery{UserID: "u", Expand: true})
		w.code(storage.CodeUnsupported, err)
	}},
	{ID: "S17b", Rule: "without ancestors readAccess with a scope answers unsupported", Without: storage.CapAncestors, run: func(w *world) {
		_, err := w.ReadAccess(w.ctx, storage.AccessQuery{Scope: "docs.doc:1"})
		w.code(storage.CodeUnsupported, err)
	}},
	{ID: "S18", Rule: "without ancestry the operations answer unsupported", Without: storage.CapAncestry, run: func(w *world) {
		_, err := w.GetScopeParents(w.ctx, []string{"docs.doc:1"})
		w.code(storage.CodeUnsupported, err)
		for _, c := range []storage.Change{storage.PutScopeParents{Scope: "docs.doc:1"}, storage.DeleteScopeParents{Scope: "docs.doc:1"}} {
			w.refuse(storage.CodeUnsupported, changes(storage.UpsertRole{Role: fullRole("r")}, c))
		}
		none[authz.Role](w)(w.GetRole(w.ctx, "r"))
	}},
	{ID: "S18b", Rule: "without lookups the operations answer unsupported", Without: storage.CapLookups, run: func(w *world) {
		w.code(storage.CodeUnsupported, listError(w.ListScopes(w.ctx, storage.Page{})))
		w.code(storage.CodeUnsupported, listError(w.ListEdges(w.ctx, storage.EdgeGroup, []string{"g"}, storage.EdgePage{})))
		w.code(storage.CodeUnsupported, listError(w.ListGrantsAt(w.ctx, []string{"*"}, storage.GrantsAtPage{})))
		w.code(storage.CodeUnsupported, listError(w.FindGrants(w.ctx, authz.GrantSearch{}, storage.FoundPage{})))
		w.code(storage.CodeUnsupported, listError(w.ListUserIDs(w.ctx, "", storage.Page{})))
		_, err := w.ReadPeople(w.ctx, storage.PeopleQuery{UserIDs: []string{"u"}})
		w.code(storage.CodeUnsupported, err)
	}},
	{ID: "S19", Rule: "without records the operations and requirements answer unsupported", Without: storage.CapRecords, run: func(w *world) {
		_, _, err := w.GetRecord(w.ctx, "c", "i")
		w.code(storage.CodeUnsupported, err)
		w.code(storage.CodeUnsupported, listError(w.ListRecords(w.ctx, "c", storage.RecordFilter{}, storage.Page{})))
		for _, c := range []storage.Change{putRecord("i", `1`, 0), storage.DeleteRecord{Collection: "c", ID: "i"}} {
			w.refuse(storage.CodeUnsupported, changes(storage.UpsertRole{Role: fullRole("r")}, c))
		}
		c := changes(storage.UpsertRole{Role: fullRole("r")})
		c.Requires = []storage.Requirement{storage.RequireRecord{Collection: "c", ID: "i", Version: 1}}
		w.refuse(storage.CodeUnsupported, c)
		none[authz.Role](w)(w.GetRole(w.ctx, "r"))
	}},
	{ID: "S19b", Rule: "without auditSubjects a list of audit entries with a subject answers unsupported, and any other works", Without: storage.CapAuditSubjects, run: func(w *world) {
		w.append(entry("a", 1))
		w.code(storage.CodeUnsupported, listError(w.ListAudit(w.ctx, storage.AuditFilter{Subject: ptr("user:root")})))
		w.same("a", w.audit(storage.AuditFilter{}))
	}},
	{ID: "S20", Rule: "without watch it answers unsupported", Without: storage.CapWatch, run: func(w *world) {
		w.code(storage.CodeUnsupported, listError(w.Watch(w.ctx)))
	}},
	{ID: "S25", Rule: "without renewal it answers unsupported and the content keeps its incarnation", Without: storage.CapRenewal, run: func(w *world) {
		before := w.Info().Incarnation
		for _, expect := range []string{"", before} {
			_, err := w.Renew(w.ctx, expect)
			w.code(storage.CodeUnsupported, err)
		}
		w.same(before, w.another("").Info().Incarnation)
	}},
	{ID: "S26", Rule: "without health it answers unsupported", Without: storage.CapHealth, run: func(w *world) {
		_, err := w.Health(w.ctx)
		w.code(storage.CodeUnsupported, err)
	}},
}
