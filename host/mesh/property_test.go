package mesh_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/mesh"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

var (
	partitions = []string{"billing", "docs", "hq", "hr"}
	owns       = map[string][]string{"billing": {"billing", "invoicing"}, "docs": {"docs"}, "hq": {}, "hr": {"hr"}}
	published  = []string{"billing.audit.read", "billing.invoices.read", "billing.invoices.void", "docs.files.list", "docs.files.read", "docs.admin.run",
		"hr.people.edit", "hr.people.read", "invoicing.runs.start"}
	askedKeys   = append(slices.Clone(published), "billing.gone.x", "zoom.rooms.join")
	subtrees    = []string{"*", "billing.*", "billing.invoices.*", "docs.*", "docs.files.*", "hr.*", "hr.people.*", "invoicing.*", "zoom.*", "authz_internal.*"}
	principals  = []authz.Principal{authz.UserPrincipal("jane"), authz.UserPrincipal("bob"), authz.ServicePrincipal("ci")}
	subjects    = []string{"user:jane", "user:bob", "service:ci", "group:ops", "group:staff", "org:acme", "directs:bob", "orgof:root", "everyone"}
	scopesOfAll = []string{"*", "docs.box:1", "docs.box:2", "docs.box:3", "billing.box:1", "billing.box:2", "hr.box:1", "hr.box:2"}
)

func keysOf[K comparable, V any](m map[K]V) iter.Seq[K] { return maps.Keys(m) }

// drawn is a mesh in a database, with a reference for each member.
type drawn struct {
	*rapid.T
	driver     storage.Driver
	now        int64
	members    []authz.MeshMember
	edges      []authz.MeshEdge
	org        string
	stored     map[string]*rows
	references map[string]*reference
	running    map[string]*running
	ids        int
}

func (w *drawn) chance(of int, what string) bool {
	return rapid.IntRange(0, of-1).Draw(w.T, what) == 0
}

func (w *drawn) some(of []string, what string) []string {
	return rapid.SliceOfDistinct(rapid.SampledFrom(of), rapid.ID[string]).Draw(w.T, what)
}

func (w *drawn) one(of []string, what string) string { return rapid.SampledFrom(of).Draw(w.T, what) }

func (w *drawn) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// drawRegistry registers namespaces mostly with whom they belong to, and now and then
// with another: also those that an application owns by its catalog.
func (w *drawn) drawRegistry() {
	w.members, w.edges = nil, nil
	for _, p := range partitions {
		if p != w.org && w.chance(12, p+" is no member") {
			continue
		}
		w.members = append(w.members, authz.MeshMember{Partition: p, Namespaces: []string{}})
	}
	if len(w.members) == 0 {
		w.members = append(w.members, authz.MeshMember{Partition: "docs", Namespaces: []string{}})
	}
	for _, p := range partitions {
		for _, ns := range owns[p] {
			at := slices.IndexFunc(w.members, func(m authz.MeshMember) bool { return m.Partition == p })
			if w.chance(8, ns+" is another's") {
				at = rapid.IntRange(-1, len(w.members)-1).Draw(w.T, "whose")
			}
			if at >= 0 {
				w.members[at].Namespaces = append(w.members[at].Namespaces, ns)
			}
		}
	}
	for _, from := range w.members {
		for _, to := range w.members {
			if from.Partition != to.Partition && !w.chance(8, "no edge") {
				mode := rapid.SampledFrom([]authz.MeshMode{authz.MeshRead, authz.MeshWrite}).Draw(w.T, "mode")
				w.edges = append(w.edges, edge(from.Partition, to.Partition, mode))
			}
		}
	}
}

func (w *drawn) pattern() string {
	return w.one(slices.Concat(subtrees, subtrees, askedKeys), "pattern")
}

// id is new everywhere or, of a global row, one that other partitions have too: rows
// that a promotion left behind keep theirs. Order and kind of the ids have nothing in
// common.
func (w *drawn) id(scope string, in *rows) string {
	if id := fmt.Sprintf("g%02d", rapid.IntRange(0, 40).Draw(w.T, "id")); scope == "*" &&
		!slices.ContainsFunc(in.grants, func(g authz.Grant) bool { return g.ID == id }) &&
		!slices.ContainsFunc(in.revokes, func(r authz.Revoke) bool { return r.ID == id }) {
		return id
	}
	w.ids++
	return fmt.Sprintf("g%02d-%d", (w.ids*17)%40, w.ids)
}

