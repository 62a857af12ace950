package application_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

func deleteSubject(subject string, prov authz.Provenance) func(context.Context, *application.Application) error {
	return func(ctx context.Context, a *application.Application) error {
		_, err := a.DeleteSubject(ctx, subject, prov)
		return err
	}
}

func deleteScope(scope string, prov authz.Provenance) func(context.Context, *application.Application) error {
	return func(ctx context.Context, a *application.Application) error {
		_, err := a.DeleteScope(ctx, scope, prov)
		return err
	}
}

func dissolve(id string, prov authz.Provenance) func(context.Context, *application.Application) error {
	return func(ctx context.Context, a *application.Application) error {
		return a.DissolveVirtualParent(ctx, id, prov)
	}
}

func reconcile(in provider.Reconciliation) func(context.Context, *application.Application) error {
	return func(ctx context.Context, a *application.Application) error {
		_, err := a.ReconcileRows(ctx, in)
		return err
	}
}

func publishImports(manifest string) func(context.Context, *application.Application) error {
	return func(ctx context.Context, a *application.Application) error {
		_, err := a.PublishImports(ctx, json.RawMessage(manifest), root)
		return err
	}
}

// nothing exists but the ids.
func nothing(but ...string) provider.Exists {
	return func(_ context.Context, id string) (bool, error) { return slices.Contains(but, id), nil }
}

var cleanupRefusals = []refusal{
	{"a deleted subject is of the grammar", deleteSubject("u", root), authz.CodeValidation, `"u" is not a valid subject id`},
	{"subjects to delete are bounded", deleteSubject("user:"+long, root), authz.CodeValidation, "subject is longer than 1024 bytes"},
	{"deleting a subject is by somebody, and that comes first", deleteSubject("u", authz.Provenance{}), authz.CodeValidation, "provenance is required: "},
	{"the global scope stays", deleteScope("*", root), authz.CodeValidation, "the global scope is not a deletable resource"},
	{"a deleted scope is of the grammar", deleteScope("docs.doc", root), authz.CodeValidation, "scope ids are `*` or `<scopeType>:<instanceId>`"},
	{"scopes to delete are bounded", deleteScope("docs.doc:"+long, root), authz.CodeValidation, "scope is longer than 1024 bytes"},
	{"deleting a scope is by somebody, and that comes first", deleteScope("*", authz.Provenance{}), authz.CodeValidation, "provenance is required: "},
	{"a dissolved group exists", dissolve("later", root), authz.CodeNotFound, "group not found"},
	{"a dissolved group has an id", dissolve("", root), authz.CodeValidation, "groupId must be a non-empty string"},
	{"dissolving is by somebody, and that comes first", dissolve("later", authz.Provenance{}), authz.CodeValidation, "provenance is required: "},
	{"a sweep is by somebody", reconcile(provider.Reconciliation{Sweep: true, UserExists: nothing()}), authz.CodeValidation, "reconcileRows with sweep: true requires provenance "},
	{"a sweep's provenance is judged before anything is read", reconcile(provider.Reconciliation{Sweep: true, Provenance: authz.Provenance{Kind: "admin"},
		UserExists: func(context.Context, string) (bool, error) { panic("asked") }}), authz.CodeValidation, "provenance.actorUserId is required"},
	{"a manifest has the known format", publishImports(`{"formatVersion":3}`), authz.CodeValidation, "unknown import manifest format 3"},
	{"a manifest does not import its own namespace", publishImports(`{"formatVersion":1,"namespace":"docs","imports":[{"namespace":"docs"}]}`), authz.CodeValidation,
		`manifest declares an import of "docs", which is the publishing application's own namespace`},
	{"a manifest has no U+0000", publishImports(`{"formatVersion":1,"x":"\u0000"}`), authz.CodeValidation, "manifest must not contain U+0000"},
}

