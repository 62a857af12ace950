package hosted

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/authzhost/authz/host/service"
)

// Every endpoint, by every kind of credential, in the caller's own org, in another
// that exists and in one that does not: who may not call learns nothing.
func TestNoEndpointAnswersBeforeItsGate(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	owner.call("POST", "/orgs/acme/seats", `{"userId":"u_7"}`).want(t, 201, "")
	w.signIn("acme").call("POST", "/orgs", `{"id":"other","name":"Other","ownerUserId":"u_stranger"}`).want(t, 201, "")
	callers := map[service.CallerKind]caller{
		service.CallerSession:   owner,
		service.CallerAdmin:     owner.key(`{"kind":"admin","name":"a"}`),
		service.CallerPrincipal: owner.key(`{"kind":"principal","name":"p","serviceId":"ci"}`),
		service.CallerPublisher: owner.key(`{"kind":"publisher","name":"b","namespace":"docs"}`),
	}
	for _, e := range endpoints().list {
		t.Run(strings.TrimPrefix(e.Method+" "+e.Path, "/"), func(t *testing.T) {
			w.clock.Add(60_000) // full buckets
			call := func(c caller, org, id string) reply {
				path := e.Path
				for _, name := range e.parameters {
					value := id
					if name == "org" {
						value = org
					}
					path = strings.Replace(path, "{"+name+"}", value, 1)
				}
				return c.call(e.Method, path+queryOf(e), bodyOf(t, e))
			}
			if e.Gate.Kind == service.GatePublic {
				if r := call(caller{w: w, bearer: "nonsense"}, "acme", "x"); r.status == http.StatusUnauthorized && r.code() == "credential_invalid" {
					t.Errorf("a public endpoint read a credential: %s", r.raw)
				}
				return
			}
			call(caller{w: w}, "acme", "x").want(t, 401, "credential_missing")
			call(caller{w: w, bearer: "nonsense"}, "acme", "x").want(t, 401, "credential_invalid")
			for kind, c := range callers {
				if !e.Gate.Admits(kind) {
					call(c, "acme", "x").want(t, 403, "credential_not_allowed")
					call(c, "other", "x").want(t, 403, "credential_not_allowed")
					continue
				}
				if !e.inOrg() {
					continue
				}
				exists, absent := call(c, "other", "x"), call(c, "nowhere", "x")
				exists.want(t, 404, "org_not_found")
				if got, want := sayings(exists), sayings(absent); got != want {
					t.Errorf("%s: another org is told from none: %s, %s", kind, got, want)
				}
				// Nobody gave the service anything: what it may not do it learns
				// before whether the object exists.
				if kind == service.CallerPrincipal && (e.Gate.Kind == service.GateCloud || e.Gate.Kind == service.GateOrg) {
					for _, id := range []string{"docs", "u_7", "absent"} {
						call(c, "acme", id).want(t, 403, "forbidden")
					}
				}
			}
		})
	}
}

// sayings is an error without what names the request.
func sayings(r reply) string {
	e, _ := r.body["error"].(map[string]any)
	delete(e, "requestId")
	return fmt.Sprint(r.status, e)
}

// bodyOf is the example of the description, made to pass the endpoint's own shape.
func bodyOf(t *testing.T, e *endpoint) string {
	t.Helper()
	if own, ok := shapes[e.Method+" "+e.Path]; ok {
		return own
	}
	if !e.body {
		if e.takesBody() {
			return "{}"
		}
		return ""
	}
	text, err := stable(example(e.input, "", "", 0))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// shapes are bodies whose members exclude one another, which no example shows.
var shapes = map[string]string{
	"POST /orgs/{org}/api-keys":                       `{"kind":"principal","name":"p","serviceId":"ci"}`,
	"POST /orgs/{org}/view-as":                        `{"viewAs":null}`,
	"POST /orgs/{org}/evaluate":                       `{"key":["cloud.seats.read"]}`,
	"POST /orgs/{org}/org/grants":                     `{"subject":"user:u_7","pattern":"docs.admin.read"}`,
	"POST /orgs/{org}/org/grants/bulk":                `{"grants":[{"subject":"user:u_7","pattern":"docs.admin.read"}]}`,
	"POST /orgs/{org}/org/grants/change":              `{"create":[{"subject":"user:u_7","pattern":"docs.admin.read"}]}`,
	"POST /orgs/{org}/org/plan":                       `{"with":{"grants":[{"subject":"user:u_7","pattern":"docs.admin.read"}]}}`,
	"POST /orgs/{org}/requests":                       `{"pattern":"docs.admin.read"}`,
	"POST /orgs/{org}/applications/{app}/grants":      `{"subject":"user:u_7","pattern":"docs.files.read","scope":"docs.doc:1"}`,
	"POST /orgs/{org}/applications/{app}/revokes":     `{"userId":"u_7","pattern":"docs.files.read","scope":"docs.doc:1"}`,
	"POST /orgs/{org}/api-keys/{id}/rotate":           `{"overlapMs":0}`,
	"PATCH /orgs/{org}/seats/{userId}":                `{"kind":"admin"}`,
	"POST /orgs/{org}/applications":                   `{"id":"wiki","name":"Wiki","namespaces":["wiki"]}`,
	"PUT /orgs/{org}/billing/caps/{dimension}":        `{"cap":1}`,
	"POST /orgs/{org}/applications/{app}/audit-optin": `{"optIn":true}`,
}

// queryOf is what the endpoint cannot do without.
func queryOf(e *endpoint) string {
	switch e.Path {
	case "/orgs/{org}/org/subject-access":
		return "?userId=u_7"
	case "/orgs/{org}/org/explain":
		return "?userId=u_7&key=authz_internal.access.read&scope=*"
	case "/orgs/{org}/me/explain":
		return "?key=authz_internal.access.read&scope=*"
	case "/orgs/{org}/org/who-can":
		return "?key=authz_internal.access.read"
	case "/orgs/{org}/org/where-can":
		return "?userId=u_7&key=authz_internal.access.read"
	case "/orgs/{org}/org/what-can":
		return "?userId=u_7"
	case "/orgs/{org}/applications/{app}/ancestors":
		return "?scope=docs.doc:1"
	case "/orgs/{org}/org/wildcard-drift", "/orgs/{org}/applications/{app}/wildcard-drift":
		return "?since=1"
	case "/orgs/{org}/audit/{id}", "/orgs/{org}/org/audit/{id}", "/orgs/{org}/applications/{app}/audit/{id}":
		return "?at=1"
	}
	return ""
}
