package application_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

type onApp = func(context.Context, *application.Application) error

func asking(in provider.RequestInput) onApp {
	if in.RequesterUserID == "" {
		in.RequesterUserID = "rex"
	}
	return func(ctx context.Context, a *application.Application) error {
		_, err := a.SubmitRequest(ctx, in)
		return err
	}
}

func deciding(id string, in provider.DecisionInput) onApp {
	return func(ctx context.Context, a *application.Application) error {
		_, err := a.DecideRequest(ctx, id, in)
		return err
	}
}

func cancelling(id, by string) onApp {
	return func(ctx context.Context, a *application.Application) error {
		_, err := a.CancelRequest(ctx, id, by)
		return err
	}
}

func atFolder(pattern string, expires authz.Expiry, answers map[string]string) onApp {
	return asking(provider.RequestInput{Pattern: pattern, Scope: "docs.folder:1", ProposedExpiresAt: expires, Justification: answers})
}

// storedRequest is one of the requests that the refusals find.
func storedRequest(id, scope string, state authz.RequestState, at int64, list ...authz.Stage) storage.Change {
	return storage.InsertRequest{Request: authz.Request{ID: id, RequesterUserID: "rex", RoleID: "jit", Scope: scope, State: state,
		StageIndex: at, Stages: list, CreatedAt: now}}
}

func refusedRequests(t *testing.T, store storage.Store, o application.Options) *workflow {
	return openWorkflow(t, store, o, stages(named("approver")),
		storedRequest("q", "*", authz.RequestPending, 0, named("approver")),
		storedRequest("q-doc", "docs.doc:1", authz.RequestPending, 0, named("approver")),
		storedRequest("q-done", "*", authz.RequestDenied, 0, named("approver")),
		storedRequest("q-beyond", "docs.doc:1", authz.RequestPending, 7, named("approver")),
		storedRequest("q-none", "docs.doc:1", authz.RequestPending, 0),
		storage.InsertRequest{Request: authz.Request{ID: "q-gone", RequesterUserID: "rex", RoleID: "gone", Scope: "docs.doc:1",
			State: authz.RequestPending, Stages: stages(named("approver")), CreatedAt: now}},
		storage.InsertRequest{Request: authz.Request{ID: "q-gone-auto", RequesterUserID: "rex", RoleID: "gone", Scope: "docs.doc:1",
			State: authz.RequestPending, Stages: stages(named("approver"), met), CreatedAt: now}},
		storage.UpsertRole{Role: authz.Role{ID: "broken", Name: "Broken", Patterns: []string{"docs.files.read"},
			Requestable: &authz.Requestable{Stages: stages(authz.Stage{Kind: "magic"})}}})
}

