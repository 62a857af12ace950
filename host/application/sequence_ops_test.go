package application_test

import (
	"context"
	"fmt"
	"slices"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"

	"pgregory.net/rapid"
)

// The small world of the sequences: operations must meet each other's rows.
var (
	seqUsers    = []string{"u1", "u2", "boss"}
	seqGroups   = []string{"g1", "g2", "g3"}
	seqRoles    = []string{"r1", "r2"}
	seqPatterns = []string{"docs.files.read", "docs.files.delete", "docs.files.*", "docs.admin.read", "docs.*"}
	seqScopes   = []string{"*", "docs.folder:1", "docs.folder:2", "docs.doc:1"}
	seqSubjects = []string{"user:u1", "user:u2", "user:boss", "group:g1", "group:g2", "group:g3", "directs:boss", "orgof:boss",
		"directs:u2", "orgof:u2", "org:o", "service:s", "everyone"}
)

func (q *sequence) pick(what string, of []string) string {
	return rapid.SampledFrom(of).Draw(q.T, what)
}

func (q *sequence) some(what string, of []string, least, most int) []string {
	return rapid.SliceOfN(rapid.SampledFrom(of), least, most).Draw(q.T, what)
}

func (q *sequence) sometimes(what string) bool { return rapid.Bool().Draw(q.T, what) }

func (q *sequence) grantInput() provider.GrantInput {
	in := provider.GrantInput{Subject: q.pick("subject", seqSubjects), Scope: q.pick("scope", seqScopes)}
	if q.sometimes("by role") {
		in.RoleID = q.pick("role", seqRoles)
	} else {
		in.Pattern = q.pick("pattern", seqPatterns)
	}
	if rapid.IntRange(0, 3).Draw(q.T, "expires") == 0 {
		in.ExpiresAt = authz.ExpiresAt(q.now.Load() + int64(rapid.IntRange(1, 5000).Draw(q.T, "ms")))
	}
	return in
}

// a row of the store, or one that is not there.
func anyOf[Row any](q *sequence, what string, list []Row, id func(Row) string) string {
	found := []string{"ghost"}
	for _, row := range list {
		found = append(found, id(row))
	}
	return q.pick(what, found[min(1, len(found)-1):])
}

// exists draws a predicate under which everything exists, or only some.
func (q *sequence) exists(what string, of []string) provider.Exists {
	if q.sometimes("no predicate " + what) {
		return nil
	}
	return nothing(q.some(what, of, 0, len(of))...)
}

func (q *sequence) snapshot() directory.Snapshot {
	var s directory.Snapshot
	if q.sometimes("groups") {
		s.Groups = []directory.Group{}
		for _, id := range distinctOf(q.some("group ids", seqGroups, 0, 3)) {
			s.Groups = append(s.Groups, directory.Group{ID: id, Name: id, Parents: q.some("parents", seqGroups, 0, 2)})
		}
	}
	if q.sometimes("memberships") {
		s.Memberships = map[string][]string{q.pick("member", seqUsers): q.some("of", seqGroups, 0, 2)}
	}
	if q.sometimes("edges") {
		s.ReportingEdges = map[string]string{q.pick("report", seqUsers): q.pick("manager", seqUsers)}
	}
	if q.sometimes("orgs") {
		s.Orgs = map[string][]string{q.pick("in org", seqUsers): {"o"}}
	}
	if q.sometimes("users") {
		s.Users = []directory.User{{UserID: q.pick("user", seqUsers), Active: ptr(q.sometimes("active"))}}
	}
	return s
}

