package api_test

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
)

const reviewCatalog = `{"namespaces":["docs"],"includeAuthzInternal":false,
	"permissions":{"docs.pay.create":true,"docs.pay.approve":true},
	"constraints":{"sod":[{"id":"pay","description":"four eyes","sets":[["docs.pay.create"],["docs.pay.approve"]]}]}}`

// document is a catalog document that publishes the keys.
func document(keys ...string) string {
	leaves := make([]string, len(keys))
	for i, k := range keys {
		leaves[i] = `{"key":"` + k + `"}`
	}
	return `{"document":{"formatVersion":1,"namespace":"docs","namespaces":["docs"],"leaves":[` + strings.Join(leaves, ",") +
		`],"groups":[],"scopeTypes":[],"navigation":[]}}`
}

func TestTheSocketAnswersAuditors(t *testing.T) {
	s := newSocketOf(t, worldOptions{catalog: reviewCatalog}, nil)
	s.mustOK("/local/v1/docs/publishCatalog", document("docs.pay.create"))
	s.mustOK("/local/v1/docs/publishCatalog", document("docs.pay.create", "docs.pay.approve"))
	s.mustOK("/local/v1/docs/createGrant", `{"input":{"subject":"user:u","pattern":"docs.pay.*","provenance":`+byRoot+`}}`)
	s.mustOK("/local/v1/docs/createRole", `{"input":{"id":"r","name":"R","patterns":["*"]},"provenance":`+byRoot+`}`)
	s.mustOK("/local/v1/docs/createGrant", `{"input":{"subject":"user:w","roleId":"r","expiresAt":1800000000000,"provenance":`+byRoot+`}}`)
	s.mustOK("/local/v1/docs/createRevoke", `{"input":{"userId":"w","pattern":"docs.pay.create","provenance":`+byRoot+`}}`)
	violation := `{"constraintId":"pay","description":"four eyes","sets":[{"setIndex":0,"keys":["docs.pay.create"]},{"setIndex":1,"keys":["docs.pay.approve"]}]}`
	source := `{"grantId":…,"subject":"user:w","roleId":"r","pattern":"*","scope":"*","expiresAt":1800000000000}`
	grant := `{"id":…,"subject":"user:u","pattern":"docs.pay.*","scope":"*","provenance":` + byRoot + `,"createdAt":1700000000000}`
	for _, c := range []struct{ op, body, want string }{
		{"listSodViolations", ``, `{"users":[{"userId":"u","violations":[` + violation + `]}]}`},
		{"listSodViolations", `{"userIds":["w","nobody"]}`, `{"users":[]}`},
		{"listSodViolations", `{"userIds":[]}`, `{"users":[]}`},
		{"exportEntitlements", `{"userIds":["w","nobody"]}`, `{"users":[
			{"userId":"w","active":true,"closure":["user:w","everyone"],"entitlements":[
				{"key":"docs.pay.approve","held":true,"sources":[` + source + `]},{"key":"docs.pay.create","held":false,"sources":[` + source + `]}],
				"revokes":[{"revokeId":…,"pattern":"docs.pay.create","scope":"*"}]},
			{"userId":"nobody","active":true,"closure":["user:nobody","everyone"],"entitlements":[],"revokes":[]}]}`},
		{"listWildcardDrift", `{"sinceVersion":1}`, `{"fromVersion":1,"toVersion":2,"gainedKeys":["docs.pay.approve"],"removedKeys":[],"findings":[
			{"via":{"kind":"grant","grant":` + grant + `},"pattern":"docs.pay.*","gainedKeys":["docs.pay.approve"]},
			{"via":{"kind":"role","role":{"id":"r","name":"R","patterns":["*"]},"grantIds":[…]},"pattern":"*","gainedKeys":["docs.pay.approve"]}]}`},
		{"listWildcardDrift", `{"sinceVersion":2}`, `{"fromVersion":2,"toVersion":2,"gainedKeys":[],"removedKeys":[],"findings":[]}`},
		{"listCatalogVersions", ``, `{"versions":[{"version":1,"publishedAt":1700000000000},{"version":2,"publishedAt":1700000000000}]}`},
		{"verifyAuditChain", ``, `{"ok":true,"hashed":0}`}, // not turned on here
	} {
		got := s.mustOK("/local/v1/docs/"+c.op, c.body)
		var want map[string]any
		if err := json.Unmarshal([]byte(strings.ReplaceAll(c.want, "…", `"…"`)), &want); err != nil {
			t.Fatalf("%s: %v", c.want, err)
		}
		if diff := cmp.Diff(want, masked(want, got)); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", c.op, c.body, diff)
		}
	}
	s.ask("/local/v1/docs/verifyAuditChain", `{"priorHash":"00"}`).expectError(t, 404, "ProviderWriteRejectedError", "not_found", "no audit entry")
	users := s.mustOK("/local/v1/docs/exportEntitlements", "")["users"].([]any)
	if len(users) != 2 {
		t.Errorf("the default candidates: %v", users)
	}
}