var requestRefusals = []refusal{
	{"a request has a requester", asking(provider.RequestInput{RequesterUserID: "\x00", RoleID: "jit"}), authz.CodeValidation, "requesterUserId must not contain U+0000"},
	{"a requester is bounded", asking(provider.RequestInput{RequesterUserID: long, RoleID: "jit"}), authz.CodeValidation, "requesterUserId is longer than 1024 bytes"},
	{"answers are bounded", atFolder("docs.files.read", authz.Expiry{}, map[string]string{"x": strings.Repeat("y", 65537)}), authz.CodeValidation, "answer is longer than 65536 bytes"},
	{"ids of prompts are bounded", atFolder("docs.files.read", authz.Expiry{}, map[string]string{long: "y"}), authz.CodeValidation, "prompt id is longer than 1024 bytes"},
	{"a request's scope is well formed", asking(provider.RequestInput{RoleID: "jit", Scope: "docs.doc"}), authz.CodeValidation, "scope ids are `*` or `<scopeType>:<instanceId>`"},
	{"a request proposes something", asking(provider.RequestInput{}), authz.CodeValidation, "a request proposes exactly one of roleId / pattern"},
	{"a request proposes one thing", asking(provider.RequestInput{RoleID: "jit", Pattern: "docs.*"}), authz.CodeValidation, "a request proposes exactly one of roleId / pattern"},
	{"the scope is judged before the proposal", asking(provider.RequestInput{Scope: "docs.doc:"}), authz.CodeValidation, "scope ids are"},

	{"a requested pattern is well formed", atFolder("docs..read", authz.Expiry{}, answered), authz.CodeValidation, `invalid segment ""`},
	{"a requested pattern is known", atFolder("docs.filez.read", authz.Expiry{}, answered), authz.CodeValidation, `pattern "docs.filez.read" references nothing in the catalog`},
	{"a requested pattern is grantable", atFolder("docs.admin.read", authz.Expiry{}, answered), authz.CodeValidation, `not grantable at scope type "docs.folder"`},
	{"a scope type is declared to be asked at", asking(provider.RequestInput{Pattern: "docs.*", Scope: "docs.team:1"}), authz.CodeValidation, `unknown scope type "docs.team"`},
	{"patterns are not asked for globally", asking(provider.RequestInput{Pattern: "docs.files.read"}), authz.CodeValidation, "pattern requests need a scope whose type declares requestability; "},
	{"requestability does not inherit", asking(provider.RequestInput{Pattern: "docs.files.read", Scope: "docs.doc:1"}), authz.CodeValidation, `scope type "docs.doc" is not requestable`},
	{"everything cannot be asked for", atFolder("*", authz.Expiry{}, answered), authz.CodeValidation, `a request cannot propose the unbounded global pattern "*"`},
	{"nor where the type sets no ceiling", asking(provider.RequestInput{Pattern: "*", Scope: "docs.led:1"}), authz.CodeValidation, `a request cannot propose the unbounded global pattern "*"`},
	{"a ceiling is not exceeded", atFolder("docs.*", authz.Expiry{}, answered), authz.CodeValidation, `pattern "docs.*" is outside what this scope type makes requestable ("docs.files.*", "docs.admin.read")`},
	{"a ceiling is not passed by", atFolder("docs.pay.send", authz.Expiry{}, answered), authz.CodeValidation, `pattern "docs.pay.send" is outside what this scope type makes requestable`},
	{"a requested role exists", asking(provider.RequestInput{RoleID: "ghost"}), authz.CodeNotFound, "role not found"},
	{"a requested role is requestable", asking(provider.RequestInput{RoleID: "plain"}), authz.CodeValidation, `role "Plain" is not requestable`},
	{"a requested role has a pattern for the scope", asking(provider.RequestInput{RoleID: "jit", Scope: "docs.team:1"}), authz.CodeValidation, `role "JIT" has no pattern grantable at docs.team:1`},

	{"a type's policy has stages", asking(provider.RequestInput{Pattern: "docs.files.read", Scope: "docs.bare:1"}), authz.CodeValidation, "requestable without a resolvable policy: "},
	{"a type's policy needs its hierarchy", asking(provider.RequestInput{Pattern: "docs.files.read", Scope: "docs.led:1"}), authz.CodeValidation, "policy references management layers but no reporting hierarchy is populated"},
	{"a stored policy is judged again", asking(provider.RequestInput{RoleID: "broken"}), authz.CodeValidation, `unknown stage kind "magic"`},
	{"required answers are given, all problems named", atFolder("docs.files.read", authz.ExpiresAt(1), map[string]string{"why": "", "team": "z"}), authz.CodeValidation,
		`missing answer for "why"; missing answer for "env"; answer for "team" is not one of the declared options`},
	{"an empty answer is no option, of an optional selection either", atFolder("docs.files.read", authz.Expiry{}, map[string]string{"why": "x", "env": "prod", "team": ""}), authz.CodeValidation, `answer for "team" is not one of the declared options`},
	{"a selection is one of its options", atFolder("docs.files.read", authz.Expiry{}, map[string]string{"why": "x", "env": "Prod"}), authz.CodeValidation, `answer for "env" is not one of the declared options`},
	{"an expiry is an instant", atFolder("docs.files.read", authz.ExpiresAt(authz.MaxInstant+1), answered), authz.CodeValidation, "proposedExpiresAt must be a finite epoch-millisecond number — received 9007199254740992"},
	{"an expiry that JSON held as text is no instant", func(ctx context.Context, a *application.Application) error {
		in := provider.RequestInput{Pattern: "docs.files.read", Scope: "docs.folder:1", Justification: answered}
		if err := json.Unmarshal([]byte(`"soon"`), &in.ProposedExpiresAt); err != nil {
			return err
		}
		return asking(in)(ctx, a)
	}, authz.CodeValidation, "proposedExpiresAt must be a finite epoch-millisecond number"},
	{"an expiry is not now", atFolder("docs.files.read", authz.ExpiresAt(now), answered), authz.CodeValidation, "proposed expiry is already in the past"},
	{"a duration has its maximum", atFolder("docs.files.read", authz.ExpiresAt(now+1001), answered), authz.CodeValidation, "proposed duration exceeds the maximum (1000 ms)"},
	{"an expiry that is required is proposed, also where there is a maximum", asking(provider.RequestInput{Pattern: "docs.files.read", Scope: "docs.dated:1"}), authz.CodeValidation, "this access must be time-bound: propose an expiry"},

	{"decisions are two, judged before anything else", deciding("", provider.DecisionInput{Decision: "perhaps"}), authz.CodeValidation, `decision must be "approved" or "denied"`},
	{"a decision is somebody's", deciding("q", provider.DecisionInput{Decision: "denied"}), authz.CodeValidation, "deciderUserId must be a non-empty string"},
	{"notes are bounded", deciding("q", provider.DecisionInput{DeciderUserID: "ann", Decision: "denied", Note: strings.Repeat("n", 65537)}), authz.CodeValidation, "note is longer than 65536 bytes"},
	{"a decided request exists", deciding("ghost", provider.DecisionInput{DeciderUserID: "ann", Decision: "denied"}), authz.CodeNotFound, "request not found"},
	{"what is final is not decided again", deciding("q-done", provider.DecisionInput{DeciderUserID: "nobody", Decision: "denied"}), authz.CodeConflict, "request is denied"},
	{"an approver is entitled", deciding("q", provider.DecisionInput{DeciderUserID: "bob", Decision: "approved"}), authz.CodeValidation, "not an approver for the current stage"},
	{"nor may anybody else deny", deciding("q", provider.DecisionInput{DeciderUserID: "bob", Decision: "denied"}), authz.CodeValidation, "not an approver for the current stage"},
	{"a stage out of range is nobody's", deciding("q-beyond", provider.DecisionInput{DeciderUserID: "ann", Decision: "approved"}), authz.CodeValidation, "not an approver for the current stage"},
	{"a request without stages is nobody's", deciding("q-none", provider.DecisionInput{DeciderUserID: "ann", Decision: "approved"}), authz.CodeValidation, "not an approver for the current stage"},
	{"an approved role is still there", deciding("q-gone", provider.DecisionInput{DeciderUserID: "ann", Decision: "approved"}), authz.CodeConflict, "the requested role no longer exists"},
	{"also where an auto stage would have the last word", deciding("q-gone-auto", provider.DecisionInput{DeciderUserID: "ann", Decision: "approved"}), authz.CodeConflict, "the requested role no longer exists"},

	{"a cancellation is somebody's", cancelling("q", ""), authz.CodeValidation, "byUserId must be a non-empty string"},
	{"a cancelled request exists", cancelling("ghost", "rex"), authz.CodeNotFound, "request not found"},
	{"only the requester cancels", cancelling("q-done", "ann"), authz.CodeValidation, "only the requester may cancel"},
	{"what is final is not cancelled", cancelling("q-done", "rex"), authz.CodeConflict, "request is denied"},

	{"a state in a filter is text", func(ctx context.Context, a *application.Application) error {
		return first(a.ListRequests(ctx, provider.RequestQuery{State: ptr(authz.RequestState("\xff"))}))
	}, authz.CodeValidation, "state must be valid UTF-8"},
	{"a page of requests is not negative", func(ctx context.Context, a *application.Application) error {
		return first(a.ListRequests(ctx, provider.RequestQuery{Paging: provider.Paging{Limit: -1}}))
	}, authz.CodeValidation, "limit must not be negative"},
	{"a page follows a request that is there", func(ctx context.Context, a *application.Application) error {
		return first(a.ListRequests(ctx, provider.RequestQuery{Paging: provider.Paging{After: "ghost"}}))
	}, authz.CodeValidation, `after names no stored request: "ghost"`},
	{"a queue is somebody's", func(ctx context.Context, a *application.Application) error {
		return first(a.ListApproverQueue(ctx, ""))
	}, authz.CodeValidation, "approverUserId must be a non-empty string"},
}

