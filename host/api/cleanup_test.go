package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/sdk/storage"
)

// without is an application over a driver that stores no import manifests.
type without struct{ api.Backend }

func (without) HasImports() bool { return false }

func TestWithoutManifestsTheGateAnswersBeforeAnythingIsRead(t *testing.T) {
	w := newWorld(t, worldOptions{decorate: func(a api.Backend) api.Backend { return without{a} }})
	for op, body := range map[string]string{"getPublishedImports": `{}`, "publishImports": `{"manifest":5,` + admin + `}`} {
		w.post(op, body).expectError(t, http.StatusNotImplemented, refusedName, "unsupported", "does not store import manifests")
	}
	w.post("publishImports", `{}`).expectValidation(t, `publishImports requires the "manifest" field`)
}

func TestCleanUpRefusesWhatItCannotRead(t *testing.T) {
	w := newWorld(t, worldOptions{})
	for _, c := range []struct{ op, body, message string }{
		{"deleteSubject", `{` + admin + `}`, `deleteSubject requires the "subject" field`},
		{"deleteSubject", `{"subject":"user:u"}`, `deleteSubject requires the "provenance" field`},
		{"deleteSubject", `{"subject":["user:u"],` + admin + `}`, `deleteSubject: "subject" must be a string`},
		{"deleteSubject", `{"subject":"u",` + admin + `}`, `"u" is not a valid subject id`},
		{"deleteScope", `{` + admin + `}`, `deleteScope requires the "scope" field`},
		{"deleteScope", `{"scope":"*",` + admin + `}`, "the global scope is not a deletable resource"},
		{"deleteScope", `{"scope":"",` + admin + `}`, "scope ids are"},
		{"dissolveVirtualParent", `{"groupId":"",` + admin + `}`, "groupId must be a non-empty string"},
		{"publishImports", `{"manifest":[],` + admin + `}`, `publishImports: "manifest" must be an object`},
		{"publishImports", `{"manifest":{"formatVersion":2},` + admin + `}`, "unknown import manifest format 2"},
	} {
		w.post(c.op, c.body).expectValidation(t, c.message)
	}
	if head := w.mustOK("epoch.head", "")["seq"]; head != 0.0 {
		t.Errorf("a refusal wrote something: %v", head)
	}
}

func TestReconcileRowsTakesTheIDsThatExist(t *testing.T) {
	s := newSocket(t)
	s.mustOK("/local/v1/docs/createGrant", `{"input":{"subject":"user:gone","pattern":"docs.files.read","scope":"docs.doc:1","provenance":`+byRoot+`}}`)
	s.mustOK("/local/v1/docs/createGrant", `{"input":{"subject":"org:o","pattern":"docs.files.read","provenance":`+byRoot+`}}`)
	s.mustOK("/local/v1/docs/createRevoke", `{"input":{"userId":"gone","pattern":"docs.files.read","provenance":`+byRoot+`}}`)
	grant := `{"id":…,"subject":"user:gone","pattern":"docs.files.read","scope":"docs.doc:1","provenance":` + byRoot + `,"createdAt":1700000000000}`
	revoke := `{"id":…,"userId":"gone","pattern":"docs.files.read","scope":"*","provenance":` + byRoot + `,"createdAt":1700000000000}`
	none := `{"orphanedGrants":[],"orphanedRevokes":[],"danglingRoleGrants":[],"swept":false}`
	for _, c := range []struct{ body, want string }{
		{`{}`, none},
		{`{"users":null,"orgs":null,"scopes":null}`, none},
		{`{"users":["gone"],"orgs":["o"],"scopes":["docs.doc:1"]}`, none},
		{`{"scopes":[]}`, `{"orphanedGrants":[` + grant + `],"orphanedRevokes":[],"danglingRoleGrants":[],"swept":false}`},
		{`{"users":["u"]}`, `{"orphanedGrants":[` + grant + `],"orphanedRevokes":[` + revoke + `],"danglingRoleGrants":[],"swept":false}`},
		{`{"users":["u"],"sweep":true}`, `{"orphanedGrants":[` + grant + `],"orphanedRevokes":[` + revoke + `],"danglingRoleGrants":[],"swept":true}`},
		{`{"users":["u"],"sweep":true}`, `{"orphanedGrants":[],"orphanedRevokes":[],"danglingRoleGrants":[],"swept":true}`},
	} {
		got := s.mustOK("/local/v1/docs/reconcileRows", c.body)
		var want map[string]any
		if err := json.Unmarshal([]byte(strings.ReplaceAll(c.want, "…", `"…"`)), &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, masked(want, got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.body, diff)
		}
	}
	sweeps := s.mustOK("/local/v1/docs/listAuditEvents", `{"filter":{"action":"reconcile.sweep"}}`)["events"].([]any)
	if actor, _ := sweeps[0].(map[string]any)["actor"].(string); len(sweeps) != 2 || !strings.HasPrefix(actor, "local:") {
		t.Errorf("sweeps in the audit log: %v", sweeps)
	}
}

