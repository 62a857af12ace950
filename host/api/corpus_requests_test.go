package api_test

// The good requests of the corpus. What stands between < and > is known only when
// the state below is there.

// corpusState is written before the cases: what they read, change and delete.
var corpusState = []struct{ op, body, names string }{
	{"createGroup", `{"input":{"id":"a","name":"A","description":"first"},` + admin + `}`, ""},
	{"createGroup", `{"input":{"id":"b","name":"B","parents":["a"]},` + admin + `}`, ""},
	{"createGroup", `{"input":{"id":"c","name":"C"},` + admin + `}`, ""},
	{"setGroupMembership", `{"userId":"u","groupIds":["b"],` + admin + `}`, ""},
	{"setReportingEdge", `{"userId":"u","managerUserId":"m",` + admin + `}`, ""},
	{"setUserActive", `{"userId":"gone","active":false,` + admin + `}`, ""},
	{"createRole", `{"input":{"id":"r","name":"R","patterns":["docs.files.*"]},` + admin + `}`, ""},
	{"createRole", `{"input":{"id":"free","name":"Free","description":"of nobody","patterns":[]},` + admin + `}`, ""},
	{"createRole", `{"input":{"id":"judges","name":"Judges","patterns":[]},` + admin + `}`, ""},
	{"createRole", `{"input":{"id":"ask","name":"Ask","patterns":["docs.files.read"],"requestable":{"maxDurationMs":1000,
		"prompts":[{"id":"why","label":"Why"}],"stages":[{"kind":"named_approvers","roleId":"judges"}]}},` + admin + `}`, ""},
	{"createGrant", `{"input":{"subject":"user:judge","roleId":"judges",` + admin + `}}`, "grant0"},
	{"createGrant", `{"input":{"subject":"group:a","roleId":"r","expiresAt":1800000000000,` + admin + `}}`, "grant1"},
	{"createGrant", `{"input":{"subject":"everyone","pattern":"docs.files.read","scope":"docs.doc:1","provenance":{"kind":"system","note":"setup"}}}`, "grant2"},
	{"createGrant", `{"input":{"subject":"service:s","pattern":"docs.files.delete",` + admin + `}}`, "grant3"},
	{"createGrant", `{"input":{"subject":"user:u","pattern":"docs.pay.approve",` + admin + `}}`, "grant4"},
	{"createRevoke", `{"input":{"userId":"u","pattern":"docs.files.read","scope":"docs.doc:2",` + admin + `}}`, "revoke1"},
	{"createRevoke", `{"input":{"userId":"w","pattern":"docs.files.*",` + admin + `}}`, "revoke2"},
	{"setScopeParents", `{"entries":[{"scope":"docs.doc:1","parents":["docs.folder:1"]},{"scope":"docs.doc:2","parents":["docs.folder:1"]},{"scope":"docs.folder:1","parents":["docs.folder:0"]}],` + admin + `}`, ""},
	{"publishCatalog", `{"document":` + corpusDocument + `,` + admin + `}`, ""},
	{"publishImports", `{"manifest":` + corpusManifest + `,` + admin + `}`, ""},
	{"submitRequest", `{"input":{"requesterUserId":"w","roleId":"ask","justification":{"why":"audit"}}}`, "request1"},
	{"submitRequest", `{"input":{"requesterUserId":"x","roleId":"ask","scope":"docs.doc:1","proposedExpiresAt":1700000000500,"justification":{"why":"more"}}}`, "request2"},
	{"decideRequest", `{"requestId":"<request2>","decision":{"deciderUserId":"judge","decision":"denied","note":"no"}}`, ""},
	{"reportMetrics", `{"batch":` + corpusBatch + `}`, ""},
}

