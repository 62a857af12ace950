package orgroot_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/client"
)

const manage = "authz_internal.access.manage_grants"

func question(user string, fresh bool) service.Question {
	return service.Question{Org: "acme", Principal: authz.UserPrincipal(user), Key: manage, Fresh: fresh}
}

func TestTheRootsRowsDecideTheGate(t *testing.T) {
	w := newWorld(t)
	decide := func(q service.Question, want bool, why authz.DenialReason) {
		t.Helper()
		allowed, reason, err := w.root.Decide(ctx, q)
		must(t, err)
		if allowed != want || reason != why {
			t.Errorf("%+v: %v %q", q, allowed, reason)
		}
	}
	decide(question("olga", false), false, authz.ReasonForbidden)
	grant := w.give(t, "user:olga", "authz_internal.access.*")
	decide(question("olga", true), true, "")
	decide(question("other", true), false, authz.ReasonForbidden)
	preview := question("olga", true)
	preview.ViewAs = &client.ViewAs{Kind: client.ViewAsUser, UserID: "other"}
	decide(preview, false, authz.ReasonForbidden)
	preview.ViewAs = &client.ViewAs{Kind: client.ViewAsRole, RoleID: "absent"}
	decide(preview, false, authz.ReasonForbidden)
	must(t, w.docs.SetUserActive(ctx, "olga", false, authz.AdminProvenance("root")))
	decide(question("olga", true), false, authz.ReasonInactive)
	must(t, w.docs.SetUserActive(ctx, "olga", true, authz.AdminProvenance("root")))
	must(t, w.docs.DeleteGrant(ctx, grant.ID, authz.AdminProvenance("root")))
	decide(question("olga", true), false, authz.ReasonForbidden)
}

// A gate whose application cannot be asked is the relay's error
// (spec: hosted-api §5).
func TestARootThatCannotBeAskedNeitherDeniesNorAllows(t *testing.T) {
	answering := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	closure := `{"userId":"admin","closure":["user:admin"],"grants":[{"id":"g","subject":"user:admin","pattern":"*","scope":"*"}],
		"revokes":[],"roles":[],"managerChain":[],"unresolvedRoleIds":[],"active":true}`
	const protocol, failed = "ProviderTransportError application_protocol_error", "ProviderTransportError application_error"
	for name, c := range map[string]struct {
		far  http.HandlerFunc
		want string
	}{
		"down":            {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "ProviderTransportError application_timeout"},
		"slow":            {func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body); <-r.Context().Done() }, "ProviderTransportError application_timeout"},
		"lying":           {answering(200, closure), protocol},
		"denying":         {answering(403, `{"error":{"name":"AccessDeniedError","code":"forbidden","message":"no"}}`), failed},
		"another version": {answering(404, `{"error":{"name":"ProviderApiError","code":"unknown_op","message":"m"}}`), protocol},
		"huge":            {answering(200, `{"x":"`+strings.Repeat("x", 9<<20)+`"}`), protocol},
		"malformed":       {answering(200, `{"active":`), protocol},
		"empty closure":   {answering(200, `{}`), protocol},
		"a new secret":    {answering(401, `{"error":{"name":"ProviderApiError","code":"unauthorized","message":"unauthorized"}}`), "ProviderTransportError application_credential_rejected"},
	} {
		t.Run(name, func(t *testing.T) {
			wait := patience
			if name == "slow" {
				wait = 1500 * time.Millisecond // in which a busy machine answers what comes before
			}
			w := newWorldWaiting(t, wait)
			w.give(t, "user:olga", manage)
			a := w.by(t, "olga")
			w.answer(c.far)
			for _, fresh := range []bool{true, false} {
				allowed, _, err := w.root.Decide(ctx, question("eve", fresh))
				if got := said(t, err); got != c.want || allowed {
					t.Errorf("fresh %v: %s, %v", fresh, got, allowed)
				}
			}
			if _, err := w.root.Held(ctx, "acme", authz.UserPrincipal("eve"), nil); said(t, err) != c.want {
				t.Error("held keys:", err)
			}
			if _, err := w.root.CreateGroup(ctx, a, groupInput("g")); said(t, err) != c.want {
				t.Error("a write:", err)
			}
			eve := *a
			eve.Caller.UserID = "eve"
			if _, err := w.root.CancelRequest(ctx, &eve, "r", "absent"); !strings.HasPrefix(said(t, err), "ProviderTransportError ") {
				t.Error("a request of an application that is not there:", err)
			}
			status, err := w.root.Status(ctx, "acme")
			must(t, err)
			if status.Reachable || status.Application != "docs" {
				t.Errorf("%+v", status)
			}
		})
	}
}

func TestAnOrgWithoutARootSaysSo(t *testing.T) {
	w := newWorld(t)
	_, _, err := w.root.Decide(ctx, service.Question{Org: "nobody", Principal: authz.UserPrincipal("olga"), Key: manage})
	if err == nil {
		t.Error("an org that is not there has a root")
	}
	if _, _, err := w.root.Decide(ctx, service.Question{Org: "acme", Principal: authz.UserPrincipal("olga"), Key: "cloud.seats.read"}); err == nil {
		t.Error("the org root decides account vocabulary")
	}
}
