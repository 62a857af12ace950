package conformance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

var needsLookups = storage.Capabilities{storage.CapLookups}

var lookupCases = []storageCase{
	{ID: "B89", Rule: "listScopes yields recorded scopes alone, each once, by bytes; pages go on after any scope", Needs: needsLookups, run: func(w *world) {
		w.write(put("d.b:1", "d.a:1"), put("d.a:1"), put("d.B:1", "never.f:1", "d.a:1"), put("d.é:1", "d.a:1"), put("d.gone:1"))
		w.write(storage.DeleteScopeParents{Scope: "d.gone:1"}, put("d.b:1", "d.B:1"))
		w.write(insertGrants(grant("1", "user:u", at("d.granted:1")))...)
		w.same([]string{"d.B:1", "d.a:1", "d.b:1", "d.é:1"}, rows(w, w.ListScopes(w.ctx, storage.Page{})))
		w.same([]string{"d.b:1"}, rows(w, w.ListScopes(w.ctx, storage.Page{After: "d.aa:0", Limit: 1})))
		w.code(storage.CodeValidation, listError(w.ListScopes(w.ctx, storage.Page{Limit: -1})))
	}},
	{ID: "B90", Rule: "listEdges of parents yields by parent, then by scope, and tells which scopes have no other parent; of several, of one named twice, of none; a scope stands under each of its parents, and under none that it had before", Needs: needsLookups, run: func(w *world) {
		w.write(put("d.d:2", "d.f:1", "d.f:2"), put("d.d:1", "d.f:1"), put("d.f:1", "d.top:1"), put("d.f:2"), put("d.old:1", "d.f:1"), put("d.dropped:1", "d.f:2"), put("d.self:1", "d.self:1"), put("d.twice:1", "d.same:1", "d.same:1"))
		w.write(put("d.old:1", "d.f:9"), storage.DeleteScopeParents{Scope: "d.dropped:1"})
		below := func(p storage.EdgePage, of ...string) []string { return w.edges(storage.EdgeParent, p, of...) }
		w.same([]string{"d.f:1<d.d:1 sole", "d.f:1<d.d:2", "d.f:2<d.d:2", "d.f:9<d.old:1 sole", "d.self:1<d.self:1 sole"},
			below(storage.EdgePage{}, "d.f:2", "d.self:1", "d.f:9", "d.f:1", "d.f:2", "unknown:1"))
		w.same([]string{"d.top:1<d.f:1 sole"}, below(storage.EdgePage{}, "d.top:1"))
		w.same([]string{"d.same:1<d.twice:1 sole"}, below(storage.EdgePage{}, "d.same:1"))
		w.same([]string{"d.f:1<d.d:1 sole"}, below(storage.EdgePage{Limit: 1}, "d.f:1"))
		w.same([]string(nil), below(storage.EdgePage{}))
		w.same([]string{"d.f:1<d.d:2", "d.f:2<d.d:2"}, below(storage.EdgePage{AfterOf: "d.f:1", AfterFrom: "d.d:1"}, "d.f:2", "d.f:1"))
		w.same([]string{"d.f:1<d.d:2"}, below(storage.EdgePage{AfterOf: "d.f:1", AfterFrom: "d.d:10", Limit: 1}, "d.f:2", "d.f:1"))
		w.write(put("d.d:2", "d.f:2"))
		w.same([]string{"d.f:2<d.d:2 sole"}, below(storage.EdgePage{AfterOf: "d.f:1z", AfterFrom: "d.z:1"}, "d.f:2", "d.f:1"))
	}},
	{ID: "B91", Rule: "listEdges of groups, orgs and managers yields the users whose record names them, as it is now, active or not", Needs: needsLookups, run: func(w *world) {
		off := user("c", in("g2", "g1"), under("m"))
		off.Active = false
		named := func(id string, orgs ...string) authz.User {
			u := user(id, in("g1"), under("m"))
			u.OrgIDs = orgs
			return u
		}
		w.write(storage.UpsertUser{User: off}, storage.UpsertUser{User: named("b", "o1", "o2")}, storage.UpsertUser{User: named("a", "o2")}, storage.UpsertUser{User: named("gone", "o1")},
			storage.UpsertUser{User: user("m")}, storage.UpsertUser{User: user("moved", in("g1", "g3"), under("m"))})
		elsewhere, none := "a", []string{}
		w.write(storage.DeleteUser{UserID: "gone"}, storage.PatchUser{UserID: "moved", GroupIDs: &[]string{"g3"}, ManagerUserID: &elsewhere, OrgIDs: &none})
		w.same([]string{"g1<a", "g1<b", "g1<c", "g2<c", "g3<moved"}, w.edges(storage.EdgeGroup, storage.EdgePage{}, "g3", "g2", "g1", "g9"))
		w.same([]string{"o1<b", "o2<a", "o2<b"}, w.edges(storage.EdgeOrg, storage.EdgePage{}, "o2", "o1"))
		w.same([]string{"a<moved", "m<a", "m<b", "m<c"}, w.edges(storage.EdgeManager, storage.EdgePage{}, "m", "a"))
		w.same([]string{"o2<b"}, w.edges(storage.EdgeOrg, storage.EdgePage{AfterOf: "o2", AfterFrom: "a"}, "o1", "o2"))
		w.code(storage.CodeValidation, listError(w.ListEdges(w.ctx, "friend", []string{"a"}, storage.EdgePage{})))
	}},
	{ID: "B92", Rule: "listGrantsAt yields the grants at the scopes by scope, subject and id, expired ones too; pages go on after a place where no grant is", Needs: needsLookups, run: func(w *world) {
		w.write(insertGrants(grant("5", "user:a", at("d.f:1")), grant("1", "user:b", at("d.f:1"), ofRole("r")), grant("2", "group:z", at("d.f:1"), until(1)), grant("4", "user:a", at("d.f:1")),
			grant("6", "everyone", at("*")), grant("7", "user:a", at("d.f:10")), grant("8", "user:a", at("d.f:2")))...)
		listed := func(p storage.GrantsAtPage, scopes ...string) []string {
			return ids(rows(w, w.ListGrantsAt(w.ctx, scopes, p)), grantID)
		}
		w.same([]string{"6", "2", "4", "5", "1", "8"}, listed(storage.GrantsAtPage{}, "d.f:2", "d.f:1", "*", "d.f:1", "d.f:3"))
		w.same([]string{"4", "5"}, listed(storage.GrantsAtPage{AfterScope: "d.f:1", AfterSubject: "user:", Limit: 2}, "d.f:1", "d.f:2"))
		w.same([]string{"5", "1", "8"}, listed(storage.GrantsAtPage{AfterScope: "d.f:1", AfterSubject: "user:a", AfterID: "4"}, "d.f:1", "d.f:2"))
		w.same([]string{"8"}, listed(storage.GrantsAtPage{AfterScope: "d.f:10", AfterSubject: "user:a", AfterID: "7"}, "d.f:1", "d.f:2"))
		w.same([]string(nil), listed(storage.GrantsAtPage{}))
		first := rows(w, w.ListGrantsAt(w.ctx, []string{"d.f:1"}, storage.GrantsAtPage{AfterSubject: "user:a", AfterScope: "d.f:1", AfterID: "5"}))
		w.same([]authz.Grant{grant("1", "user:b", at("d.f:1"), ofRole("r"))}, first)
	}},
	{ID: "B93", Rule: "readPeople answers the records that exist, the grants to the users themselves and their revokes, at those scopes or at all, each once and by id; without the grants where they are left out", Needs: needsLookups, run: func(w *world) {
		a, b := user("a", in("g2", "g1"), under("b")), user("b")
		w.write(append(insertGrants(grant("3", "user:a", at("d.f:1")), grant("1", "user:c", at("d.f:1")), grant("2", "user:a"), grant("4", "group:g1", at("d.f:1")), grant("5", "user:d", at("d.f:1"))),
			storage.UpsertUser{User: b}, storage.UpsertUser{User: a}, storage.UpsertUser{User: user("d")},
			storage.InsertRevoke{Revoke: revoke("r2", "a", "d.f:1")}, storage.InsertRevoke{Revoke: revoke("r1", "b", "*")}, storage.InsertRevoke{Revoke: revoke("r3", "d", "*")})...)
		got := w.people(storage.PeopleQuery{UserIDs: []string{"c", "b", "a", "a"}, Scopes: []string{"d.f:1", "d.f:2", "d.f:1"}})
		w.same(storage.People{Users: []authz.User{a, b}, Grants: []authz.Grant{grant("1", "user:c", at("d.f:1")), grant("3", "user:a", at("d.f:1"))}, Revokes: []authz.Revoke{revoke("r2", "a", "d.f:1")}}, got)
		got = w.people(storage.PeopleQuery{UserIDs: []string{"b", "a", "c"}})
		w.same([]string{"1", "2", "3"}, ids(got.Grants, grantID))
		w.same([]string{"r1", "r2"}, ids(got.Revokes, func(r authz.Revoke) string { return r.ID }))
		for _, scopes := range [][]string{nil, {"d.f:1"}} {
			got = w.people(storage.PeopleQuery{UserIDs: []string{"a"}, Scopes: scopes, WithoutGrants: true})
			w.same(storage.People{Users: []authz.User{a}, Revokes: []authz.Revoke{revoke("r2", "a", "d.f:1")}}, got)
		}
		w.same(storage.People{Users: []authz.User{a}}, w.people(storage.PeopleQuery{UserIDs: []string{"a"}, Scopes: []string{}}))
		w.same(storage.People{}, w.people(storage.PeopleQuery{Scopes: []string{"*"}}))
	}},
	{ID: "B94", Rule: "what readPeople answers is of one instant", Needs: needsLookups, run: func(w *world) {
		state := func(n int) []storage.Change {
			mark := fmt.Sprint(n)
			return []storage.Change{storage.UpsertUser{User: user("u", in(mark))}, storage.InsertGrant{Grant: grant("g"+mark, "user:u")}, storage.InsertRevoke{Revoke: revoke("r"+mark, "u", "*")},
				storage.DeleteGrant{ID: fmt.Sprint("g", n-1)}, storage.DeleteRevoke{ID: fmt.Sprint("r", n-1)}}
		}
		w.write(state(0)...)
		reader := w.another("")
		w.against(func() bool {
			got, err := reader.ReadPeople(w.ctx, storage.PeopleQuery{UserIDs: []string{"u"}, Scopes: []string{"*"}})
			if err != nil || len(got.Users) != 1 || len(got.Grants) != 1 || len(got.Revokes) != 1 ||
				got.Grants[0].ID != "g"+got.Users[0].GroupIDs[0] || got.Revokes[0].ID != "r"+got.Users[0].GroupIDs[0] {
				w.Errorf("%+v, %v", got, err)
				return false
			}
			return true
		}, 200, func(i int) { w.write(state(i + 1)...) })
	}},
	{ID: "B95", Rule: "lookups take a thousand ids, and of more answer too_large; a thousand parents with three scopes each come in order and whole", Needs: needsLookups, run: func(w *world) {
		many := func(n int, of string) (list []string) {
			for i := range n {
				list = append(list, fmt.Sprintf("%s%04d", of, i))
			}
			return list
		}
		parents, all := many(storage.MaxScopes, "d.f:"), changes()
		var want, grants []string
		for _, parent := range parents {
			for _, scope := range many(3, parent+"/") {
				all.Changes = append(all.Changes, put(scope, parent))
				want = append(want, parent+"<"+scope+" sole")
			}
			all.Changes = append(all.Changes, insertGrants(grant("a"+parent, "user:u", at(parent)), grant("b"+parent, "user:u", at(parent)))...)
			grants = append(grants, "a"+parent, "b"+parent)
		}
		w.do(all)
		w.same(want, w.edges(storage.EdgeParent, storage.EdgePage{}, parents...))
		w.same(want[1500:2500], w.edges(storage.EdgeParent, storage.EdgePage{AfterOf: parents[499], AfterFrom: parents[499] + "/0002", Limit: 1000}, parents...))
		w.same(grants, ids(rows(w, w.ListGrantsAt(w.ctx, parents, storage.GrantsAtPage{})), grantID))
		w.same(2000, len(w.people(storage.PeopleQuery{UserIDs: append(many(storage.MaxPeople-1, "x"), "u"), Scopes: parents}).Grants))
		more := append(parents, "d.f:x")
		w.code(storage.CodeTooLarge, listError(w.ListEdges(w.ctx, storage.EdgeParent, more, storage.EdgePage{})))
		w.code(storage.CodeTooLarge, listError(w.ListGrantsAt(w.ctx, more, storage.GrantsAtPage{})))
		for _, q := range []storage.PeopleQuery{{UserIDs: more}, {UserIDs: []string{"u"}, Scopes: more}} {
			_, err := w.ReadPeople(w.ctx, q)
			w.code(storage.CodeTooLarge, err)
		}
	}},
	{ID: "B96", Rule: "rows that were written twice are told once", Needs: needsLookups, run: func(w *world) {
		w.write(put("d.d:1", "d.f:1"), storage.UpsertUser{User: user("u", in("g"), under("m"))})
		w.write(insertGrants(grant("1", "user:u", at("d.f:1")))...)
		w.write(put("d.d:1", "d.f:1"), storage.UpsertUser{User: user("u", in("g"), under("m"))})
		w.same([]string{"d.f:1<d.d:1 sole"}, w.edges(storage.EdgeParent, storage.EdgePage{}, "d.f:1"))
		w.same([]string{"g<u"}, w.edges(storage.EdgeGroup, storage.EdgePage{}, "g"))
		w.same([]string{"m<u"}, w.edges(storage.EdgeManager, storage.EdgePage{}, "m"))
	}},
	{ID: "B97", Rule: "listUserIDs yields the ids that records, their managers, grants to users, revokes and requests name, each once, by bytes; a prefix selects, and pages go on after any id", Needs: needsLookups, run: func(w *world) {
		filed := fullRequest("q")
		filed.RequesterUserID = "b.requester"
		w.write(append(insertGrants(grant("1", "user:a.granted", at("d.f:1")), grant("2", "user:a.granted"), grant("3", "group:a.group"), grant("4", "everyone"), grant("5", "user:gone"), grant("6", "service:a.service")),
			storage.UpsertUser{User: user("a.Z", under("b.manager"))}, storage.UpsertUser{User: user("é")}, storage.UpsertUser{User: user("a.é")}, storage.UpsertUser{User: user("a.granted")}, storage.UpsertUser{User: user("a")},
			storage.InsertRevoke{Revoke: revoke("r1", "b", "*")}, storage.InsertRevoke{Revoke: revoke("r2", "a.granted", "d.f:1")}, storage.InsertRequest{Request: filed})...)
		w.write(storage.DeleteGrant{ID: "5"})
		listed := func(prefix string, p storage.Page) []string { return rows(w, w.ListUserIDs(w.ctx, prefix, p)) }
		all := []string{"a", "a.Z", "a.granted", "a.é", "b", "b.manager", "b.requester", "é"}
		w.same(all, listed("", storage.Page{}))
		for n := 1; n <= len(all); n++ {
			w.same(all[:n], listed("", storage.Page{Limit: n}))
			w.same(all[n:], append([]string{}, listed("", storage.Page{After: all[n-1]})...))
		}
		w.same(all[1:4], listed("a.", storage.Page{}))
		w.same(all[:4], listed("a", storage.Page{}))
		w.same(all[:2], listed("a", storage.Page{Limit: 2}))
		w.same(all[2:4], listed("a", storage.Page{After: "a.Za"}))
		w.same([]string{"b.requester"}, listed("b.re", storage.Page{After: "a.granted"}))
		for _, none := range []string{"a.granted0", "A", "user:", "group"} {
			w.same([]string(nil), listed(none, storage.Page{}))
		}
		w.same([]string(nil), listed("a", storage.Page{After: "b"}))
		w.code(storage.CodeValidation, listError(w.ListUserIDs(w.ctx, "", storage.Page{Limit: -1})))
	}},
	{ID: "B98", Rule: "listUserIDs of more than a chunk, most of whose rows name one user, comes whole", Needs: needsLookups, run: func(w *world) {
		all, want := changes(), []string{}
		for i := range 1500 {
			id := fmt.Sprintf("u%04d", i)
			want = append(want, id)
			all.Changes = append(all.Changes, insertGrants(grant("a"+id, "user:"+id), grant("b"+id, "user:u0700"))...)
		}
		w.do(all)
		w.same(want, rows(w, w.ListUserIDs(w.ctx, "", storage.Page{})))
		w.same(want[650:1450], rows(w, w.ListUserIDs(w.ctx, "u", storage.Page{After: want[649], Limit: 800})))
	}},
	{ID: "B99", Rule: "findGrants selects by subject, scope, role, pattern, actor, expiry and time, each by itself and together; \"\" is nobody's", Needs: needsLookups, run: func(w *world) {
		approved := authz.Provenance{Kind: authz.ProvenanceRequest, RequestID: "q", ApprovedBy: "ann"}
		w.write(insertGrants(
			grant("1", "user:ann", func(g *authz.Grant) { g.Pattern, g.CreatedAt, g.Provenance = "a.b.*", 10, authz.AdminProvenance("ann") }),
			grant("2", "user:bob", ofRole("r"), at("d.f:1"), until(50), func(g *authz.Grant) { g.CreatedAt, g.Provenance = 20, approved }),
			grant("3", "user:ann", ofRole("r"), at("d.f:1"), until(40), func(g *authz.Grant) { g.CreatedAt, g.Provenance = 20, authz.ImportProvenance("ann") }),
			grant("4", "everyone", ofRole("r"), until(50), func(g *authz.Grant) { g.CreatedAt, g.Provenance = 15, authz.AdminProvenance("bob") }))...)
		for _, c := range []struct {
			q    authz.GrantSearch
			want string
		}{
			{authz.GrantSearch{}, "1234"}, {authz.GrantSearch{Subject: new("user:ann")}, "13"}, {authz.GrantSearch{Subject: new("")}, ""},
			{authz.GrantSearch{Scope: new("*")}, "14"}, {authz.GrantSearch{Scope: new("d.f:1")}, "23"}, {authz.GrantSearch{Instances: true}, "23"},
			{authz.GrantSearch{Instances: true, Scope: new("*")}, ""}, {authz.GrantSearch{RoleID: new("r")}, "234"}, {authz.GrantSearch{RoleID: new("")}, ""},
			{authz.GrantSearch{Pattern: new("a.b.*")}, "1"}, {authz.GrantSearch{Pattern: new("a.b.c")}, ""}, {authz.GrantSearch{Pattern: new("")}, ""},
			{authz.GrantSearch{Actor: new("ann")}, "12"}, {authz.GrantSearch{Actor: new("bob")}, "4"}, {authz.GrantSearch{Actor: new("an")}, ""}, {authz.GrantSearch{Actor: new("")}, ""},
			{authz.GrantSearch{Expires: new(true)}, "234"}, {authz.GrantSearch{Expires: new(false)}, "1"},
			{authz.GrantSearch{ExpiresFrom: new(int64(41))}, "24"}, {authz.GrantSearch{ExpiresFrom: new(int64(40)), ExpiresTo: new(int64(50))}, "3"},
			{authz.GrantSearch{ExpiresTo: new(int64(100))}, "234"}, {authz.GrantSearch{ExpiresTo: new(int64(100)), Expires: new(false)}, ""},
			{authz.GrantSearch{CreatedFrom: new(int64(15))}, "234"}, {authz.GrantSearch{CreatedTo: new(int64(15))}, "1"},
			{authz.GrantSearch{CreatedFrom: new(int64(15)), CreatedTo: new(int64(20))}, "4"},
			{authz.GrantSearch{Actor: new("ann"), Instances: true, ExpiresTo: new(int64(51)), CreatedFrom: new(int64(20))}, "2"},
		} {
			for order, reversed := range map[authz.GrantOrder]string{authz.GrantsByID: "1234", authz.GrantsNewest: "3241", authz.GrantsExpiring: "324"} {
				q, want := c.q, ""
				q.Order = order
				for _, id := range reversed {
					if strings.ContainsRune(c.want, id) {
						want += string(id)
					}
				}
				w.same(want, w.found(q, storage.FoundPage{}))
			}
		}
		w.code(storage.CodeValidation, listError(w.FindGrants(w.ctx, authz.GrantSearch{Order: "createdAt"}, storage.FoundPage{})))
		w.code(storage.CodeValidation, listError(w.FindGrants(w.ctx, authz.GrantSearch{}, storage.FoundPage{Limit: -1})))
	}},
	{ID: "B99b", Rule: "pages of findGrants go on after any place of its order, and more than a chunk of one instant comes whole", Needs: needsLookups, run: func(w *world) {
		all := changes()
		byID, newest, expiring := []string{}, []string{}, []string{}
		for i := range 1500 {
			g := grant(fmt.Sprintf("g%04d", i), "user:u", func(g *authz.Grant) { g.CreatedAt = int64(i / 1200) })
			if i%2 == 0 {
				g.ExpiresAt = authz.ExpiresAt(int64(i % 4))
			}
			all.Changes = append(all.Changes, insertGrants(g)...)
			byID = append(byID, g.ID)
		}
		w.do(all)
		newest = append(newest, byID...)
		slices.Reverse(newest)
		for _, rest := range []int{0, 2} {
			for i, id := range byID {
				if i%4 == rest {
					expiring = append(expiring, id)
				}
			}
		}
		for order, want := range map[authz.GrantOrder][]string{authz.GrantsByID: byID, authz.GrantsNewest: newest, authz.GrantsExpiring: expiring} {
			var got []string
			var places []authz.GrantPlace
			for _, g := range rows(w, w.FindGrants(w.ctx, authz.GrantSearch{Order: order}, storage.FoundPage{})) {
				got, places = append(got, g.ID), append(places, order.Place(&g))
			}
			w.same(want, got)
			for _, n := range []int{0, 1, 298, 299, 300, 374, 375, len(want) - 2} {
				w.same(strings.Join(want[n+1:min(n+4, len(want))], ""), w.found(authz.GrantSearch{Order: order}, storage.FoundPage{After: places[n], Limit: 3}))
			}
			w.same("", w.found(authz.GrantSearch{Order: order}, storage.FoundPage{After: places[len(want)-1]}))
		}
		gone := authz.GrantPlace{At: 1, ID: "g1350x"}
		w.same("g1350g1349", w.found(authz.GrantSearch{Order: authz.GrantsNewest}, storage.FoundPage{After: gone, Limit: 2}))
	}},
	{ID: "B99c", Rule: "findGrants follows every change of a grant: what was deleted is gone, and another expiry is found where it belongs", Needs: needsLookups, run: func(w *world) {
		w.write(insertGrants(grant("1", "user:u", until(30)), grant("2", "user:u"), grant("3", "user:u", until(10)))...)
		w.same("31", w.found(authz.GrantSearch{Order: authz.GrantsExpiring}, storage.FoundPage{}))
		again := grant("2", "user:u", until(20))
		w.write(storage.DeleteGrant{ID: "2"}, storage.DeleteGrant{ID: "3"})
		w.write(insertGrants(again)...)
		w.same("21", w.found(authz.GrantSearch{Order: authz.GrantsExpiring}, storage.FoundPage{}))
		w.same("21", w.found(authz.GrantSearch{Order: authz.GrantsNewest}, storage.FoundPage{}))
		w.same("12", w.found(authz.GrantSearch{}, storage.FoundPage{}))
	}},
}