// drawRows adds rows to a partition, in storage and in the reference. They are written
// below every rule of an application: those of a member may be of any version, and of
// any vocabulary.
func (w *drawn) drawRows(partition string) {
	in := w.stored[partition]
	var changes []storage.Change
	if !in.begun {
		in.begun = true
		for _, id := range w.some([]string{"jane", "bob", "root"}, "users of "+partition) {
			u := authz.User{UserID: id, Active: !w.chance(6, "inactive"), GroupIDs: w.some([]string{"ops", "staff"}, "groups"), OrgIDs: w.some([]string{"acme"}, "orgs")}
			if m := w.one([]string{"", "bob", "root"}, "manager"); m != id {
				u.ManagerUserID = m
			}
			in.users = append(in.users, u)
			changes = append(changes, storage.UpsertUser{User: u})
		}
		for _, id := range w.some([]string{"ops", "staff"}, "stored groups") {
			g := authz.Group{ID: id, Name: id, Parents: []string{}}
			if id == "ops" && w.chance(2, "nested") {
				g.Parents = []string{"staff"}
			}
			in.groups = append(in.groups, g)
			changes = append(changes, storage.UpsertGroup{Group: g})
		}
		for _, id := range w.some([]string{"r0", "r1", "mesh:billing:r0"}, "roles") {
			role := authz.Role{ID: id, Name: id, Patterns: []string{w.pattern(), w.pattern()}}
			in.roles = append(in.roles, role)
			changes = append(changes, storage.UpsertRole{Role: role})
		}
		for _, ns := range owns[partition] {
			in.parents[ns+".box:1"] = nil
			changes = append(changes, storage.PutScopeParents{Scope: ns + ".box:1", Parents: []string{"*"}})
			if w.chance(2, "box 2 lies in box 1") {
				in.parents[ns+".box:2"] = []string{ns + ".box:1"}
				changes = append(changes, storage.PutScopeParents{Scope: ns + ".box:2", Parents: []string{ns + ".box:1"}})
			}
		}
	}
	for range rapid.IntRange(0, 6).Draw(w.T, "grants of "+partition) {
		g := authz.Grant{Subject: w.one(subjects, "subject"), Scope: w.one(append([]string{"*", "*", "*", "*"}, scopesOfAll...), "scope"), Provenance: admin, CreatedAt: int64(rapid.IntRange(1, 3).Draw(w.T, "created"))}
		g.ID = w.id(g.Scope, in)
		if w.chance(2, "by role") {
			g.RoleID = w.one([]string{"r0", "r0", "r1", "mesh:billing:r0", "ghost"}, "role")
		} else {
			g.Pattern = w.pattern()
		}
		if w.chance(4, "expires") {
			g.ExpiresAt = authz.ExpiresAt(rapid.SampledFrom([]int64{500, 1500, 20_000}).Draw(w.T, "expiry"))
		}
		in.grants = append(in.grants, g)
		changes = append(changes, storage.InsertGrant{Grant: g})
	}
	for range rapid.IntRange(0, 2).Draw(w.T, "revokes of "+partition) {
		r := authz.Revoke{UserID: w.one([]string{"jane", "bob"}, "user"), Pattern: w.pattern(), Scope: w.one(append([]string{"*", "*"}, scopesOfAll...), "scope"), Provenance: admin, CreatedAt: 1}
		r.ID = w.id(r.Scope, in)
		in.revokes = append(in.revokes, r)
		changes = append(changes, storage.InsertRevoke{Revoke: r})
	}
	if len(changes) == 0 {
		return
	}
	s, err := w.driver.Open(context.Background(), partition)
	w.must(err)
	w.ids++
	_, err = s.Commit(context.Background(), storage.Commit{ID: fmt.Sprint("rows-", w.ids), At: w.now, Changes: changes, Events: []authz.Event{{Type: authz.EventAll}}})
	w.must(err)
	w.must(s.Close())
}

