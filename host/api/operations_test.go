package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/sdk/provider"
)

const batch = `{"instanceId":"i","windowStart":1699999999000,"windowEnd":1700000000000,
	"checks":[{"permission":"docs.files.read","decision":"allow","shape":"can","gate":true,"scopeType":"*","observed":2,"estimated":4}],
	"grants":[{"rowId":"g","matched":2,"soleMatch":1,"estimatedMatched":4,"estimatedSoleMatch":2,"recentPrincipals":[]}],
	"revokes":[],"roles":[],"principals":{"distinct":1,"overflowed":false},"dropped":0}`

// One run through every operation of the manifest, each answering the members of
// its row (spec: provider-api §6).
func TestEveryOperationAnswersItsResult(t *testing.T) {
	w := newWorld(t, worldOptions{metrics: &application.Metrics{}})
	document := `{"formatVersion":1,"namespace":"docs","namespaces":["docs"],"leaves":[],"groups":[],"scopeTypes":[],"navigation":[]}`
	manifest := `{"formatVersion":1,"namespace":"docs","imports":[]}`
	called := map[string]bool{}
	for _, step := range []struct{ op, body, want string }{
		{"ping", ``, `{"api":1,"application":"app-1","orgRoot":true,"hasEpoch":true,"auditOptIn":false}`},
		{"capabilities", ``, `{"audit":true,"imports":…,"metrics":…,"multiParent":false,"orgRoot":true,"reporting":false,"requests":…}`},
		{"createGroup", `{"input":{"id":"a","name":"A"},` + admin + `}`, `{"group":{"id":"a","name":"A","parents":[]}}`},
		{"createGroup", `{"input":{"id":"b","name":"B","parents":["a"]},` + admin + `}`, `{"group":{"id":"b","name":"B","parents":["a"]}}`},
		{"updateGroup", `{"groupId":"b","input":{"description":"D"},` + admin + `}`, `{"group":{"id":"b","name":"B","description":"D","parents":["a"]}}`},
		{"setGroupParents", `{"groupId":"b","parents":[],` + admin + `}`, `{"group":{"id":"b","name":"B","description":"D","parents":[]}}`},
		{"setGroupMembership", `{"userId":"u","groupIds":["a","b"],` + admin + `}`, `{}`},
		{"getGroupMembers", `{"groupId":"a"}`, `{"userIds":["u"]}`},
		{"getGroupMembers", `{"groupId":"nobody"}`, `{"userIds":[]}`},
		{"deleteGroup", `{"groupId":"b",` + admin + `}`, `{}`},
		{"listGroups", ``, `{"groups":[{"id":"a","name":"A","parents":[]}]}`},
		{"createRole", `{"input":{"id":"r","name":"R","patterns":["docs.files.*"],"requestable":{"stages":[{"kind":"auto","predicate":{"type":"in_group","groupId":"a"}}],
			"prompts":[{"id":"why","label":"Why","kind":"select","options":["x"],"required":false}],"maxDurationMs":5,"requireExpiry":true}},` + admin + `}`,
			`{"role":{"id":"r","name":"R","patterns":["docs.files.*"],"requestable":{"stages":[{"kind":"auto","predicate":{"type":"in_group","groupId":"a"}}],
			"prompts":[{"id":"why","label":"Why","kind":"select","options":["x"],"required":false}],"maxDurationMs":5,"requireExpiry":true}}}`},
		{"updateRole", `{"roleId":"r","input":{"patterns":["docs.files.read"],"requestable":null},` + admin + `}`, `{"role":{"id":"r","name":"R","patterns":["docs.files.read"]}}`},
		{"listRoles", ``, `{"roles":[{"id":"r","name":"R","patterns":["docs.files.read"]}]}`},
		{"createGrant", `{"input":{"subject":"group:a","roleId":"r","expiresAt":1800000000000,` + admin + `}}`,
			`{"grant":{"id":…,"subject":"group:a","roleId":"r","scope":"*","expiresAt":1800000000000,` + admin + `,"createdAt":1700000000000}}`},
		{"createGrants", `{"inputs":[{"subject":"everyone","pattern":"docs.files.read","scope":"docs.doc:1"}],` + admin + `}`,
			`{"grants":[{"id":…,"subject":"everyone","pattern":"docs.files.read","scope":"docs.doc:1",` + admin + `,"createdAt":1700000000000}]}`},
		{"createGrants", `{"inputs":[],` + admin + `}`, `{"grants":[]}`},
		{"countGrants", `{"filter":{"roleId":"r"}}`, `{"count":1}`},
		{"listGrants", `{"filter":{"scope":"docs.doc:1"}}`,
			`{"grants":[{"id":…,"subject":"everyone","pattern":"docs.files.read","scope":"docs.doc:1",` + admin + `,"createdAt":1700000000000}]}`},
		{"changeGrants", `{"create":[{"subject":"user:x","pattern":"docs.files.read","scope":"docs.doc:9"}],` + admin + `}`,
			`{"grants":[{"id":…,"subject":"user:x","pattern":"docs.files.read","scope":"docs.doc:9",` + admin + `,"createdAt":1700000000000}]}`},
		{"createRevoke", `{"input":{"userId":"u","pattern":"docs.files.read",` + admin + `}}`,
			`{"revoke":{"id":…,"userId":"u","pattern":"docs.files.read","scope":"*",` + admin + `,"createdAt":1700000000000}}`},
		{"listRevokes", `{"filter":{"userId":"u"}}`,
			`{"revokes":[{"id":…,"userId":"u","pattern":"docs.files.read","scope":"*",` + admin + `,"createdAt":1700000000000}]}`},
		{"findGrants", `{"filter":{"subject":"everyone","instances":true,"order":"-createdAt"}}`, `{"grants":[{"id":…,"subject":"everyone",
			"pattern":"docs.files.read","scope":"docs.doc:1",` + admin + `,"createdAt":1700000000000}]}`},
		{"setUserActive", `{"userId":"u","active":true,` + admin + `}`, `{}`},
		{"setReportingEdge", `{"userId":"u","managerUserId":"m",` + admin + `}`, `{}`},
		{"getReportingEdges", ``, `{"edges":{"u":"m"}}`},
		{"changeGroupMembership", `{"userId":"u","remove":["a"],` + admin + `}`, `{}`},
		{"getUser", `{"userId":"u"}`, `{"user":{"active":true,"groupIds":[],"managerUserId":"m","orgIds":[],"userId":"u"}}`},
		{"changeGroupMembership", `{"userId":"u","add":["a"],` + admin + `}`, `{}`},
		{"getUser", `{"userId":"nobody"}`, `{"user":null}`},
		{"listUsers", ``, `{"users":[{"userId":"m","active":true,"stored":true},{"userId":"u","active":true,"stored":true},{"userId":"x","active":true,"stored":false}]}`},
		{"setScopeParents", `{"entries":[{"scope":"docs.doc:1","parents":["docs.folder:1"]},{"scope":"docs.doc:2","parents":[]}],` + admin + `}`, `{"changed":2}`},
		{"listRecordedScopes", `{"filter":{"parent":"docs.folder:1"}}`, `{"scopes":[{"scope":"docs.doc:1","parents":["docs.folder:1"]}]}`},
		{"setScopeParents", `{"entries":[{"scope":"docs.doc:2","parents":null}],` + admin + `}`, `{"changed":1}`},
		{"resolveAncestors", `{"scope":"docs.doc:1"}`, `{"ancestors":["docs.folder:1","*"]}`},
		{"getSubjectAccess", `{"principal":{"serviceId":"s"}}`, `{"userId":null,"closure":["service:s","everyone"],"grants":[{"id":…,"subject":"everyone",
			"pattern":"docs.files.read","scope":"docs.doc:1",` + admin + `,"createdAt":1700000000000}],"revokes":[],"roles":[],"managerChain":[],"unresolvedRoleIds":[],"active":true}`},
		{"check", `{"principal":{"serviceId":"s"},"key":"docs.files.read","scope":"docs.doc:1"}`, `{"allowed":true}`},
		{"explain", `{"principal":{"serviceId":"s"},"key":"docs.files.read","scope":"docs.doc:1"}`, `{"allowed":true,"active":true,"implied":false,"impliedBy":[],
			"matchedGrants":[{"id":…,"subject":"everyone","pattern":"docs.files.read","scope":"docs.doc:1",` + admin + `,"createdAt":1700000000000}],
			"matchedRevokes":[],"objectClosure":["docs.doc:1","docs.folder:1","*"]}`},
		{"listSubjects", `{"key":"docs.files.read","scope":"docs.doc:1"}`, `{"subjects":[{"subject":"everyone",
			"by":[{"grantId":…,"subject":"everyone","pattern":"docs.files.read","scope":"docs.doc:1"}]},{"subject":"user:u","except":"revoked"}]}`},
		{"listScopes", `{"principal":{"serviceId":"s"},"key":"docs.files.read"}`, `{"expanded":true,"scopes":[{"by":[…],"scope":"docs.doc:1"}]}`},
		{"listKeys", `{"principal":{"serviceId":"s"},"scope":"docs.doc:1"}`, `{"keys":[{"key":"docs.files.read"}]}`},
		{"getPublishedCatalog", ``, `{"published":null}`},
		{"getMesh", ``, `{"mesh":null}`},
		{"publishCatalog", `{"document":` + document + `,` + admin + `}`, `{"version":1}`},
		{"getPublishedCatalog", ``, `{"published":{"version":1,"document":` + document + `}}`},
		{"listAuditEvents", `{"filter":{"action":"catalog.publish"}}`,
			`{"events":[{"id":…,"at":1700000000000,"actor":"root","action":"catalog.publish","target":"docs","detail":{"version":1}}]}`},
		{"getPublishedImports", ``, `{"published":null}`},
		{"publishImports", `{"manifest":` + manifest + `,` + admin + `}`, `{"version":1}`},
		{"getPublishedImports", ``, `{"published":{"version":1,"manifest":` + manifest + `}}`},
		{"createGroup", `{"input":{"id":"v","name":"V"},` + admin + `}`, `{"group":{"id":"v","name":"V","parents":[]}}`},
		{"dissolveVirtualParent", `{"groupId":"v",` + admin + `}`, `{}`},
		{"deleteSubject", `{"subject":"user:u",` + admin + `}`, `{"deletedGrants":0,"deletedRevokes":1}`},
		{"createRevoke", `{"input":{"userId":"u","pattern":"docs.files.read",` + admin + `}}`, `{"revoke":…}`},
		{"deleteScope", `{"scope":"docs.doc:1",` + admin + `}`, `{"deletedGrants":1,"deletedRevokes":0}`},
		{"epoch.head", ``, `{"seq":…,"identity":…,"log":…}`},
		{"epoch.since", `{"seq":0,"limit":1}`, `{"upTo":1,"identity":…,"events":[{"type":"subject","subject":"group:a"}]}`},
		{"epoch.since", `{"seq":1000}`, `{"upTo":1000,"events":[]}`},
		{"epoch.since", `{"seq":1,"identity":"another"}`, `{"reset":true}`},
		{"reportMetrics", `{"batch":` + batch + `}`, `{}`},
		{"getGrantUsage", `{"query":{"ids":["g"]}}`, `{"usage":[{"rowId":"g","matched":4,"soleMatch":2,"windowStart":1692224000000,"windowEnd":1700000000000,
			"buckets":[{"bucket":1699920000000,"matched":4,"soleMatch":2}]}]}`},
		{"getRevokeUsage", `{"query":{}}`, `{"usage":[]}`},
		{"getRoleUsage", `{"query":{"since":1,"until":2}}`, `{"usage":[]}`},
		{"getPermissionUsage", `{"query":{}}`, `{"usage":[{"permission":"docs.files.read","gateAllow":4,"gateDeny":0,"visibilityAllow":0,"visibilityDeny":0,
			"windowStart":1692224000000,"windowEnd":1700000000000,"buckets":[{"bucket":1699920000000,"gateAllow":4,"gateDeny":0,"visibilityAllow":0,"visibilityDeny":0}]}]}`},
		{"getScopeTypeUsage", `{"query":{"ids":null}}`, `{"usage":[{"permission":"*","gateAllow":4,"gateDeny":0,"visibilityAllow":0,"visibilityDeny":0,
			"windowStart":1692224000000,"windowEnd":1700000000000,"buckets":[{"bucket":1699920000000,"gateAllow":4,"gateDeny":0,"visibilityAllow":0,"visibilityDeny":0}]}]}`},
		{"exportOrgSnapshot", ``, `{"snapshot":{"groups":[{"id":"a","name":"A","parents":[]}],"roles":[{"id":"r","name":"R","patterns":["docs.files.read"]}],
			"globalGrants":[{"id":…,"subject":"group:a","roleId":"r","scope":"*","expiresAt":1800000000000,` + admin + `,"createdAt":1700000000000}],
			"globalRevokes":[{"id":…,"userId":"u","pattern":"docs.files.read","scope":"*",` + admin + `,"createdAt":1700000000000}],
			"users":[{"userId":"m","active":true,"groupIds":[],"orgIds":[],"managerUserId":null}],
			"pendingGlobalRequests":[],"catalog":{"version":1,"document":` + document + `}}}`},
	} {
		called[step.op] = true
		got := w.mustOK(step.op, step.body)
		var want map[string]any
		if err := json.Unmarshal([]byte(strings.ReplaceAll(step.want, "…", `"…"`)), &want); err != nil {
			t.Fatalf("%s: %v", step.want, err)
		}
		if diff := cmp.Diff(want, masked(want, got)); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", step.op, step.body, diff)
		}
	}
	for _, op := range requestOperationsAnswer(t, w) {
		called[op] = true
	}
	for op, field := range map[string]string{"deleteGrant": "grants", "deleteRevoke": "revokes", "deleteRole": "roles"} {
		called[op] = true
		list := strings.Replace(op, "delete", "list", 1) + "s"
		for _, row := range w.mustOK(list, "")[field].([]any) {
			param := strings.ToLower(strings.TrimPrefix(op, "delete")) + "Id"
			if op == "deleteRole" {
				for _, grant := range w.mustOK("listGrants", "")["grants"].([]any) {
					w.mustOK("deleteGrant", fmt.Sprintf(`{"grantId":%s,%s}`, text(grant.(map[string]any)["id"]), admin))
				}
			}
			w.mustOK(op, fmt.Sprintf(`{%q:%s,%s}`, param, text(row.(map[string]any)["id"]), admin))
		}
		if left := w.mustOK(list, "")[field].([]any); len(left) != 0 {
			t.Errorf("%s left %v", op, left)
		}
	}
	called["applyOrgSnapshot"] = true
	if got := w.mustOK("applyOrgSnapshot", `{"source":"s","authority":true,"snapshot":`+emptySnapshot+`}`); got["applied"] != true {
		t.Errorf("applyOrgSnapshot: %v", got)
	}
	for _, op := range provider.Operations {
		// Operations that stand in no table by hand are the corpus's: it records their answers.
		if _, byHand := goodBodies[op.Op]; byHand && !called[op.Op] {
			t.Errorf("%s was not called", op.Op)
		}
	}
}

// masked replaces in got what want leaves open.
func masked(want, got any) any {
	switch w := want.(type) {
	case string:
		if w == "…" && got != nil {
			return w
		}
	case map[string]any:
		if g, ok := got.(map[string]any); ok {
			out := map[string]any{}
			for k, v := range g {
				out[k] = masked(w[k], v)
			}
			return out
		}
	case []any:
		if g, ok := got.([]any); ok && len(g) == len(w) {
			out := make([]any, len(g))
			for i := range g {
				out[i] = masked(w[i], g[i])
			}
			return out
		}
	}
	return got
}

func TestPageLimitsAtTheirEdge(t *testing.T) {
	w := newWorld(t, worldOptions{})
	w.mustOK("listGrants", `{"limit":10000}`)
	w.mustOK("listAuditEvents", `{"limit":10000}`)
}
