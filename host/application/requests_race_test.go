package application_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// two opens a second application over the store of a workflow.
func two(w *workflow) *workflow {
	other := *w
	other.Application = newApp(w.t, application.Options{Store: w.store, Catalog: w.Catalog(), Clock: func() int64 { return now }})
	return &other
}

func TestOfRacingDecidersOneDecides(t *testing.T) {
	for range 20 {
		w := newWorkflow(t, stages(named("approver")))
		other, id := two(w), w.submit().ID
		decide := func(w *workflow, decision string) func() error {
			return func() error { _, err := w.decide(id, "ann", decision); return err }
		}
		wins(t, authz.CodeConflict, race(decide(w, "approved"), decide(other, "denied"), decide(w, "denied"), decide(other, "approved"),
			func() error { _, err := w.CancelRequest(context.Background(), id, "rex"); return err }))
		row, _, err := w.store.GetRequest(t.Context(), id)
		must(t, err)
		if n := len(w.granted()); len(row.Decisions) > 1 || (n == 1) != (row.State == authz.RequestApproved) || n > 1 {
			t.Fatalf("%+v with %d grants", row, n)
		}
	}
}

// meanwhile is a store in which another writer commits just before the first
// commit of an application that holds a request.
func meanwhile(store storage.Store, changes ...storage.Change) *faulty {
	done := false
	f := &faulty{Store: store}
	f.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
		if _, ok := first1(c.Changes).(storage.PutRecord); !ok && !done && c.ID != "workflow" {
			done = true
			if _, err := store.Commit(ctx, storage.Commit{ID: "meanwhile", At: now, Changes: changes}); err != nil {
				return storage.CommitResult{}, err
			}
		}
		return store.Commit(ctx, c)
	}
	return f
}

// Clean-up and snapshots change requests and roles without the request's section.
func TestADecisionIsHeldToWhatItJudged(t *testing.T) {
	at := now
	pending := storedRequest("q", "*", authz.RequestPending, 0, named("approver"), named("approver"))
	moved := func(state authz.RequestState, index int64, decidedAt *int64) storage.Change {
		row := pending.(storage.InsertRequest).Request
		row.State, row.StageIndex, row.DecidedAt = state, index, decidedAt
		return storage.UpdateRequest{Request: row}
	}
	approve := deciding("q", provider.DecisionInput{DeciderUserID: "ann", Decision: "approved"})
	last := storedRequest("q", "*", authz.RequestPending, 0, named("approver"))
	for _, c := range []struct {
		sentence string
		stored   storage.Change
		do       onApp
		change   storage.Change
		code     authz.Code
		message  string
	}{
		{"a request that was cancelled", pending, approve, moved(authz.RequestCancelled, 0, &at), authz.CodeConflict, "request is cancelled"},
		{"a request that was removed", pending, approve, storage.DeleteRequest{ID: "q"}, authz.CodeNotFound, "request not found"},
		{"a cancellation of what was decided", pending, cancelling("q", "rex"), moved(authz.RequestApproved, 1, &at), authz.CodeConflict, "request is approved"},
		{"a role that went before its grant was written", last, approve, storage.DeleteRole{ID: "jit"}, authz.CodeConflict, "the requested role no longer exists"},
		{"a requested role that went", last, asking(provider.RequestInput{RoleID: "jit"}), storage.DeleteRole{ID: "jit"}, authz.CodeNotFound, "role not found"},
	} {
		t.Run(c.sentence, func(t *testing.T) {
			store := openStore(t)
			w := openWorkflow(t, meanwhile(store, c.change), application.Options{}, stages(named("approver")), c.stored)
			err := c.do(t.Context(), w.Application)
			if authz.CodeOf(err) != c.code || err.Error() != c.message {
				t.Errorf("got %v, want %s %q", err, c.code, c.message)
			}
			if entries := rows(t, store.ListAudit(t.Context(), storage.AuditFilter{})); len(entries) > 0 || len(w.granted()) > 0 {
				t.Errorf("left %v and %v", entries, w.granted())
			}
		})
	}
	t.Run("a request at another stage is judged anew", func(t *testing.T) {
		store := openStore(t)
		w := openWorkflow(t, meanwhile(store, moved(authz.RequestPending, 1, nil)), application.Options{}, stages(named("approver")), pending)
		row, err := w.decide("q", "ann", "approved")
		must(t, err)
		want := []authz.Decision{{StageIndex: 1, DecidedBy: "ann", Decision: "approved", At: now}}
		if diff := cmp.Diff(want, row.Decisions); diff != "" || row.State != authz.RequestApproved {
			t.Errorf("%s:\n%s", row.State, diff)
		}
	})
}

func TestRequestsTakeTheirSections(t *testing.T) {
	led := provider.RequestInput{Pattern: "docs.files.read", Scope: "docs.led:1"}
	for _, c := range []struct {
		sentence string
		do       onApp
		want     []string
	}{
		{"a role that is asked for", asking(provider.RequestInput{RoleID: "jit"}), []string{"roles"}},
		{"a role that a stage names", atFolder("docs.files.read", authz.Expiry{}, answered), []string{"roles"}},
		{"no role at all", asking(led), nil},
		{"a decision", deciding("q", provider.DecisionInput{DeciderUserID: "ann", Decision: "denied"}), []string{"request:q"}},
		{"a cancellation", cancelling("q", "rex"), []string{"request:q"}},
	} {
		t.Run(c.sentence, func(t *testing.T) {
			f := &faulty{Store: openStore(t)}
			w := openWorkflow(t, f, application.Options{}, stages(named("approver")), reports("rex", "mia"),
				storedRequest("q", "*", authz.RequestPending, 0, named("approver")))
			var got []string
			f.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
				for _, fence := range c.Fences {
					got = append(got, fence.Key)
				}
				return f.Store.Commit(ctx, c)
			}
			must(t, c.do(t.Context(), w.Application))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestARequestAndTheDeletionOfItsRoleNeverBothSucceed(t *testing.T) {
	for range 50 {
		w := newWorkflow(t, stages(named("approver")))
		other := two(w)
		errs := race(
			func() error {
				return asking(provider.RequestInput{RoleID: "jit"})(context.Background(), other.Application)
			},
			func() error { return w.DeleteRole(context.Background(), "jit", root) })
		switch {
		case errs[0] == nil && authz.CodeOf(errs[1]) == authz.CodeConflict:
		case errs[1] == nil && authz.CodeOf(errs[0]) == authz.CodeNotFound:
		default:
			t.Fatalf("request: %v, deletion: %v", errs[0], errs[1])
		}
	}
}
