package provider_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/google/go-cmp/cmp"
)

// TestErrorsCrossTheWireAsThemselves holds every class, wrapped or not, to its
// status and to the class that a caller rebuilds.
func TestErrorsCrossTheWireAsThemselves(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		want   error // nil: as it was
	}{
		{err: &provider.APIError{Code: provider.MethodNotAllowed, Message: "POST only"}, status: 405},
		{err: &provider.APIError{Code: provider.Unauthorized, Message: "unauthorized"}, status: 401},
		{err: &provider.APIError{Code: provider.UnknownOp, Message: "m"}, status: 404},
		{err: &provider.APIError{Code: provider.BadRequest, Message: "m"}, status: 400},
		{err: &provider.APIError{Code: provider.PayloadTooLarge, Message: "m"}, status: 413},
		{err: &provider.APIError{Code: provider.RateLimited, Message: "m"}, status: 429},
		{err: authz.Validation("bad %q", "x"), status: 422},
		{err: authz.Rejected(authz.CodeNotFound, "m"), status: 404},
		{err: authz.Rejected(authz.CodeConflict, "m"), status: 409},
		{err: authz.Cycle([]string{"a", "b", "a"}), status: 409},
		{err: authz.Rejected(authz.CodeNotOrgRoot, "m"), status: 403},
		{err: authz.Rejected(authz.CodeUnsupported, "m"), status: 501},
		{err: &authz.UnknownScopeError{Scope: "docs.doc:1", Refusal: authz.Rejected(authz.CodeUnsupported, "m")}, status: 501},
		{err: &authz.GraphCycleError{Path: []string{"a", "a"}}, status: 409},
		{err: &authz.PromotionConflictError{Code: authz.UnresolvedConflicts, Message: "1 conflict", Fingerprint: "sha256:00", Conflicts: []authz.Conflict{{
			ID: "role:r", Kind: authz.ConflictRoleID, Current: json.RawMessage(`null`), Incoming: json.RawMessage(`{"id":"r"}`), Actions: []authz.ConflictAction{authz.ActionRenameCurrent},
			Blocked: []authz.BlockedRename{{Action: authz.ActionRenameIncoming, Application: "docs", Reason: authz.BlockedByRows, Count: 2}}}}}, status: 409},
		{err: &authz.UnavailableError{Message: "m", Outcome: authz.OutcomeUnknown}, status: 503},
		{err: &authz.UnavailableError{Message: "m"}, status: 503},
		{err: &authz.AccessDeniedError{Reason: authz.ReasonForbidden, Permissions: []string{"a.b"}, Scope: "t.t:1", Principal: authz.UserPrincipal("u")}, status: 403},
		{err: &authz.AccessDeniedError{Reason: authz.ReasonForbidden, Permissions: []string{"a.b"}, Principal: authz.UserPrincipal("u"),
			Expired: []authz.Grant{{ID: "g1", Subject: "user:u", Pattern: "a.b", Scope: "*", ExpiresAt: authz.ExpiresAt(5), Provenance: authz.Provenance{Kind: authz.ProvenanceSystem}}}}, status: 403},
		{err: &authz.UnknownPermissionError{Permission: "a.b", Expected: authz.ExpectedKey, DidYouMean: []string{"a.c"}, NamespaceOrigin: authz.NamespaceOwned, ImportedPatterns: []string{}, Message: "m"}, status: 500},
		{err: &authz.UnknownScopeTypeError{Scope: "a.t:1", ScopeType: "a.t", DidYouMean: []string{"a.s"}, DeclaredTypes: []string{"a.s"}, Message: "m"}, status: 500},
		{err: &authz.MissingConditionError{Permission: "a.b", Shape: "can"}, status: 500},
		{err: &authz.CatalogError{Issues: []authz.Issue{{Severity: authz.SeverityError, Path: "a", Message: "m", Code: "bad-key"}}}, status: 500},
		{err: &authz.MeshError{Code: authz.MeshNoEdge, From: "docs", To: "billing", Mode: authz.MeshRead, Message: "m"}, status: 403},
		{err: &authz.MeshError{Code: authz.MeshReadOnlyPeer, To: "billing", Operation: "createGrant", Message: "m"}, status: 403},
		{err: &authz.MeshError{Code: authz.MeshNoRegistry, Message: "m"}, status: 409},
		{err: &authz.InvalidPrincipalError{Message: "m"}, status: 422, want: authz.Validation("m")},
		{err: errors.New("pq: password authentication failed"), status: 500, want: &provider.NamedError{Name: "Error", Message: "internal error"}},
	} {
		for _, err := range []error{c.err, fmt.Errorf("while doing it: %w", c.err)} {
			wire, status := provider.ToWireError(err)
			if status != c.status {
				t.Errorf("%T: status %d, want %d", c.err, status, c.status)
			}
			want := c.want
			if want == nil {
				want = c.err
			}
			if diff := cmp.Diff(want, provider.FromWireError(wire), cmp.Comparer(func(a, b authz.Expiry) bool { return a == b })); diff != "" {
				t.Errorf("%T (-want +got)\n%s", c.err, diff)
			}
		}
	}
}

