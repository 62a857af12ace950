package api_test

import (
	"net/http"
	"strings"
	"testing"
)

// The socket is what people and scripts write to: a misspelt member, ignored, would
// widen or change what was asked. The provider API goes on ignoring them, for peers
// of another age.
func TestTheSocketRefusesUnknownMembers(t *testing.T) {
	s := newSocket(t)
	for name, c := range map[string]struct{ op, body, want string }{
		"of an operation":   {"check", `{"principal":{"userId":"u"},"key":"docs.files.read","scop":"docs.doc:d"}`, `check: \"scop\" is no member that is known here — did you mean \"scope\"?`},
		"of a principal":    {"check", `{"principal":{"userid":"u","userId":"u"},"key":"docs.files.read"}`, `userid is no member that is known here — did you mean \"userId\"?`},
		"of a grant":        {"createGrant", `{"input":{"subject":"user:u","pattern":"docs.files.read","expires":5}}`, `expires is no member that is known here — did you mean \"expiresAt\"?`},
		"of one of grants":  {"createGrants", `{"inputs":[{"subject":"user:u","pattern":"docs.files.read"},{"subject":"user:u","pattern":"docs.files.read","scpoe":"docs.doc:d"}]}`, `did you mean \"scope\"?`},
		"of a filter":       {"listGrants", `{"filter":{"subjekt":"user:u"}}`, `did you mean \"subject\"?`},
		"of a role":         {"createRole", `{"input":{"name":"r","patterns":[],"requestabel":null}}`, `did you mean \"requestable\"?`},
		"of a stage":        {"createRole", `{"input":{"name":"r","patterns":[],"requestable":{"stages":[{"kind":"management","layer":2}]}}}`, `did you mean \"layers\"?`},
		"of a predicate":    {"createRole", `{"input":{"name":"r","patterns":[],"requestable":{"stages":[{"kind":"auto","predicate":{"type":"in_group","group":"g","groupId":"g"}}]}}}`, `group is no member`},
		"of a group":        {"createGroup", `{"input":{"id":"g","name":"g","parent":["h"]}}`, `did you mean \"parents\"?`},
		"of an import":      {"importDirectory", `{"source":"s","snapshot":{"user":[{"userId":"u"}]}}`, `did you mean \"users\"?`},
		"of a user":         {"importDirectory", `{"source":"s","snapshot":{"users":[{"userId":"u","aktive":false}]}}`, `did you mean \"active\"?`},
		"of its options":    {"importDirectory", `{"source":"s","snapshot":{},"options":{"authoritativ":true}}`, `did you mean \"authoritative\"?`},
		"of a batch check":  {"check", `{"checks":[{"principal":{"userId":"u"},"key":"docs.files.read","scopes":"docs.doc:d"}]}`, `did you mean \"scope\"?`},
		"where none is":     {"ping", `{"fresh":true}`, `none is`},
		"of a cleanup":      {"reconcileRows", `{"dryrun":true}`, `known here: keepRoleGrants, orgs, provenance, scopes, sweep, users`},
		"of another target": {"../_host/plugin.restart", `{"name":"main","wait":true}`, `wait`},
	} {
		t.Run(name, func(t *testing.T) {
			path := "/local/v1/docs/" + c.op
			if op, ok := strings.CutPrefix(c.op, "../"); ok {
				path = "/local/v1/" + op
			}
			a := s.ask(path, c.body)
			if !strings.Contains(string(a.body), c.want) || a.status == http.StatusOK && !strings.Contains(c.body, "checks") {
				t.Errorf("%d %s, want %s", a.status, a.body, c.want)
			}
		})
	}
	if n := len(s.mustOK("/local/v1/docs/listGrants", `{}`)["grants"].([]any)) + len(s.mustOK("/local/v1/docs/listRoles", `{}`)["roles"].([]any)); n != 0 {
		t.Errorf("%d rows were written by what was refused", n)
	}
	if allowed := s.world.mustOK("check", `{"principal":{"userId":"u","later":1},"key":"docs.files.read","later":1}`)["allowed"]; allowed != false {
		t.Error("the provider API answers", allowed)
	}
}
