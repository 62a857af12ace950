package orgmerge_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/authzhost/authz/host/orgmerge"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/google/go-cmp/cmp"
)

// decisions are resolutions as they come over the wire, by id of conflict.
type decisions map[string]string

func (d decisions) read(t *testing.T) map[string]authz.Resolution {
	t.Helper()
	out := map[string]authz.Resolution{}
	for id, text := range d {
		var r authz.Resolution
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		out[id] = r
	}
	return out
}

// org is a snapshot in few words: JSON with the lists that matter. Rows get what every
// row has.
func org(t *testing.T, text string) provider.OrgSnapshot {
	t.Helper()
	var s provider.OrgSnapshot
	dec := json.NewDecoder(strings.NewReader("{" + text + "}"))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	system := authz.Provenance{Kind: authz.ProvenanceSystem}
	for i := range s.GlobalGrants {
		s.GlobalGrants[i].Scope, s.GlobalGrants[i].Provenance = "*", system
	}
	for i := range s.GlobalRevokes {
		s.GlobalRevokes[i].Scope, s.GlobalRevokes[i].Provenance = "*", system
	}
	for i := range s.PendingGlobalRequests {
		s.PendingGlobalRequests[i].Scope, s.PendingGlobalRequests[i].State = "*", authz.RequestPending
	}
	return s
}

// brief is what a case compares: each row in one word or two, in order.
func brief(s provider.OrgSnapshot) []string {
	var out []string
	for _, g := range s.Groups {
		out = append(out, "group "+g.ID+" "+g.Name+" <"+strings.Join(g.Parents, ",")+">")
	}
	for _, r := range s.Roles {
		text := "role " + r.ID + " " + r.Name + " [" + strings.Join(r.Patterns, ",") + "]"
		if r.Requestable != nil {
			text += " " + stages(r.Requestable.Stages)
		}
		out = append(out, text)
	}
	for _, g := range s.GlobalGrants {
		id := g.ID
		if strings.HasPrefix(id, "m_") {
			id = "m_…"
		}
		out = append(out, "grant "+id+" "+g.Subject+" "+g.RoleID+g.Pattern)
	}
	for _, r := range s.GlobalRevokes {
		out = append(out, "revoke "+r.ID+" "+r.UserID+" "+r.Pattern)
	}
	for _, u := range s.Users {
		text := "user " + u.UserID + " (" + strings.Join(u.GroupIDs, ",") + ") (" + strings.Join(u.OrgIDs, ",") + ") " + u.ManagerUserID
		if !u.Active {
			text += " inactive"
		}
		out = append(out, text)
	}
	for _, q := range s.PendingGlobalRequests {
		out = append(out, "request "+q.ID+" "+q.RoleID+q.Pattern+" "+stages(q.Stages))
	}
	return out
}

func stages(list []authz.Stage) string {
	raw, _ := authz.Marshal(list)
	return string(raw)
}

// shown are conflicts as a case compares them.
func shown(list []authz.Conflict) []string {
	var out []string
	for _, c := range list {
		text := c.ID + " " + string(c.Kind) + " ["
		for i, a := range c.Actions {
			if i > 0 {
				text += " "
			}
			text += string(a)
		}
		out = append(out, text+"]")
	}
	return out
}

const (
	bySelf = `"stages":[{"kind":"named_approvers","roleId":"boss"}]`
	inOps  = `"stages":[{"kind":"auto","predicate":{"type":"in_group","groupId":"ops"}},{"kind":"auto","predicate":{"type":"member_of","subject":"group:ops"}}]`
)

