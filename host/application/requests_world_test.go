package application_test

import (
	"context"
	"testing"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

const requestCatalog = `{
  "namespaces": ["docs"],
  "imports": {"zoom": {"permissions": {"zoom.rooms.*": {"scopes": ["docs.folder"]}}}},
  "scopeTypes": {
    "docs.folder": {"parent": "docs.folder", "requestable": {"patterns": ["docs.files.*", "docs.admin.read"], "maxDurationMs": 1000,
      "prompts": [{"id": "why", "label": "Why"}, {"id": "env", "label": "Env", "kind": "select", "options": ["prod", "dev"]},
        {"id": "note", "label": "Note", "required": false}, {"id": "team", "label": "Team", "kind": "select", "options": ["a"], "required": false}],
      "policy": {"stages": [{"kind": "named_approvers", "roleId": "approver"}]}}},
    "docs.doc": {"parent": "docs.folder"},
    "docs.bare": {"requestable": {"policy": {"stages": []}}},
    "docs.led": {"requestable": {"policy": {"stages": [{"kind": "management"}]}}},
    "docs.dated": {"requestable": {"requireExpiry": true, "maxDurationMs": 1000, "policy": {"stages": [{"kind": "named_approvers", "roleId": "approver"}]}}}
  },
  "permissions": {
    "docs.files.read": {"scopes": ["docs.folder", "docs.doc", "docs.bare", "docs.led", "docs.dated"]},
    "docs.files.delete": {"scopes": ["docs.folder"]},
    "docs.pay.send": {"scopes": ["docs.folder"]},
    "docs.admin.read": true
  }
}`

// answered are answers that the prompts of docs.folder are content with.
var answered = map[string]string{"why": "audit", "env": "prod"}

// workflow is an application in which the role "jit" may be asked for through the
// stages of a test, and ann approves.
type workflow struct {
	*application.Application
	t     *testing.T
	store storage.Store
	now   int64
}

func newWorkflow(t *testing.T, stages []authz.Stage, rows ...storage.Change) *workflow {
	t.Helper()
	return openWorkflow(t, openStore(t), application.Options{}, stages, rows...)
}

func openWorkflow(t *testing.T, store storage.Store, o application.Options, stages []authz.Stage, rows ...storage.Change) *workflow {
	t.Helper()
	w := &workflow{t: t, store: store, now: now}
	rows = append([]storage.Change{
		storage.UpsertRole{Role: authz.Role{ID: "jit", Name: "JIT", Patterns: []string{"docs.files.read"}, Requestable: &authz.Requestable{Stages: stages}}},
		storage.UpsertRole{Role: authz.Role{ID: "plain", Name: "Plain", Patterns: []string{"docs.files.read"}}},
		storage.UpsertRole{Role: authz.Role{ID: "approver", Name: "Approver"}},
		storage.InsertGrant{Grant: authz.Grant{ID: "g-ann", Subject: "user:ann", RoleID: "approver", Scope: "docs.doc:9", Provenance: root}},
	}, rows...)
	_, err := store.Commit(context.Background(), storage.Commit{ID: "workflow", At: now, Changes: rows})
	must(t, err)
	o.Store, o.Catalog, o.Clock, o.IDs = store, buildCatalog(t, []byte(requestCatalog)), func() int64 { return w.now }, ascending()
	if o.Ancestry == nil {
		o.Ancestry = application.FromParents(func(_ context.Context, scope string) ([]string, error) {
			return map[string][]string{"docs.folder:low": {"docs.folder:top"}, "docs.doc:1": {"docs.folder:low"}}[scope], nil
		})
	}
	w.Application = newApp(t, o)
	return w
}

// submit asks for the role as rex.
func (w *workflow) submit() authz.Request {
	w.t.Helper()
	row, err := w.SubmitRequest(w.t.Context(), provider.RequestInput{RequesterUserID: "rex", RoleID: "jit"})
	must(w.t, err)
	return row
}

func (w *workflow) decide(id, by, decision string) (authz.Request, error) {
	return w.DecideRequest(context.Background(), id, provider.DecisionInput{DeciderUserID: by, Decision: decision})
}

// granted are the grants that approvals wrote.
func (w *workflow) granted() []authz.Grant {
	w.t.Helper()
	made := []authz.Grant{}
	for _, g := range rows(w.t, w.store.ListGrants(w.t.Context(), storage.GrantFilter{}, storage.Page{})) {
		if g.Provenance.Kind == authz.ProvenanceRequest {
			made = append(made, g)
		}
	}
	return made
}

func named(roleID string) authz.Stage {
	return authz.Stage{Kind: authz.StageNamedApprovers, RoleID: roleID}
}

func management(layers int64) authz.Stage {
	return authz.Stage{Kind: authz.StageManagement, Layers: &layers}
}

func auto(p authz.Predicate) authz.Stage {
	return authz.Stage{Kind: authz.StageAuto, Predicate: &p}
}

var (
	met   = auto(authz.Predicate{Type: authz.PredicateMemberOf, Subject: authz.Everyone})
	unmet = auto(authz.Predicate{Type: authz.PredicateInGroup, GroupID: "nobody"})
)

func stages(list ...authz.Stage) []authz.Stage { return list }

func reports(userID, manager string) storage.Change {
	return storage.UpsertUser{User: authz.User{UserID: userID, Active: true, ManagerUserID: manager}}
}

func holds(id, subject, pattern, scope string) storage.Change {
	return storage.InsertGrant{Grant: authz.Grant{ID: id, Subject: subject, Pattern: pattern, Scope: scope, Provenance: root}}
}

func revoked(userID, pattern, scope string) storage.Change {
	return storage.InsertRevoke{Revoke: authz.Revoke{ID: "v-" + userID, UserID: userID, Pattern: pattern, Scope: scope, Provenance: root}}
}
