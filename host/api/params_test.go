package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/provider"
)

func TestEveryRequiredParameterIsAskedForByName(t *testing.T) {
	w := newWorld(t, worldOptions{})
	for _, op := range provider.Operations {
		given := map[string]any{}
		for _, field := range op.Required() {
			body, err := json.Marshal(given)
			if err != nil {
				t.Fatal(err)
			}
			w.post(op.Op, string(body)).expectValidation(t, fmt.Sprintf("%s requires the %q field", op.Op, field))
			given[field] = "something"
		}
	}
	w.post("check", `{}`).expectValidation(t, `check requires the "principal" field`)
	w.post("check", `{"principal":{"userId":"u"}}`).expectValidation(t, `check requires the "key" field`)
	w.post("check", `{"checks":null,"principal":{"userId":"u"}}`).expectValidation(t, `check requires the "key" field`)
	w.post("setReportingEdge", `{"userId":"u",`+admin+`}`).expectValidation(t, `setReportingEdge requires the "managerUserId" field`)
}

// Each refusal names the member, changes nothing and is no internal error.
func TestAValueOfTheWrongTypeIsValidation(t *testing.T) {
	w := newWorld(t, worldOptions{})
	long := strings.Repeat("x", 1025)
	for _, c := range []struct{ op, body, message string }{
		{"getSubjectAccess", `{"principal":"u"}`, `getSubjectAccess: "principal" must be an object`},
		{"getSubjectAccess", `{"principal":[]}`, `getSubjectAccess: "principal" must be an object`},
		{"getSubjectAccess", `{"principal":{"userId":5}}`, `userId must be a string`},
		{"getSubjectAccess", `{"principal":{"userId":""}}`, `userId must be a non-empty string`},
		{"getSubjectAccess", `{"principal":{"userId":"u","serviceId":""}}`, `serviceId must be a non-empty string`},
		{"getSubjectAccess", `{"principal":{"userId":"u","serviceId":"s"}}`, `it must name exactly one`},
		{"getSubjectAccess", `{"principal":{}}`, `it must name exactly one`},
		{"getSubjectAccess", `{"principal":{"userid":"u"}}`, `it must name exactly one`},
		{"getSubjectAccess", `{"principal":{"userId":"` + long + `"}}`, `userId is longer than 1024 bytes`},
		{"getSubjectAccess", `{"principal":{"userId":"a\u0000"}}`, `userId must not contain U+0000`},
		{"resolveAncestors", `{"scope":5}`, `resolveAncestors: "scope" must be a string`},
		{"resolveAncestors", `{"scope":""}`, `resolveAncestors: "scope" must be a non-empty string`},
		{"resolveAncestors", `{"scope":"docs.doc"}`, "scope ids are `*` or `<scopeType>:<instanceId>`"},
		{"resolveAncestors", `{"scope":"1x:1"}`, `invalid scope type "1x"`},
		{"epoch.since", `{"seq":"0"}`, `epoch.since: "seq" must be an integer of at least 0`},
		{"epoch.since", `{"seq":-1}`, `epoch.since: "seq" must be an integer of at least 0`},
		{"epoch.since", `{"seq":0.5}`, `epoch.since: "seq" must be an integer of at least 0`},
		{"epoch.since", `{"seq":9007199254740992}`, `epoch.since: "seq" must be an integer of at least 0`},
		{"epoch.since", `{"seq":0,"limit":"5"}`, `epoch.since: "limit" must be an integer`},
		{"createGrant", `{"input":[]}`, `createGrant: "input" must be an object`},
		{"createGrant", `{"input":{"subject":5,"pattern":"docs.files.read",` + admin + `}}`, `subject must be a string`},
		{"createGrant", `{"input":{"subject":"user:u","roleId":1,` + admin + `}}`, `roleId must be a string`},
		{"createGrant", `{"input":{"subject":"user:u","roleId":"","pattern":"*",` + admin + `}}`, `roleId must be a non-empty string`},
		{"createGrant", `{"input":{"subject":"user:u","pattern":"",` + admin + `}}`, `empty pattern`},
		{"createGrant", `{"input":{"subject":"user:u","pattern":["*"],` + admin + `}}`, `pattern must be a string`},
		{"createGrant", `{"input":{"subject":"user:u","pattern":"*","scope":"",` + admin + `}}`, "scope ids are `*`"},
		{"createGrant", `{"input":{"subject":"user:u","pattern":"*","scope":{},` + admin + `}}`, `scope must be a string`},
		{"createGrant", `{"input":{"subject":"user:u","pattern":"*","provenance":"root"}}`, `provenance is required: an object`},
		{"createGrant", `{"input":{"subject":"user:u","pattern":"*"},` + admin + `}`, `provenance is required: an object`},
		{"createGrants", `{"inputs":{},` + admin + `}`, `createGrants: "inputs" must be a list of objects`},
		{"createGrants", `{"inputs":[{"subject":"user:u","pattern":"*"},5],` + admin + `}`, `createGrants: "inputs" must be a list of objects`},
		{"createGrants", `{"inputs":[{"subject":"user:u","pattern":"*"},null],` + admin + `}`, `createGrants: "inputs" must be a list of objects`},
		{"createGrants", `{"inputs":[{"subject":"user:u","pattern":"*"},{"subject":[]}],` + admin + `}`, `subject must be a string`},
		{"createGrants", `{"inputs":[],"provenance":{"kind":"bogus"}}`, `unknown provenance kind "bogus"`},
		{"createRevoke", `{"input":{"userId":{},"pattern":"*",` + admin + `}}`, `userId must be a string`},
		{"createRevoke", `{"input":{"userId":"u","pattern":"*","scope":"",` + admin + `}}`, "scope ids are `*`"},
		{"createRevoke", `{"input":{"userId":"u",` + admin + `}}`, `empty pattern`},
		{"listGrants", `{"filter":"user:u"}`, `listGrants: "filter" must be an object`},
		{"listGrants", `{"filter":[]}`, `listGrants: "filter" must be an object`},
		{"listGrants", `{"filter":{"subject":null}}`, `subject must be a string`},
		{"listGrants", `{"filter":{"subject":5}}`, `subject must be a string`},
		{"listGrants", `{"filter":{"scope":null}}`, `scope must be a string`},
		{"listGrants", `{"filter":{"roleId":false}}`, `roleId must be a string`},
		{"listGrants", `{"limit":0}`, `listGrants: "limit" must be an integer from 1 to 10000`},
		{"listGrants", `{"limit":10001}`, `listGrants: "limit" must be an integer from 1 to 10000`},
		{"listGrants", `{"limit":"5"}`, `listGrants: "limit" must be an integer from 1 to 10000`},
		{"listGrants", `{"limit":1.5}`, `listGrants: "limit" must be an integer from 1 to 10000`},
		{"listGrants", `{"after":5}`, `listGrants: "after" must be a string`},
		{"countGrants", `{"filter":{"subject":null}}`, `subject must be a string`},
		{"listRevokes", `{"filter":{"userId":null}}`, `userId must be a string`},
		{"listRoles", `{"after":{}}`, `listRoles: "after" must be a string`},
		{"publishCatalog", `{"document":"x",` + admin + `}`, `publishCatalog: "document" must be an object`},
		{"publishCatalog", `{"document":[],` + admin + `}`, `publishCatalog: "document" must be an object`},
		{"createRole", `{"input":{"patterns":[]},` + admin + `}`, `name must be a string`},
		{"createRole", `{"input":{"name":"R"},` + admin + `}`, `patterns must be a list of strings`},
		{"createRole", `{"input":{"name":"R","patterns":"*"},` + admin + `}`, `patterns must be a list of strings`},
		{"createRole", `{"input":{"name":"R","patterns":["*",null]},` + admin + `}`, `patterns must be a list of strings`},
		{"createRole", `{"input":{"name":"R","patterns":[],"requestable":[]},` + admin + `}`, `requestable must be an object`},
		{"createRole", `{"input":{"name":"R","patterns":[],"requestable":{}},` + admin + `}`, `stages must be a list of objects`},
		{"createRole", `{"input":{"name":"R","patterns":[],"requestable":{"stages":[{"kind":"management","layers":1.5}]}},` + admin + `}`, `layers must be an integer`},
		{"createRole", `{"input":{"name":"R","patterns":[],"requestable":{"stages":[{"Kind":"management"}]}},` + admin + `}`, `kind must be a string`},
		{"createRole", `{"input":{"name":"R","patterns":[],"requestable":{"stages":[],"prompts":[{"id":"p"}]}},` + admin + `}`, `label must be a string`},
		{"createRole", `{"input":{"name":"R","patterns":[],"requestable":{"stages":[],"prompts":[{"id":"p","label":"P","kind":""}]}},` + admin + `}`, `kind must be a non-empty string`},
		{"createRole", `{"input":{"name":"R","patterns":[],"requestable":{"stages":[],"requireExpiry":"yes"}},` + admin + `}`, `requireExpiry must be a boolean`},
		{"createRole", `{"input":{"id":7,"name":"R","patterns":[]},` + admin + `}`, `id must be a string`},
		{"updateRole", `{"roleId":"r","input":{"name":5},` + admin + `}`, `name must be a string`},
		{"updateRole", `{"roleId":"r","input":{"description":5},` + admin + `}`, `description must be a string`},
		{"updateRole", `{"roleId":"r","input":{"requestable":5},` + admin + `}`, `requestable must be an object`},
		{"createGroup", `{"input":{"id":"g"},` + admin + `}`, `name must be a string`},
		{"createGroup", `{"input":{"name":"G","parents":"x"},` + admin + `}`, `parents must be a list of strings`},
		{"updateGroup", `{"groupId":[],"input":{},` + admin + `}`, `updateGroup: "groupId" must be a string`},
		{"setGroupParents", `{"groupId":"g","parents":"x",` + admin + `}`, `setGroupParents: "parents" must be a list of strings`},
		{"setGroupMembership", `{"userId":"u","groupIds":[5],` + admin + `}`, `setGroupMembership: "groupIds" must be a list of strings`},
		{"getGroupMembers", `{"groupId":5}`, `getGroupMembers: "groupId" must be a string`},
		{"setUserActive", `{"userId":"u","active":"false",` + admin + `}`, `setUserActive: "active" must be a boolean`},
		{"setUserActive", `{"userId":"u","active":0,` + admin + `}`, `setUserActive: "active" must be a boolean`},
		{"setUserActive", `{"userId":"u","active":false,"provenance":[]}`, `provenance is required: an object`},
		{"setReportingEdge", `{"userId":"u","managerUserId":"",` + admin + `}`, `setReportingEdge: "managerUserId" must be a non-empty string`},
		{"setReportingEdge", `{"userId":"u","managerUserId":5,` + admin + `}`, `setReportingEdge: "managerUserId" must be a string`},
		{"listAuditEvents", `{"filter":{"from":"0"}}`, `from must be an integer`},
		{"listAuditEvents", `{"filter":{"to":null}}`, `to must be an integer`},
		{"listAuditEvents", `{"filter":{"limit":1.5}}`, `limit must be an integer`},
		{"listAuditEvents", `{"filter":{"actor":null}}`, `actor must be a string`},
		{"listAuditEvents", `{"filter":{"cursor":null}}`, `cursor must be an object`},
		{"listAuditEvents", `{"filter":{"cursor":{"id":""}}}`, `at must be an integer`},
		{"listAuditEvents", `{"filter":{"cursor":{"at":0}}}`, `id must be a string`},
		{"listAuditEvents", `{"filter":{"cursor":{"at":0.5,"id":""}}}`, `at must be an integer`},
		{"listAuditEvents", `{"after":"x"}`, `listAuditEvents: "after" must be an object`},
		{"listAuditEvents", `{"filter":{"limit":5},"limit":5}`, `cannot be combined`},
		{"listAuditEvents", `{"filter":{"cursor":{"at":0,"id":""}},"after":{"at":0,"id":""}}`, `cannot be combined`},
		{"setScopeParents", `{"entries":{},` + admin + `}`, `setScopeParents: "entries" must be a list of objects`},
		{"setScopeParents", `{"entries":[{"parents":[]}],` + admin + `}`, `scope must be a string`},
		{"setScopeParents", `{"entries":[{"scope":"docs.doc:1"}],` + admin + `}`, `parents must be a list of strings or null`},
		{"setScopeParents", `{"entries":[{"scope":"docs.doc:1","parents":"x"}],` + admin + `}`, `parents must be a list of strings`},
		{"check", `{"principal":"u","key":"docs.files.read"}`, `check: "principal" must be an object`},
		{"check", `{"principal":{},"key":"docs.files.read"}`, `it must name exactly one`},
		{"check", `{"principal":{"userId":"u","serviceId":"s"},"key":"docs.files.read"}`, `it must name exactly one`},
		{"check", `{"principal":{"userId":"u"},"key":""}`, `check: "key" must be a key or a non-empty list of keys`},
		{"check", `{"principal":{"userId":"u"},"key":[]}`, `check: "key" must be a key or a non-empty list of keys`},
		{"check", `{"principal":{"userId":"u"},"key":["docs.files.read",""]}`, `check: "key" must be a key or a non-empty list of keys`},
		{"check", `{"principal":{"userId":"u"},"key":["docs.files.read",5]}`, `check: "key" must be a key or a non-empty list of keys`},
		{"check", `{"principal":{"userId":"u"},"key":{}}`, `check: "key" must be a key or a non-empty list of keys`},
		{"check", `{"principal":{"userId":"u"},"key":"docs.files.read","scope":""}`, `check: "scope" must be a non-empty string`},
		{"check", `{"principal":{"userId":"u"},"key":"docs.files.read","scope":"doc"}`, "scope ids are `*`"},
		{"check", `{"principal":{"userId":"u"},"key":"docs.files.read","scope":["*"]}`, `check: "scope" must be a string`},
		{"check", `{"principal":{"userId":"u"},"key":"docs.files.read","fresh":"true"}`, `check: "fresh" must be a boolean`},
		{"check", `{"principal":{"userId":"u"},"key":"docs.files.read","at":5}`, `check: "at" must be an object`},
		{"check", `{"principal":{"userId":"u"},"key":"docs.files.read","at":{}}`, `seq must be an integer of at least 0`},
		{"check", `{"principal":{"userId":"u"},"key":"docs.files.read","at":{"seq":-1}}`, `seq must be an integer of at least 0`},
		{"check", `{"checks":[]}`, `check: "checks" must be a list of 1 to 1000 checks`},
		{"check", `{"checks":{}}`, `check: "checks" must be a list of`},
		{"check", `{"checks":[{}],"principal":{"userId":"u"}}`, `"principal" cannot stand beside "checks"`},
		{"check", `{"checks":[{}],"key":"docs.files.read"}`, `"key" cannot stand beside "checks"`},
		{"check", `{"checks":[{}],"scope":"*"}`, `"scope" cannot stand beside "checks"`},
		{"check", `{"checks":[{}],"fresh":false}`, `"fresh" cannot stand beside "checks"`},
		{"check", `{"checks":[` + strings.Repeat("{},", 1000) + `{}]}`, `check: "checks" must be a list of 1 to 1000 checks`},
	} {
		t.Run(c.op+" "+spell.Echo(c.body), func(t *testing.T) {
			w.post(c.op, c.body).expectValidation(t, c.message)
		})
	}
	if head := w.mustOK("epoch.head", ""); head["seq"] != 0.0 {
		t.Errorf("bad input wrote something: %v", head)
	}
}

