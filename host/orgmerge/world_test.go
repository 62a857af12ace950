package orgmerge_test

import (
	"fmt"
	"slices"

	"github.com/authzhost/authz/host/orgmerge"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/provider"
	"pgregory.net/rapid"
)

// The organization that the properties ask about: three applications, whose keys one
// vocabulary declares.
var (
	namespaces = []string{"billing", "docs", "files"}
	users      = []string{"u1", "u2", "u3", "u4", "u5"}
	groupIDs   = []string{"g1", "g2", "g3", "g4"}
	roleIDs    = []string{"r1", "r2", "r3"}
	patterns   = []string{"*", "docs.*", "docs.a.read", "docs.a.*", "billing.*", "billing.a.read", "files.*", "authz_internal.*", "authz_internal.access.manage_grants"}
	vocabulary = declare()
)

func declare() *catalog.Catalog {
	in := catalog.Input{Namespaces: namespaces}
	for _, ns := range namespaces {
		in.Permissions = append(in.Permissions, catalog.Leaves(
			catalog.Permission{Key: ns + ".a.read", Description: "Read"}, catalog.Permission{Key: ns + ".a.write", Description: "Write"}))
	}
	return catalog.MustDefine(in)
}

// shape says what the organizations that are drawn may hold.
type shape struct {
	nested   bool // groups in groups
	implicit bool // subjects that follow from reporting edges and orgs
	policies bool // approval stages
	whole    bool // sides may be whole
}

// drawSides draws the first side, and others that are like it in part.
func drawSides(t *rapid.T, n int, s shape) []orgmerge.Side {
	sides := make([]orgmerge.Side, n)
	for i := range sides {
		var like *provider.OrgSnapshot
		if i > 0 {
			like = &sides[0].Snapshot
		}
		sides[i] = orgmerge.Side{Name: []string{"a", "docs", "files"}[i], Namespaces: []string{namespaces[i]},
			Whole: s.whole && rapid.Bool().Draw(t, "whole"), Snapshot: drawOrg(t, s, like)}
		if rapid.IntRange(0, 4).Draw(t, "named") == 0 {
			var named orgmerge.Named
			named.Application = sides[i].Name
			named.Grant(authz.Grant{Subject: "group:" + rapid.SampledFrom(groupIDs).Draw(t, "g"), RoleID: rapid.SampledFrom(roleIDs).Draw(t, "r")})
			sides[i].Named = append(sides[i].Named, named)
		}
	}
	return sides
}

func drawOrg(t *rapid.T, s shape, like *provider.OrgSnapshot) provider.OrgSnapshot {
	some := func(what string) bool { return rapid.Bool().Draw(t, what) }
	pick := func(list []string, what string) string { return rapid.SampledFrom(list).Draw(t, what) }
	subset := func(list []string, what string) []string {
		out := []string{}
		for _, v := range list {
			if some(what) {
				out = append(out, v)
			}
		}
		return out
	}
	o := provider.OrgSnapshot{Groups: []authz.Group{}, Roles: []authz.Role{}, GlobalGrants: []authz.Grant{}, GlobalRevokes: []authz.Revoke{},
		Users: []authz.User{}, PendingGlobalRequests: []authz.Request{}}
	rarely := func(what string) bool { return rapid.IntRange(0, 3).Draw(t, what) == 0 }
	twin := like != nil && some("twin") // of the first side, but for rows that lack
	order := rapid.Permutation(groupIDs).Draw(t, "order")
	for i, id := range order {
		if twin {
			for _, g := range like.Groups {
				if g.ID == id && !rarely("lacks") {
					o.Groups = append(o.Groups, g)
				}
			}
			continue
		}
		if !some("group") {
			continue
		}
		g := authz.Group{ID: id, Name: pick([]string{"Ops", "Staff", id}, "name"), Parents: []string{}}
		if s.nested {
			g.Parents = subset(order[:i], "parent")
		}
		o.Groups = append(o.Groups, g)
	}
	for _, id := range roleIDs {
		if like != nil && some("alike") {
			for _, r := range like.Roles {
				if r.ID == id {
					o.Roles = append(o.Roles, r)
				}
			}
			continue
		}
		if some("role") {
			r := authz.Role{ID: id, Name: id, Patterns: subset(patterns, "pattern")}
			if s.policies && some("policy") {
				r.Requestable = &authz.Requestable{Stages: drawStages(t)}
			}
			o.Roles = append(o.Roles, r)
		}
	}
	chiefs := rapid.Permutation(users).Draw(t, "chiefs")
	if twin {
		chiefs = nil
		for _, u := range like.Users {
			if !rarely("lacks") {
				u.GroupIDs = slices.DeleteFunc(slices.Clone(u.GroupIDs), func(id string) bool {
					return !slices.ContainsFunc(o.Groups, func(g authz.Group) bool { return g.ID == id })
				})
				o.Users = append(o.Users, u)
			}
		}
	}
	for i, id := range chiefs {
		if like != nil && some("alike") {
			for _, u := range like.Users {
				if u.UserID == id && (u.ManagerUserID == "" || slices.Contains(chiefs[:i], u.ManagerUserID)) {
					o.Users = append(o.Users, u)
				}
			}
			continue
		}
		if !some("user") {
			continue
		}
		u := authz.User{UserID: id, Active: rapid.IntRange(0, 5).Draw(t, "active") > 0, GroupIDs: subset(groupIDs, "member"), OrgIDs: subset([]string{"o1", "o2"}, "org")}
		if i > 0 && some("managed") {
			u.ManagerUserID = pick(chiefs[:i], "manager")
		}
		o.Users = append(o.Users, u)
	}
	subject := func() string {
		kinds := []string{"user", "group", "group", "everyone"}
		if s.implicit {
			kinds = append(kinds, "directs", "orgof", "org")
		}
		switch kind := pick(kinds, "kind"); kind {
		case "everyone":
			return kind
		case "group":
			return "group:" + pick(groupIDs, "g")
		case "org":
			return "org:" + pick([]string{"o1", "o2"}, "o")
		default:
			return kind + ":" + pick(users, "u")
		}
	}
	system := authz.Provenance{Kind: authz.ProvenanceSystem}
	for i := range rapid.IntRange(0, 5).Draw(t, "grants") {
		g := authz.Grant{ID: fmt.Sprintf("x%d", i), Subject: subject(), Scope: "*", Provenance: system, CreatedAt: 1}
		if some("by role") {
			g.RoleID = pick(roleIDs, "r")
		} else {
			g.Pattern = pick(patterns, "p")
		}
		if rapid.IntRange(0, 9).Draw(t, "expired") == 0 {
			g.ExpiresAt = authz.ExpiresAt(5)
		}
		o.GlobalGrants = append(o.GlobalGrants, g)
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "revokes") {
		o.GlobalRevokes = append(o.GlobalRevokes, authz.Revoke{ID: fmt.Sprintf("y%d", i), UserID: pick(users, "u"), Pattern: pick(patterns, "p"), Scope: "*", Provenance: system, CreatedAt: 1})
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "requests") {
		q := authz.Request{ID: fmt.Sprintf("q%d", i), RequesterUserID: pick(users, "u"), Scope: "*", State: authz.RequestPending, Stages: drawStages(t), CreatedAt: 1}
		if some("for a role") {
			q.RoleID = pick(roleIDs, "r")
		} else {
			q.Pattern = pick(patterns, "p")
		}
		o.PendingGlobalRequests = append(o.PendingGlobalRequests, q)
	}
	return o
}