func distinctOf(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

// sequenceWrites draws the arguments of each operation that writes, and performs
// it. A new operation gets a line here, a question in sequence.ask when it moves
// an answer, and its entry in logged.apply.
var sequenceWrites = map[string]func(ctx context.Context, q *sequence) error{
	"createGrant": func(ctx context.Context, q *sequence) error { return createGrant(q.grantInput())(ctx, q.app) },
	"createGrants": func(ctx context.Context, q *sequence) error {
		in := make([]provider.GrantInput, rapid.IntRange(0, 3).Draw(q.T, "grants"))
		for i := range in {
			in[i] = q.grantInput()
		}
		_, err := q.app.CreateGrants(ctx, in, root)
		return err
	},
	"deleteGrant": func(ctx context.Context, q *sequence) error {
		held := rows(q.t, q.store.ListGrants(ctx, storage.GrantFilter{}, storage.Page{}))
		return q.app.DeleteGrant(ctx, anyOf(q, "grant", held, func(g authz.Grant) string { return g.ID }), root)
	},
	"changeGrants": func(ctx context.Context, q *sequence) error {
		var in provider.GrantsChange
		for _, g := range rows(q.t, q.store.ListGrants(ctx, storage.GrantFilter{}, storage.Page{})) {
			switch rapid.IntRange(0, 3).Draw(q.T, "fate") {
			case 0:
				in.Delete = append(in.Delete, g.ID)
			case 1:
				e := provider.GrantExpiry{GrantID: g.ID}
				if q.sometimes("dated") {
					e.ExpiresAt = ptr(now + int64(rapid.IntRange(-1, 2).Draw(q.T, "expiry")))
				}
				in.Expire = append(in.Expire, e)
			}
		}
		for range rapid.IntRange(0, 2).Draw(q.T, "new") {
			in.Create = append(in.Create, q.grantInput())
		}
		return changeGrants(in)(ctx, q.app)
	},
	"createRevoke": func(ctx context.Context, q *sequence) error {
		return createRevoke(provider.RevokeInput{UserID: q.pick("user", seqUsers), Pattern: q.pick("pattern", seqPatterns), Scope: q.pick("scope", seqScopes)})(ctx, q.app)
	},
	"deleteRevoke": func(ctx context.Context, q *sequence) error {
		held := rows(q.t, q.store.ListRevokes(ctx, storage.RevokeFilter{}, storage.Page{}))
		return q.app.DeleteRevoke(ctx, anyOf(q, "revoke", held, func(v authz.Revoke) string { return v.ID }), root)
	},
	"deleteSubject": func(ctx context.Context, q *sequence) error {
		return deleteSubject(q.pick("subject", seqSubjects), root)(ctx, q.app)
	},
	"deleteScope": func(ctx context.Context, q *sequence) error {
		return deleteScope(q.pick("scope", seqScopes), root)(ctx, q.app)
	},
	"reconcileRows": func(ctx context.Context, q *sequence) error {
		return reconcile(provider.Reconciliation{UserExists: q.exists("users", seqUsers), OrgExists: q.exists("orgs", []string{"o"}),
			ScopeExists: q.exists("scopes", seqScopes), Sweep: true, Provenance: root})(ctx, q.app)
	},
	"createRole": func(ctx context.Context, q *sequence) error {
		return createRole(provider.RoleInput{ID: ptr(q.pick("role", seqRoles)), Name: q.name(), Patterns: q.some("patterns", seqPatterns, 0, 2), Requestable: q.requestable()})(ctx, q.app)
	},
	"updateRole": func(ctx context.Context, q *sequence) error {
		_, err := q.app.UpdateRole(ctx, q.pick("role", seqRoles), provider.RoleUpdate{Name: ptr(q.name()), Patterns: ptr(q.some("patterns", seqPatterns, 0, 2)), Requestable: q.requestable()}, root)
		return err
	},
	"deleteRole": func(ctx context.Context, q *sequence) error {
		return q.app.DeleteRole(ctx, q.pick("role", seqRoles), root)
	},
	"createGroup": func(ctx context.Context, q *sequence) error {
		return createGroup(provider.GroupInput{ID: ptr(q.pick("group", seqGroups)), Name: q.name(), Parents: q.some("parents", seqGroups, 0, 2)})(ctx, q.app)
	},
	"updateGroup": func(ctx context.Context, q *sequence) error {
		_, err := q.app.UpdateGroup(ctx, q.pick("group", seqGroups), provider.GroupUpdate{Name: ptr(q.name())}, root)
		return err
	},
	"setGroupParents": func(ctx context.Context, q *sequence) error {
		return setParents(q.pick("group", seqGroups), q.some("parents", seqGroups, 0, 2)...)(ctx, q.app)
	},
	"deleteGroup": func(ctx context.Context, q *sequence) error { return q.app.DeleteGroup(ctx, q.anyGroup(ctx), root) },
	"dissolveVirtualParent": func(ctx context.Context, q *sequence) error {
		return dissolve(q.anyGroup(ctx), root)(ctx, q.app)
	},
	"setGroupMembership": func(ctx context.Context, q *sequence) error {
		return q.app.SetGroupMembership(ctx, q.pick("user", seqUsers), q.some("groups", seqGroups, 0, 3), root)
	},
	"changeGroupMembership": func(ctx context.Context, q *sequence) error {
		change := provider.MembershipChange{Add: q.some("added", seqGroups, 0, 2), Remove: q.some("removed", seqGroups, 0, 2)}
		return q.app.ChangeGroupMembership(ctx, q.pick("user", seqUsers), change, root)
	},
	"setUserActive": func(ctx context.Context, q *sequence) error {
		return q.app.SetUserActive(ctx, q.pick("user", seqUsers), q.sometimes("active"), root)
	},
	"setReportingEdge": func(ctx context.Context, q *sequence) error {
		return q.app.SetReportingEdge(ctx, q.pick("user", seqUsers), q.pick("manager", append([]string{""}, seqUsers...)), root)
	},
	"publishCatalog": func(ctx context.Context, q *sequence) error {
		return publish(`{"formatVersion":1,"namespace":"docs","namespaces":["docs"],"leaves":[],"groups":[],"scopeTypes":[],"navigation":[]}`)(ctx, q.app)
	},
	"publishImports": func(ctx context.Context, q *sequence) error {
		return publishImports(`{"formatVersion":1,"namespace":"docs","imports":[]}`)(ctx, q.app)
	},
	"importDirectory": func(ctx context.Context, q *sequence) error {
		_, err := q.app.ImportDirectory(ctx, q.snapshot(), "hr", directory.Options{Authoritative: q.sometimes("authoritative")})
		return err
	},
	"notifyScopeMoved": func(ctx context.Context, q *sequence) error {
		return q.app.NotifyScopeMoved(ctx, q.pick("scope", seqScopes))
	},
	"setScopeParents": func(ctx context.Context, q *sequence) error {
		entry := provider.ScopeParents{Scope: q.pick("scope", seqScopes[1:])}
		if q.sometimes("recorded") {
			entry.Parents = ptr(q.some("parents", seqScopes[1:3], 0, 1))
		}
		return setScopeParents(entry)(ctx, q.app)
	},
	"submitRequest": func(ctx context.Context, q *sequence) error {
		in := provider.RequestInput{RequesterUserID: q.pick("requester", seqUsers), RoleID: q.pick("role", append([]string{"led"}, seqRoles...)), Scope: q.pick("scope", seqScopes)}
		return asking(in)(ctx, q.app)
	},
	"decideRequest": func(ctx context.Context, q *sequence) error {
		return deciding(q.anyRequest(ctx).ID, provider.DecisionInput{DeciderUserID: q.pick("decider", seqUsers),
			Decision: q.pick("decision", []string{authz.DecisionApproved, authz.DecisionDenied})})(ctx, q.app)
	},
	"cancelRequest": func(ctx context.Context, q *sequence) error {
		asked := q.anyRequest(ctx)
		return cancelling(asked.ID, asked.RequesterUserID)(ctx, q.app)
	},
	"reportMetrics": func(ctx context.Context, q *sequence) error {
		row, n := q.pick("row", []string{"a", "b"}), rapid.Int64Range(1, 9).Draw(q.T, "times")
		q.usage[row] += n
		return q.app.ReportMetrics(ctx, counted(q.now.Load(), matched(row, float64(n))))
	},
	"applyOrgSnapshot": func(ctx context.Context, q *sequence) error {
		s, err := q.app.ExportOrgSnapshot(ctx)
		must(q.t, err)
		s.Groups, s.Roles = thinned(q, "group", s.Groups), thinned(q, "role", s.Roles)
		s.GlobalGrants, s.GlobalRevokes = thinned(q, "grant", s.GlobalGrants), thinned(q, "revoke", s.GlobalRevokes)
		for i := range s.Users {
			s.Users[i].Active = q.sometimes("active")
		}
		in := provider.ApplyOrgSnapshotInput{Snapshot: s, Source: "hosted"}
		if q.sometimes("with authority") {
			in.Authority = ptr(true) // restated
		}
		return q.app.ApplyOrgSnapshot(ctx, in)
	},
}

// thinned leaves out one row, sometimes.
func thinned[Row any](q *sequence, what string, list []Row) []Row {
	if len(list) == 0 || !q.sometimes("drop a "+what) {
		return list
	}
	i := rapid.IntRange(0, len(list)-1).Draw(q.T, what)
	return slices.Delete(list, i, i+1)
}

// requestable are policies that grant at once, in one step, and in two.
func (q *sequence) requestable() *authz.Requestable {
	switch rapid.IntRange(0, 3).Draw(q.T, "policy") {
	case 1:
		return &authz.Requestable{Stages: stages(met)}
	case 2:
		return &authz.Requestable{Stages: stages(management(1))}
	case 3:
		return &authz.Requestable{Stages: stages(management(1), management(2))}
	}
	return nil
}

// anyRequest is a request of the world, or one that is not there.
func (q *sequence) anyRequest(ctx context.Context) authz.Request {
	found := rows(q.t, q.store.ListRequests(ctx, storage.RequestFilter{}, storage.RequestPage{}))
	if len(found) == 0 {
		return authz.Request{ID: "ghost", RequesterUserID: "u1"}
	}
	return rapid.SampledFrom(found).Draw(q.T, "request")
}

func (q *sequence) name() string { return fmt.Sprintf("n%d", rapid.IntRange(0, 9).Draw(q.T, "name")) }

// anyGroup is a group of the world, or one that an import has condensed.
func (q *sequence) anyGroup(ctx context.Context) string {
	return anyOf(q, "group", rows(q.t, q.store.ListGroups(ctx, storage.Page{})), func(g authz.Group) string { return g.ID })
}