func TestATimeBoundIsCheckedForShapeBeforeValue(t *testing.T) {
	w := newWorld(t, worldOptions{})
	grant := func(expiresAt string) answer {
		return w.post("createGrant", `{"input":{"subject":"user:u","pattern":"docs.files.read","expiresAt":`+expiresAt+`,`+admin+`}}`)
	}
	for sent, received := range map[string]string{
		`"soon"`: `"soon"`, `true`: `true`, `{ "a" : 1 }`: `{"a":1}`, `1700000000000.5`: `1700000000000.5`,
		`1e400`: `1e400`, `9007199254740992`: `9007199254740992`, `-9007199254740992`: `-9007199254740992`, `[]`: `[]`,
		`"` + strings.Repeat("x", 200) + `"`: `…(+`,
	} {
		grant(sent).expectValidation(t, "expiresAt must be a finite epoch-millisecond number — received "+strings.TrimSuffix(received, "…(+"))
	}
	grant(`5`).expectValidation(t, "expiresAt is already in the past")
	for _, fine := range []string{`1800000000000`, `1.8e12`, `1800000000000.0`, `null`} {
		if a := grant(fine); a.status != 200 {
			t.Errorf("expiresAt %s: %s", fine, a.body)
		}
	}
}

func TestNullIsAValueOnlyWhereTheSpecSaysSo(t *testing.T) {
	w := newWorld(t, worldOptions{})
	w.mustOK("createRole", `{"input":{"id":"r","name":"R","description":"D","patterns":[]},`+admin+`}`)
	role := func(update string) map[string]any {
		return w.mustOK("updateRole", `{"roleId":"r","input":`+update+`,`+admin+`}`)["role"].(map[string]any)
	}
	if got := role(`{"name":null,"patterns":null}`); got["name"] != "R" || got["description"] != "D" {
		t.Errorf("null of name and patterns must read as absent: %v", got)
	}
	if got := role(`{"description":null}`); got["description"] != nil {
		t.Errorf("null must clear the description: %v", got)
	}
	w.mustOK("createGroup", `{"input":{"id":"g","name":"G","description":"D"},`+admin+`}`)
	group := w.mustOK("updateGroup", `{"groupId":"g","input":{"name":null,"description":null},`+admin+`}`)["group"].(map[string]any)
	if group["name"] != "G" || group["description"] != "D" {
		t.Errorf("null must read as absent in updateGroup: %v", group)
	}
	w.mustOK("setReportingEdge", `{"userId":"u","managerUserId":"m",`+admin+`}`)
	w.mustOK("setReportingEdge", `{"userId":"u","managerUserId":null,`+admin+`}`)
	if edges := w.mustOK("getReportingEdges", "")["edges"].(map[string]any); len(edges) != 0 {
		t.Errorf("null must clear the edge: %v", edges)
	}
	w.mustOK("createGrant", `{"input":{"subject":"user:u","pattern":"docs.files.read","roleId":null,"scope":null,"expiresAt":null,`+admin+`}}`)
}

func TestMembersNobodyKnowsAreIgnoredAndOfDuplicatesTheLastCounts(t *testing.T) {
	w := newWorld(t, worldOptions{})
	grant := w.mustOK("createGrant", `{"x":[[1]],"input":{"subject":"user:nobody","Subject":"user:folded","subject":"user:u",
		"pattern":"docs.files.read","id":"mine","createdAt":5,`+admin+`,"SCOPE":"docs.doc:1"}}`)["grant"].(map[string]any)
	if grant["subject"] != "user:u" || grant["scope"] != "*" || grant["id"] == "mine" || grant["createdAt"] == 5.0 {
		t.Errorf("%v", grant)
	}
	for _, user := range []string{"__proto__", "constructor", "a<b>&c", "ü\u2028"} {
		name := text(user)
		w.mustOK("setReportingEdge", `{"userId":`+name+`,"managerUserId":"m",`+admin+`}`)
		if got := w.mustOK("getReportingEdges", "")["edges"].(map[string]any)[user]; got != "m" {
			t.Errorf("user %q has the manager %v", user, got)
		}
	}
}
