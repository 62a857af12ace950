package conformance

import (
	"fmt"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func fullRole(id string) authz.Role {
	return authz.Role{ID: id, Name: "Editor", Description: "edits", Patterns: []string{"docs.*", "docs.a", "docs.*"},
		Requestable: &authz.Requestable{
			Prompts:       []authz.Prompt{{ID: "why", Label: "Why?", Options: []string{"b", "a"}, Required: ptr(false)}},
			MaxDurationMs: 5, RequireExpiry: true,
			Stages: []authz.Stage{{Kind: authz.StageManagement, Layers: ptr(int64(2))},
				{Kind: authz.StageAuto, Predicate: &authz.Predicate{Type: authz.PredicateInGroup, GroupID: "g"}}},
		}}
}

func user(id string, set ...func(*authz.User)) authz.User {
	u := authz.User{UserID: id, Active: true}
	for _, f := range set {
		f(&u)
	}
	return u
}

func in(groups ...string) func(*authz.User) { return func(u *authz.User) { u.GroupIDs = groups } }

func under(manager string) func(*authz.User) {
	return func(u *authz.User) { u.ManagerUserID = manager }
}

func (s *named) members(group string) []string {
	return rows(s.w, s.ListUsersInGroup(s.w.ctx, group, storage.Page{}))
}

func (s *named) role(id string) authz.Role {
	return one[authz.Role](s.w)(s.GetRole(s.w.ctx, id))
}
func (s *named) group(id string) authz.Group {
	return one[authz.Group](s.w)(s.GetGroup(s.w.ctx, id))
}
func (s *named) user(id string) authz.User {
	return one[authz.User](s.w)(s.GetUser(s.w.ctx, id))
}

var directoryCases = []storageCase{
	{ID: "B23", Rule: "upserting a role again replaces the one row whole", run: func(w *world) {
		w.write(storage.UpsertRole{Role: fullRole("r")})
		w.same(fullRole("r"), w.role("r"))
		w.write(storage.UpsertRole{Role: authz.Role{ID: "r", Name: "Other", Patterns: []string{"x"}}})
		w.same([]authz.Role{{ID: "r", Name: "Other", Patterns: []string{"x"}}}, rows(w, w.ListRoles(w.ctx, storage.Page{})))
	}},
	{ID: "B24", Rule: "upserting a role without requestable clears it", run: func(w *world) {
		w.write(storage.UpsertRole{Role: fullRole("r")})
		plain := fullRole("r")
		plain.Requestable = nil
		w.write(storage.UpsertRole{Role: plain})
		if got := w.role("r"); got.Requestable != nil {
			w.Fatalf("still requestable: %+v", got.Requestable)
		}
	}},
	{ID: "B25", Rule: "a role read continuously while it is upserted is never missing", run: func(w *world) {
		w.write(storage.UpsertRole{Role: fullRole("r")})
		w.against(func() bool {
			if _, found, err := w.GetRole(w.ctx, "r"); err != nil || !found {
				w.Errorf("found %v, %v", found, err)
				return false
			}
			return true
		}, 300, func(int) {
			w.write(storage.UpsertRole{Role: fullRole("r")})
		})
	}},
	{ID: "B26", Rule: "when the commit that writes a role is refused, the old role is intact", run: func(w *world) {
		w.write(storage.UpsertRole{Role: fullRole("r")})
		w.refuse(storage.CodeNotFound, changes(storage.UpsertRole{Role: authz.Role{ID: "r", Name: "new"}},
			storage.DeleteGrant{ID: "absent", MustExist: true}))
		w.same(fullRole("r"), w.role("r"))
	}},
	{ID: "B27", Rule: "two concurrent upserts of one role leave one of the two values", run: func(w *world) {
		other := authz.Role{ID: "r", Name: "Other"}
		stores := []*named{w.named, w.another("")}
		w.Each(2, func(i int) {
			if _, err := stores[i].Commit(w.ctx, changes(storage.UpsertRole{Role: []authz.Role{fullRole("r"), other}[i]})); err != nil {
				w.Errorf("upsert: %v", err)
			}
		})
		if got := w.role("r"); got.Name == "Other" {
			w.same(other, got)
		} else {
			w.same(fullRole("r"), got)
		}
	}},
	{ID: "B28", Rule: "getRoles answers nothing for none, leaves out absent ids, and answers repeated ones once", Needs: storage.Capabilities{storage.CapBatchRoles}, run: func(w *world) {
		w.write(storage.UpsertRole{Role: fullRole("a")}, storage.UpsertRole{Role: fullRole("b")})
		for want, asked := range map[string][]string{"": {}, "b": {"x", "b", "b"}, "ab": {"b", "a", "b", ""}} {
			got, err := w.GetRoles(w.ctx, asked)
			if err != nil {
				w.Fatalf("%v", err)
			}
			text := ""
			for _, r := range got {
				text += r.ID
			}
			w.same(want, text)
		}
	}},
	{ID: "B29", Rule: "deleting an absent role, group or user is no error", run: func(w *world) {
		w.write(storage.DeleteRole{ID: "x"}, storage.DeleteRole{ID: "x", Unnamed: true}, storage.DeleteGroup{ID: "x"}, storage.DeleteUser{UserID: "x"})
		w.write(w.ifHas(storage.CapAncestry, storage.DeleteScopeParents{Scope: "x"})...)
	}},
	{ID: "B30", Rule: "a group keeps the order of its parents, and virtual only when set", run: func(w *world) {
		want := authz.Group{ID: "g", Name: "G", Description: "d", Parents: []string{"z", "a", "m"}, Virtual: true}
		w.write(storage.UpsertGroup{Group: want}, storage.UpsertGroup{Group: authz.Group{ID: "h", Name: "H"}})
		w.same(want, w.group("g"))
		w.same(authz.Group{ID: "h", Name: "H"}, w.group("h"))
	}},
	{ID: "B31", Rule: "upserting a group with fewer parents drops the edge everywhere", run: func(w *world) {
		w.write(storage.UpsertGroup{Group: authz.Group{ID: "g", Parents: []string{"a", "b"}}})
		w.write(storage.UpsertGroup{Group: authz.Group{ID: "g", Parents: []string{"b"}}})
		w.same([]string{"b"}, w.group("g").Parents)
		w.same([]authz.Group{{ID: "g", Parents: []string{"b"}}}, rows(w, w.ListGroups(w.ctx, storage.Page{})))
	}},
	{ID: "B32", Rule: "deleting a parent group removes its own edges only", run: func(w *world) {
		w.write(storage.UpsertGroup{Group: authz.Group{ID: "child", Parents: []string{"parent"}}},
			storage.UpsertGroup{Group: authz.Group{ID: "parent", Parents: []string{"root"}}})
		w.write(storage.DeleteGroup{ID: "parent"})
		none[authz.Group](w)(w.GetGroup(w.ctx, "parent"))
		w.same([]string{"parent"}, w.group("child").Parents)
	}},
	{ID: "B33", Rule: "users with and without manager, active and not, read back equal", run: func(w *world) {
		a := user("a", in("g"), under("b"))
		b := authz.User{UserID: "b", OrgIDs: []string{"o"}}
		w.write(storage.UpsertUser{User: a}, storage.UpsertUser{User: b})
		w.same(a, w.user("a"))
		w.same(b, w.user("b"))
		none[authz.User](w)(w.GetUser(w.ctx, "c"))
	}},
	{ID: "B34", Rule: "upserting a user with fewer groups drops the membership everywhere", run: func(w *world) {
		w.write(storage.UpsertUser{User: user("u", in("a", "b"))})
		w.write(storage.UpsertUser{User: user("u", in("b", "c"))})
		w.same([]string{"b", "c"}, w.user("u").GroupIDs)
		w.same([]string{}, w.members("a"))
		w.same([]string{"u"}, w.members("b"))
		w.same([]string{"u"}, w.members("c"))
	}},
	{ID: "B35", Rule: "groupIds and orgIds keep their order", run: func(w *world) {
		want := authz.User{UserID: "u", GroupIDs: []string{"z", "a", "m"}, OrgIDs: []string{"2", "10", "1"}}
		w.write(storage.UpsertUser{User: want})
		got := w.user("u")
		w.same(want, got)
		w.same([]authz.User{want}, rows(w, w.ListUsers(w.ctx, storage.UserFilter{}, storage.Page{})))
	}},
	{ID: "B36", Rule: "listUsersInGroup yields direct members only, by id, and resumes", run: func(w *world) {
		w.write(storage.UpsertGroup{Group: authz.Group{ID: "child", Parents: []string{"parent"}}},
			storage.UpsertUser{User: user("c", in("child"))}, storage.UpsertUser{User: user("b", in("parent"))}, storage.UpsertUser{User: user("a", in("parent"))})
		w.same([]string{"a", "b"}, w.members("parent"))
		w.same([]string{}, w.members("unknown"))
		w.same([]string{"b"}, rows(w, w.ListUsersInGroup(w.ctx, "parent", storage.Page{After: "a", Limit: 5})))
		w.same([]string{"a"}, rows(w, w.ListUsersInGroup(w.ctx, "parent", storage.Page{Limit: 1})))
	}},
	{ID: "B37", Rule: "deleting a user removes record and memberships", run: func(w *world) {
		w.write(storage.UpsertUser{User: user("u", in("a"))})
		w.write(storage.DeleteUser{UserID: "u"})
		none[authz.User](w)(w.GetUser(w.ctx, "u"))
		w.same([]string{}, w.members("a"))
	}},
	{ID: "B38", Rule: "names that other languages reserve are ordinary ids", run: func(w *world) {
		for _, id := range []string{"__proto__", "constructor", "toString"} {
			w.write(storage.UpsertUser{User: user(id, in(id))}, storage.UpsertRole{Role: authz.Role{ID: id}}, storage.UpsertGroup{Group: authz.Group{ID: id}},
				storage.InsertGrant{Grant: grant(id, "user:"+id)})
			w.same([]string{id}, w.members(id))
			w.role(id)
			w.group(id)
			w.same([]string{id}, w.grantIDs(storage.GrantFilter{Subject: ptr("user:" + id)}))
		}
	}},
	{ID: "B39", Rule: "listUsers selects by hasManager and active", run: func(w *world) {
		off := func(u *authz.User) { u.Active = false }
		for _, u := range []authz.User{user("a"), user("b", under("a")), user("c", off), user("d", off, under("a"))} {
			w.write(storage.UpsertUser{User: u})
		}
		for want, f := range map[string]storage.UserFilter{
			"abcd": {}, "bd": {HasManager: ptr(true)}, "ac": {HasManager: ptr(false)}, "ab": {Active: ptr(true)},
			"d": {Active: ptr(false), HasManager: ptr(true)},
		} {
			got := ""
			for _, u := range rows(w, w.ListUsers(w.ctx, f, storage.Page{})) {
				got += u.UserID
			}
			w.same(want, got)
		}
	}},
	{ID: "B81", Rule: "patchUser changes the members given and no other, whoever writes at once", run: func(w *world) {
		w.write(storage.UpsertUser{User: user("u", in("old"), under("old"))})
		patches := []storage.PatchUser{
			{UserID: "u", Active: ptr(false)}, {UserID: "u", GroupIDs: &[]string{"new", "newer"}}, {UserID: "u", ManagerUserID: ptr("new")},
		}
		w.Each(3, func(i int) {
			if _, err := w.Commit(w.ctx, changes(patches[i])); err != nil {
				w.Errorf("patch: %v", err)
			}
		})
		w.same(authz.User{UserID: "u", GroupIDs: []string{"new", "newer"}, ManagerUserID: "new"}, w.user("u"))
		w.same([]string{}, w.members("old"))
		w.same([]string{"u"}, w.members("newer"))
		w.write(storage.PatchUser{UserID: "u", ManagerUserID: ptr(""), OrgIDs: &[]string{"o"}, GroupIDs: &[]string{}})
		w.same(authz.User{UserID: "u", OrgIDs: []string{"o"}}, w.user("u"))
		w.write(storage.PatchUser{UserID: "fresh"}, storage.PatchUser{UserID: "fresher", Active: ptr(false)})
		w.same(authz.User{UserID: "fresh", Active: true}, w.user("fresh"))
		w.same(authz.User{UserID: "fresher"}, w.user("fresher"))
	}},
	{ID: "B83", large: true, Rule: "grants requiring a role and its deletion unless named never both succeed", run: func(w *world) {
		stores := []*named{w.named, w.another("")}
		for round := range 200 {
			role, id := fmt.Sprintf("r%d", round), fmt.Sprintf("g%d", round)
			w.write(storage.UpsertRole{Role: authz.Role{ID: role}})
			errs := make([]error, 2)
			w.Each(2, func(i int) {
				c := changes(storage.DeleteRole{ID: role, Unnamed: true})
				if i == round%2 {
					c = changes(storage.InsertGrant{Grant: grant(id, "user:u1", ofRole(role), func(g *authz.Grant) { g.ExpiresAt = authz.ExpiresAt(1) })})
					c.Requires = []storage.Requirement{storage.RequireRole{ID: role}}
				}
				_, errs[(i+round)%2] = stores[i].Commit(w.ctx, c)
			})
			switch {
			case errs[0] == nil && storage.CodeOf(errs[1]) == storage.CodeConflict:
				w.role(role)
			case errs[1] == nil && storage.CodeOf(errs[0]) == storage.CodeNotFound:
				none[authz.Grant](w)(w.GetGrant(w.ctx, id))
			default:
				w.Fatalf("round %d: %v", round, errs)
			}
		}
	}},
	{ID: "B83b", Rule: "a refused deletion tells how many grants name the role; deleting them in the same commit frees it", run: func(w *world) {
		w.write(append(insertGrants(grant("1", "a", ofRole("r")), grant("2", "b", ofRole("r"))), storage.UpsertRole{Role: fullRole("r")})...)
		if refusal := w.refuse(storage.CodeConflict, changes(storage.DeleteRole{ID: "r", Unnamed: true})); refusal.Grants != 2 {
			w.Fatalf("grants %d", refusal.Grants)
		}
		w.write(storage.DeleteGrant{ID: "1"}, storage.DeleteGrant{ID: "2"}, storage.DeleteRole{ID: "r", Unnamed: true})
		w.write(storage.InsertGrant{Grant: grant("3", "a", ofRole("r"))}, storage.DeleteRole{ID: "r"})
	}},
}
