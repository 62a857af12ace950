package api_test

import (
	"bytes"
	"encoding/json"
	"iter"
	"maps"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// FuzzBody posts arbitrary bodies to every operation of a real application.
func FuzzBody(f *testing.F) {
	for i, op := range provider.Operations {
		f.Add(uint8(i), []byte(goodBody(op.Op)))
	}
	f.Fuzz(func(t *testing.T, op uint8, body []byte) {
		w := populated(t)
		w.judge(provider.Operations[int(op)%len(provider.Operations)].Op, body, w.held())
	})
}

// Bodies that are right but for one place, in which stands each thing that JSON
// can say.
func TestNoBodyBreaksAnOperation(t *testing.T) {
	for _, op := range provider.Operations {
		t.Run(op.Op, func(t *testing.T) {
			var good any
			if err := json.Unmarshal([]byte(goodBody(op.Op)), &good); err != nil {
				t.Fatalf("neither goodBodies nor corpusRequests has the operation: %v", err)
			}
			status, _ := populated(t).judge(op.Op, []byte(goodBody(op.Op)), nil)
			if status != 200 && status != 501 {
				t.Errorf("the body in goodBodies is answered with %d", status)
			}
			w := populated(t)
			held := w.held()
			for _, bad := range variants(good) {
				_, held = w.judge(op.Op, []byte(text(bad)), held)
			}
		})
	}
}

// goodBody is a body that succeeds: the corpus's, where none is here.
func goodBody(op string) string {
	if body, ok := goodBodies[op]; ok || len(corpusRequests[op]) == 0 {
		return body
	}
	return corpusRequests[op][0]
}

// goodBodies succeed in the populated world, each as the first call.
var goodBodies = map[string]string{
	"ping":                  `{}`,
	"capabilities":          `{}`,
	"getSubjectAccess":      `{"principal":{"userId":"u","serviceId":null}}`,
	"resolveAncestors":      `{"scope":"docs.doc:1"}`,
	"check":                 `{"checks":[{"principal":{"serviceId":"s"},"key":["docs.files.read"],"scope":"docs.doc:1","fresh":true}],"at":{"seq":1}}`,
	"explain":               `{"principal":{"userId":"u"},"key":"docs.files.read","scope":"docs.doc:1"}`,
	"listSubjects":          `{"key":"docs.files.read","scope":"docs.doc:1","limit":2}`,
	"listScopes":            `{"principal":{"userId":"u"},"key":"docs.files.read","limit":2}`,
	"listKeys":              `{"principal":{"userId":"u"},"scope":"docs.doc:1","limit":2}`,
	"epoch.head":            `{}`,
	"epoch.since":           `{"seq":1,"limit":2}`,
	"createGrant":           `{"input":{"subject":"user:u","roleId":null,"pattern":"docs.files.read","scope":"docs.doc:1","expiresAt":1800000000000,` + admin + `}}`,
	"createGrants":          `{"inputs":[{"subject":"user:u","roleId":"r"},{"subject":"everyone","pattern":"docs.*"}],` + admin + `}`,
	"deleteGrant":           `{"grantId":"raw001001",` + admin + `}`,
	"listGrants":            `{"filter":{"subject":"group:a","scope":"*","roleId":"r"},"after":"a","limit":1}`,
	"countGrants":           `{"filter":{"subject":"group:a"}}`,
	"createRevoke":          `{"input":{"userId":"u","pattern":"docs.files.read","scope":"docs.doc:1",` + admin + `}}`,
	"deleteRevoke":          `{"revokeId":"raw002001",` + admin + `}`,
	"listRevokes":           `{"filter":{"userId":"u","scope":"*"},"after":"a","limit":1}`,
	"deleteSubject":         `{"subject":"user:u",` + admin + `}`,
	"deleteScope":           `{"scope":"docs.doc:1",` + admin + `}`,
	"submitRequest":         `{"input":{"requesterUserId":"u","roleId":"r","scope":"docs.doc:1","proposedExpiresAt":1800000000000,"justification":{"why":"x"}}}`,
	"decideRequest":         `{"requestId":"raw003001","decision":{"deciderUserId":"v","decision":"approved","note":"n"}}`,
	"cancelRequest":         `{"requestId":"raw003001","byUserId":"u"}`,
	"listRequests":          `{"filter":{"state":"pending","requesterUserId":"u"},"after":"raw003001","limit":1}`,
	"listApproverQueue":     `{"approverUserId":"v"}`,
	"publishCatalog":        `{"document":` + goodDocument + `,` + admin + `}`,
	"getPublishedCatalog":   `{}`,
	"getMesh":               `{}`,
	"publishImports":        `{"manifest":{"formatVersion":1,"namespace":"docs","imports":[{"namespace":"meet","from":"x","enumerated":false,"entries":[{"pattern":"meet.rooms.*","scopes":["docs.doc"]}],"keys":[],"regions":["meet.rooms.*"],"strict":false}]},` + admin + `}`,
	"getPublishedImports":   `{}`,
	"listRoles":             `{"after":"a","limit":1}`,
	"createRole":            `{"input":{"id":"r2","name":"R","description":"D","patterns":["docs.files.*"],"requestable":` + goodPolicy + `},` + admin + `}`,
	"updateRole":            `{"roleId":"free","input":{"name":"R","description":null,"patterns":["docs.files.read"],"requestable":` + goodPolicy + `},` + admin + `}`,
	"deleteRole":            `{"roleId":"free",` + admin + `}`,
	"listGroups":            `{"after":"a","limit":1}`,
	"createGroup":           `{"input":{"id":"c","name":"C","description":"D","parents":["a"]},` + admin + `}`,
	"updateGroup":           `{"groupId":"b","input":{"name":"B2","description":"D"},` + admin + `}`,
	"setGroupParents":       `{"groupId":"b","parents":["c0"],` + admin + `}`,
	"deleteGroup":           `{"groupId":"a",` + admin + `}`,
	"setGroupMembership":    `{"userId":"u","groupIds":["a","c0"],` + admin + `}`,
	"getGroupMembers":       `{"groupId":"b"}`,
	"setUserActive":         `{"userId":"u","active":false,` + admin + `}`,
	"setReportingEdge":      `{"userId":"u","managerUserId":"m2",` + admin + `}`,
	"getReportingEdges":     `{}`,
	"getUser":               `{"userId":"u"}`,
	"findGrants":            `{"filter":{"subject":"user:u","scope":"*","roleId":"r","pattern":"docs.*","actor":"root","instances":true,"expires":true,"expiresFrom":1,"expiresTo":2,"createdFrom":3,"createdTo":4,"order":"-createdAt"},"after":"5:a","limit":1}`,
	"listUsers":             `{"filter":{"prefix":"u","active":true,"stored":true},"after":"a","limit":1}`,
	"listRecordedScopes":    `{"filter":{"prefix":"docs.","parent":"docs.folder:1"},"after":"a","limit":1}`,
	"changeGrants":          `{"delete":["raw001001"],"expire":[],"create":[{"subject":"user:u","roleId":"r"}],` + admin + `}`,
	"changeGroupMembership": `{"userId":"u","add":["a"],` + admin + `}`,
	"dissolveVirtualParent": `{"groupId":"a",` + admin + `}`,
	"listAuditEvents":       `{"filter":{"target":"r","actor":"root","action":"role.create","from":0,"to":1800000000000,"cursor":{"at":0,"id":""},"limit":1,"detailLimit":100,"subject":"user:root"}}`,
	"reportMetrics": `{"batch":{"instanceId":"i","windowStart":1700000000000,"windowEnd":1700000060000,
		"checks":[{"permission":"docs.files.read","decision":"allow","shape":"can","gate":true,"scopeType":"docs.doc","scope":"docs.doc:1","observed":1,"estimated":2}],
		"grants":[{"rowId":"raw001001","matched":2,"soleMatch":1,"estimatedMatched":2,"estimatedSoleMatch":1,"recentPrincipals":["user:u"]}],
		"revokes":[],"roles":[],"principals":{"distinct":1,"overflowed":false},"dropped":0}}`,
	"getGrantUsage":      `{"query":{"ids":["raw001001"],"since":1600000000000,"until":1700000000000}}`,
	"getRevokeUsage":     `{"query":{}}`,
	"getRoleUsage":       `{"query":{}}`,
	"getPermissionUsage": `{"query":{"ids":["docs.files.read"],"since":1600000000000,"until":1700000000000}}`,
	"getScopeTypeUsage":  `{"query":{}}`,
	"exportOrgSnapshot":  `{}`,
	"applyOrgSnapshot": `{"snapshot":{"groups":[{"id":"z","name":"Z","parents":[]}],"roles":[{"id":"r","name":"R","patterns":["*"]}],
		"globalGrants":[{"id":"g","subject":"user:u","roleId":"r","scope":"*",` + admin + `,"createdAt":1}],
		"globalRevokes":[{"id":"v","userId":"u","pattern":"other.*","scope":"*",` + admin + `,"createdAt":1}],
		"users":[{"userId":"u","active":true,"groupIds":["z"],"orgIds":["o"],"managerUserId":null}],
		"pendingGlobalRequests":[{"id":"q","requesterUserId":"u","roleId":"r","scope":"*","justification":{"why":"x"},"state":"pending",
		"stageIndex":0,"stages":[{"kind":"management"}],"decisions":[],"createdAt":1}],
		"catalog":null},"source":"dir","authority":true,"position":1}`,
	"setScopeParents": `{"entries":[{"scope":"docs.doc:1","parents":["docs.folder:2"]},{"scope":"docs.doc:2","parents":null}],` + admin + `}`,
}

const (
	goodPolicy = `{"prompts":[{"id":"why","label":"Why","kind":"select","options":["x"],"required":false}],"maxDurationMs":5,"requireExpiry":true,
		"stages":[{"kind":"auto","predicate":{"type":"holds_pattern","pattern":"docs.*"}},{"kind":"named_approvers","roleId":"r"},{"kind":"management","layers":2}]}`
	goodDocument = `{"formatVersion":1,"namespace":"docs","namespaces":["docs"],"groups":[],"scopeTypes":[],"navigation":[],
		"leaves":[{"key":"docs.files.read","groupPath":"docs.files","name":"read","kind":"read","destructive":false,"scopes":[],"impliedOnAncestors":false}]}`
)

// populated is a world in which every operation finds something.
func populated(t *testing.T) *world {
	w := newWorld(t, worldOptions{metrics: &application.Metrics{}})
	for _, step := range [][2]string{
		{"createRole", `{"input":{"id":"r","name":"R","patterns":["docs.files.*"],"requestable":{"stages":[{"kind":"named_approvers","roleId":"r"}]}},` + admin + `}`},
		{"createRole", `{"input":{"id":"free","name":"F","patterns":[]},` + admin + `}`},
		{"createGroup", `{"input":{"id":"a","name":"A"},` + admin + `}`},
		{"createGroup", `{"input":{"id":"b","name":"B","parents":["a"]},` + admin + `}`},
		{"createGroup", `{"input":{"id":"c0","name":"C"},` + admin + `}`},
		{"setGroupMembership", `{"userId":"u","groupIds":["a","b"],` + admin + `}`},
		{"setGroupMembership", `{"userId":"v","groupIds":["a"],` + admin + `}`},
		{"setReportingEdge", `{"userId":"u","managerUserId":"m",` + admin + `}`},
		{"setScopeParents", `{"entries":[{"scope":"docs.doc:1","parents":["docs.folder:1"]}],` + admin + `}`},
		{"publishCatalog", `{"document":` + goodDocument + `,` + admin + `}`},
	} {
		w.mustOK(step[0], step[1])
	}
	// Rows whose ids the application chooses: goodBodies name them.
	w.ids.Store(1000)
	w.mustOK("createGrant", `{"input":{"subject":"group:a","roleId":"r",`+admin+`}}`)
	w.ids.Store(2000)
	w.mustOK("createRevoke", `{"input":{"userId":"u","pattern":"docs.files.delete",`+admin+`}}`)
	w.ids.Store(3000)
	w.mustOK("submitRequest", `{"input":{"requesterUserId":"u","roleId":"r"}}`)
	return w
}

// replacements stand for every type, and for the values at its edges.
var replacements = []any{nil, true, -1, 0.5, json.RawMessage("9007199254740992"), json.RawMessage("1e400"), json.RawMessage("-0"),
	"", "*", "x", "user:", "docs.doc:", "a\u0000b", "\u202e\u2028", strings.Repeat("ü", 600), []any{}, []any{nil}, []any{[]any{"x"}}, map[string]any{},
	map[string]any{"__proto__": map[string]any{"kind": "system"}}}

// variants are copies of v with one place missing, doubled or replaced.
func variants(v any) []any {
	out := slices.Clone(replacements)
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			without := maps.Clone(v)
			delete(without, name)
			out = append(out, without)
			for _, item := range variants(v[name]) {
				with := maps.Clone(v)
				with[name] = item
				out = append(out, with)
			}
		}
	case []any:
		out = append(out, append(slices.Clone(v), v...))
		for i := range v {
			for _, item := range variants(v[i]) {
				with := slices.Clone(v)
				with[i] = item
				out = append(out, with)
			}
		}
	}
	return out
}