func drawStages(t *rapid.T) []authz.Stage {
	return []authz.Stage{rapid.SampledFrom([]authz.Stage{
		{Kind: authz.StageNamedApprovers, RoleID: "r1"},
		{Kind: authz.StageNamedApprovers, RoleID: "r2"},
		{Kind: authz.StageAuto, Predicate: &authz.Predicate{Type: authz.PredicateInGroup, GroupID: "g1"}},
		{Kind: authz.StageAuto, Predicate: &authz.Predicate{Type: authz.PredicateMemberOf, Subject: "group:g2"}},
		{Kind: authz.StageManagement},
	}).Draw(t, "stage")}
}

// settle calls Merge until it succeeds, deciding at random. It gives up, answering
// false, where renames are blocked on both sides and nothing else fits.
func settle(t *rapid.T, current orgmerge.Side, incoming []orgmerge.Side, prefer authz.ConflictAction) (orgmerge.Result, []authz.Conflict, map[string]authz.Resolution, bool) {
	decided := map[string]authz.Resolution{}
	var all []authz.Conflict
	fingerprint, next := "", 0
	decide := func(c authz.Conflict, safe bool) bool {
		actions := slices.Clone(c.Actions)
		if safe {
			actions = slices.DeleteFunc(actions, func(a authz.ConflictAction) bool { return a == authz.ActionUnite })
		}
		if len(actions) == 0 {
			return false
		}
		action := rapid.SampledFrom(actions).Draw(t, "action")
		if slices.Contains(actions, prefer) {
			action = prefer
		}
		r := authz.Resolution{Action: action}
		switch action {
		case authz.ActionRenameCurrent, authz.ActionRenameIncoming:
			next++
			r.NewID = fmt.Sprintf("new%d", next)
		case authz.ActionChoose:
			r.ManagerUserID = authz.ChooseManager("")
			if c.Kind == authz.ConflictReportingCycle {
				r.UserID = rapid.SampledFrom(c.Path).Draw(t, "breaks")
			} else if !safe {
				r.ManagerUserID = authz.ChooseManager(rapid.SampledFrom([]string{string(c.Current[1 : len(c.Current)-1]), string(c.Incoming[1 : len(c.Incoming)-1]), ""}).Draw(t, "manager"))
			}
		}
		decided[c.ID] = r
		return true
	}
	for round := 0; ; round++ {
		if round > 60 {
			t.Fatal("the conflicts never end")
		}
		result, err := orgmerge.Merge(current, incoming, decided, fingerprint)
		if err == nil {
			return result, all, decided, true
		}
		refused, ok := err.(*authz.PromotionConflictError)
		if !ok {
			t.Fatalf("%T: %v", err, err)
		}
		fingerprint = refused.Fingerprint
		switch refused.Code {
		case authz.StaleResolutions:
			all = refused.Conflicts
			for id := range decided {
				if !slices.ContainsFunc(all, func(c authz.Conflict) bool { return c.ID == id }) {
					delete(decided, id)
				}
			}
		case authz.UnresolvedConflicts:
			if all == nil {
				all = refused.Conflicts
			}
			for _, c := range refused.Conflicts {
				if !decide(c, false) {
					return result, nil, nil, false
				}
			}
		case authz.InvalidResolution:
			all = refused.Conflicts
			for _, c := range refused.Conflicts { // the message quotes the id
				if len(refused.Message) > len(c.ID)+2 && refused.Message[1:len(c.ID)+1] == c.ID && refused.Message[len(c.ID)+1] == '"' && !decide(c, true) {
					return result, nil, nil, false
				}
			}
		}
	}
}