func put(scope string, parents ...string) storage.Change {
	return storage.PutScopeParents{Scope: scope, Parents: parents}
}

// found are the ids of grants in one word.
func (s *named) found(q authz.GrantSearch, p storage.FoundPage) (ids string) {
	for g, err := range s.FindGrants(s.w.ctx, q, p) {
		if err != nil {
			s.w.Fatalf("findGrants: %v", err)
		}
		ids += g.ID
	}
	return ids
}

func until(at int64) func(*authz.Grant) {
	return func(g *authz.Grant) { g.ExpiresAt = authz.ExpiresAt(at) }
}

// edges are listed as Of<From, with "sole" behind where they are.
func (s *named) edges(kind storage.EdgeKind, p storage.EdgePage, of ...string) (all []string) {
	for e, err := range s.ListEdges(s.w.ctx, kind, of, p) {
		if err != nil {
			s.w.Fatalf("listEdges: %v", err)
		}
		edge := e.Of + "<" + e.From
		if e.Sole {
			edge += " sole"
		}
		all = append(all, edge)
	}
	return all
}

func (s *named) people(q storage.PeopleQuery) storage.People {
	got, err := s.ReadPeople(s.w.ctx, q)
	if err != nil {
		s.w.Fatalf("readPeople: %v", err)
	}
	return got
}