const byRoot = `{"kind":"admin","actorUserId":"root"}`

func TestReportsForAuditorsRefuseWhatTheyCannotRead(t *testing.T) {
	s := newSocket(t)
	for _, op := range []string{"listSodViolations", "exportEntitlements"} {
		for _, ids := range []string{`null`, `"u"`, `[5]`, `[null]`, `{}`} {
			s.ask("/local/v1/docs/"+op, `{"userIds":`+ids+`}`).expectValidation(t, op+`: "userIds" must be a list of strings`)
		}
		s.ask("/local/v1/docs/"+op, `{"userIds":["u",""]}`).expectValidation(t, "userIds must be a non-empty string")
	}
	s.ask("/local/v1/docs/listWildcardDrift", `{}`).expectValidation(t, `listWildcardDrift requires the "sinceVersion" field`)
	s.ask("/local/v1/docs/listWildcardDrift", `{"sinceVersion":"1"}`).expectValidation(t, `listWildcardDrift: "sinceVersion" must be an integer`)
	s.ask("/local/v1/docs/listWildcardDrift", `{"sinceVersion":1.5}`).expectValidation(t, `must be an integer`)
	s.ask("/local/v1/docs/listWildcardDrift", `{"sinceVersion":1}`).expectError(t, 404, refusedName, "not_found", "catalog version 1 is not retained")
}

func TestReportsForAuditorsDoNotCrossTheNetwork(t *testing.T) {
	w := newWorld(t, worldOptions{})
	for _, op := range []string{"listSodViolations", "exportEntitlements", "listWildcardDrift", "listCatalogVersions", "verifyAuditChain"} {
		w.post(op, "{}").expectError(t, 404, apiName, "unknown_op", "")
	}
}

// crowded exports so many users and then ends with err.
type crowded struct {
	localApp
	users int
	err   error
}

func (c crowded) ExportEntitlements(context.Context, *[]string) iter.Seq2[access.UserEntitlements, error] {
	return func(yield func(access.UserEntitlements, error) bool) {
		for range c.users {
			if !yield(access.UserEntitlements{UserID: strings.Repeat("u", 200), Closure: []string{"everyone"}}, nil) {
				return
			}
		}
		yield(access.UserEntitlements{}, c.err)
	}
}

func TestAnExportThatFailsNeverPassesForAWholeOne(t *testing.T) {
	outage := &authz.UnavailableError{Message: "storage is unavailable"}
	of := func(users int) *socket {
		return newSocketOf(t, worldOptions{}, func(a localApp) api.LocalBackend { return crowded{a, users, outage} })
	}
	of(1).ask("/local/v1/docs/exportEntitlements", "").expectError(t, 503, "UnavailableError", "unavailable", "storage is unavailable")
	s := of(5000)
	request, err := http.NewRequestWithContext(t.Context(), "POST", "http://host/local/v1/docs/exportEntitlements", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	response, err := s.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	read, err := io.Copy(io.Discard, response.Body)
	if response.StatusCode != http.StatusOK || read < 100_000 || err == nil {
		t.Errorf("answered %d, read %d bytes and then %v; want a stream that breaks off", response.StatusCode, read, err)
	}
}
