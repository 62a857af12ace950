package application_test

import (
	"context"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func TestPredicatesJudgeTheRequester(t *testing.T) {
	predicate := func(kind, value string) authz.Predicate {
		p := authz.Predicate{Type: kind}
		*map[string]*string{authz.PredicateInGroup: &p.GroupID, authz.PredicateInOrg: &p.OrgID,
			authz.PredicateMemberOf: &p.Subject, authz.PredicateHoldsPattern: &p.Pattern}[kind] = value
		return p
	}
	rex := storage.UpsertUser{User: authz.User{UserID: "rex", Active: true, GroupIDs: []string{"team"}, OrgIDs: []string{"acme"}, ManagerUserID: "mia"}}
	inactive := rex
	inactive.User.Active = false
	people := []storage.Change{rex, reports("mia", "bo"),
		storage.UpsertGroup{Group: authz.Group{ID: "team", Parents: []string{"dept"}}}, storage.UpsertGroup{Group: authz.Group{ID: "dept"}}}
	for _, c := range []struct {
		sentence    string
		kind, value string
		rows        []storage.Change
		want        bool
	}{
		{"in_group by membership", authz.PredicateInGroup, "team", nil, true},
		{"in_group through a parent", authz.PredicateInGroup, "dept", nil, true},
		{"not in_group", authz.PredicateInGroup, "acme", nil, false},
		{"in_org", authz.PredicateInOrg, "acme", nil, true},
		{"not in_org", authz.PredicateInOrg, "team", nil, false},
		{"member_of a group", authz.PredicateMemberOf, "group:dept", nil, true},
		{"member_of direct reports", authz.PredicateMemberOf, "directs:mia", nil, true},
		{"not member_of indirect ones", authz.PredicateMemberOf, "directs:bo", nil, false},
		{"member_of all reports", authz.PredicateMemberOf, "orgof:bo", nil, true},
		{"an inactive member is a member", authz.PredicateMemberOf, "group:team", []storage.Change{inactive}, true},
		{"holds_pattern globally", authz.PredicateHoldsPattern, "docs.files.*", []storage.Change{holds("g", "group:dept", "docs.files.read", "*")}, true},
		{"holds_pattern at an instance", authz.PredicateHoldsPattern, "docs.files.read", []storage.Change{holds("g", "user:rex", "docs.*", "docs.folder:low")}, true},
		{"not holds_pattern of another key", authz.PredicateHoldsPattern, "docs.files.delete", []storage.Change{holds("g", "user:rex", "docs.files.read", "*")}, false},
		{"not what is not grantable there", authz.PredicateHoldsPattern, "docs.files.delete", []storage.Change{holds("g", "user:rex", "docs.*", "docs.doc:1")}, false},
		{"not what is revoked at a parent", authz.PredicateHoldsPattern, "docs.files.read",
			[]storage.Change{holds("g", "user:rex", "docs.files.read", "docs.folder:low"), revoked("rex", "docs.*", "docs.folder:top")}, false},
		{"but what is revoked below", authz.PredicateHoldsPattern, "docs.files.read",
			[]storage.Change{holds("g", "user:rex", "docs.files.read", "docs.folder:top"), revoked("rex", "docs.*", "docs.folder:low")}, true},
		{"not what has expired", authz.PredicateHoldsPattern, "docs.files.read", []storage.Change{storage.InsertGrant{Grant: authz.Grant{ID: "g",
			Subject: "user:rex", Pattern: "docs.*", Scope: "*", ExpiresAt: authz.ExpiresAt(now), Provenance: root}}}, false},
		{"an open region counts", authz.PredicateHoldsPattern, "zoom.rooms.*", []storage.Change{holds("g", "user:rex", "zoom.rooms.join", "docs.folder:low")}, true},
		{"the bare * reaches no region", authz.PredicateHoldsPattern, "zoom.rooms.*", []storage.Change{holds("g", "user:rex", "*", "*")}, false},
		{"a pattern of nothing never passes", authz.PredicateHoldsPattern, "nowhere.at.all", []storage.Change{holds("g", "user:rex", "*", "*")}, false},
		{"an inactive holder holds nothing", authz.PredicateHoldsPattern, "docs.files.read", []storage.Change{inactive, holds("g", "user:rex", "*", "*")}, false},
	} {
		t.Run(c.sentence, func(t *testing.T) {
			changes := append(append([]storage.Change{}, people...), c.rows...)
			w := newWorkflow(t, stages(auto(predicate(c.kind, c.value))), changes...)
			if got := w.submit().State == authz.RequestApproved; got != c.want {
				t.Errorf("met: %t, want %t", got, c.want)
			}
		})
	}
}

func TestWhoMayDecide(t *testing.T) {
	chain := []storage.Change{reports("rex", "m1"), reports("m1", "m2"), reports("m2", "m3"), reports("m3", "")}
	held := func(subject string, expiry authz.Expiry) storage.Change {
		return storage.InsertGrant{Grant: authz.Grant{ID: "g", Subject: subject, RoleID: "approver", Scope: "docs.folder:1", ExpiresAt: expiry, Provenance: root}}
	}
	override := holds("g-boss", "user:boss", application.DecideKey, "*")
	with := func(more ...storage.Change) []storage.Change {
		return append(append([]storage.Change{}, chain...), more...)
	}
	for _, c := range []struct {
		sentence string
		stage    authz.Stage
		by       string
		rows     []storage.Change
		want     bool
	}{
		{"a holder of the role at any scope", named("approver"), "ann", chain, true},
		{"a holder through a group", named("approver"), "bob", with(held("group:team", authz.Expiry{}),
			storage.UpsertUser{User: authz.User{UserID: "bob", Active: true, GroupIDs: []string{"team"}}}), true},
		{"a holder through everyone", named("approver"), "bob", with(held("everyone", authz.Expiry{})), true},
		{"not a holder of another role", named("other"), "ann", chain, false},
		{"not a holder whose grant has expired", named("approver"), "bob", with(held("user:bob", authz.ExpiresAt(now))), false},
		{"not a holder whose row confers its pattern", named("approver"), "bob", with(storage.InsertGrant{Grant: authz.Grant{ID: "g", Subject: "user:bob",
			RoleID: "approver", Pattern: "docs.*", Scope: "*", Provenance: root}}), false},
		{"not a service of the same name", named("approver"), "bob", with(held("service:bob", authz.Expiry{})), false},
		{"not an inactive holder", named("approver"), "ann", with(storage.UpsertUser{User: authz.User{UserID: "ann"}}), false},
		{"never the requester", named("approver"), "rex", with(held("user:rex", authz.Expiry{})), false},
		{"the direct manager", authz.Stage{Kind: authz.StageManagement}, "m1", chain, true},
		{"not the one above", authz.Stage{Kind: authz.StageManagement}, "m2", chain, false},
		{"the manager so many layers up", management(2), "m2", chain, true},
		{"and not the one below", management(2), "m1", chain, false},
		{"the top of a shorter chain", management(9), "m3", chain, true},
		{"not an inactive manager", management(3), "m3", with(storage.UpsertUser{User: authz.User{UserID: "m3"}}), false},
		{"inactive managers between are walked through", management(2), "m2", with(storage.UpsertUser{User: authz.User{UserID: "m1", ManagerUserID: "m2"}}), true},
		{"nobody above a user without a manager", management(1), "m1", with(storage.UpsertUser{User: authz.User{UserID: "rex", Active: true}}), false},
		{"a chain that runs in a circle ends", management(9), "m1", []storage.Change{reports("rex", "m1"), reports("m1", "rex")}, true},
		{"the override at a stage of others", management(1), "boss", with(override), true},
		{"the override by a wildcard", named("nobody"), "boss", with(holds("g-boss", "user:boss", "authz_internal.*", "*")), true},
		{"the override by the bare *", named("nobody"), "boss", with(holds("g-boss", "user:boss", "*", "*")), true},
		{"no override at a lower scope", management(1), "boss", with(holds("g-boss", "user:boss", application.DecideKey, "docs.folder:1")), false},
		{"no override against a revoke", management(1), "boss", with(override, revoked("boss", "authz_internal.*", "*")), false},
		{"no override of the inactive", management(1), "boss", with(override, storage.UpsertUser{User: authz.User{UserID: "boss"}}), false},
		{"no override of one's own request", management(1), "rex", with(holds("g-rex", "user:rex", "*", "*")), false},
	} {
		t.Run(c.sentence, func(t *testing.T) {
			w := newWorkflow(t, stages(c.stage), c.rows...)
			row := w.submit()
			queue := rows(t, w.ListApproverQueue(t.Context(), c.by))
			_, err := w.decide(row.ID, c.by, "denied")
			if queued := len(queue) == 1; queued != c.want || (err == nil) != c.want {
				t.Errorf("queued %t, deciding gave %v, want %t", queued, err, c.want)
			}
		})
	}
}

func TestTheOverrideNeedsTheBuiltInPermissions(t *testing.T) {
	store := openStore(t)
	_, err := store.Commit(t.Context(), storage.Commit{ID: "world", At: now, Changes: []storage.Change{
		storedRequest("q", "*", authz.RequestPending, 0, named("nobody")), holds("g", "user:boss", "*", "*"),
		holds("g2", "user:boss", application.DecideKey, "*")}})
	must(t, err)
	app := newApp(t, application.Options{Store: store}) // its catalog leaves them out
	if queue := rows(t, app.ListApproverQueue(t.Context(), "boss")); len(queue) != 0 {
		t.Errorf("queued %v", queue)
	}
}

// A request is in the queue of exactly those who may decide it, whatever rows lie
// around; approval by any of them writes the one grant.
func TestQueuesAgreeWithDecisions(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		stage := func(label string) authz.Stage {
			return rapid.SampledFrom([]authz.Stage{named("r0"), named("r1"), management(1), management(2), met, unmet,
				auto(authz.Predicate{Type: authz.PredicateHoldsPattern, Pattern: "docs.files.*"})}).Draw(rt, label)
		}
		list := []authz.Stage{stage("first"), stage("second"), stage("third")}[:rapid.IntRange(1, 3).Draw(rt, "stages")]
		world := drawWorld(rt)
		if rapid.Bool().Draw(rt, "overridden") {
			world = append(world, holds("z", "user:u0", "*", "*"))
		}
		w := newWorkflow(t, nil, append(world, storedRequest("q0", "docs.doc:1", authz.RequestPending, 0, list...),
			storage.UpsertRole{Role: authz.Role{ID: "jit", Name: "JIT", Patterns: []string{"docs.files.read"}}})...)
		requester := fmt.Sprintf("u%d", rapid.IntRange(0, 5).Draw(rt, "requester"))
		row, _, err := w.store.GetRequest(context.Background(), "q0")
		must(t, err)
		row.RequesterUserID = requester
		_, err = w.store.Commit(context.Background(), storage.Commit{ID: "requester", At: now, Changes: []storage.Change{storage.UpdateRequest{Request: row}}})
		must(t, err)
		for range list {
			decided := false
			for i := range 6 {
				by := fmt.Sprintf("u%d", i)
				queued := len(rows(t, w.ListApproverQueue(context.Background(), by))) == 1
				before := row
				row, err = w.decide("q0", by, "approved")
				if queued != (err == nil) || err != nil && authz.CodeOf(err) != authz.CodeValidation && before.State == authz.RequestPending {
					rt.Fatalf("%s: queued %t, deciding gave %v", by, queued, err)
				}
				if err != nil {
					row = before
					continue
				}
				decided = true
				if by == requester || row.StageIndex < before.StageIndex {
					rt.Fatalf("%s decided: %+v", by, row)
				}
				break
			}
			if !decided {
				break
			}
		}
		if n := len(w.granted()); (n == 1) != (row.State == authz.RequestApproved) || n > 1 {
			rt.Fatalf("%s with %d grants", row.State, n)
		}
	})
}
