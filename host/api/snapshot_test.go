package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/sdk/authz"
)

const emptySnapshot = `{"groups":[],"roles":[],"globalGrants":[],"globalRevokes":[],"users":[],"pendingGlobalRequests":[],"catalog":null}`

// with is the empty snapshot with one list in it.
func with(list, rows string) string {
	return strings.Replace(emptySnapshot, `"`+list+`":[]`, `"`+list+`":`+rows, 1)
}

func apply(snapshot, more string) string {
	return `{"source":"s","snapshot":` + snapshot + more + `}`
}

func TestAMalformedSnapshotIsRefusedInTheOrderOfTheSpecAndChangesNothing(t *testing.T) {
	w := newWorld(t, worldOptions{onAuthority: func(context.Context, bool) error { t.Error("the hook was called"); return nil }})
	w.mustOK("createRole", `{"input":{"id":"r","name":"R","patterns":[]},`+admin+`}`)
	before := w.state()
	user := `{"userId":"u","active":true,"groupIds":[],"orgIds":[],"managerUserId":null}`
	grant := func(members string) string {
		return `[{"id":"g","subject":"user:u","scope":"*","createdAt":1,` + admin + `,` + members + `}]`
	}
	request := func(members string) string {
		return `[{"id":"q","requesterUserId":"u","pattern":"docs.*","scope":"*","justification":{},"stageIndex":0,"decisions":[],"createdAt":1,` + members + `}]`
	}
	const stages = `"stages":[{"kind":"management"}]`
	for _, c := range []struct{ body, message string }{
		{`{"source":"s"}`, `applyOrgSnapshot requires the "snapshot" field`},
		{`{"snapshot":7}`, `applyOrgSnapshot requires the "source" field`},
		{`{"source":"","snapshot":7}`, "an org snapshot must name its source"},
		{`{"source":7,"snapshot":7}`, "an org snapshot must name its source"},
		{`{"source":"s","snapshot":[],"authority":1}`, "snapshot must be an object"},
		{apply(`{}`, ``), "snapshot.groups must be an array"},
		{apply(with("groups", `null`), ``), "snapshot.groups must be an array"},
		{apply(with("groups", `[1]`), ``), "snapshot.groups[0] must be an object"},
		{apply(strings.Replace(with("groups", `[{"id":7}]`), `"roles":[]`, `"roles":1`, 1), ``), "snapshot.groups[0] must carry a string id"},
		{apply(with("groups", `[{"id":"g","name":7}]`), `,"authority":"yes"`), `applyOrgSnapshot: "authority" must be a boolean`},
		{apply(with("roles", `{}`), ``), "snapshot.roles must be an array"},
		{apply(with("globalGrants", `"x"`), ``), "snapshot.globalGrants must be an array"},
		{apply(with("globalRevokes", `[{}]`), ``), "snapshot.globalRevokes[0] must carry a string id"},
		{apply(with("users", `[{"id":"u"}]`), ``), "snapshot.users[0] must carry a string userId"},
		{apply(with("pendingGlobalRequests", `[null]`), ``), "snapshot.pendingGlobalRequests[0] must be an object"},
		{apply(emptySnapshot, `,"authority":"yes","expectHead":-1`), `"authority" must be a boolean`},
		{apply(emptySnapshot, `,"expectHead":-1`), `"expectHead" must be an integer of at least 0`},
		{apply(emptySnapshot, `,"position":1.5`), `"position" must be an integer of at least 0`},
		{apply(with("groups", `[{"id":"g","name":7,"parents":[]}]`), ``), "snapshot.groups[0]: name must be a string"},
		{apply(with("groups", `[{"id":"g","name":"G"}]`), ``), "snapshot.groups[0]: parents must be a list of strings"},
		{apply(with("groups", `[{"id":"","name":"G","parents":[]}]`), ``), "snapshot.groups[0]: id must be a non-empty string"},
		{apply(with("groups", `[{"id":"g","name":"G","parents":[]},{"id":"g","name":"G","parents":[]}]`), ``), `snapshot.groups[1]: the id "g" is repeated`},
		{apply(with("roles", `[{"id":"r","name":"R","patterns":["docs..x"]}]`), ``), "snapshot.roles[0]: invalid"},
		{apply(with("roles", `[{"id":"r","name":"R","patterns":[],"requestable":{"stages":[{"kind":"sometimes"}]}}]`), ``), "snapshot.roles[0]: unknown stage kind"},
		{apply(with("users", `[`+user+`,`+user+`]`), ``), `snapshot.users[1]: the id "u" is repeated`},
		{apply(with("users", `[{"userId":"u","groupIds":[],"orgIds":[]}]`), ``), "snapshot.users[0]: active must be a boolean"},
		{apply(with("users", `[{"userId":"u","active":true,"orgIds":[]}]`), ``), "snapshot.users[0]: groupIds must be a list of strings"},
		{apply(with("globalGrants", grant(`"pattern":"docs.*","roleId":"r"`)), ``), "snapshot.globalGrants[0]: a grant carries exactly one"},
		{apply(with("globalGrants", grant(`"pattern":"no pattern"`)), ``), "snapshot.globalGrants[0]: invalid"},
		{apply(with("globalGrants", strings.Replace(grant(`"roleId":"r"`), `"*"`, `"docs.doc:1"`, 1)), ``), `snapshot.globalGrants[0]: its scope must be "*"`},
		{apply(with("globalGrants", strings.Replace(grant(`"roleId":"r"`), `user:u`, `u`, 1)), ``), `snapshot.globalGrants[0]: "u" is not a valid subject id`},
		{apply(with("globalGrants", strings.Replace(grant(`"roleId":"r"`), `"admin"`, `"nobody"`, 1)), ``), `snapshot.globalGrants[0]: unknown provenance kind`},
		{apply(with("globalGrants", grant(`"roleId":"r","expiresAt":"soon"`)), ``), `snapshot.globalGrants[0]: expiresAt must be a finite`},
		{apply(with("globalRevokes", `[{"id":"v","userId":"","pattern":"docs.*","scope":"*","createdAt":1,`+admin+`}]`), ``), "snapshot.globalRevokes[0]: userId must be"},
		{apply(with("globalRevokes", `[{"id":"v","userId":"u","pattern":"docs.*","scope":"*","createdAt":1}]`), ``), "snapshot.globalRevokes[0]: provenance is required"},
		{apply(with("pendingGlobalRequests", request(`"state":"approved",`+stages)), ``), "snapshot.pendingGlobalRequests[0]: a request of a snapshot must be pending"},
		{apply(with("pendingGlobalRequests", strings.Replace(request(`"state":"pending",`+stages), `"justification":{}`, `"justification":{"why":5}`, 1)), ``),
			"snapshot.pendingGlobalRequests[0]: justification must be an object of strings"},
		{apply(with("pendingGlobalRequests", request(`"state":"pending","stages":[]`)), ``), "snapshot.pendingGlobalRequests[0]: stageIndex is that of no stage"},
		{apply(with("pendingGlobalRequests", request(`"state":"pending","roleId":"r",`+stages)), ``), "snapshot.pendingGlobalRequests[0]: a request proposes exactly one"},
	} {
		w.post("applyOrgSnapshot", c.body).expectValidation(t, c.message)
	}
	cycle := with("groups", `[{"id":"a","name":"A","parents":["b"]},{"id":"b","name":"B","parents":["a"]}]`)
	w.post("applyOrgSnapshot", apply(cycle, ``)).expectError(t, http.StatusConflict, "ProviderWriteRejectedError", "graph_cycle", "cycle: a → b → a")
	if diff := cmp.Diff(before, w.state()); diff != "" {
		t.Errorf("the refusals changed rows:\n%s", diff)
	}
}