// The rows of the table, and each action. The current side owns docs, the incoming
// one billing.
func TestTheRules(t *testing.T) {
	for _, c := range []struct {
		name              string
		current, incoming string
		conflicts         []string
		decided           decisions
		want              []string
		warnings          []string // parts of each
	}{
		{name: "what one side lacks is added",
			current:  `"groups":[{"id":"b","name":"B","parents":["a"]},{"id":"a","name":"A","parents":[]}],"roles":[{"id":"r1","name":"One","patterns":["docs.*"]}]`,
			incoming: `"groups":[{"id":"c","name":"C","parents":[]}],"roles":[{"id":"r0","name":"Zero","patterns":["billing.*"]}],"users":[{"userId":"u","active":true,"groupIds":["c"],"orgIds":[]}]`,
			want:     []string{"group a A <>", "group b B <a>", "group c C <>", "role r0 Zero [billing.*]", "role r1 One [docs.*]", "user u (c) () "}},
		{name: "an equal role is one, whatever the order of its patterns; the current name is kept",
			current:  `"roles":[{"id":"r","name":"Reader","patterns":["docs.a","docs.b"]}]`,
			incoming: `"roles":[{"id":"r","name":"Leser","patterns":["docs.b","docs.a"]}]`,
			want:     []string{"role r Reader [docs.a,docs.b]"}, conflicts: []string{"role:r role_id_collision [rename_incoming rename_current unite]", "widens:incoming:role:r widens [narrow accept]"},
			decided:  decisions{"role:r": `{"action":"unite"}`, "widens:incoming:role:r": `{"action":"accept"}`},
			warnings: []string{`the role "r" has another name`}},
		{name: "an equal role within both sides' reach is one",
			current:  `"roles":[{"id":"r","name":"R","patterns":[]}]`,
			incoming: `"roles":[{"id":"r","name":"R","patterns":[]}]`,
			want:     []string{"role r R []"}},
		{name: "an equal group is one, and the current name is kept",
			current:  `"groups":[{"id":"g","name":"Ops","parents":["p","q"]}],"users":[{"userId":"u","active":true,"groupIds":["g"],"orgIds":[]}]`,
			incoming: `"groups":[{"id":"g","name":"Betrieb","parents":["q","p"]}],"users":[{"userId":"u","active":true,"groupIds":["g"],"orgIds":[]}]`,
			want:     []string{"group g Ops <p,q>", "user u (g) () "}, warnings: []string{`the group "g" has another name`}},
		{name: "a role of another meaning: rename_incoming",
			current:   `"roles":[{"id":"r","name":"R","patterns":["docs.*"]}],"globalGrants":[{"id":"g1","subject":"user:u","roleId":"r"}]`,
			incoming:  `"roles":[{"id":"r","name":"R","patterns":["billing.*"],"requestable":{"stages":[{"kind":"named_approvers","roleId":"r"}]}}],"globalGrants":[{"id":"g2","subject":"user:u","roleId":"r"}],"pendingGlobalRequests":[{"id":"q","requesterUserId":"u","roleId":"r","stages":[{"kind":"named_approvers","roleId":"r"}]}]`,
			conflicts: []string{"role:r role_id_collision [rename_incoming rename_current]"},
			decided:   decisions{"role:r": `{"action":"rename_incoming","newId":"r2"}`},
			want: []string{"role r R [docs.*]", `role r2 R [billing.*] [{"kind":"named_approvers","roleId":"r2"}]`, "grant g1 user:u r", "grant g2 user:u r2",
				`request q r2 [{"kind":"named_approvers","roleId":"r2"}]`}, warnings: []string{`the role "r2" of "billing" has the same name as "r"`}},
		{name: "rename_current",
			current:   `"roles":[{"id":"r","name":"R","patterns":["docs.*"]}],"globalGrants":[{"id":"g1","subject":"user:u","roleId":"r"}]`,
			incoming:  `"roles":[{"id":"r","name":"Other","patterns":["billing.*"]}],"globalGrants":[{"id":"g2","subject":"user:u","roleId":"r"}]`,
			conflicts: []string{"role:r role_id_collision [rename_incoming rename_current]"},
			decided:   decisions{"role:r": `{"action":"rename_current","newId":"r2"}`},
			want:      []string{"role r Other [billing.*]", "role r2 R [docs.*]", "grant g1 user:u r2", "grant g2 user:u r"}},
		{name: "a role that one side only names",
			current:   `"globalGrants":[{"id":"g1","subject":"user:u","roleId":"r"}]`,
			incoming:  `"roles":[{"id":"r","name":"R","patterns":["billing.*"]}]`,
			conflicts: []string{"role:r role_id_collision [rename_incoming rename_current]"},
			decided:   decisions{"role:r": `{"action":"rename_current","newId":"gone"}`},
			want:      []string{"role r R [billing.*]", "grant g1 user:u gone"}},
		{name: "another policy is another role",
			current:   `"roles":[{"id":"r","name":"R","patterns":[],"requestable":{` + bySelf + `}}]`,
			incoming:  `"roles":[{"id":"r","name":"R","patterns":[]}]`,
			conflicts: []string{"role:r role_id_collision [rename_incoming rename_current]"},
			decided:   decisions{"role:r": `{"action":"rename_incoming","newId":"s"}`},
			want:      []string{`role r R [] [{"kind":"named_approvers","roleId":"boss"}]`, "role s R []"}, warnings: []string{"same name"}},
		{name: "a role whose approver collides collides too",
			current:  `"roles":[{"id":"r","name":"R","patterns":[],"requestable":{` + bySelf + `}},{"id":"boss","name":"Boss","patterns":["docs.a"]}]`,
			incoming: `"roles":[{"id":"r","name":"R","patterns":[],"requestable":{` + bySelf + `}},{"id":"boss","name":"Chef","patterns":["billing.a"]}]`,
			conflicts: []string{"role:boss role_id_collision [rename_incoming rename_current]",
				"role:r role_id_collision [rename_incoming rename_current unite]"},
			decided: decisions{"role:boss": `{"action":"rename_incoming","newId":"chef"}`, "role:r": `{"action":"rename_incoming","newId":"r2"}`},
			want: []string{"role boss Boss [docs.a]", "role chef Chef [billing.a]", `role r R [] [{"kind":"named_approvers","roleId":"boss"}]`,
				`role r2 R [] [{"kind":"named_approvers","roleId":"chef"}]`}, warnings: []string{"same name"}},
		{name: "a group of other members: rename_incoming rewrites every reference",
			current: `"groups":[{"id":"ops","name":"Ops","parents":[]}],"users":[{"userId":"u","active":true,"groupIds":["ops"],"orgIds":[]}],"globalGrants":[{"id":"g1","subject":"group:ops","pattern":"docs.a"}]`,
			incoming: `"groups":[{"id":"ops","name":"Ops","parents":[]},{"id":"sub","name":"Sub","parents":["ops"]}],"users":[{"userId":"v","active":true,"groupIds":["ops"],"orgIds":[]}],"globalGrants":[{"id":"g2","subject":"group:ops","pattern":"billing.a"}],` +
				`"roles":[{"id":"r","name":"R","patterns":[],"requestable":{` + inOps + `}}],"pendingGlobalRequests":[{"id":"q","requesterUserId":"v","pattern":"billing.a",` + inOps + `}]`,
			conflicts: []string{"group:ops group_id_collision [rename_incoming rename_current unite]"},
			decided:   decisions{"group:ops": `{"action":"rename_incoming","newId":"o2"}`},
			want: []string{"group o2 Ops <>", "group ops Ops <>", "group sub Sub <o2>",
				`role r R [] [{"kind":"auto","predicate":{"type":"in_group","groupId":"o2"}},{"kind":"auto","predicate":{"type":"member_of","subject":"group:o2"}}]`,
				"grant g1 group:ops docs.a", "grant g2 group:o2 billing.a", "user u (ops) () ", "user v (o2) () ",
				`request q billing.a [{"kind":"auto","predicate":{"type":"in_group","groupId":"o2"}},{"kind":"auto","predicate":{"type":"member_of","subject":"group:o2"}}]`},
			warnings: []string{`the group "o2" of "billing" has the same name`}},
		{name: "unite joins members and parents",
			current:   `"groups":[{"id":"g","name":"G","parents":["a"]}],"users":[{"userId":"u","active":true,"groupIds":["g"],"orgIds":[]}]`,
			incoming:  `"groups":[{"id":"g","name":"G","parents":["b","a"]}],"users":[{"userId":"v","active":true,"groupIds":["g"],"orgIds":[]}]`,
			conflicts: []string{"group:g group_id_collision [rename_incoming rename_current unite]"},
			decided:   decisions{"group:g": `{"action":"unite"}`},
			want:      []string{"group g G <a,b>", "user u (g) () ", "user v (g) () "}},
		{name: "other groups below are other members",
			current:   `"groups":[{"id":"g","name":"G","parents":[]},{"id":"sub","name":"Sub","parents":["g"]}]`,
			incoming:  `"groups":[{"id":"g","name":"G","parents":[]}],"globalGrants":[{"id":"x","subject":"group:g","pattern":"billing.a"}]`,
			conflicts: []string{"group:g group_id_collision [rename_incoming rename_current unite]"},
			decided:   decisions{"group:g": `{"action":"rename_current","newId":"h"}`},
			want:      []string{"group g G <>", "group h G <>", "group sub Sub <h>", "grant x group:g billing.a"}, warnings: []string{"same name"}},
		{name: "a group that one side only grants to",
			current:   `"globalGrants":[{"id":"x","subject":"group:g","pattern":"docs.a"}]`,
			incoming:  `"users":[{"userId":"v","active":true,"groupIds":["g"],"orgIds":[]}]`,
			conflicts: []string{"group:g group_id_collision [rename_incoming rename_current unite]"},
			decided:   decisions{"group:g": `{"action":"rename_incoming","newId":"h"}`},
			want:      []string{"grant x group:g docs.a", "user v (h) () "}},
		{name: "grants: identical ones once, another row of the id gets a new one",
			current:  `"globalGrants":[{"id":"a","subject":"user:u","pattern":"docs.a"},{"id":"b","subject":"user:u","pattern":"docs.b"}]`,
			incoming: `"globalGrants":[{"id":"a","subject":"user:u","pattern":"docs.a"},{"id":"b","subject":"user:u","pattern":"billing.b"}]`,
			decided:  decisions{"widens:incoming:grant:a": `{"action":"accept"}`}, conflicts: []string{"widens:incoming:grant:a widens [narrow accept]"},
			want: []string{"grant a user:u docs.a", "grant b user:u docs.b", "grant m_… user:u billing.b"}, warnings: []string{`the grant "b" of "billing" is stored as "m_`}},
		{name: "revokes are joined, and never widen",
			current:  `"globalRevokes":[{"id":"a","userId":"u","pattern":"docs.a"}]`,
			incoming: `"globalRevokes":[{"id":"b","userId":"u","pattern":"*"}]`,
			want:     []string{"revoke a u docs.a", "revoke b u *"}},
		{name: "users: memberships and orgs are joined, inactive wins",
			current:  `"users":[{"userId":"u","active":true,"groupIds":["a"],"orgIds":["o1"]},{"userId":"v","active":false,"groupIds":[],"orgIds":[]}]`,
			incoming: `"users":[{"userId":"u","active":false,"groupIds":["b"],"orgIds":["o2","o1"]}],"globalGrants":[{"id":"g","subject":"user:v","pattern":"billing.a"}]`,
			want:     []string{"grant g user:v billing.a", "user u (a,b) (o1,o2)  inactive", "user v () ()  inactive"},
			warnings: []string{`the user "v" is inactive in "docs"`, `the user "u" is inactive in "billing"`}},
		{name: "an edge of one side is taken",
			current:  `"users":[{"userId":"u","active":true,"groupIds":[],"orgIds":[]}]`,
			incoming: `"users":[{"userId":"u","active":true,"groupIds":[],"orgIds":[],"managerUserId":"m"}],"globalGrants":[]`,
			want:     []string{"user u () () m"}},
		{name: "what follows from the edges of the other side is told",
			current:  `"users":[{"userId":"u","active":true,"groupIds":[],"orgIds":["o"]},{"userId":"v","active":true,"groupIds":[],"orgIds":[],"managerUserId":"u"}]`,
			incoming: `"users":[{"userId":"u","active":true,"groupIds":[],"orgIds":[],"managerUserId":"m"}],"globalGrants":[{"id":"a","subject":"orgof:m","pattern":"billing.a"},{"id":"b","subject":"org:o","pattern":"billing.a"}]`,
			want:     []string{"grant a orgof:m billing.a", "grant b org:o billing.a", "user u () (o) m", "user v () () u"},
			warnings: []string{`to "orgof:m" reach 1 people more`, `to "org:o" reach 1 people more`}},
		{name: "two managers: choose the incoming one",
			current:   `"users":[{"userId":"u","active":true,"groupIds":[],"orgIds":[],"managerUserId":"m1"}]`,
			incoming:  `"users":[{"userId":"u","active":true,"groupIds":[],"orgIds":[],"managerUserId":"m2"}]`,
			conflicts: []string{"manager:u reporting_edge [choose]"}, decided: decisions{"manager:u": `{"action":"choose","managerUserId":"m2"}`},
			want: []string{"user u () () m2"}},
		{name: "choose none",
			current:   `"users":[{"userId":"u","active":true,"groupIds":[],"orgIds":[],"managerUserId":"m1"}]`,
			incoming:  `"users":[{"userId":"u","active":true,"groupIds":[],"orgIds":[],"managerUserId":"m2"}]`,
			conflicts: []string{"manager:u reporting_edge [choose]"}, decided: decisions{"manager:u": `{"action":"choose","managerUserId":null}`},
			want: []string{"user u () () "}},
		{name: "a cycle of both sides' edges",
			current:   `"users":[{"userId":"b","active":true,"groupIds":[],"orgIds":[],"managerUserId":"a"}]`,
			incoming:  `"users":[{"userId":"a","active":true,"groupIds":[],"orgIds":[],"managerUserId":"b"}]`,
			conflicts: []string{"cycle:a reporting_cycle [choose]"}, decided: decisions{"cycle:a": `{"action":"choose","userId":"b","managerUserId":null}`},
			want: []string{"user a () () b", "user b () () "}},
		{name: "narrow",
			current: `"roles":[{"id":"r","name":"R","patterns":["*","docs.x","billing.b","authz_internal.*"]}]`,
			incoming: `"globalGrants":[{"id":"a","subject":"user:u","pattern":"*"},{"id":"b","subject":"user:u","pattern":"authz_internal.*"}],` +
				`"pendingGlobalRequests":[{"id":"q","requesterUserId":"u","pattern":"*","stages":[{"kind":"management"}]}]`,
			conflicts: []string{"widens:current:role:r widens [narrow accept]", "widens:incoming:grant:a widens [narrow accept]", "widens:incoming:grant:b widens [narrow accept]", "widens:incoming:request:q widens [narrow accept]"},
			decided:   decisions{"widens:current:role:r": `{"action":"narrow"}`, "widens:incoming:grant:a": `{"action":"narrow"}`, "widens:incoming:grant:b": `{"action":"narrow"}`, "widens:incoming:request:q": `{"action":"narrow"}`},
			want:      []string{"role r R [docs.*,docs.x]", "grant a user:u billing.*", `request q billing.* [{"kind":"management"}]`}, warnings: []string{`the grant "b" of "billing" is left out`}},
		{name: "accept",
			current:   `"globalGrants":[{"id":"a","subject":"user:u","pattern":"*"}]`,
			incoming:  `"roles":[{"id":"r","name":"R","patterns":["authz_internal.*"]}]`,
			conflicts: []string{"widens:current:grant:a widens [narrow accept]", "widens:incoming:role:r widens [narrow accept]"},
			decided:   decisions{"widens:current:grant:a": `{"action":"accept"}`, "widens:incoming:role:r": `{"action":"accept"}`},
			want:      []string{"role r R [authz_internal.*]", "grant a user:u *"}},
		{name: "a stage that passes for holders of what another application declares",
			incoming: `"roles":[{"id":"r","name":"R","patterns":[],"requestable":{"stages":[{"kind":"auto","predicate":{"type":"holds_pattern","pattern":"docs.a"}}]}}]`,
			want:     []string{`role r R [] [{"kind":"auto","predicate":{"type":"holds_pattern","pattern":"docs.a"}}]`}, warnings: []string{`passes for holders of "docs.a"`}},
		{name: "account data in roles of the current side is its own",
			current: `"roles":[{"id":"r","name":"R","patterns":["cloud.seats.read","docs.a"]}]`,
			want:    []string{"role r R [cloud.seats.read,docs.a]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			current := orgmerge.Side{Name: "docs", Namespaces: []string{"docs"}, Snapshot: org(t, c.current)}
			incoming := []orgmerge.Side{{Name: "billing", Namespaces: []string{"billing"}, Snapshot: org(t, c.incoming)}}
			fingerprint := ""
			if _, err := orgmerge.Merge(current, incoming, nil, ""); err != nil {
				refused := refusal(t, err, authz.UnresolvedConflicts)
				if diff := cmp.Diff(c.conflicts, shown(refused.Conflicts)); diff != "" {
					t.Fatalf("conflicts (-want +got)\n%s", diff)
				}
				fingerprint = refused.Fingerprint
			} else if c.conflicts != nil {
				t.Fatal("no conflicts")
			}
			result, err := orgmerge.Merge(current, incoming, c.decided.read(t), fingerprint)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, brief(result.Snapshot)); diff != "" {
				t.Errorf("merged (-want +got)\n%s", diff)
			}
			if len(result.Warnings) != len(c.warnings) || !slices.EqualFunc(result.Warnings, c.warnings, strings.Contains) {
				t.Errorf("warnings %q, want %q", result.Warnings, c.warnings)
			}
			if n := result.Counts; n != orgmerge.CountsOf(result.Snapshot) || n.Roles+n.Groups+n.GlobalGrants+n.GlobalRevokes+n.Users+n.PendingRequests != len(c.want) {
				t.Errorf("counts %+v", n)
			}
		})
	}
}