// drawMember starts the application of a partition, which imports what it likes.
func (w *drawn) drawMember(partition string) {
	r := &reference{partition: partition, namespaces: owns[partition], imports: map[string][]string{}, strict: map[string]bool{}, wired: map[string]bool{},
		merging: !w.chance(8, "imports are vocabulary only"), stored: w.stored}
	in := catalog.Input{Namespaces: owns[partition]}
	if len(in.Namespaces) == 0 {
		in.Namespaces = []string{partition}
		r.namespaces = in.Namespaces
	}
	for _, ns := range in.Namespaces {
		in.ScopeTypes = append(in.ScopeTypes, catalog.ScopeType{Type: ns + ".box", Parent: ns + ".box"})
		for _, key := range published {
			if authz.NamespaceOf(key) == ns {
				in.Permissions = append(in.Permissions, catalog.PermissionSet{Leaves: []catalog.Permission{{Key: key, Scopes: []string{ns + ".box"}}}})
			}
		}
	}
	for _, ns := range w.some([]string{"billing", "invoicing", "docs", "hr", "zoom"}, partition+" imports") {
		if slices.Contains(in.Namespaces, ns) {
			continue
		}
		imported := catalog.Import{Namespace: ns, Strict: w.chance(4, "strict")}
		r.strict[ns], r.imports[ns] = imported.Strict, []string{}
		for _, p := range slices.Concat(subtrees, askedKeys) {
			if authz.NamespaceOf(p) == ns && w.chance(2, "entry "+p) {
				permission := catalog.Permission{Key: p}
				if r.wired[p] = w.chance(2, "wired"); r.wired[p] {
					for _, own := range in.Namespaces {
						permission.Scopes = append(permission.Scopes, own+".box")
					}
				}
				imported.Permissions = append(imported.Permissions, permission)
				r.imports[ns] = append(r.imports[ns], p)
			}
		}
		in.Imports = append(in.Imports, imported)
		if ns == "zoom" || w.chance(5, "except "+ns) {
			r.except = append(r.except, ns)
		}
	}
	c, err := catalog.Build(in)
	w.must(err)
	conn, err := mesh.Connect(mesh.Options{Partition: partition, Open: w.driver.Open, Clock: func() int64 { return w.now },
		Driver: storage.DriverInfo{Name: "memory", CrossProcess: true}})
	w.must(err)
	w.Cleanup(func() { _ = conn.Close() })
	own, err := conn.Storage(context.Background())
	w.must(err)
	store := conn.Member(own, c, mesh.MemberOptions{Imports: r.merging, Except: r.except})
	app, err := application.New(context.Background(), application.Options{Name: partition, Catalog: c, Store: store, Ancestry: application.Stored(store),
		Elsewhere: store.Elsewhere, Log: store.Log, Clock: func() int64 { return w.now }})
	w.must(err)
	w.Cleanup(func() { _ = app.Close() })
	asks, err := client.New(client.Options{Provider: app, Catalog: c, Strict: true, Clock: func() int64 { return w.now }})
	w.must(err)
	w.Cleanup(asks.Close)
	w.references[partition], w.running[partition] = r, &running{app, asks}
}

// register stores the registry as it was drawn.
func (w *drawn) register(designate bool) {
	c, err := mesh.Connect(mesh.Options{Partition: "admin", Open: w.driver.Open, Clock: func() int64 { return w.now },
		Driver: storage.DriverInfo{Name: "memory", CrossProcess: true}})
	w.must(err)
	defer c.Close()
	in := mesh.Put{Members: w.members, Edges: w.edges}
	if designate {
		in.Org = &w.org
	}
	_, err = c.PutRegistry(context.Background(), in, admin)
	w.must(err)
	for _, r := range w.references {
		r.members, r.edges, r.org = w.members, w.edges, w.org
	}
}

// judge asks every member everything.
func (w *drawn) judge() {
	for _, partition := range partitions {
		r, member := w.references[partition], w.running[partition]
		if slices.ContainsFunc(slices.Collect(keysOf(r.imports)), func(ns string) bool { return r.owner(ns) == partition }) {
			continue // its catalog imports what the registry says is its own: VerifyImports refuses that
		}
		for _, scope := range scopesOfAll {
			if scope != "*" && !slices.Contains(r.namespaces, authz.NamespaceOf(scope)) {
				continue // its application does not know the type
			}
			for _, key := range askedKeys {
				for _, p := range principals {
					w.ask(r, member, p, key, scope)
				}
			}
		}
		w.list(r, member)
	}
}

func (w *drawn) ask(r *reference, member *running, p authz.Principal, key, scope string) {
	got, err := member.client.Can(context.Background(), p, key, scope)
	var unknown *authz.UnknownPermissionError
	var refused *authz.MeshError
	switch refusal := r.refusal(); {
	case !r.known(key):
		if !errors.As(err, &unknown) {
			w.Fatalf("%s: %s asks %s: %v %v, want an unknown permission", r.partition, p.Subject(), key, got, err)
		}
	case refusal != "":
		if got || !errors.As(err, &refused) || refused.Code != refusal {
			w.Fatalf("%s: %s asks %s at %s: %v %v, want %s", r.partition, p.Subject(), key, scope, got, err, refusal)
		}
	default:
		if want := r.allowed(p, key, scope, w.now); err != nil || got != want {
			w.Fatalf("%s: %s asks %s at %s: %v %v, the chapter says %v\n%s", r.partition, p.Subject(), key, scope, got, err, want, w.dump(r))
		}
	}
}

func (w *drawn) dump(r *reference) string {
	var b strings.Builder
	fmt.Fprintf(&b, "imports %v except %v merging %v\nmembers %v edges %v org %q\n", r.imports, r.except, r.merging, r.members, r.edges, r.org)
	for p, in := range w.stored {
		fmt.Fprintf(&b, "%s: users %+v groups %+v roles %+v grants %+v revokes %+v\n", p, in.users, in.groups, in.roles, in.grants, in.revokes)
	}
	return b.String()
}