func TestASnapshotCarriesEveryMemberBothWays(t *testing.T) {
	w := newWorld(t, worldOptions{})
	snapshot := `{"groups":[{"id":"a","name":"A","description":"D","parents":["b"],"virtual":true},{"id":"b","name":"B","parents":[]}],
		"roles":[{"id":"r","name":"R","description":"D","patterns":["other.app.*"],"requestable":{"prompts":[{"id":"why","label":"Why"}],"maxDurationMs":5,"requireExpiry":true,
			"stages":[{"kind":"management","layers":2}]}}],
		"globalGrants":[{"id":"g1","subject":"group:a","roleId":"r","scope":"*","expiresAt":1800000000000,` + admin + `,"createdAt":5},
			{"id":"g2","subject":"everyone","pattern":"other.app.read","scope":"*",` + admin + `,"createdAt":6}],
		"globalRevokes":[{"id":"v1","userId":"u","pattern":"*","scope":"*",` + admin + `,"createdAt":7}],
		"users":[{"userId":"m","active":false,"groupIds":[],"orgIds":[],"managerUserId":null},{"userId":"u","active":true,"groupIds":["a","b"],"orgIds":["o"],"managerUserId":"m"}],
		"pendingGlobalRequests":[{"id":"q1","requesterUserId":"u","roleId":"r","scope":"*","proposedExpiresAt":1800000000000,"justification":{"__proto__":"x"},"state":"pending","stageIndex":1,
			"stages":[{"kind":"auto","predicate":{"type":"in_group","groupId":"a"}},{"kind":"named_approvers","roleId":"r"}],
			"decisions":[{"stageIndex":0,"decidedBy":"auto","decision":"approved","at":8,"note":"n"}],"createdAt":8}],
		"catalog":null}`
	w.mustOK("org.applySnapshot", apply(snapshot, `,"position":3`))
	exported := w.mustOK("org.exportSnapshot", "")
	var want = answer{body: snapshot}.decoded(t)
	if diff := cmp.Diff(map[string]any{"snapshot": want}, exported); diff != "" {
		t.Errorf("-sent +exported:\n%s", diff)
	}
	w.post("applyOrgSnapshot", apply(snapshot, `,"position":2`)).expectError(t, http.StatusConflict, "ProviderWriteRejectedError", "conflict", "position 3")
}