func refusal(t *testing.T, err error, code authz.PromotionCode) *authz.PromotionConflictError {
	t.Helper()
	var refused *authz.PromotionConflictError
	if !errors.As(err, &refused) || refused.Code != code {
		t.Fatalf("got %v, want %s", err, code)
	}
	return refused
}

// A row beside the snapshot has an id as much as one in it: what is moved there gets
// another, the same in every call.
func TestAnIDThatARowBesideTheSnapshotHasIsTaken(t *testing.T) {
	current := orgmerge.Side{Name: "hq", Snapshot: readOrg([]byte(`{}`)), Taken: orgmerge.Taken{
		Grants: map[string]bool{"g": true}, Revokes: map[string]bool{"r": true}, Requests: map[string]bool{"q": true}}}
	incoming := orgmerge.Side{Name: "docs", Namespaces: []string{"docs"}, Snapshot: readOrg([]byte(`{
		"globalGrants":[{"id":"g","subject":"user:ann","pattern":"docs.a","scope":"*"},{"id":"free","subject":"user:ann","pattern":"docs.b","scope":"*"}],
		"globalRevokes":[{"id":"r","userId":"ann","pattern":"docs.a","scope":"*"}],
		"pendingGlobalRequests":[{"id":"q","requesterUserId":"ann","pattern":"docs.a","scope":"*","state":"pending"}]}`))}
	var first orgmerge.Result
	for range 2 {
		result, err := orgmerge.Merge(current, []orgmerge.Side{incoming}, nil, "")
		if err != nil {
			t.Fatal(err)
		}
		s := result.Snapshot
		if len(s.GlobalGrants) != 2 || s.GlobalGrants[0].ID != "free" || s.GlobalGrants[1].ID[:2] != "m_" || s.GlobalRevokes[0].ID[:2] != "m_" || s.PendingGlobalRequests[0].ID[:2] != "m_" {
			t.Fatalf("%+v", s)
		}
		if len(result.Warnings) != 3 {
			t.Errorf("%v", result.Warnings)
		}
		if first.Snapshot.GlobalGrants != nil && first.Snapshot.GlobalGrants[1].ID != s.GlobalGrants[1].ID {
			t.Error("another call gives another id")
		}
		first = result
	}
}