// list compares the member's lists with the definition, page by page.
func (w *drawn) list(r *reference, member *running) {
	if r.refusal() == authz.MeshNotAMember {
		return
	}
	optional := func(of []string, what string) *string {
		if w.chance(2, "any "+what) {
			return nil
		}
		return ptr(w.one(of, what))
	}
	q := provider.GrantQuery{Subject: optional(subjects, "subject"), Scope: optional(scopesOfAll[:4], "scope"), RoleID: optional([]string{"r0", "r1"}, "role")}
	want := r.listedGrants(storage.GrantFilter{Subject: q.Subject, Scope: q.Scope, RoleID: q.RoleID})
	same(w, "grants", want, func(p provider.Paging) iter.Seq2[authz.Grant, error] {
		q.Paging = p
		return member.ListGrants(context.Background(), q)
	}, func(g authz.Grant) string { return g.ID })
	q.Paging = provider.Paging{}
	if n, err := member.CountGrants(context.Background(), q); err != nil || n != int64(len(want)) {
		w.Fatalf("%s counts %d grants %v, want %d", r.partition, n, err, len(want))
	}
	f := provider.GrantsQuery{GrantSearch: authz.GrantSearch{Subject: optional(subjects, "found subject"), Scope: optional(scopesOfAll[:4], "found scope"), Pattern: optional(subtrees, "found pattern"),
		Instances: w.chance(3, "instances"), Order: rapid.SampledFrom([]authz.GrantOrder{authz.GrantsByID, authz.GrantsNewest, authz.GrantsExpiring}).Draw(w.T, "order")}}
	same(w, "found grants", r.foundGrants(f.GrantSearch), func(p provider.Paging) iter.Seq2[authz.Grant, error] {
		f.Paging = p
		return member.FindGrants(context.Background(), f)
	}, func(g authz.Grant) string { return f.Order.Text(f.Order.Place(&g)) })
	v := provider.RevokeQuery{UserID: optional([]string{"jane", "bob"}, "user"), Scope: optional(scopesOfAll[:4], "scope")}
	same(w, "revokes", r.listedRevokes(storage.RevokeFilter{UserID: v.UserID, Scope: v.Scope}), func(p provider.Paging) iter.Seq2[authz.Revoke, error] {
		v.Paging = p
		return member.ListRevokes(context.Background(), v)
	}, func(r authz.Revoke) string { return r.ID })
	same(w, "users", r.listedUsers(), func(p provider.Paging) iter.Seq2[provider.ListedUser, error] {
		return member.ListUsers(context.Background(), provider.UserQuery{Paging: p})
	}, func(u provider.ListedUser) string { return u.UserID })
	same(w, "roles", r.listedRoles(), func(p provider.Paging) iter.Seq2[authz.Role, error] {
		return member.ListRoles(context.Background(), p)
	}, func(role authz.Role) string { return role.ID })
}

func same[Row any](w *drawn, what string, want []Row, list func(provider.Paging) iter.Seq2[Row, error], id func(Row) string) {
	w.Helper()
	p := provider.Paging{Limit: rapid.IntRange(0, 3).Draw(w.T, "limit")}
	var got []Row
	for {
		n := 0
		for row, err := range list(p) {
			w.must(err)
			got, n, p.After = append(got, row), n+1, id(row)
		}
		if p.Limit > 0 && n > p.Limit {
			w.Fatalf("a page of %d %s has %d", p.Limit, what, n)
		}
		if p.Limit == 0 || n < p.Limit {
			break
		}
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(authz.Expiry{})); diff != "" && len(want)+len(got) > 0 {
		w.Fatalf("%s: %s", what, diff)
	}
}

// What a member answers is a plain evaluation over the merged rows; nothing that a peer
// stores, registers or designates reaches the member's own keys by another way.
func TestAMemberAnswersAPlainEvaluationOverTheMergedRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &drawn{T: t, driver: memory.New(memory.Options{}), now: 1_000, stored: map[string]*rows{},
			references: map[string]*reference{}, running: map[string]*running{}}
		defer w.driver.Close()
		if w.chance(2, "an organization of the mesh") {
			w.org = w.one(partitions, "org")
		}
		w.drawRegistry()
		w.register(w.org != "")
		for _, p := range partitions {
			w.stored[p] = &rows{parents: map[string][]string{}}
			w.drawRows(p)
			w.drawMember(p)
		}
		for _, r := range w.references {
			r.members, r.edges, r.org = w.members, w.edges, w.org
		}
		w.judge()

		// Grants run out, rows come, and who may reach whom changes, all under the running
		// members.
		w.now += 6_000
		w.drawRegistry()
		w.register(false)
		w.drawRows(w.one(partitions, "grows"))
		w.drawRows(w.one(partitions, "grows too"))
		w.judge()
	})
}
