package authz_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/authzhost/authz/sdk/authz"
)

func TestRowsWriteNilListsAsEmptyAndLeaveOutWhatIsAbsent(t *testing.T) {
	cases := map[string]struct {
		row  any
		want string
	}{
		"a grant without an expiry": {authz.Grant{ID: "g", Subject: "user:u", RoleID: "r", Scope: "*", Provenance: authz.AdminProvenance("a"), CreatedAt: 1},
			`{"id":"g","subject":"user:u","roleId":"r","scope":"*","provenance":{"kind":"admin","actorUserId":"a"},"createdAt":1}`},
		"a grant with an expiry": {authz.Grant{ID: "g", Pattern: "a.*", ExpiresAt: authz.ExpiresAt(5)},
			`{"id":"g","subject":"","pattern":"a.*","scope":"","expiresAt":5,"provenance":{"kind":""},"createdAt":0}`},
		"a revoke": {authz.Revoke{ID: "x", UserID: "u", Pattern: "a.b", Scope: "t.x:1"},
			`{"id":"x","userId":"u","pattern":"a.b","scope":"t.x:1","provenance":{"kind":""},"createdAt":0}`},
		"a role":                {authz.Role{ID: "r", Name: "R&D"}, `{"id":"r","name":"R&D","patterns":[]}`},
		"a requestable role":    {authz.Role{ID: "r", Requestable: &authz.Requestable{}}, `{"id":"r","name":"","patterns":[],"requestable":{"stages":[]}}`},
		"a group":               {authz.Group{ID: "g", Name: "G", Virtual: true}, `{"id":"g","name":"G","parents":[],"virtual":true}`},
		"a user without edges":  {authz.User{UserID: "u", Active: true}, `{"userId":"u","active":true,"groupIds":[],"orgIds":[],"managerUserId":null}`},
		"a user with a manager": {authz.User{UserID: "u", ManagerUserID: "m", GroupIDs: []string{"g"}}, `{"userId":"u","active":false,"groupIds":["g"],"orgIds":[],"managerUserId":"m"}`},
		"a request":             {authz.Request{ID: "q", State: authz.RequestPending}, `{"id":"q","requesterUserId":"","scope":"","justification":{},"state":"pending","stageIndex":0,"stages":[],"decisions":[],"createdAt":0}`},
		"access of a service":   {authz.SubjectAccess{Active: true}, `{"userId":null,"closure":[],"grants":[],"revokes":[],"roles":[],"managerChain":[],"unresolvedRoleIds":[],"active":true}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			enc := json.NewEncoder(&b)
			enc.SetEscapeHTML(false)
			if err := enc.Encode(c.row); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want+"\n", b.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestUsersSurviveTheWire(t *testing.T) {
	ids := rapid.SliceOf(rapid.StringMatching(`[a-z"_é]{1,4}`))
	rapid.Check(t, func(t *rapid.T) {
		u := authz.User{
			UserID: rapid.StringMatching(`[a-z]{1,4}`).Draw(t, "id"), Active: rapid.Bool().Draw(t, "active"),
			GroupIDs: ids.Draw(t, "groups"), OrgIDs: ids.Draw(t, "orgs"), ManagerUserID: rapid.StringMatching(`[a-z]{0,2}`).Draw(t, "manager"),
		}
		b, err := json.Marshal(u)
		if err != nil {
			t.Fatal(err)
		}
		var got authz.User
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(u, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestPrincipalReadsNullAsAbsent(t *testing.T) {
	var p authz.Principal
	if err := json.Unmarshal([]byte(`{"userId":"u","serviceId":null}`), &p); err != nil || p != authz.UserPrincipal("u") {
		t.Errorf("principal = %+v, %v", p, err)
	}
}

func TestExpiryJSON(t *testing.T) {
	const never = math.MaxInt64 // stands for a zero Expiry
	cases := map[string]int64{
		`null`: never, `1700000000000`: 1_700_000_000_000, `1e3`: 1000, `1000.0`: 1000,
		`1000.2`: 1001, `9e99`: authz.MaxInstant, `9007199254740991`: authz.MaxInstant,
		`0`: 0, `-5`: -5,
		`"1000"`: -authz.MaxInstant, `true`: -authz.MaxInstant, `{}`: -authz.MaxInstant, `[1]`: -authz.MaxInstant, `1e999`: -authz.MaxInstant, `-1.5`: -authz.MaxInstant,
	}
	for text, want := range cases {
		var e authz.Expiry
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		got, set := e.At()
		if !set {
			got = never
		}
		if got != want {
			t.Errorf("%s is read as %d, want %d", text, got, want)
		}
		if set && want <= 0 && !e.Expired(math.MinInt64) {
			t.Errorf("%s is not always expired", text)
		}
	}
	if b, err := json.Marshal(authz.Expiry{}); err != nil || string(b) != "null" {
		t.Errorf("no expiry is written %s, %v", b, err)
	}
}

func TestARowExpiresAtItsInstantAndNotBefore(t *testing.T) {
	e := authz.ExpiresAt(1000)
	if e.Expired(999) || !e.Expired(1000) || !e.Expired(1001) {
		t.Error("expiry 1000 is wrong at 999, 1000 or 1001")
	}
	if (authz.Expiry{}).Expired(math.MaxInt64) {
		t.Error("no expiry expires")
	}
}

func TestGrantsReadAnExpiryThatIsNullOrAbsentAsNone(t *testing.T) {
	for _, text := range []string{`{}`, `{"expiresAt":null}`} {
		var g authz.Grant
		if err := json.Unmarshal([]byte(text), &g); err != nil || !g.ExpiresAt.IsZero() {
			t.Errorf("%s: %+v, %v", text, g.ExpiresAt, err)
		}
	}
}