func TestTheEffectsOfCleanUpAreAsTheChapterSays(t *testing.T) {
	cases := []struct {
		sentence string
		write    func(context.Context, *application.Application) error
		want     effects
	}{
		{"with a user go its rows, those of its implicit groups, its requests and its record", deleteSubject("user:u", root), effects{
			[]string{
				`root grant.delete g-doc {"subject":"user:u","reason":"subject deleted"}`,
				`root grant.delete g-expired {"subject":"user:u","reason":"subject deleted"}`,
				`root grant.delete h-doc {"subject":"user:u","reason":"subject deleted"}`,
				`root grant.delete c-directs {"subject":"directs:u","reason":"subject deleted"}`,
				`root grant.delete b-orgof {"subject":"orgof:u","reason":"subject deleted"}`,
				`root revoke.delete v-doc {"userId":"u","reason":"subject deleted"}`,
				`root revoke.delete v-global {"userId":"u","reason":"subject deleted"}`,
				`root revoke.delete w-doc {"userId":"u","reason":"subject deleted"}`,
				`root request.cancel q {"reason":"subject deleted","requesterUserId":"u","roleId":"wanted","scope":"*"}`,
				`root request.cancel q-doc {"reason":"subject deleted","requesterUserId":"u","pattern":"docs.files.read","scope":"docs.doc:1"}`,
				`root subject.delete user:u {"grants":5,"revokes":3,"cancelledRequests":2}`},
			[]authz.Event{authz.SubjectEvent("user:u"), authz.UserEvent("u"), authz.SubjectEvent("directs:u"), authz.SubjectEvent("orgof:u")},
		}},
		{"with a group go its grants only", deleteSubject("group:b", root), effects{
			[]string{`root grant.delete g-global {"subject":"group:b","reason":"subject deleted"}`, `root subject.delete group:b {"grants":1,"revokes":0}`},
			[]authz.Event{authz.SubjectEvent("group:b")},
		}},
		{"a subject without rows is recorded too", deleteSubject("service:t", root), effects{
			[]string{`root subject.delete service:t {"grants":0,"revokes":0}`}, []authz.Event{authz.SubjectEvent("service:t")},
		}},
		{"with a scope go its rows, and whoever lost one is told once", deleteScope("docs.doc:1", root), effects{
			[]string{
				`root grant.delete g-doc {"subject":"user:u","reason":"scope deleted"}`,
				`root grant.delete h-doc {"subject":"user:u","reason":"scope deleted"}`,
				`root revoke.delete v-doc {"userId":"u","reason":"scope deleted"}`,
				`root revoke.delete w-doc {"userId":"u","reason":"scope deleted"}`,
				`root request.cancel q-doc {"reason":"scope deleted"}`,
				`root scope.delete docs.doc:1 {"grants":2,"revokes":2,"cancelledRequests":1}`},
			[]authz.Event{authz.ScopeEvent("docs.doc:1"), authz.SubjectEvent("user:u"), authz.UserEvent("u"), authz.UserEvent("u")},
		}},
		{"children inherit what they had through a parent", dissolve("b", root), effects{
			[]string{
				`system grant.create id000001 {"subject":"group:c","copiedFrom":"b"}`,
				`root grant.delete g-global {"reason":"virtual parent dissolved","copiedTo":["group:c"]}`,
				`root group.dissolve_virtual_parent b {"children":["c"],"copiedGrants":1}`},
			[]authz.Event{authz.SubjectEvent("group:c"), authz.UserEvent("member"), authz.SubjectEvent("group:b")},
		}},
		{"a parent without children leaves nothing", dissolve("c", root), effects{
			[]string{`root group.dissolve_virtual_parent c {"children":[],"copiedGrants":0}`},
			[]authz.Event{authz.UserEvent("member"), authz.SubjectEvent("group:c")},
		}},
		{"a look writes nothing", reconcile(provider.Reconciliation{UserExists: nothing(), ScopeExists: nothing()}), effects{}},
		{"a sweep deletes orphaned grants, then dangling ones, then revokes", reconcile(provider.Reconciliation{
			UserExists: nothing("u"), OrgExists: nothing(), ScopeExists: nothing("docs.doc:1"), Sweep: true, Provenance: root}), effects{
			[]string{
				`root grant.delete a-gone {"subject":"everyone","scope":"docs.doc:gone","reason":"reconciliation: orphaned"}`,
				`root grant.delete z-org {"subject":"org:o","scope":"*","reason":"reconciliation: orphaned"}`,
				`root grant.delete a-dangling {"subject":"service:s","scope":"*","reason":"reconciliation: orphaned"}`,
				`root revoke.delete v-lost {"userId":"lost","reason":"reconciliation: orphaned"}`,
				`root reconcile.sweep rows {"grants":3,"revokes":1}`},
			[]authz.Event{authz.SubjectEvent("everyone"), authz.SubjectEvent("org:o"), authz.SubjectEvent("service:s"), authz.UserEvent("lost")},
		}},
		{"without predicates only roles and groups are judged", reconcile(provider.Reconciliation{Sweep: true, Provenance: root}), effects{
			[]string{`root grant.delete a-dangling {"subject":"service:s","scope":"*","reason":"reconciliation: orphaned"}`,
				`root reconcile.sweep rows {"grants":1,"revokes":0}`}, []authz.Event{authz.SubjectEvent("service:s")},
		}},
		{"manifests have a counter and no event", publishImports(`{"formatVersion":1,"namespace":"docs","imports":[{"namespace":"zoom","enumerated":true,"entries":[],"keys":[],"regions":[]}]}`),
			effects{Audit: []string{`root imports.publish docs {"version":1,"namespaces":["zoom"]}`}}},
	}
	for _, c := range cases {
		t.Run(c.sentence, func(t *testing.T) {
			store := openStore(t)
			seed(t, store)
			litter(t, store)
			app := newApp(t, application.Options{Store: store, IDs: ascending()})
			got := observe(t, app, func() error { return c.write(t.Context(), app) })
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCleanUpReadsNoMoreRequestsThanAPartHolds(t *testing.T) {
	for sentence, write := range map[string]func(context.Context, *application.Application) error{
		"of a user": deleteSubject("user:u", root), "at a scope": deleteScope("docs.doc:1", root),
	} {
		t.Run(sentence, func(t *testing.T) {
			// The request is not there, so that the work is begun three times; each time a
			// slow machine may break its part off three times, and read it again.
			most, readings := 0, 0
			store := &faulty{Store: openStore(t), listRequests: func(yield func(authz.Request, error) bool) {
				read := 0
				for read < 2*storage.MaxCommitChanges && yield(authz.Request{ID: "q", State: authz.RequestPending}, nil) {
					read++
				}
				most, readings = max(most, read), readings+1
			}}
			err := write(t.Context(), newApp(t, application.Options{Store: store}))
			if isRefused(authz.CodeConflict)(t, err); most == 0 || most > 2000 || readings < 3 || readings > 3*4 {
				t.Errorf("%d requests were read at once, in %d readings", most, readings)
			}
		})
	}
}

// litter is what clean-up finds beside the seed.
func litter(t testing.TB, store storage.Store) {
	t.Helper()
	grant := func(id, subject, scope string) storage.Change {
		return storage.InsertGrant{Grant: authz.Grant{ID: id, Subject: subject, Pattern: "docs.files.read", Scope: scope, Provenance: root}}
	}
	revoke := func(id, user, scope string) storage.Change {
		return storage.InsertRevoke{Revoke: authz.Revoke{ID: id, UserID: user, Pattern: "docs.*", Scope: scope, Provenance: root}}
	}
	_, err := store.Commit(context.Background(), storage.Commit{ID: "litter", At: now, Changes: []storage.Change{
		grant("c-directs", "directs:u", "*"), grant("b-orgof", "orgof:u", "*"),
		grant("h-doc", "user:u", "docs.doc:1"), grant("a-gone", "everyone", "docs.doc:gone"), grant("z-org", "org:o", "*"),
		storage.InsertGrant{Grant: authz.Grant{ID: "a-dangling", Subject: "service:s", RoleID: "ghost", Scope: "*", Provenance: root}},
		revoke("v-doc", "u", "docs.doc:1"), revoke("w-doc", "u", "docs.doc:1"), revoke("v-lost", "lost", "*"),
		storage.InsertRequest{Request: authz.Request{ID: "q-doc", RequesterUserID: "u", Pattern: "docs.files.read", Scope: "docs.doc:1", State: authz.RequestPending, CreatedAt: 1}},
		storage.UpsertUser{User: authz.User{UserID: "u", Active: true, ManagerUserID: "boss"}},
		storage.UpsertUser{User: authz.User{UserID: "report", Active: true, ManagerUserID: "u"}},
	}})
	must(t, err)
}