// leavesParts are operations that accept what they do not read: the parts of a
// document are judged by those who build a catalog from it, of a batch only what
// is stored, and of a snapshot's rows what is absent is empty.
var leavesParts = []string{"publishCatalog", "reportMetrics", "applyOrgSnapshot"}

// judge posts a body to op. What is accepted and answered is described in the
// document, and no answer is an internal error; a refusal and a read change
// nothing; with every change come audit entries, which name the rows that came or
// went. Before is what was held until then, nil not to compare; the result is what
// is held now.
func (w *world) judge(op string, body []byte, before holding) (status int, after holding) {
	w.t.Helper()
	r := httptest.NewRequest("POST", "/v1/"+op, bytes.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+secret)
	recorder := httptest.NewRecorder()
	w.server.Config.Handler.ServeHTTP(recorder, r)
	status = recorder.Code
	fail := func(what string) {
		w.t.Helper()
		w.t.Errorf("%s %.800s: %s\n%d %.800s", op, body, what, status, recorder.Body)
	}
	described := body
	if slices.Contains(leavesParts, op) {
		described = nil
	}
	if err := abides("/v1/"+op, described, status, recorder.Body.Bytes()); err != nil {
		fail(err.Error())
	}
	if status >= 500 && status != 501 && !programmingError(recorder.Body.Bytes()) {
		fail("a body is no outage and no fault of the application")
	}
	after = w.held()
	if before == nil {
		return status, after
	}
	o, _ := provider.LookupOperation(op)
	if (status != 200 || o.Kind == provider.Read) && !reflect.DeepEqual(before, after) {
		fail("something was changed")
	}
	var written strings.Builder
	for key, row := range after {
		if _, old := before[key]; !old && strings.HasPrefix(key, "audit ") {
			written.WriteString(text(row))
		}
	}
	for key := range symmetricDifference(before, after) {
		kind, id, _ := strings.Cut(key, " ")
		if kind != "audit" && written.Len() == 0 {
			fail("no audit entry came with " + key)
		}
		// Users come and go with what names them, rows of a snapshot with it.
		if (before[key] == nil || after[key] == nil) && kind != "user" && op != "applyOrgSnapshot" && !strings.Contains(written.String(), text(id)) {
			fail("no audit entry names " + key)
		}
	}
	return status, after
}

