package application_test

import (
	"context"
	"encoding/json"
	"iter"
	"strings"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/provider"
)

// refusal is a sentence of the spec about something that is refused.
type refusal struct {
	sentence string
	do       func(ctx context.Context, a *application.Application) error
	code     authz.Code
	message  string
}

func ptr[T any](v T) *T { return &v }

func createGrant(in provider.GrantInput) func(context.Context, *application.Application) error {
	return func(ctx context.Context, a *application.Application) error {
		_, err := a.CreateGrant(ctx, in, root)
		return err
	}
}

func createRevoke(in provider.RevokeInput) func(context.Context, *application.Application) error {
	return func(ctx context.Context, a *application.Application) error {
		_, err := a.CreateRevoke(ctx, in, root)
		return err
	}
}

func createRole(in provider.RoleInput) func(context.Context, *application.Application) error {
	return func(ctx context.Context, a *application.Application) error {
		_, err := a.CreateRole(ctx, in, root)
		return err
	}
}

func requestable(stages ...authz.Stage) provider.RoleInput {
	return provider.RoleInput{Name: "r", Requestable: &authz.Requestable{Stages: stages}}
}

func autoStage(p authz.Predicate) provider.RoleInput {
	return requestable(authz.Stage{Kind: authz.StageAuto, Predicate: &p})
}

func createGroup(in provider.GroupInput) func(context.Context, *application.Application) error {
	return func(ctx context.Context, a *application.Application) error {
		_, err := a.CreateGroup(ctx, in, root)
		return err
	}
}

func setParents(id string, parents ...string) func(context.Context, *application.Application) error {
	return func(ctx context.Context, a *application.Application) error {
		_, err := a.SetGroupParents(ctx, id, parents, root)
		return err
	}
}

func setScopeParents(entries ...provider.ScopeParents) func(context.Context, *application.Application) error {
	return func(ctx context.Context, a *application.Application) error {
		_, err := a.SetScopeParents(ctx, entries, root)
		return err
	}
}

func under(scope string, parents ...string) provider.ScopeParents {
	return provider.ScopeParents{Scope: scope, Parents: &parents}
}

func publish(document string) func(context.Context, *application.Application) error {
	return func(ctx context.Context, a *application.Application) error {
		_, err := a.PublishCatalog(ctx, json.RawMessage(document), root)
		return err
	}
}

func importing(s directory.Snapshot) func(context.Context, *application.Application) error {
	return func(ctx context.Context, a *application.Application) error {
		_, err := a.ImportDirectory(ctx, s, "hr", directory.Options{})
		return err
	}
}

func first[Row any](list iter.Seq2[Row, error]) error {
	for _, err := range list {
		return err
	}
	return nil
}

var long = strings.Repeat("x", 1025)