func TestRefusedRequestsSayWhyAndChangeNothing(t *testing.T) {
	for _, r := range requestRefusals {
		t.Run(r.sentence, func(t *testing.T) {
			refuses(t, refusedRequests(t, openStore(t), application.Options{}), r.do, r.code, r.message)
		})
	}
}

// refuses runs what must be refused, beginning with the message, and leave
// nothing.
func refuses(t *testing.T, w *workflow, do onApp, code authz.Code, message string) {
	t.Helper()
	heard := 0
	defer w.OnInvalidate(func(authz.Event) { heard++ })()
	before := everything(t, w.store)
	err := do(t.Context(), w.Application)
	if authz.CodeOf(err) != code || !strings.HasPrefix(err.Error(), message) {
		t.Errorf("got %v, want %s %q…", err, code, message)
	}
	if diff := cmp.Diff(before, everything(t, w.store), unexported); diff != "" || heard > 0 {
		t.Errorf("the refusal told %d events and left:\n%s", heard, diff)
	}
}

func TestGlobalRequestsBelongToTheOrgRoot(t *testing.T) {
	const readModel = " is organizational-domain data: this Application is not the org root and holds it as a read model"
	approve := provider.DecisionInput{DeciderUserID: "ann", Decision: "approved"}
	for _, c := range []struct {
		sentence string
		do       onApp
		code     authz.Code
		message  string
	}{
		{"submitted, before anything is judged", asking(provider.RequestInput{RoleID: "ghost"}), authz.CodeNotOrgRoot, "a global-scope access request" + readModel},
		{"decided, before entitlement is judged", deciding("q", provider.DecisionInput{DeciderUserID: "bob", Decision: "denied"}), authz.CodeNotOrgRoot, "deciding a global-scope access request" + readModel},
		{"cancelled", cancelling("q", "rex"), authz.CodeNotOrgRoot, "cancelling a global-scope access request" + readModel},
		{"but what is decided is decided", deciding("q-done", approve), authz.CodeConflict, "request is denied"},
		{"and nobody cancels for another", cancelling("q", "ann"), authz.CodeValidation, "only the requester may cancel"},
	} {
		t.Run(c.sentence, func(t *testing.T) {
			refuses(t, refusedRequests(t, openStore(t), application.Options{OrgRoot: ptr(false)}), c.do, c.code, c.message)
		})
	}
	t.Run("requests at an instance stay the application's own", func(t *testing.T) {
		w := refusedRequests(t, openStore(t), application.Options{OrgRoot: ptr(false)})
		must(t, asking(provider.RequestInput{RoleID: "jit", Scope: "docs.doc:1"})(t.Context(), w.Application))
		must(t, deciding("q-doc", approve)(t.Context(), w.Application))
		must(t, cancelling("q-gone", "rex")(t.Context(), w.Application))
	})
	t.Run("a decision that has not heard of a move is refused", func(t *testing.T) {
		w := refusedRequests(t, openStore(t), application.Options{})
		moveAuthority(t, w.store, `{"orgRoot":false,"source":"mesh:7"}`)
		refuses(t, w, deciding("q", approve), authz.CodeNotOrgRoot, "deciding a global-scope access request")
	})
}