const (
	corpusCatalog = `{"namespaces":["docs"],"includeAuthzInternal":false,
		"scopeTypes":{"docs.folder":{"parent":"docs.folder"},"docs.doc":{"parent":"docs.folder"}},
		"permissions":{"docs.files.read":{"scopes":["docs.folder","docs.doc"]},"docs.files.delete":true,"docs.pay.approve":{"requiresCondition":true}},
		"constraints":{"sod":[{"id":"four","description":"four eyes","sets":[["docs.files.read"],["docs.files.delete"]]}]}}`
	corpusDocument = `{"formatVersion":1,"namespace":"docs","namespaces":["docs"],"leaves":[{"key":"docs.files.read"}],"groups":[],"scopeTypes":[],"navigation":[]}`
	corpusManifest = `{"formatVersion":1,"namespace":"docs","imports":[{"namespace":"meet","from":"x","enumerated":false,` +
		`"entries":[{"pattern":"meet.rooms.*","scopes":["docs.doc"]}],"keys":[],"regions":["meet.rooms.*"],"strict":false}]}`
	corpusBatch = `{"instanceId":"i","windowStart":1699999999000,"windowEnd":1700000000000,` +
		`"checks":[{"permission":"docs.files.read","decision":"allow","shape":"can","gate":true,"scopeType":"docs.doc","scope":"docs.doc:1","observed":2,"estimated":4}],` +
		`"grants":[{"rowId":"<grant2>","matched":2,"soleMatch":1,"estimatedMatched":4,"estimatedSoleMatch":2,"recentPrincipals":["user:u"]}],` +
		`"revokes":[],"roles":[],"principals":{"distinct":1,"overflowed":false},"dropped":0}`
	corpusSnapshot = `{"groups":[{"id":"a","name":"A","description":"D","parents":[],"virtual":false}],` +
		`"roles":[{"id":"r","name":"R","description":"D","patterns":["docs.*"],"requestable":{"stages":[{"kind":"management","layers":2}]}}],` +
		`"globalGrants":[{"id":"g","subject":"user:u","roleId":"r","scope":"*","expiresAt":1800000000000,"createdAt":1,` + admin + `}],` +
		`"globalRevokes":[{"id":"v","userId":"u","pattern":"docs.*","scope":"*","createdAt":1,` + admin + `}],` +
		`"users":[{"userId":"u","active":true,"groupIds":["a"],"orgIds":["o"],"managerUserId":"m"}],` +
		`"pendingGlobalRequests":[{"id":"q","requesterUserId":"u","roleId":"r","scope":"*","proposedExpiresAt":1800000000000,"justification":{"why":"x"},"state":"pending",` +
		`"stageIndex":0,"stages":[{"kind":"management","layers":2}],"decisions":[{"stageIndex":0,"decidedBy":"m","decision":"approved","at":1,"note":"n"}],"createdAt":1,"decidedAt":null}],` +
		`"catalog":null}`

	corpusRequestable = `{"stages":[{"kind":"auto","predicate":{"type":"in_group","groupId":"a"}},{"kind":"named_approvers","roleId":"judges"}],` +
		`"prompts":[{"id":"why","label":"Why","kind":"select","options":["x","y"],"required":false}],"maxDurationMs":5,"requireExpiry":true}`
)

