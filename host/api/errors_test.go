package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// through records the status of the last answer, and sends with another method
// when one is given.
type through struct {
	http.RoundTripper
	method string
	status int
}

func (t *through) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.method != "" {
		r = r.Clone(r.Context())
		r.Method = t.method
	}
	resp, err := t.RoundTripper.RoundTrip(r)
	if err == nil {
		t.status = resp.StatusCode
	}
	return resp, err
}

// hosted is the application of w as a client elsewhere has it.
func (w *world) hosted(secret, method string) (*provider.Hosted, *through) {
	w.t.Helper()
	wire := &through{RoundTripper: w.server.Client().Transport, method: method}
	h, err := provider.NewHosted(provider.HostedOptions{URL: w.server.URL, Secret: secret, Transport: wire})
	if err != nil {
		w.t.Fatal(err)
	}
	return h, wire
}

// Each row of the table of errors crosses with its status and is rebuilt as the
// error that a caller in this process gets (spec: provider-api §5.2, §5.3).
func TestEveryErrorIsTheSameOnBothSidesOfTheWire(t *testing.T) {
	var injected error
	failing := newWorld(t, worldOptions{bodyLimit: 1000, decorate: func(a api.Backend) api.Backend {
		return faulty{Backend: a, capabilities: func(context.Context) (provider.Capabilities, error) {
			return provider.Capabilities{}, injected
		}}
	}})
	root := newWorld(t, worldOptions{})
	leaf := newWorld(t, worldOptions{orgRoot: new(bool)})
	silent := newWorld(t, worldOptions{persist: new(bool)})
	root.mustOK("createRole", `{"input":{"id":"r","name":"R","patterns":[]},`+admin+`}`)
	root.mustOK("setReportingEdge", `{"userId":"a","managerUserId":"b",`+admin+`}`)
	prov := authz.Provenance{Kind: authz.ProvenanceAdmin, ActorUserID: "root"}
	ctx := t.Context()
	grant := func(w *world, in provider.GrantInput) error {
		_, err := w.app.CreateGrant(ctx, in, prov)
		return err
	}
	role := func(w *world, id string) error {
		_, err := w.app.CreateRole(ctx, provider.RoleInput{ID: &id, Name: "R", Patterns: []string{}}, prov)
		return err
	}
	can := func(key string) error {
		_, err := root.client.Can(ctx, authz.Principal{UserID: "u"}, key, authz.Global)
		return err
	}
	refused := func(code provider.APICode, status int) error {
		return &provider.TransportError{Code: code, Status: status}
	}
	const u = `{"input":{"subject":"user:u"`
	flooded := newWorld(t, worldOptions{})
	flooded.flood()
	statuses := map[int]bool{}
	for name, c := range map[string]struct {
		world      *world
		op, params string
		secret     string
		method     string
		inject     error // what the application fails with
		want       error // nil is what was injected
		status     int
	}{
		"validation":       {world: root, op: "createGrant", params: u + `,` + admin + `}}`, want: grant(root, provider.GrantInput{Subject: "user:u"}), status: 422},
		"not_found":        {world: root, op: "deleteGroup", params: `{"groupId":"g",` + admin + `}`, want: root.app.DeleteGroup(ctx, "g", prov), status: 404},
		"conflict":         {world: root, op: "createRole", params: `{"input":{"id":"r","name":"R","patterns":[]},` + admin + `}`, want: role(root, "r"), status: 409},
		"graph_cycle":      {world: root, op: "setReportingEdge", params: `{"userId":"b","managerUserId":"a",` + admin + `}`, want: root.app.SetReportingEdge(ctx, "b", "a", prov), status: 409},
		"not_org_root":     {world: leaf, op: "createRole", params: `{"input":{"id":"r","name":"R","patterns":[]},` + admin + `}`, want: role(leaf, "r"), status: 403},
		"unsupported":      {world: silent, op: "epoch.head", want: authz.Rejected(authz.CodeUnsupported, "this application does not persist events (events.persist is off)"), status: 501},
		"undeclared key":   {world: root, op: "check", params: `{"principal":{"userId":"u"},"key":"docs.files.raed"}`, want: can("docs.files.raed"), status: 500},
		"needs condition":  {world: root, op: "check", params: `{"principal":{"userId":"u"},"key":"docs.pay.approve"}`, want: can("docs.pay.approve"), status: 500},
		"cycle by class":   {world: failing, inject: &authz.GraphCycleError{Path: []string{"a", "b", "a"}}, status: 409},
		"catalog":          {world: failing, inject: &authz.CatalogError{Issues: []authz.Issue{{Severity: authz.SeverityError, Path: "docs", Message: "m"}}}, status: 500},
		"outage of a read": {world: failing, inject: &authz.UnavailableError{Message: "storage is unavailable"}, status: 503},
		"not applied":      {world: failing, inject: &authz.UnavailableError{Message: "m", Outcome: authz.OutcomeNotApplied}, status: 503},
		"outcome unknown":  {world: failing, inject: &authz.UnavailableError{Message: "m", Outcome: authz.OutcomeUnknown}, status: 503},
		"denied": {world: failing, inject: &authz.AccessDeniedError{Reason: authz.ReasonForbidden, Permissions: []string{"docs.files.read"},
			Scope: "docs.doc:1", Principal: authz.Principal{UserID: "u"}}, status: 403},
		"any other":          {world: failing, inject: errors.New("SELECT"), want: &provider.NamedError{Name: "Error", Message: "internal error"}, status: 500},
		"method_not_allowed": {world: root, op: "ping", method: "PUT", want: refused(provider.MethodNotAllowed, 405), status: 405},
		"unauthorized":       {world: root, op: "ping", secret: "another-secret-0000", want: refused(provider.Unauthorized, 401), status: 401},
		"unknown_op":         {world: root, op: "nope", want: refused(provider.UnknownOp, 404), status: 404},
		"bad_request":        {world: root, op: "ping", params: `[]`, want: refused(provider.BadRequest, 400), status: 400},
		"rate_limited":       {world: flooded, op: "ping", secret: "another-secret-0000", want: refused(provider.RateLimited, 429), status: 429},
		"payload_too_large":  {world: failing, op: "ping", params: `{"x":"` + strings.Repeat("x", 1000) + `"}`, want: refused(provider.PayloadTooLarge, 413), status: 413},
	} {
		t.Run(name, func(t *testing.T) {
			if injected = c.inject; c.inject != nil {
				c.op = "capabilities"
			}
			if c.want == nil {
				c.want = c.inject
			}
			if c.secret == "" {
				c.secret = secret
			}
			if c.params == "" {
				c.params = `{}`
			}
			h, wire := c.world.hosted(c.secret, c.method)
			err := h.Call(ctx, c.op, json.RawMessage(c.params), nil)
			// The message of a transport error names the endpoint.
			ignored := cmpopts.IgnoreFields(provider.TransportError{}, "Message", "Cause")
			if diff := cmp.Diff(c.want, err, ignored, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("rebuilt (-want +got):\n%s", diff)
			}
			if wire.status != c.status {
				t.Errorf("status %d, want %d", wire.status, c.status)
			}
			statuses[wire.status] = true
		})
	}
	want := []int{400, 401, 403, 404, 405, 409, 413, 422, 429, 500, 501, 503}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(statuses))); diff != "" {
		t.Errorf("statuses (spec: provider-api §5.2) (-want +got):\n%s", diff)
	}
}