// A role that is synchronized late would bring grants of it to life: who expects one
// sweeps without them.
func TestASweepKeepsGrantsOfAbsentRolesWhenAsked(t *testing.T) {
	s := newSocket(t)
	s.mustOK("/local/v1/docs/createRole", `{"input":{"id":"late","name":"L","patterns":["docs.files.read"]},"provenance":`+byRoot+`}`)
	for _, user := range []string{"here", "gone"} {
		s.mustOK("/local/v1/docs/createGrant", `{"input":{"subject":"user:`+user+`","roleId":"late","provenance":`+byRoot+`}}`)
	}
	s.loseRole("late")
	count := func() int { return len(s.mustOK("/local/v1/docs/listGrants", `{}`)["grants"].([]any)) }
	kept := s.mustOK("/local/v1/docs/reconcileRows", `{"users":["here"],"sweep":true,"keepRoleGrants":true}`)
	if n := len(kept["danglingRoleGrants"].([]any)); n != 1 || len(kept["orphanedGrants"].([]any)) != 1 || count() != 1 {
		t.Errorf("%d grants are left after %v", count(), kept)
	}
	s.mustOK("/local/v1/docs/reconcileRows", `{"users":["here"],"sweep":true}`)
	if count() != 0 {
		t.Errorf("%d grants are left", count())
	}
	s.ask("/local/v1/docs/reconcileRows", `{"keepRoleGrants":"yes"}`).expectValidation(t, `reconcileRows: "keepRoleGrants" must be a boolean`)
}

func TestReconcileRowsRefusesWhatItCannotRead(t *testing.T) {
	s := newSocket(t)
	for _, field := range []string{"users", "orgs", "scopes"} {
		for _, ids := range []string{`"u"`, `[5]`, `[null]`, `{}`} {
			s.ask("/local/v1/docs/reconcileRows", `{"`+field+`":`+ids+`}`).expectValidation(t, `reconcileRows: "`+field+`" must be a list of strings`)
		}
	}
	s.ask("/local/v1/docs/reconcileRows", `{"sweep":"yes"}`).expectValidation(t, `reconcileRows: "sweep" must be a boolean`)
	s.ask("/local/v1/docs/reconcileRows", `{"sweep":true,"provenance":{"kind":"bogus"}}`).expectValidation(t, `unknown provenance kind "bogus"`)
	// Ids of everything there is have the room of an import.
	s.mustOK("/local/v1/docs/reconcileRows", `{"users":["`+strings.Repeat("u", 2001)+`"]}`)
	s.ask("/local/v1/docs/reconcileRows", strings.Repeat(" ", 5001)).expectError(t, 413, apiName, "payload_too_large", "")
	newWorld(t, worldOptions{}).post("reconcileRows", "{}").expectError(t, 404, apiName, "unknown_op", "")
}

// loseRole takes a role away beside the application, as a driver's database may lose
// one.
func (s *socket) loseRole(id string) {
	s.t.Helper()
	commit := storage.Commit{ID: uuid.NewString(), At: 1_700_000_000_000, Changes: []storage.Change{storage.DeleteRole{ID: id}}}
	if _, err := s.store.Commit(s.t.Context(), commit); err != nil {
		s.t.Fatal(err)
	}
}