// corpusRequests are the good requests of the provider API's operations. The first
// has every member that the operation knows.
var corpusRequests = map[string][]string{
	"ping":             {`{}`},
	"capabilities":     {`{}`},
	"getSubjectAccess": {`{"principal":{"userId":"u"}}`, `{"principal":{"serviceId":"s"}}`, `{"principal":{"userId":"gone","serviceId":null}}`, `{"principal":{"userId":"ü😀"}}`},
	"resolveAncestors": {`{"scope":"docs.doc:1"}`, `{"scope":"*"}`, `{"scope":"docs.doc:alone"}`, `{"scope":"other.type:1"}`},
	"check": {
		`{"principal":{"userId":"u"},"key":"docs.files.read","scope":"docs.doc:1","fresh":false,"at":{"seq":1,"identity":"<identity1>"}}`,
		`{"checks":[{"principal":{"userId":"u"},"key":"docs.files.read","scope":"docs.doc:1","fresh":true},{"principal":{"serviceId":"s"},"key":["docs.files.read","docs.files.delete"]}],"at":{"seq":1}}`,
		`{"principal":{"userId":"u"},"key":"docs.files.read","scope":"docs.doc:1"}`,
		`{"principal":{"userId":"u"},"key":"docs.files.read","scope":"docs.doc:2","fresh":true}`,
		`{"principal":{"serviceId":"s"},"key":["docs.files.read","docs.files.delete"]}`,
		`{"principal":{"userId":"gone"},"key":"docs.files.read","scope":"docs.doc:1"}`,
		`{"principal":{"userId":"u"},"key":"docs.files.raed"}`,
		`{"principal":{"userId":"u"},"key":"docs.pay.approve"}`,
		`{"principal":{"userId":"u"},"key":"docs.files.read","scope":"other.type:1"}`,
		`{"checks":[{"principal":{"userId":"u"},"key":"docs.files.read"},{"principal":{"userId":"u"},"key":"docs.files.raed"},7,{},{"principal":{},"key":"docs.files.read"},{"principal":{"userId":"u"},"key":"docs.pay.approve"}]}`,
	},
	"explain": {`{"principal":{"userId":"u"},"key":"docs.files.read","scope":"docs.doc:1"}`, `{"principal":{"serviceId":"s"},"key":"docs.files.delete"}`,
		`{"principal":{"userId":"u"},"key":"docs.files.read","scope":"docs.doc:2"}`, `{"principal":{"userId":"u"},"key":"docs.files.raed"}`,
		`{"principal":{"userId":"u"},"key":"docs.files.read","with":{"grants":[{"subject":"user:u","pattern":"docs.files.read"}]},"without":["gone"]}`},
	"plan": {`{"with":{"grants":[{"subject":"user:u","pattern":"docs.files.read"}],"revokes":[{"userId":"u","pattern":"docs.*","scope":"docs.doc:1"}],"roles":[{"roleId":"editor","patterns":["docs.files.read"]}],"groups":[{"groupId":"new","parents":[]}],"members":[{"userId":"v","groupIds":[]}]},"without":[]}`, `{"without":["nothing"]}`,
		`{"with":{"grants":[{"subject":"user:u","pattern":"docs.files.read"}]}}`, `{}`, `{"with":{"grants":[{"subject":"user:u","roleId":"gone"}]}}`,
		`{"with":{"members":[{"userId":"v","groupIds":["gone"]}]}}`, `{"with":{},"without":[]}`, `{"with":{"grants":[{"subject":"u","pattern":"docs.files.read"}]}}`},
	"listSubjects": {`{"key":"docs.files.read","scope":"docs.doc:1","limit":2,"after":"nothing"}`, `{"key":"docs.files.read","scope":"docs.doc:1"}`, `{"key":"docs.files.delete"}`,
		`{"key":"docs.pay.approve","limit":1}`, `{"key":"docs.files.raed"}`, `{"key":"docs.files.read","scope":null,"limit":null,"after":null}`},
	"listScopes": {`{"principal":{"userId":"u"},"key":"docs.files.read","limit":2,"after":"nothing"}`, `{"principal":{"userId":"u"},"key":"docs.files.read"}`,
		`{"principal":{"serviceId":"s"},"key":"docs.files.delete"}`, `{"principal":{"userId":"gone"},"key":"docs.files.read"}`, `{"principal":{"userId":"u"},"key":"docs.files.raed"}`},
	"listKeys": {`{"principal":{"userId":"u"},"scope":"docs.doc:1","limit":2,"after":"nothing"}`, `{"principal":{"userId":"u"},"scope":"docs.doc:1"}`, `{"principal":{"userId":"u"}}`,
		`{"principal":{"serviceId":"s"}}`, `{"principal":{"userId":"gone"}}`},
	"epoch.head": {`{}`},
	"epoch.since": {`{"seq":3,"identity":"<identity3>","limit":2}`, `{"seq":0}`, `{"seq":0,"limit":0}`, `{"seq":0,"limit":-5}`, `{"seq":1e0,"limit":1.0}`, `{"seq":1000}`,
		`{"seq":1000,"identity":"of another log"}`, `{"seq":3,"identity":"of another log"}`, `{"seq":3,"identity":null,"limit":null}`},
	"createGrant": {
		`{"input":{"subject":"user:u","roleId":"r","scope":"docs.doc:1","expiresAt":1800000000000,` + admin + `}}`,
		`{"input":{"subject":"group:a","pattern":"docs.files.read","scope":"docs.folder:1","provenance":{"kind":"system","note":"n"}}}`,
		`{"input":{"subject":"everyone","pattern":"docs.files.delete","roleId":null,"scope":null,"expiresAt":null,` + admin + `}}`,
		`{"input":{"subject":"org:o","pattern":"docs.files.*","expiresAt":1.8e12,` + admin + `}}`,
		`{"input":{"subject":"user:u","pattern":"docs.files.read","roleId":"r",` + admin + `}}`,
		`{"input":{"subject":"user:u","pattern":"docs.files.delete","scope":"docs.doc:1",` + admin + `}}`,
		`{"input":{"subject":"user:u","pattern":"nobody.knows.this",` + admin + `}}`,
		`{"input":{"subject":"user:u","roleId":"nobody",` + admin + `}}`,
		`{"input":{"subject":"group:nobody","roleId":"r",` + admin + `}}`,
		`{"input":{"subject":"user:u","roleId":"r","expiresAt":1,` + admin + `}}`,
	},
	"createGrants": {
		`{"inputs":[{"subject":"user:u","roleId":"r","scope":"docs.doc:1","expiresAt":1800000000000},{"subject":"everyone","pattern":"docs.files.read"}],` + admin + `}`,
		`{"inputs":[],` + admin + `}`,
		`{"inputs":[{"subject":"user:u","roleId":"r",` + admin + `},{"subject":"nobody","roleId":"r"}],` + admin + `}`,
	},
	"deleteGrant": {`{"grantId":"<grant1>",` + admin + `}`, `{"grantId":"nobody",` + admin + `}`},
	"listGrants": {`{"filter":{"subject":"group:a","scope":"*","roleId":"r"},"limit":2,"after":"<grant0>"}`, `{}`, `{"limit":2}`, `{"limit":2,"after":"<grant2>"}`, `{"limit":10000}`,
		`{"limit":5}`, `{"limit":4}`, `{"filter":{},"limit":null,"after":null}`, `{"filter":null}`, `{"after":"nobody"}`, `{"filter":{"subject":"user:nobody"}}`},
	"countGrants":  {`{"filter":{"subject":"group:a","scope":"*","roleId":"r"}}`, `{}`, `{"filter":{}}`, `{"filter":null,"limit":1}`},
	"createRevoke": {`{"input":{"userId":"u","pattern":"docs.files.read","scope":"docs.doc:1",` + admin + `}}`, `{"input":{"userId":"u","pattern":"*","scope":null,` + admin + `}}`},
	"deleteRevoke": {`{"revokeId":"<revoke1>",` + admin + `}`, `{"revokeId":"nobody",` + admin + `}`},
	"listRevokes": {`{"filter":{"userId":"u","scope":"docs.doc:2"},"limit":2,"after":"<revoke1>"}`, `{}`, `{"limit":1}`, `{"limit":1,"after":"<revoke1>"}`,
		`{"filter":{"userId":"w"}}`, `{"after":"nobody"}`},
	"deleteSubject": {`{"subject":"group:a",` + admin + `}`, `{"subject":"user:u",` + admin + `}`, `{"subject":"service:s",` + admin + `}`, `{"subject":"everyone",` + admin + `}`, `{"subject":"user:nobody",` + admin + `}`},
	"deleteScope":   {`{"scope":"docs.doc:1",` + admin + `}`, `{"scope":"*",` + admin + `}`, `{"scope":"docs.doc:nobody",` + admin + `}`},
	"submitRequest": {
		`{"input":{"requesterUserId":"w","roleId":"ask","scope":"docs.doc:1","proposedExpiresAt":1700000000900,"justification":{"why":"audit","more":"x"}}}`,
		`{"input":{"requesterUserId":"w","roleId":"ask","scope":null,"proposedExpiresAt":null,"pattern":null,"justification":{"why":"audit","__proto__":"x","left out":null}}}`,
		`{"input":{"requesterUserId":"w","pattern":"docs.files.read"}}`,
		`{"input":{"requesterUserId":"w","roleId":"r"}}`,
		`{"input":{"requesterUserId":"w","roleId":"ask","proposedExpiresAt":1}}`,
	},
	"decideRequest": {
		`{"requestId":"<request1>","decision":{"deciderUserId":"judge","decision":"approved","note":"ok"}}`,
		`{"requestId":"<request1>","decision":{"deciderUserId":"judge","decision":"denied","note":null}}`,
		`{"requestId":"<request1>","decision":{"deciderUserId":"w","decision":"approved"}}`,
		`{"requestId":"<request2>","decision":{"deciderUserId":"judge","decision":"approved"}}`,
		`{"requestId":"nobody","decision":{"deciderUserId":"judge","decision":"approved"}}`,
	},
	"cancelRequest": {`{"requestId":"<request1>","byUserId":"w"}`, `{"requestId":"<request1>","byUserId":"judge"}`, `{"requestId":"<request2>","byUserId":"x"}`, `{"requestId":"nobody","byUserId":"w"}`},
	"listRequests": {`{"filter":{"state":"pending","requesterUserId":"w"},"limit":1,"after":"<request1>"}`, `{}`, `{"limit":1}`, `{"filter":{"state":"denied"}}`, `{"filter":{"state":"nobody"}}`,
		`{"after":"nobody"}`},
	"listApproverQueue": {`{"approverUserId":"judge"}`, `{"approverUserId":"w"}`},
	"publishCatalog": {`{"document":` + corpusDocument + `,` + admin + `}`,
		`{"document":{"formatVersion":1,"namespace":"docs","namespaces":["docs"],"leaves":[{"key":"docs.files.write","description":"D"}],"groups":[],"scopeTypes":[{"type":"docs.doc","parent":null}],"navigation":[]},` + admin + `}`},
	"getPublishedCatalog": {`{}`},
	"getMesh":             {`{}`},
	"publishImports":      {`{"manifest":` + corpusManifest + `,` + admin + `}`},
	"getPublishedImports": {`{}`},
	"listRoles":           {`{"limit":2,"after":"ask"}`, `{}`, `{"limit":1}`, `{"limit":4}`, `{"limit":3}`, `{"after":"nobody"}`},
	"createRole": {
		`{"input":{"id":"new","name":"New","description":"D","patterns":["docs.files.*"],"requestable":` + corpusRequestable + `},` + admin + `}`,
		`{"input":{"name":"New","patterns":[]},` + admin + `}`,
		`{"input":{"id":null,"name":"New","description":null,"patterns":["docs.files.read"],"requestable":null},` + admin + `}`,
		`{"input":{"id":"r","name":"New","patterns":["docs.files.read"]},` + admin + `}`,
		`{"input":{"id":"new","name":"New","patterns":["nobody.knows.this"]},` + admin + `}`,
		`{"input":{"id":"new","name":"New","patterns":[],"requestable":{"stages":[]}},` + admin + `}`,
		`{"input":{"id":"new","name":"New","patterns":[],"requestable":{"stages":[{"kind":"management","layers":2}]}},` + admin + `}`,
		`{"input":{"id":"new","name":"New","patterns":[],"requestable":{"stages":[{"kind":"auto","predicate":{"type":"in_org","orgId":"o"}},{"kind":"auto","predicate":{"type":"member_of","subject":"everyone"}},{"kind":"auto","predicate":{"type":"has_pattern","pattern":"docs.*"}}]}},` + admin + `}`,
	},
	"updateRole": {
		`{"roleId":"free","input":{"name":"Freed","description":"D","patterns":["docs.files.read"],"requestable":{"stages":[{"kind":"management","layers":1}]}},` + admin + `}`,
		`{"roleId":"ask","input":{"description":null,"requestable":null},` + admin + `}`,
		`{"roleId":"ask","input":{},` + admin + `}`,
		`{"roleId":"nobody","input":{"name":"x"},` + admin + `}`,
	},
	"deleteRole":      {`{"roleId":"free",` + admin + `}`, `{"roleId":"r",` + admin + `}`, `{"roleId":"nobody",` + admin + `}`},
	"listGroups":      {`{"limit":1,"after":"a"}`, `{}`, `{"limit":2}`, `{"limit":3}`, `{"after":"nobody"}`},
	"createGroup":     {`{"input":{"id":"new","name":"New","description":"D","parents":["a","c"]},` + admin + `}`, `{"input":{"name":"New"},` + admin + `}`, `{"input":{"id":null,"name":"New","description":null,"parents":null},` + admin + `}`, `{"input":{"id":"a","name":"New"},` + admin + `}`, `{"input":{"id":"new","name":"New","parents":["nobody"]},` + admin + `}`},
	"updateGroup":     {`{"groupId":"b","input":{"name":"Bee","description":"D"},` + admin + `}`, `{"groupId":"a","input":{"description":null},` + admin + `}`, `{"groupId":"a","input":{"description":""},` + admin + `}`, `{"groupId":"nobody","input":{"name":"x"},` + admin + `}`},
	"setGroupParents": {`{"groupId":"b","parents":["c"],` + admin + `}`, `{"groupId":"b","parents":[],` + admin + `}`, `{"groupId":"a","parents":["b"],` + admin + `}`, `{"groupId":"a","parents":["nobody"],` + admin + `}`, `{"groupId":"nobody","parents":[],` + admin + `}`},
	"deleteGroup":     {`{"groupId":"c",` + admin + `}`, `{"groupId":"a",` + admin + `}`, `{"groupId":"nobody",` + admin + `}`},
	"setGroupMembership": {`{"userId":"u","groupIds":["a","b"],` + admin + `}`, `{"userId":"u","groupIds":[],` + admin + `}`, `{"userId":"u","groupIds":["nobody"],` + admin + `}`,
		`{"userId":"u","groupIds":["a","a"],` + admin + `}`},
	"getGroupMembers": {`{"groupId":"b"}`, `{"groupId":"a"}`, `{"groupId":"nobody"}`},
	"setUserActive":   {`{"userId":"u","active":false,` + admin + `}`, `{"userId":"gone","active":true,` + admin + `}`},
	"setReportingEdge": {`{"userId":"u","managerUserId":"w",` + admin + `}`, `{"userId":"u","managerUserId":null,` + admin + `}`, `{"userId":"m","managerUserId":"u",` + admin + `}`,
		`{"userId":"u","managerUserId":"u",` + admin + `}`},
	"getReportingEdges": {`{}`},
	"findGrants": {`{"filter":{"subject":"user:u"},"limit":2,"after":"a"}`, `{}`, `{"filter":{"order":"-createdAt"},"limit":1}`, `{"filter":{"order":"expiresAt","expires":true},"after":"1:a"}`, `{"filter":{"order":"expiresAt"},"after":"a"}`,
		`{"filter":{"order":"createdAt"}}`, `{"filter":{"pattern":"docs.*","actor":"root","instances":true,"createdFrom":0}}`, `{"filter":{"expires":"yes"}}`},
	"listUsers":          {`{"filter":{"prefix":"u","active":true,"stored":true},"limit":2,"after":"a"}`, `{}`, `{"limit":1}`, `{"filter":{"active":false}}`, `{"filter":{"prefix":"nobody"}}`, `{"filter":{"active":null}}`},
	"listRecordedScopes": {`{"filter":{"prefix":"docs.doc:","parent":"docs.folder:1"},"limit":2,"after":"docs.doc:0"}`, `{}`, `{"limit":2}`, `{"filter":{"parent":"docs.folder"}}`, `{"filter":{"prefix":"docs.folder:1"}}`},
	"changeGrants": {`{"delete":["<grant1>"],"expire":[{"grantId":"<grant0>","expiresAt":1800000000000}],"create":[{"subject":"user:u","roleId":"r","scope":"docs.doc:1"}],` + admin + `}`,
		`{"expire":[{"grantId":"<grant0>","expiresAt":null}],` + admin + `}`, `{"expire":[{"grantId":"<grant0>"}],` + admin + `}`, `{"delete":["nobody"],` + admin + `}`, `{` + admin + `}`},
	"getUser": {`{"userId":"u"}`, `{"userId":"nobody"}`, `{"userId":""}`, `{}`, `{"userId":5}`},
	"changeGroupMembership": {`{"userId":"u","add":["a"],` + admin + `}`, `{"userId":"u","remove":["a","x"],` + admin + `}`, `{"userId":"u","add":["nobody"],` + admin + `}`, `{"userId":"u",` + admin + `}`,
		`{"userId":"u","add":["a"],"remove":["a"],` + admin + `}`, `{"userId":"u","add":"a",` + admin + `}`, `{"userId":"u","add":["a"]}`},
	"dissolveVirtualParent": {`{"groupId":"a",` + admin + `}`, `{"groupId":"c",` + admin + `}`, `{"groupId":"nobody",` + admin + `}`},
	"reviewSodViolations":   {`{"userIds":["u","w"],"limit":1,"after":"u"}`, `{}`, `{"userIds":[]}`, `{"limit":1}`, `{"userIds":["u","u"]}`, `{"userIds":["u"],"after":"w"}`},
	"reviewEntitlements":    {`{"userIds":["u","w"],"limit":1}`, `{}`, `{"limit":1}`, `{"limit":1,"after":"u"}`, `{"userIds":["u","u"]}`, `{"userIds":["u"],"after":"w"}`},
	"reviewWildcardDrift":   {`{"sinceVersion":1,"limit":1}`, `{"sinceVersion":2}`, `{"sinceVersion":0}`, `{"sinceVersion":1,"after":"x"}`},
	"reviewAuditChain":      {`{"limit":2}`, `{}`, `{"after":{"at":1700000000000,"id":"nobody","hash":"00"}}`, `{"after":{"at":1,"id":""}}`},
	"listAuditEvents": {
		`{"filter":{"target":"docs","actor":"root","action":"catalog.publish","from":1,"to":1900000000000,"cursor":{"at":1700000000000,"id":"<audit1>"},"limit":3}}`,
		`{}`, `{"limit":3}`, `{"filter":{"action":"role.create"},"limit":1,"after":{"at":1700000000000,"id":"<audit1>"}}`, `{"filter":{"limit":2}}`, `{"filter":{"actor":"judge"}}`,
		`{"filter":{"limit":2},"limit":2}`, `{"filter":{"cursor":{"at":1,"id":"x"}},"after":{"at":1,"id":"x"}}`, `{"filter":{"from":1900000000000}}`, `{"filter":{"detailLimit":20,"limit":3}}`, `{"filter":{"subject":"user:root","limit":1}}`, `{"filter":{"subject":"u1"}}`,
	},
	"reportMetrics":      {`{"batch":` + corpusBatch + `}`},
	"getGrantUsage":      {`{"query":{"ids":["<grant2>"],"since":1,"until":1900000000000}}`, `{"query":{}}`, `{"query":{"ids":null,"since":null,"until":null}}`, `{"query":{"ids":[]}}`, `{"query":{"ids":["nobody"]}}`},
	"getRevokeUsage":     {`{"query":{"ids":["x"],"since":1,"until":2}}`, `{"query":{}}`},
	"getRoleUsage":       {`{"query":{"ids":["x"],"since":1,"until":2}}`, `{"query":{}}`},
	"getPermissionUsage": {`{"query":{"ids":["docs.files.read"],"since":1,"until":1900000000000}}`, `{"query":{}}`},
	"getScopeTypeUsage":  {`{"query":{"ids":["docs.doc"],"since":1,"until":1900000000000}}`, `{"query":{}}`},
	"exportOrgSnapshot":  {`{}`},
	"applyOrgSnapshot": {
		`{"source":"s","authority":true,"expectHead":5,"expectIdentity":"x","position":7,"snapshot":` + corpusSnapshot + `}`,
		`{"source":"s","snapshot":` + corpusSnapshot + `}`,
		`{"source":"s","authority":false,"snapshot":` + emptySnapshot + `}`,
		`{"source":"s","authority":null,"expectHead":null,"expectIdentity":null,"position":null,"snapshot":` + emptySnapshot + `}`,
	},
	"setScopeParents": {
		`{"entries":[{"scope":"docs.doc:1","parents":["docs.folder:2"]},{"scope":"docs.doc:2","parents":[]},{"scope":"docs.doc:3","parents":null}],` + admin + `}`,
		`{"entries":[],` + admin + `}`,
		`{"entries":[{"scope":"docs.folder:0","parents":["docs.folder:1"]}],` + admin + `}`,
		`{"entries":[{"scope":"docs.doc:1","parents":["docs.folder:2"]},{"scope":"docs.doc:1","parents":[]}],` + admin + `}`,
	},
}