// A far side may send no detail: what it said is then all there is.
func TestAnErrorWithoutDetailKeepsItsMessage(t *testing.T) {
	for _, name := range []string{"ProviderApiError", "ProviderWriteRejectedError", "GraphCycleError", "PromotionConflictError", "UnavailableError", "CatalogError", "UnknownPermissionError", "UnknownScopeTypeError",
		"MissingConditionError", "AccessDeniedError", "UnresolvedScopeError", "MeshError", "Error"} {
		err := provider.FromWireError(&provider.WireError{Name: name, Message: "what the far side said"})
		if err.Error() != "what the far side said" {
			t.Errorf("%s: %v", name, err)
		}
		wire, _ := provider.ToWireError(err)
		if wire.Message != "what the far side said" && wire.Message != "internal error" {
			t.Errorf("%s crosses again as %q", name, wire.Message)
		}
	}
}

func TestARejectionWithoutACodeIsAValidationAndAForeignClassKeepsItsName(t *testing.T) {
	err := provider.FromWireError(&provider.WireError{Name: "ProviderWriteRejectedError", Message: "m"})
	if authz.CodeOf(err) != authz.CodeValidation {
		t.Errorf("%v", err)
	}
	var typed authz.Error
	if err := provider.FromWireError(&provider.WireError{Name: "FancyError", Code: "c", Message: "m"}); !errors.As(err, &typed) || typed.ErrorName() != "FancyError" || err.Error() != "m" {
		t.Errorf("%v", err)
	}
	if diff := cmp.Diff([]string{}, provider.FromWireError(&provider.WireError{Name: "GraphCycleError"}).(*authz.GraphCycleError).Path, cmp.Transformer("len", func(s []string) int { return len(s) })); diff != "" {
		t.Errorf("a cycle without a path: %s", diff)
	}
}

// TestTheCallerTellsTransportFromRefusal goes through what a far side can answer.
func TestTheCallerTellsTransportFromRefusal(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		body   string
		text   string // of a transport error
		want   error  // of any other
	}{
		{"not JSON", 502, "<html>", "answered 502 with a non-JSON body", nil},
		{"an API error", 401, `{"error":{"name":"ProviderApiError","code":"unauthorized","message":"unauthorized"}}`, "was rejected by the API: unauthorized", nil},
		{"no envelope", 500, `{"oops":1}`, "answered 500", nil},
		{"no object", 200, `[1]`, "answered 200 with an array, not the JSON object", nil},
		{"a redirect", 307, ``, "redirects are not followed", nil},
		{"an unusable member", 200, `{"version":"one"}`, "without a usable result", nil},
		{"an envelope inside a 200", 200, `{"error":{"name":"ProviderWriteRejectedError","code":"conflict","message":"m"}}`, "", authz.Rejected(authz.CodeConflict, "m")},
		{"a refusal", 404, `{"error":{"name":"ProviderWriteRejectedError","code":"not_found","message":"m"}}`, "", authz.Rejected(authz.CodeNotFound, "m")},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			}))
			defer server.Close()
			caller := provider.Caller{Base: server.URL, Secret: "a-secret-of-the-test"}
			var result struct{ Version int64 }
			err := caller.Call(t.Context(), "publishCatalog", nil, &result)
			var transport *provider.TransportError
			switch {
			case c.want != nil:
				if diff := cmp.Diff(c.want, err); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			case !errors.As(err, &transport) || !strings.Contains(err.Error(), c.text):
				t.Errorf("got %v, want %q", err, c.text)
			case strings.Contains(err.Error(), caller.Secret):
				t.Errorf("the error shows the secret: %v", err)
			}
		})
	}
}

func TestTheCallerSendsNamedParametersToTheOperation(t *testing.T) {
	var path, authorization, body string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b := make([]byte, r.ContentLength)
		_, _ = r.Body.Read(b)
		path, authorization, body = r.Method+" "+r.URL.Path, r.Header.Get("Authorization"), string(b)
		_, _ = w.Write([]byte(`{"seq":7}`))
	}))
	defer server.Close()
	caller := provider.Caller{Base: server.URL + "/apps/docs/", Secret: "s"}
	var head provider.EventLogHead
	if err := caller.Call(t.Context(), "epoch.head", map[string]any(nil), &head); err != nil || head.Seq != 7 {
		t.Fatal(head, err)
	}
	if path != "POST /apps/docs/v1/epoch.head" || authorization != "Bearer s" || body != "{}" {
		t.Errorf("%q %q %q", path, authorization, body)
	}
	caller.Base = "http://127.0.0.1:1" // a port that no test is given
	var transport *provider.TransportError
	if err := caller.Call(t.Context(), "ping", nil, nil); !errors.As(err, &transport) || transport.Status != 0 {
		t.Errorf("nobody there: %v", err)
	}
}