func TestAnAnswerOfARequestThatIsNullIsNone(t *testing.T) {
	w := newWorld(t, worldOptions{})
	body := apply(with("pendingGlobalRequests", `[{"id":"q","requesterUserId":"u","pattern":"docs.*","scope":"*","state":"pending","stageIndex":0,
		"stages":[{"kind":"management"}],"decisions":[],"createdAt":1,"justification":{"why":"x","left out":null}}]`), ``)
	const catalog = `{"version":1,"document":{"formatVersion":1,"namespace":"docs","namespaces":["docs"],"leaves":[],"groups":[],"scopeTypes":[],"navigation":[]}}`
	w.mustOK("applyOrgSnapshot", strings.Replace(body, `"catalog":null`, `"catalog":`+catalog, 1))
	exported := w.mustOK("exportOrgSnapshot", "")["snapshot"].(map[string]any)["pendingGlobalRequests"].([]any)[0].(map[string]any)
	if diff := cmp.Diff(map[string]any{"why": "x"}, exported["justification"]); diff != "" {
		t.Error(diff)
	}
}

func TestAuthorityNeedsAHookOnlyWhenItMoves(t *testing.T) {
	const refusal = "this handler cannot accept an authority transfer: "
	w := newWorld(t, worldOptions{})
	w.mustOK("createRole", `{"input":{"id":"r","name":"R","patterns":[]},`+admin+`}`)
	w.post("applyOrgSnapshot", apply(emptySnapshot, `,"authority":false`)).expectError(t, http.StatusNotImplemented, "ProviderWriteRejectedError", "unsupported", refusal)
	w.post("applyOrgSnapshot", apply(`{}`, `,"authority":false`)).expectValidation(t, "snapshot.groups must be an array")
	w.post("applyOrgSnapshot", apply(with("groups", `[{"id":"a","name":"A","parents":["a"]}]`), `,"authority":false`)).
		expectError(t, http.StatusConflict, "ProviderWriteRejectedError", "graph_cycle", "cycle: a → a")
	if roles := w.mustOK("listRoles", "")["roles"].([]any); len(roles) != 1 {
		t.Error("a refused transfer was applied")
	}
	w.mustOK("applyOrgSnapshot", apply(emptySnapshot, `,"authority":true`))
	w.mustOK("applyOrgSnapshot", apply(emptySnapshot, ``))
}