// corpusShapes are further requests of which the wrong ones are made, by their
// places in corpusRequests: those with members that the first cannot have.
var corpusShapes = map[string][]int{"check": {1, 3}, "createGrant": {1}, "createRole": {7}, "listAuditEvents": {3}, "submitRequest": {2}}

// corpusLocalRequests are those of the administration socket alone.
var corpusLocalRequests = map[string][]string{
	"importDirectory": {
		`{"source":"hr","snapshot":{"groups":[{"id":"a","name":"A","description":"D","parents":["c"]}],"memberships":{"u":["a"]},"reportingEdges":{"u":"m"},"orgs":{"u":["o"]},` +
			`"users":[{"userId":"u","active":true}]},"options":{"authoritative":false,"maxDeactivations":0.5,"confirmed":true}}`,
		`{"source":"hr","snapshot":{}}`,
		`{"source":"hr","snapshot":{"groups":null,"users":null,"memberships":null,"orgs":null,"reportingEdges":null},"options":null}`,
		`{"source":"hr","snapshot":{"users":[]},"options":{"authoritative":true}}`,
	},
	"lookUp":               {`{"subject":"user:u"}`, `{"subject":"group:a"}`, `{"subject":"service:s"}`, `{"subject":"user:nobody"}`, `{"subject":"everyone"}`},
	"notifyScopeMoved":     {`{"scope":"docs.doc:1"}`, `{"scope":"*"}`},
	"validateGrantableAt":  {`{"pattern":"docs.files.read","scope":"docs.doc:1"}`, `{"pattern":"docs.files.delete","scope":"docs.doc:1"}`, `{"pattern":"*","scope":"*"}`},
	"validateKnownPattern": {`{"pattern":"docs.files.*"}`, `{"pattern":"docs.files.raed"}`},
	"validateScopeType":    {`{"scope":"docs.doc:1"}`, `{"scope":"docs.dok:1"}`, `{"scope":"*"}`},
	"reconcileRows": {`{"users":["u"],"orgs":["o"],"scopes":["docs.doc:1"],"sweep":true,"keepRoleGrants":true,` + admin + `}`, `{}`,
		`{"users":[],"sweep":false}`, `{"users":null,"orgs":null,"scopes":null,"sweep":null}`, `{"scopes":[],"sweep":true}`},
	"listSodViolations":   {`{"userIds":["u"]}`, `{}`, `{"userIds":[]}`},
	"exportEntitlements":  {`{"userIds":["u"]}`, `{}`, `{"userIds":["w","nobody"]}`},
	"listWildcardDrift":   {`{"sinceVersion":1}`, `{"sinceVersion":2}`, `{"sinceVersion":0}`},
	"listCatalogVersions": {`{}`},
	"verifyAuditChain":    {`{"priorHash":"x"}`, `{}`, `{"priorHash":null}`, `{"priorHash":""}`},
}