var refusals = []refusal{
	{"a grant names a subject of the grammar", createGrant(provider.GrantInput{Subject: "USER:x", Pattern: "docs.*"}), authz.CodeValidation, `"USER:x" is not a valid subject id`},
	{"a grant's scope is * or type:instance", createGrant(provider.GrantInput{Subject: "everyone", Pattern: "docs.*", Scope: "docs.doc:"}), authz.CodeValidation, "scope ids are `*` or `<scopeType>:<instanceId>`"},
	{"a scope type is a key", createGrant(provider.GrantInput{Subject: "everyone", Pattern: "docs.*", Scope: "a b:c"}), authz.CodeValidation, `invalid scope type "a b"`},
	{"a grant has a role or a pattern", createGrant(provider.GrantInput{Subject: "everyone"}), authz.CodeValidation, "a grant carries exactly one of roleId / pattern"},
	{"a grant has not both role and pattern", createGrant(provider.GrantInput{Subject: "everyone", Pattern: "docs.*", RoleID: "reader"}), authz.CodeValidation, "a grant carries exactly one of roleId / pattern"},
	{"wildcards end a pattern", createGrant(provider.GrantInput{Subject: "everyone", Pattern: "docs.*.read"}), authz.CodeValidation, "wildcards may only appear as a final `.*` segment or the bare `*`"},
	{"a wildcard's prefix has no wildcard", createGrant(provider.GrantInput{Subject: "everyone", Pattern: "docs.*.*"}), authz.CodeValidation, "wildcards may only appear as the final segment"},
	{"a wildcard's prefix is a key", createGrant(provider.GrantInput{Subject: "everyone", Pattern: "docs..*"}), authz.CodeValidation, `invalid group prefix "docs."`},
	{"a segment has the key grammar", createGrant(provider.GrantInput{Subject: "everyone", Pattern: "docs.1"}), authz.CodeValidation, `invalid segment "1": segments must match ^[a-zA-Z][a-zA-Z0-9_]*$`},
	{"a granted pattern is known", createGrant(provider.GrantInput{Subject: "everyone", Pattern: "docs.filez.read"}), authz.CodeValidation, `pattern "docs.filez.read" references nothing in the catalog`},
	{"a group is no pattern", createGrant(provider.GrantInput{Subject: "everyone", Pattern: "docs.files"}), authz.CodeValidation, `the subtree pattern is "docs.files.*"`},
	{"a pattern is grantable at the scope's type", createGrant(provider.GrantInput{Subject: "everyone", Pattern: "docs.files.delete", Scope: "docs.folder:1"}), authz.CodeValidation, `not grantable at scope type "docs.folder" — no matched leaf declares it (matched leaves are grantable at: docs.doc, or globally at "*")`},
	{"a scope type is declared", createGrant(provider.GrantInput{Subject: "everyone", Pattern: "docs.*", Scope: "docs.team:1"}), authz.CodeValidation, `unknown scope type "docs.team"`},
	{"an expiry is an instant", createGrant(provider.GrantInput{Subject: "everyone", Pattern: "docs.*", ExpiresAt: authz.ExpiresAt(authz.MaxInstant + 1)}), authz.CodeValidation, "expiresAt must be a finite epoch-millisecond number — received 9007199254740992"},
	{"an expiry that JSON held as text is no instant", func(ctx context.Context, a *application.Application) error {
		var in provider.GrantInput
		if err := json.Unmarshal([]byte(`{"subject":"everyone","pattern":"docs.*","expiresAt":"soon"}`), &in); err != nil {
			return err
		}
		_, err := a.CreateGrant(ctx, in, root)
		return err
	}, authz.CodeValidation, "expiresAt must be a finite epoch-millisecond number"},
	{"an expiry is not now", createGrant(provider.GrantInput{Subject: "everyone", Pattern: "docs.*", ExpiresAt: authz.ExpiresAt(now)}), authz.CodeValidation, "expiresAt is already in the past"},
	{"a granted role exists", createGrant(provider.GrantInput{Subject: "everyone", RoleID: "ghost"}), authz.CodeNotFound, `role "ghost" does not exist`},
	{"a granted role has a pattern for the scope", createGrant(provider.GrantInput{Subject: "everyone", RoleID: "reader", Scope: "docs.tag:1"}), authz.CodeValidation, `role "reader" has no pattern grantable at docs.tag:1`},
	{"a change of grants changes one", changeGrants(provider.GrantsChange{}), authz.CodeValidation, "a change of grants needs delete, expire or create"},
	{"a change of grants is bounded", changeGrants(provider.GrantsChange{Delete: make([]string, 1001)}), authz.CodeValidation, "a change names at most 1000 grants, this one 1001"},
	{"a grant is deleted or given an expiry", changeGrants(provider.GrantsChange{Delete: []string{"g-doc"}, Expire: []provider.GrantExpiry{{GrantID: "g-doc"}}}), authz.CodeValidation, `grant "g-doc" stands twice in the change`},
	{"grants to be changed are named", changeGrants(provider.GrantsChange{Delete: []string{""}}), authz.CodeValidation, "grantId must be a non-empty string"},
	{"grants to be deleted exist", changeGrants(provider.GrantsChange{Delete: []string{"g-doc", "ghost"}}), authz.CodeNotFound, `grant "ghost" not found`},
	{"grants to be changed exist", changeGrants(provider.GrantsChange{Expire: []provider.GrantExpiry{{GrantID: "ghost"}}}), authz.CodeNotFound, `grant "ghost" not found`},
	{"a new expiry is not now", changeGrants(provider.GrantsChange{Expire: []provider.GrantExpiry{{GrantID: "g-doc", ExpiresAt: ptr(now)}}}), authz.CodeValidation, "expiresAt is already in the past"},
	{"a new expiry is an instant", changeGrants(provider.GrantsChange{Expire: []provider.GrantExpiry{{GrantID: "g-doc", ExpiresAt: ptr(authz.MaxInstant + 1)}}}), authz.CodeValidation, "expiresAt must be a finite epoch-millisecond number — received 9007199254740992"},
	{"created grants are judged as others", changeGrants(provider.GrantsChange{Delete: []string{"g-doc"}, Create: []provider.GrantInput{{Subject: "everyone", RoleID: "ghost"}}}), authz.CodeNotFound, `role "ghost" does not exist`},
	{"subjects are bounded", createGrant(provider.GrantInput{Subject: "user:" + long, Pattern: "docs.*"}), authz.CodeValidation, "subject is longer than 1024 bytes"},
	{"scopes are bounded", createGrant(provider.GrantInput{Subject: "everyone", Pattern: "docs.*", Scope: "docs.doc:" + long}), authz.CodeValidation, "scope is longer than 1024 bytes"},
	{"text is UTF-8", createGrant(provider.GrantInput{Subject: "user:\xff", Pattern: "docs.*"}), authz.CodeValidation, "subject must be valid UTF-8"},
	{"text has no U+0000", createGrant(provider.GrantInput{Subject: "user:a\x00b", Pattern: "docs.*"}), authz.CodeValidation, "subject must not contain U+0000"},
	{"a long pattern is cut in messages", createGrant(provider.GrantInput{Subject: "everyone", Pattern: "docs." + strings.Repeat("y", 200)}), authz.CodeValidation, "…(+"},

	{"provenance is required", func(ctx context.Context, a *application.Application) error {
		_, err := a.CreateGrant(ctx, provider.GrantInput{Subject: "everyone", Pattern: "docs.*"}, authz.Provenance{})
		return err
	}, authz.CodeValidation, "provenance is required: "},
	{"provenance comes before any other check, also of an empty bulk", func(ctx context.Context, a *application.Application) error {
		_, err := a.CreateGrants(ctx, nil, authz.Provenance{Kind: "admin"})
		return err
	}, authz.CodeValidation, `provenance.actorUserId is required for kind "admin"`},
	{"provenance kinds are a closed union", func(ctx context.Context, a *application.Application) error {
		return a.DeleteGrant(ctx, "g-global", authz.Provenance{Kind: "bogus"})
	}, authz.CodeValidation, `unknown provenance kind "bogus"`},
	{"provenance text is bounded", func(ctx context.Context, a *application.Application) error {
		return a.DeleteGrant(ctx, "g-global", authz.AdminProvenance(long))
	}, authz.CodeValidation, "provenance.actorUserId is longer than 1024 bytes"},

	{"one bad element refuses the bulk with its error", func(ctx context.Context, a *application.Application) error {
		_, err := a.CreateGrants(ctx, []provider.GrantInput{{Subject: "everyone", Pattern: "docs.*"}, {Subject: "everyone", RoleID: "ghost"}}, root)
		return err
	}, authz.CodeNotFound, `role "ghost" does not exist`},
	{"a bulk fits one commit", func(ctx context.Context, a *application.Application) error {
		_, err := a.CreateGrants(ctx, make([]provider.GrantInput, 50_001), root)
		return err
	}, authz.CodeValidation, "inputs must hold at most 50000 grants"},
	{"elements of a bulk are judged in input order", func(ctx context.Context, a *application.Application) error {
		_, err := a.CreateGrants(ctx, []provider.GrantInput{{Subject: "everyone", RoleID: "ghost"}, {Subject: "nobody", Pattern: "docs.*"}}, root)
		return err
	}, authz.CodeNotFound, `role "ghost" does not exist`},
	{"a deleted grant exists", func(ctx context.Context, a *application.Application) error { return a.DeleteGrant(ctx, "ghost", root) }, authz.CodeNotFound, "grant not found"},
	{"a deleted revoke exists", func(ctx context.Context, a *application.Application) error { return a.DeleteRevoke(ctx, "ghost", root) }, authz.CodeNotFound, "revoke not found"},
	{"a revoke names a user", createRevoke(provider.RevokeInput{Pattern: "docs.*"}), authz.CodeValidation, "userId must be a non-empty string"},
	{"a revoke has a pattern", createRevoke(provider.RevokeInput{UserID: "u"}), authz.CodeValidation, "empty pattern"},
	{"a mistyped revoke would fail open", createRevoke(provider.RevokeInput{UserID: "u", Pattern: "docs.filez.*"}), authz.CodeValidation, "references nothing in the catalog"},
	{"a revoke's scope is well formed", createRevoke(provider.RevokeInput{UserID: "u", Pattern: "docs.*", Scope: "nowhere"}), authz.CodeValidation, "scope ids are"},

	{"a caller's role id is not empty", createRole(provider.RoleInput{ID: ptr(""), Name: "r"}), authz.CodeValidation, "a caller-supplied id must be a non-empty string"},
	{"a role id is never taken over", createRole(provider.RoleInput{ID: ptr("reader"), Name: "r"}), authz.CodeConflict, `role id "reader" already exists`},
	{"a role's patterns are known", createRole(provider.RoleInput{Name: "r", Patterns: []string{"docs.*", "x.y"}}), authz.CodeValidation, `pattern "x.y" references nothing in the catalog`},
	{"names are bounded", createRole(provider.RoleInput{Name: long}), authz.CodeValidation, "name is longer than 1024 bytes"},
	{"descriptions are bounded", createRole(provider.RoleInput{Name: "r", Description: strings.Repeat("d", 65537)}), authz.CodeValidation, "description is longer than 65536 bytes"},
	{"a policy has stages", createRole(requestable()), authz.CodeValidation, "requestable without a resolvable policy: "},
	{"stages are a closed union", createRole(requestable(authz.Stage{Kind: "magic"})), authz.CodeValidation, `unknown stage kind "magic"`},
	{"an auto stage has a predicate", createRole(requestable(authz.Stage{Kind: "auto"})), authz.CodeValidation, "an auto stage needs a predicate"},
	{"a named_approvers stage has a role", createRole(requestable(authz.Stage{Kind: "named_approvers"})), authz.CodeValidation, "needs a roleId"},
	{"layers count from 1", createRole(requestable(authz.Stage{Kind: "management", Layers: ptr(int64(0))})), authz.CodeValidation, "management layers must be at least 1"},
	{"management needs a hierarchy", createRole(requestable(authz.Stage{Kind: "management"})), authz.CodeValidation, "policy references management layers but no reporting hierarchy is populated"},
	{"predicates are a closed union", createRole(autoStage(authz.Predicate{Type: "luck"})), authz.CodeValidation, `unknown predicate type "luck"`},
	{"in_group has a group", createRole(autoStage(authz.Predicate{Type: "in_group"})), authz.CodeValidation, "needs its groupId"},
	{"in_org has an org", createRole(autoStage(authz.Predicate{Type: "in_org"})), authz.CodeValidation, "needs its orgId"},
	{"member_of has a subject of the grammar", createRole(autoStage(authz.Predicate{Type: "member_of", Subject: "u1"})), authz.CodeValidation, `"u1" is not a valid subject id`},
	{"holds_pattern has a pattern of the grammar", createRole(autoStage(authz.Predicate{Type: "holds_pattern", Pattern: "a..b"})), authz.CodeValidation, "invalid segment"},
	{"a maximum duration is above 0", createRole(provider.RoleInput{Name: "r", Requestable: &authz.Requestable{MaxDurationMs: -1}}), authz.CodeValidation, "maxDurationMs"},
	{"prompt ids are distinct", createRole(provider.RoleInput{Name: "r", Requestable: &authz.Requestable{Prompts: []authz.Prompt{{ID: "a"}, {ID: "a"}}}}), authz.CodeValidation, `prompt id "a" is repeated`},
	{"prompt kinds are a closed union", createRole(provider.RoleInput{Name: "r", Requestable: &authz.Requestable{Prompts: []authz.Prompt{{ID: "a", Kind: "dance"}}}}), authz.CodeValidation, `unknown prompt kind "dance"`},
	{"an updated role exists", func(ctx context.Context, a *application.Application) error {
		_, err := a.UpdateRole(ctx, "ghost", provider.RoleUpdate{}, root)
		return err
	}, authz.CodeNotFound, "role not found"},
	{"the patterns of a role under request are frozen", func(ctx context.Context, a *application.Application) error {
		_, err := a.UpdateRole(ctx, "wanted", provider.RoleUpdate{Patterns: &[]string{"docs.*"}}, root)
		return err
	}, authz.CodeConflict, "role is referenced by 1 pending request(s); its patterns are frozen "},
	{"a role with grants stays, expired ones counted", func(ctx context.Context, a *application.Application) error { return a.DeleteRole(ctx, "reader", root) }, authz.CodeConflict, "role is assigned by 1 grant(s); "},
	{"a role under request stays", func(ctx context.Context, a *application.Application) error { return a.DeleteRole(ctx, "wanted", root) }, authz.CodeConflict, "role is referenced by 1 pending request(s); "},
	{"a role of approvers of a pending request stays", func(ctx context.Context, a *application.Application) error {
		return a.DeleteRole(ctx, "approver", root)
	}, authz.CodeConflict, "role is referenced by 1 pending request(s); "},
	{"role ids are not empty", func(ctx context.Context, a *application.Application) error { return a.DeleteRole(ctx, "", root) }, authz.CodeValidation, "roleId must be a non-empty string"},

	{"a caller's group id is not empty", createGroup(provider.GroupInput{ID: ptr("")}), authz.CodeValidation, "a caller-supplied id must be a non-empty string"},
	{"a group id is never taken over", createGroup(provider.GroupInput{ID: ptr("a")}), authz.CodeConflict, `group id "a" already exists`},
	{"a parent group exists", createGroup(provider.GroupInput{Parents: []string{"a", "ghost"}}), authz.CodeNotFound, `parent group "ghost" does not exist`},
	{"a new group closes no cycle over edges that an import left", createGroup(provider.GroupInput{ID: ptr("later"), Parents: []string{"dangling"}}), authz.CodeGraphCycle, "cycle: later → dangling → later"},
	{"an updated group exists", func(ctx context.Context, a *application.Application) error {
		_, err := a.UpdateGroup(ctx, "ghost", provider.GroupUpdate{}, root)
		return err
	}, authz.CodeNotFound, "group not found"},
	{"a group with new parents exists", setParents("ghost"), authz.CodeNotFound, "group not found"},
	{"new parents exist", setParents("a", "ghost"), authz.CodeNotFound, `parent group "ghost" does not exist`},
	{"a group is not its own parent", setParents("a", "a"), authz.CodeGraphCycle, "cycle: a → a"},
	{"a cycle is reported from the edited group on", setParents("a", "c"), authz.CodeGraphCycle, "cycle: a → c → b → a"},
	{"a deleted group exists", func(ctx context.Context, a *application.Application) error { return a.DeleteGroup(ctx, "ghost", root) }, authz.CodeNotFound, "group not found"},
	{"memberships name groups that exist", func(ctx context.Context, a *application.Application) error {
		return a.SetGroupMembership(ctx, "u", []string{"a", "ghost"}, root)
	}, authz.CodeNotFound, `group "ghost" does not exist`},
	{"added groups exist", changeMembership("u", provider.MembershipChange{Add: []string{"a", "ghost"}}), authz.CodeNotFound, `group "ghost" does not exist`},
	{"a change of memberships changes one", changeMembership("u", provider.MembershipChange{}), authz.CodeValidation, "a change of membership needs add or remove"},
	{"a group is added or taken away", changeMembership("u", provider.MembershipChange{Add: []string{"a", "b"}, Remove: []string{"b"}}), authz.CodeValidation, `group "b" stands in add and in remove`},
	{"a change of memberships is of a user", changeMembership("", provider.MembershipChange{Add: []string{"a"}}), authz.CodeValidation, "userId must be a non-empty string"},
	{"memberships are of a user", func(ctx context.Context, a *application.Application) error {
		return a.SetGroupMembership(ctx, "", nil, root)
	}, authz.CodeValidation, "userId must be a non-empty string"},

	{"activity is of a user", func(ctx context.Context, a *application.Application) error {
		return a.SetUserActive(ctx, "", false, root)
	}, authz.CodeValidation, "userId must be a non-empty string"},
	{"nobody is their own manager", func(ctx context.Context, a *application.Application) error {
		return a.SetReportingEdge(ctx, "u", "u", root)
	}, authz.CodeGraphCycle, "cycle: u → u"},

	{"a document has the known format", publish(`{"formatVersion":2}`), authz.CodeValidation, "unknown catalog format 2"},
	{"a document publishes its own keys", publish(`{"formatVersion":1,"namespace":"docs","namespaces":["docs"],"leaves":[{"key":"crm.x.y"}],"groups":[],"scopeTypes":[],"navigation":[]}`), authz.CodeValidation, `catalog document publishes "crm.x.y", which is outside its own namespaces [docs]`},
	{"a document is an object", publish(`[]`), authz.CodeValidation, "document"},
	{"a document has no U+0000", publish(`{"formatVersion":1,"x":"a\\\u0000"}`), authz.CodeValidation, "must not contain U+0000"},

	{"audit instants are in range", func(ctx context.Context, a *application.Application) error {
		return first(a.ListAuditEvents(ctx, provider.AuditQuery{From: ptr(int64(1) << 60)}))
	}, authz.CodeValidation, "from must be an integer"},
	{"an audit cursor is in range", func(ctx context.Context, a *application.Application) error {
		return first(a.ListAuditEvents(ctx, provider.AuditQuery{Cursor: &authz.AuditCursor{At: -1 << 60}}))
	}, authz.CodeValidation, "cursor.at must be an integer"},
	{"list filters are text", func(ctx context.Context, a *application.Application) error {
		return first(a.ListGrants(ctx, provider.GrantQuery{Subject: ptr("user:\xff")}))
	}, authz.CodeValidation, "subject must be valid UTF-8"},
	{"a limit is not negative", func(ctx context.Context, a *application.Application) error {
		return first(a.ListRoles(ctx, provider.Paging{Limit: -1}))
	}, authz.CodeValidation, "limit must not be negative"},
	{"the same holds for counting", func(ctx context.Context, a *application.Application) error {
		_, err := a.CountGrants(ctx, provider.GrantQuery{RoleID: ptr("r\x00")})
		return err
	}, authz.CodeValidation, "roleId must not contain U+0000"},
	{"a cursor of the event log is not negative", func(ctx context.Context, a *application.Application) error {
		_, err := a.EventLog().Since(ctx, authz.Position{Seq: -1}, 1)
		return err
	}, authz.CodeValidation, "seq must be an integer"},

	{"a principal names one", func(ctx context.Context, a *application.Application) error {
		_, err := a.GetSubjectAccess(ctx, authz.Principal{UserID: "u", ServiceID: "s"})
		return err
	}, authz.CodeValidation, "a principal names both a userId and a serviceId — it must name exactly one"},
	{"a principal names somebody", func(ctx context.Context, a *application.Application) error {
		_, err := a.GetSubjectAccess(ctx, authz.Principal{})
		return err
	}, authz.CodeValidation, "a principal names neither a userId nor a serviceId"},

	{"a moved scope is well formed", func(ctx context.Context, a *application.Application) error {
		return a.NotifyScopeMoved(ctx, "docs.doc")
	}, authz.CodeValidation, "scope ids are"},
	{"the global scope cannot move", func(ctx context.Context, a *application.Application) error { return a.NotifyScopeMoved(ctx, "*") }, authz.CodeValidation, "the global scope cannot move"},

	{"scope parents come in entries", setScopeParents(), authz.CodeValidation, "entries must hold 1 to 1000 entries"},
	{"scope parents come in at most 1,000 entries", setScopeParents(make([]provider.ScopeParents, 1001)...), authz.CodeValidation, "entries must hold 1 to 1000 entries"},
	{"a scope is named at most once", setScopeParents(under("docs.doc:1"), under("docs.doc:1")), authz.CodeValidation, `scope "docs.doc:1" is named more than once`},
	{"the global scope has no parents", setScopeParents(under("*")), authz.CodeValidation, "declares no scope type"},
	{"a child's type is declared", setScopeParents(under("docs.team:1")), authz.CodeValidation, "declares no scope type"},
	{"a parent's type is declared", setScopeParents(under("docs.folder:1", "docs.team:1")), authz.CodeValidation, "declares no scope type"},
	{"a parent is a scope id", setScopeParents(under("docs.folder:1", "up")), authz.CodeValidation, "scope ids are"},
	{"a parent has the declared type", setScopeParents(under("docs.doc:1", "docs.org:1")), authz.CodeValidation, `is nested under "docs.folder"`},
	{"a type that is not multiParent takes one parent", setScopeParents(under("docs.doc:1", "docs.folder:1", "docs.folder:2")), authz.CodeValidation, "takes one parent"},
	{"a flat type takes no parent", setScopeParents(under("docs.org:1", "docs.folder:1")), authz.CodeValidation, "is flat"},
	{"a scope is not its own parent", setScopeParents(under("docs.folder:1", "docs.folder:1")), authz.CodeGraphCycle, "cycle: docs.folder:1 → docs.folder:1"},
	{"new edges close no cycle among themselves", setScopeParents(under("docs.folder:1", "docs.folder:2"), under("docs.folder:2", "docs.folder:1")), authz.CodeGraphCycle, "cycle: docs.folder:1 → docs.folder:2 → docs.folder:1"},
	{"new edges close no cycle with recorded ones", setScopeParents(under("docs.folder:top", "docs.folder:low")), authz.CodeGraphCycle, "cycle: docs.folder:top → docs.folder:low → docs.folder:top"},

	{"an import names its source", func(ctx context.Context, a *application.Application) error {
		_, err := a.ImportDirectory(ctx, directory.Snapshot{}, "", directory.Options{})
		return err
	}, authz.CodeValidation, `provenance.source is required for kind "import"`},
	{"imported groups have ids", importing(directory.Snapshot{Groups: []directory.Group{{Name: "x"}}}), authz.CodeValidation, "group id must be a non-empty string"},
	{"imported users have ids", importing(directory.Snapshot{Users: []directory.User{{}}}), authz.CodeValidation, "userId must be a non-empty string"},
	{"imported memberships are of users", importing(directory.Snapshot{Memberships: map[string][]string{"": {"a"}}}), authz.CodeValidation, "userId must be a non-empty string"},
	{"imported managers have ids", importing(directory.Snapshot{ReportingEdges: map[string]string{"u": ""}}), authz.CodeValidation, "managerUserId must be a non-empty string"},
	{"imported orgs have ids", importing(directory.Snapshot{Orgs: map[string][]string{"u": {""}}}), authz.CodeValidation, "org id must be a non-empty string"},
	{"a virtual group's id is bounded like any other", importing(directory.Snapshot{Groups: []directory.Group{
		{ID: strings.Repeat("p", 600), Parents: []string{strings.Repeat("q", 600)}}, {ID: strings.Repeat("q", 600), Parents: []string{strings.Repeat("p", 600)}}}}),
		authz.CodeValidation, "longer than 1024 bytes"},
}

func changeGrants(in provider.GrantsChange) func(context.Context, *application.Application) error {
	return func(ctx context.Context, a *application.Application) error {
		_, err := a.ChangeGrants(ctx, in, root)
		return err
	}
}

func changeMembership(userID string, change provider.MembershipChange) func(context.Context, *application.Application) error {
	return func(ctx context.Context, a *application.Application) error {
		return a.ChangeGroupMembership(ctx, userID, change, root)
	}
}