func TestTheHookIsToldOfEverySnapshotThatSaysSomething(t *testing.T) {
	var told []bool
	var fails error
	w := newWorld(t, worldOptions{onAuthority: func(_ context.Context, orgRoot bool) error {
		told = append(told, orgRoot)
		return fails
	}})
	for _, authority := range []string{``, `,"authority":null`, `,"authority":true`, `,"authority":false`, `,"authority":false`} {
		if got := w.mustOK("applyOrgSnapshot", apply(emptySnapshot, authority)); got["applied"] != true {
			t.Error(got)
		}
	}
	if diff := cmp.Diff([]bool{true, false, false}, told); diff != "" {
		t.Error(diff)
	}
	fails = authz.Rejected(authz.CodeConflict, "not now")
	w.post("applyOrgSnapshot", apply(with("users", `[{"userId":"u","active":true,"groupIds":[],"orgIds":[]}]`), `,"authority":true`)).
		expectError(t, http.StatusInternalServerError, "Error", "", "internal error")
	if ping := w.mustOK("ping", ""); ping["orgRoot"] != true {
		t.Error("the snapshot did not stay applied")
	}
	fails = nil
	w.mustOK("applyOrgSnapshot", apply(emptySnapshot, `,"authority":true`))
}

func TestWithoutStorageSnapshotsAreUnsupported(t *testing.T) {
	w := newWorld(t, worldOptions{noStorage: true})
	for op, body := range map[string]string{"exportOrgSnapshot": ``, "org.exportSnapshot": ``, "applyOrgSnapshot": apply(`7`, ``), "org.applySnapshot": apply(`7`, ``)} {
		w.post(op, body).expectError(t, http.StatusNotImplemented, "ProviderWriteRejectedError", "unsupported", "org snapshot operations require the storage option")
	}
}

func TestAnAliasIsAKnownNameAndTheOperationItStandsFor(t *testing.T) {
	w := newWorld(t, worldOptions{})
	w.post("org.applySnapshot", `{}`).expectValidation(t, `applyOrgSnapshot requires the "snapshot" field`)
	w.send("POST", "/v1/org.exportSnapshot/v1/ping", "", "Bearer "+secret).
		expectError(t, http.StatusNotFound, "ProviderApiError", "unknown_op", "expected a path")
}

func TestOnlyApplyOrgSnapshotMayBeLarge(t *testing.T) {
	w := newWorld(t, worldOptions{bodyLimit: 400})
	rows := make([]string, 20)
	for i := range rows {
		rows[i] = fmt.Sprintf(`{"id":"g%d","name":"G","parents":[]}`, i)
	}
	large := apply(with("groups", `[`+strings.Join(rows, ",")+`]`), ``)
	w.mustOK("applyOrgSnapshot", large)
	w.mustOK("org.applySnapshot", large)
	w.post("createGroup", large).expectError(t, http.StatusRequestEntityTooLarge, "ProviderApiError", "payload_too_large", "400 bytes")
	w.post("nothing", large).expectError(t, http.StatusRequestEntityTooLarge, "ProviderApiError", "payload_too_large", "400 bytes")
	h, err := api.NewProviderHandler(api.ProviderOptions{Application: w.app, ApplicationID: "a", OrgSnapshotBodyLimit: -1, Secrets: func() []string { return []string{secret} }})
	if err == nil || h != nil {
		t.Error("a negative limit was taken")
	}
}

func TestSnapshotsAreServedOnTheSocketToo(t *testing.T) {
	failed := errors.New("no")
	s := newSocketOf(t, worldOptions{}, func(a localApp) api.LocalBackend { return failingHook{a, failed} })
	if got := s.ask("/local/v1/docs/org.exportSnapshot", ""); got.status != http.StatusOK || got.body != `{"snapshot":`+emptySnapshot+`}` {
		t.Errorf("exported %d %s", got.status, got.body)
	}
	if got := s.ask("/local/v1/docs/applyOrgSnapshot", apply(emptySnapshot, ``)); got.status != http.StatusOK {
		t.Errorf("applied %d %s", got.status, got.body)
	}
	if got := s.ask("/local/v1/docs/applyOrgSnapshot", apply(emptySnapshot, `,"authority":false`)); got.status != http.StatusInternalServerError {
		t.Errorf("the hook of the application was not called: %d %s", got.status, got.body)
	}
}

// failingHook is an application whose host cannot take authority over.
type failingHook struct {
	localApp
	err error
}

func (f failingHook) AuthorityChanged(context.Context, bool) error { return f.err }