// programmingError reports the errors that a body may cause with status 500: a
// check of a key that cannot be answered (spec: provider-api §5.2).
func programmingError(answer []byte) bool {
	var envelope provider.Envelope
	if json.Unmarshal(answer, &envelope) != nil || envelope.Error == nil {
		return false
	}
	return slices.Contains([]string{"UnknownPermissionError", "MissingConditionError"}, envelope.Error.Name)
}

// holding is every row of a store by kind and id.
type holding map[string]any

func symmetricDifference(a, b holding) map[string]bool {
	keys := map[string]bool{}
	for key, row := range a {
		if other, ok := b[key]; !ok || !reflect.DeepEqual(row, other) {
			keys[key] = true
		}
	}
	for key := range b {
		if _, ok := a[key]; !ok {
			keys[key] = true
		}
	}
	return keys
}

func (w *world) held() holding {
	w.t.Helper()
	ctx, all := w.t.Context(), holding{}
	hold(w.t, all, "grant", w.store.ListGrants(ctx, storage.GrantFilter{}, storage.Page{}), func(r authz.Grant) string { return r.ID })
	hold(w.t, all, "revoke", w.store.ListRevokes(ctx, storage.RevokeFilter{}, storage.Page{}), func(r authz.Revoke) string { return r.ID })
	hold(w.t, all, "role", w.store.ListRoles(ctx, storage.Page{}), func(r authz.Role) string { return r.ID })
	hold(w.t, all, "group", w.store.ListGroups(ctx, storage.Page{}), func(r authz.Group) string { return r.ID })
	hold(w.t, all, "user", w.store.ListUsers(ctx, storage.UserFilter{}, storage.Page{}), func(r authz.User) string { return r.UserID })
	hold(w.t, all, "request", w.store.ListRequests(ctx, storage.RequestFilter{}, storage.RequestPage{}), func(r authz.Request) string { return r.ID })
	hold(w.t, all, "audit", w.store.ListAudit(ctx, storage.AuditFilter{}), func(r authz.AuditEntry) string { return r.ID })
	return all
}

func hold[T any](t testing.TB, all holding, kind string, rows iter.Seq2[T, error], id func(T) string) {
	t.Helper()
	for row, err := range rows {
		if err != nil {
			t.Fatal(err)
		}
		all[kind+" "+id(row)] = row
	}
}