// corpusHostRequests are those on the host itself.
var corpusHostRequests = map[string][]string{
	"status":           {`{}`},
	"plugins":          {`{}`},
	"plugin.restart":   {`{"name":"main"}`, `{"name":"other"}`},
	"storage.status":   {`{}`},
	"storage.accept":   {`{"app":"docs"}`},
	"storage.renew":    {`{"app":"docs"}`, `{"app":"other"}`},
	"service.rekey":    {`{}`},
	"catalog.reload":   {`{"app":"docs","provenance":{"kind":"admin","actorUserId":"root"}}`},
	"service.logs":     {`{}`},
	"service.log":      {`{"org":"acme","after":{"at":5,"id":"e"},"limit":7}`, `{"org":""}`},
	"dashboard":        {`{"app":"docs"}`, `{"app":"other"}`},
	"directories":      {`{}`},
	"directory.run":    {`{"name":"staff","dryRun":true,"authoritative":true,"confirm":true,"full":true}`, `{"name":"staff","dryRun":null}`},
	"directory.cancel": {`{"name":"staff"}`},
	"config":           {`{}`},
}

// corpusSpellings are spellings of one check, which are answered alike.
var corpusSpellings = []string{
	`{"principal":{$who},"key":"$what","scope":"$where"}`,
	` { "principal" : { $who } , "key" : "$what" , "scope" : "$where" } `,
	"\r\n{\t\"principal\":\n{$who},\"key\":\"$what\",\"scope\":\"$where\"}\n",
	`{"scope":"$where","key":"$what","principal":{$who}}`,
	`{"pr\u0069ncipal":{$who},"k\u0065y":"$escaped","\u0073cope":"$where"}`,
	`{"principal":{"userId":"u","serviceId":"s"},"principal":{$who},"key":"docs.files.read","key":"$what","scope":"*","scope":"$where"}`,
	`{"principal":{$who,$who},"key":"$what","scope":"$where"}`,
	`{"principal":{$who,"later":{}},"key":"$what","scope":"$where","later":[]}`,
	`{"principal":{$who},"key":["$what"],"scope":"$where"}`,
	`{"principal":{$who},"key":["$what","$what"],"scope":"$where"}`,
	`{"principal":{$who},"key":"$what","scope":"$where","fresh":true}`,
	`{"principal":{$who},"key":"$what","scope":"$where","fresh":false}`,
	`{"principal":{$who},"key":"$what","scope":"$where","fresh":null}`,
	`{"principal":{$who},"key":"$what","scope":"$where","at":null}`,
	`{"fresh":true,"fresh":false,"principal":{$who},"key":"$what","scope":"$where"}`,
}
