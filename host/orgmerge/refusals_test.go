package orgmerge_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/authzhost/authz/host/orgmerge"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/google/go-cmp/cmp"
)

// pair is the current side that owns docs, and the incoming one that owns billing.
func pair(t *testing.T, current, incoming string) (orgmerge.Side, []orgmerge.Side) {
	t.Helper()
	return orgmerge.Side{Name: "docs", Namespaces: []string{"docs"}, Snapshot: org(t, current)},
		[]orgmerge.Side{{Name: "billing", Namespaces: []string{"billing"}, Snapshot: org(t, incoming)}}
}

// What crosses the wire, as it stands in the specification.
func TestConflictsOnTheWire(t *testing.T) {
	current, incoming := pair(t,
		`"roles":[{"id":"editor","name":"Editor","patterns":["docs.*"]}],"groups":[{"id":"ops","name":"Ops","parents":[]}],"users":[{"userId":"u_7","active":true,"groupIds":["ops"],"orgIds":[],"managerUserId":"m_1"}]`,
		`"roles":[{"id":"editor","name":"Editor","patterns":["*","billing.a"]}],"users":[{"userId":"u_7","active":true,"groupIds":[],"orgIds":[],"managerUserId":"m_2"},{"userId":"u_8","active":true,"groupIds":["ops"],"orgIds":[]}]`)
	named := orgmerge.Named{Application: "billing"}
	named.Grant(authz.Grant{Subject: "user:u_8", RoleID: "editor"})
	incoming[0].Named = []orgmerge.Named{named}
	dry, err := orgmerge.Merge(current, incoming, nil, "")
	refused := refusal(t, err, authz.UnresolvedConflicts)
	if want := (orgmerge.Counts{Groups: 1, Roles: 2, Users: 2}); dry.Counts != want || len(dry.Warnings) != 1 || dry.Snapshot.Users != nil {
		t.Errorf("what a dry run tells: %+v", dry)
	}
	raw, err := authz.Marshal(refused.Conflicts)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"id":"group:ops","kind":"group_id_collision",` +
		`"current":{"id":"ops","name":"Ops","parents":[],"groupsBelow":[],"members":1,"onlyHere":["u_7"],"membersHash":"sha256:"},` +
		`"incoming":{"id":"ops","parents":[],"groupsBelow":[],"members":1,"onlyHere":["u_8"],"membersHash":"sha256:"},` +
		`"actions":["rename_incoming","rename_current","unite"],"blocked":[]},` +
		`{"id":"manager:u_7","kind":"reporting_edge","userId":"u_7","current":"m_1","incoming":"m_2","actions":["choose"]},` +
		`{"id":"role:editor","kind":"role_id_collision","current":{"id":"editor","name":"Editor","patterns":["docs.*"]},"incoming":{"id":"editor","name":"Editor","patterns":["*","billing.a"]},` +
		`"actions":["rename_current"],"blocked":[{"action":"rename_incoming","application":"billing","reason":"instance_rows","count":1}]},` +
		`{"id":"widens:incoming:role:editor","kind":"widens","incoming":{"id":"editor","name":"Editor","patterns":["*","billing.a"]},"beyond":["*"],"narrowed":["billing.*","billing.a"],"actions":["narrow","accept"]}]`
	if diff := cmp.Diff(want, hashless(string(raw))); diff != "" {
		t.Error(diff)
	}
	if refused.Message != "4 conflicts" || !strings.HasPrefix(refused.Fingerprint, "sha256:") || len(refused.Fingerprint) != len("sha256:")+64 {
		t.Errorf("%q %q", refused.Message, refused.Fingerprint)
	}
}

// hashless leaves out the digits of hashes.
func hashless(text string) string {
	parts := strings.Split(text, "sha256:")
	for i := 1; i < len(parts); i++ {
		parts[i] = parts[i][64:]
	}
	return strings.Join(parts, "sha256:")
}

func TestResolutionsThatDoNotFit(t *testing.T) {
	edge := func(user, manager string) string {
		return `{"userId":"` + user + `","active":true,"groupIds":["` + user + `s"],"orgIds":[],"managerUserId":"` + manager + `"}`
	}
	current, incoming := pair(t,
		`"roles":[{"id":"r","name":"R","patterns":["docs.a"]},{"id":"same","name":"S","patterns":["docs.a","billing.a"]}],"users":[`+edge("a", "b")+`,`+edge("x", "y")+`,`+edge("p", "q")+`],
		 "groups":[{"id":"g","name":"G","parents":["h"]},{"id":"h","name":"H","parents":[]}]`,
		`"roles":[{"id":"r","name":"R","patterns":["billing.a"]},{"id":"taken","name":"T","patterns":[]},{"id":"same","name":"S","patterns":["docs.a","billing.a"]}],"users":[`+edge("b", "a")+`,`+edge("x", "z")+`,`+edge("z", "x")+`,`+edge("p", "r")+`],
		 "groups":[{"id":"h","name":"H","parents":["g"]},{"id":"g","name":"G","parents":[]}],"globalGrants":[{"id":"w","subject":"user:u","pattern":"*"}]`)
	incoming[0].Snapshot.Users = slices.DeleteFunc(incoming[0].Snapshot.Users, func(u authz.User) bool { return u.UserID == "x" && u.ManagerUserID == "z" })
	incoming[0].Snapshot.Users = append(incoming[0].Snapshot.Users, authz.User{UserID: "y", Active: true, ManagerUserID: "z"})
	good := decisions{
		"role:r": `{"action":"rename_incoming","newId":"r2"}`, "cycle:a": `{"action":"choose","userId":"a","managerUserId":null}`,
		"cycle:x": `{"action":"choose","userId":"z","managerUserId":null}`, "manager:p": `{"action":"choose","managerUserId":"q"}`,
		"group:g": `{"action":"rename_incoming","newId":"g2"}`, "group:h": `{"action":"rename_incoming","newId":"h2"}`,
		"role:same": `{"action":"unite"}`, "widens:current:role:same": `{"action":"accept"}`, "widens:incoming:role:same": `{"action":"accept"}`,
		"widens:incoming:grant:w": `{"action":"narrow"}`,
	}
	if _, err := orgmerge.Merge(current, incoming, good.read(t), ""); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		conflict, resolution, message string
	}{
		{"role:q", `{"action":"narrow"}`, `"role:q": there is no such conflict; did you mean "role:r"?`},
		{"role:r", `{"action":"unite"}`, `"role:r": its actions are [rename_incoming, rename_current], not "unite"`},
		{"role:r", `{"action":""}`, `not ""`},
		{"role:r", `{"action":"rename_incoming"}`, `newId is missing`},
		{"role:r", `{"action":"rename_incoming","newId":"r"}`, `the newId "r" is taken`},
		{"role:r", `{"action":"rename_current","newId":"taken"}`, `the newId "taken" is taken`},
		{"role:r", `{"action":"rename_current","newId":"a\u0000b"}`, `without control characters`},
		{"role:r", `{"action":"rename_current","newId":"` + strings.Repeat("i", 1025) + `"}`, `is too long`},
		{"role:r", `{"action":"rename_current","newId":"n","userId":"u"}`, `a role_id_collision takes no userId`},
		{"role:r", `{"action":"rename_current","newId":"n","managerUserId":null}`, `rename_current takes no managerUserId`},
		{"group:h", `{"action":"rename_current","newId":"g2"}`, `the newId "g2" is taken`},
		{"group:h", `{"action":"unite","newId":"n"}`, `unite takes no newId`},
		{"widens:incoming:grant:w", `{"action":"accept","newId":"n"}`, `accept takes no newId`},
		{"manager:p", `{"action":"choose"}`, `choose needs a managerUserId, a user id or null`},
		{"manager:p", `{"action":"choose","managerUserId":"u"}`, `"u" is the manager on neither side`},
		{"manager:p", `{"action":"choose","managerUserId":"q","userId":"p"}`, `a reporting_edge takes no userId`},
		{"cycle:a", `{"action":"choose","managerUserId":null}`, `userId must be a user on its path, not ""`},
		{"cycle:a", `{"action":"choose","userId":"a","managerUserId":"b"}`, `a cycle is broken by the managerUserId null`},
		{"widens:incoming:role:same", `{"action":"narrow"}`, `"role:same": the two differ by what was decided about other conflicts`},
	} {
		decided := good.read(t)
		decided[c.conflict] = decisions{"r": c.resolution}.read(t)["r"]
		_, err := orgmerge.Merge(current, incoming, decided, "")
		refused := refusal(t, err, authz.InvalidResolution)
		if !strings.Contains(refused.Message, c.message) || len(refused.Conflicts) != len(good) {
			t.Errorf("%s %s: %s, %d conflicts", c.conflict, c.resolution, refused.Message, len(refused.Conflicts))
		}
	}

	t.Run("uniting into a cycle of groups", func(t *testing.T) {
		decided := good.read(t)
		decided["group:g"], decided["group:h"] = authz.Resolution{Action: authz.ActionUnite}, authz.Resolution{Action: authz.ActionUnite}
		_, err := orgmerge.Merge(current, incoming, decided, "")
		if refused := refusal(t, err, authz.InvalidResolution); !strings.Contains(refused.Message, `"group:g": uniting closes the cycle "g", "h", "g"`) {
			t.Error(refused.Message)
		}
	})
	t.Run("half of the resolutions are no fault of the other half", func(t *testing.T) {
		decided := good.read(t)
		delete(decided, "widens:incoming:role:same")
		delete(decided, "manager:p")
		_, err := orgmerge.Merge(current, incoming, decided, "")
		refused := refusal(t, err, authz.UnresolvedConflicts)
		if diff := cmp.Diff([]string{"manager:p reporting_edge [choose]", "widens:incoming:role:same widens [narrow accept]"}, shown(refused.Conflicts)); diff != "" {
			t.Error(diff)
		}
	})
}

// Two choices, each sound, may close a cycle together.
func TestChoicesThatCloseACycle(t *testing.T) {
	edges := func(a, b string) string {
		return `"users":[{"userId":"a","active":true,"groupIds":[],"orgIds":[],"managerUserId":"` + a + `"},{"userId":"b","active":true,"groupIds":[],"orgIds":[],"managerUserId":"` + b + `"}]`
	}
	current, incoming := pair(t, edges("b", "c"), edges("c", "a"))
	decided := decisions{"manager:a": `{"action":"choose","managerUserId":"b"}`, "manager:b": `{"action":"choose","managerUserId":"a"}`}
	_, err := orgmerge.Merge(current, incoming, decided.read(t), "")
	if refused := refusal(t, err, authz.InvalidResolution); refused.Message != `"manager:a": the choice closes the cycle "a", "b", "a"; choose otherwise, or null` {
		t.Error(refused.Message)
	}
}

func TestResolutionsOfAnOlderSetAreStale(t *testing.T) {
	current, incoming := pair(t, `"roles":[{"id":"r","name":"R","patterns":["docs.a"]}]`, `"roles":[{"id":"r","name":"R","patterns":["billing.a"]}]`)
	decided := decisions{"role:r": `{"action":"rename_incoming","newId":"r2"}`}.read(t)
	_, err := orgmerge.Merge(current, incoming, nil, "")
	fingerprint := refusal(t, err, authz.UnresolvedConflicts).Fingerprint
	if _, err := orgmerge.Merge(current, incoming, decided, fingerprint); err != nil {
		t.Fatal(err)
	}

	// More rows that block nothing offered leave it as it is.
	named := orgmerge.Named{Application: "docs"}
	for range 2 {
		named.Grant(authz.Grant{Subject: "user:u", RoleID: "r"})
		blocked := current
		blocked.Named = []orgmerge.Named{named}
		_, err := orgmerge.Merge(blocked, incoming, nil, "")
		refused := refusal(t, err, authz.UnresolvedConflicts)
		if refused.Fingerprint == fingerprint { // an action went
			t.Error("the fingerprint does not tell of actions")
		}
		if _, err := orgmerge.Merge(blocked, incoming, decided, refused.Fingerprint); err != nil {
			t.Error(err)
		}
	}

	incoming[0].Snapshot.Roles[0].Patterns = []string{"billing.b"}
	_, err = orgmerge.Merge(current, incoming, decided, fingerprint)
	refused := refusal(t, err, authz.StaleResolutions)
	if len(refused.Conflicts) != 1 || refused.Fingerprint == fingerprint {
		t.Errorf("%+v", refused)
	}
	if _, err := orgmerge.Merge(current, incoming, decided, refused.Fingerprint); err != nil {
		t.Error(err)
	}

	// Nothing contradicts any more: what was decided is about nothing.
	incoming[0].Snapshot.Roles = nil
	_, err = orgmerge.Merge(current, incoming, decided, fingerprint)
	if refused := refusal(t, err, authz.StaleResolutions); len(refused.Conflicts) != 0 || refused.Conflicts == nil {
		t.Errorf("%+v", refused)
	}
}

// A group whose members changed meanwhile is another decision.
func TestTheFingerprintTellsOfMembers(t *testing.T) {
	member := func(list ...string) string {
		var users []string
		for _, u := range list {
			users = append(users, `{"userId":"`+u+`","active":true,"groupIds":["g"],"orgIds":[]}`)
		}
		return `"groups":[{"id":"g","name":"G","parents":[]}],"users":[` + strings.Join(users, ",") + `]`
	}
	seen := map[string]bool{}
	many := make([]string, 40)
	for i := range many {
		many[i] = fmt.Sprintf("u%02d", i)
	}
	for _, list := range [][]string{{"v"}, many, append(slices.Clone(many[:39]), "z")} {
		current, incoming := pair(t, member("u"), member(list...))
		_, err := orgmerge.Merge(current, incoming, nil, "")
		seen[refusal(t, err, authz.UnresolvedConflicts).Fingerprint] = true
	}
	if len(seen) != 3 {
		t.Errorf("%d fingerprints", len(seen))
	}
}

func TestSidesThatCannotBeMerged(t *testing.T) {
	for _, c := range []struct {
		name, current, incoming string
		change                  func(*orgmerge.Side, []orgmerge.Side)
		code                    authz.Code
		message                 string
	}{
		{name: "a role of account data", incoming: `"roles":[{"id":"r","name":"R","patterns":["billing.a","cloud.seats.read"]}]`, code: authz.CodeValidation, message: `"billing" exports role "r" with the pattern "cloud.seats.read"`},
		{name: "a grant", incoming: `"globalGrants":[{"id":"g","subject":"user:u","pattern":"cloud.*"}]`, code: authz.CodeValidation, message: `exports grant "g"`},
		{name: "a revoke", incoming: `"globalRevokes":[{"id":"g","userId":"u","pattern":"cloud.*"}]`, code: authz.CodeValidation, message: `exports revoke "g"`},
		{name: "a request", incoming: `"pendingGlobalRequests":[{"id":"q","requesterUserId":"u","pattern":"cloud.*","stages":[{"kind":"management"}]}]`, code: authz.CodeValidation, message: `exports request "q"`},
		{name: "a stage", incoming: `"roles":[{"id":"r","name":"R","patterns":[],"requestable":{"stages":[{"kind":"auto","predicate":{"type":"holds_pattern","pattern":"cloud.*"}}]}}]`, code: authz.CodeValidation, message: `exports role "r"`},
		{name: "a repeated id", current: `"groups":[{"id":"g","name":"G","parents":[]},{"id":"g","name":"G","parents":[]}]`, code: authz.CodeValidation, message: `"docs": snapshot.groups[1]: the id "g" is repeated`},
		{name: "no id", incoming: `"users":[{"userId":"","active":true}]`, code: authz.CodeValidation, message: `"billing": snapshot.users[0] has no id`},
		{name: "a cycle of groups", incoming: `"groups":[{"id":"a","name":"A","parents":["b"]},{"id":"b","name":"B","parents":["a"]}]`, code: authz.CodeGraphCycle, message: "cycle: a → b → a"},
		{name: "a cycle of managers", current: `"users":[{"userId":"a","active":true,"managerUserId":"a"}]`, code: authz.CodeGraphCycle, message: "cycle: a → a"},
		{name: "a reserved namespace", change: func(_ *orgmerge.Side, in []orgmerge.Side) { in[0].Namespaces = []string{"authz_internal"} }, code: authz.CodeValidation, message: `"billing" cannot own the namespace "authz_internal"`},
		{name: "no namespace", change: func(cur *orgmerge.Side, _ []orgmerge.Side) { cur.Namespaces = []string{"*"} }, code: authz.CodeValidation, message: `"docs" cannot own the namespace "*"`},
		{name: "no name", change: func(_ *orgmerge.Side, in []orgmerge.Side) { in[0].Name = "" }, code: authz.CodeValidation, message: `needs a name of its own`},
		{name: "a name that would blur the ids of conflicts", change: func(_ *orgmerge.Side, in []orgmerge.Side) { in[0].Name = "a/b" }, code: authz.CodeValidation, message: `"a/b"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			current, incoming := pair(t, c.current, c.incoming)
			if c.change != nil {
				c.change(&current, incoming)
			}
			_, err := orgmerge.Merge(current, incoming, nil, "")
			if authz.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.message) {
				t.Errorf("%v, want %s %s", err, c.code, c.message)
			}
		})
	}
}
