package application_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/internal/lacking"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// Whoever is denied is told the groups, roles and requests that would allow, with a
// driver that lists grants by scope and with one that does not.
func TestADenialTellsWhatWouldAllow(t *testing.T) {
	for name, s := range map[string]storage.Store{"lookups": openStore(t), "no lookups": lacking.Store(openStore(t), storage.CapLookups)} {
		t.Run(name, func(t *testing.T) {
			app := newApp(t, application.Options{Store: s, IDs: ascending()})
			const tag = "a"
			_, err := app.CreateRole(t.Context(), provider.RoleInput{ID: new(tag + "boss"), Name: "boss", Patterns: []string{"docs.admin.read"}}, root)
			must(t, err)
			_, err = app.CreateGrant(t.Context(), provider.GrantInput{Subject: "user:" + tag + "boss", RoleID: tag + "boss"}, root)
			must(t, err)
			role := func(id string, patterns ...string) {
				_, err := app.CreateRole(t.Context(), provider.RoleInput{ID: new(tag + id), Name: id, Patterns: patterns, Requestable: &authz.Requestable{
					Stages: []authz.Stage{{Kind: authz.StageNamedApprovers, RoleID: tag + "boss"}}}}, root)
				must(t, err)
			}
			role("wide", "docs.*")
			role("narrow", "docs.files.read")
			role("other", "docs.admin.read")
			for i := range 12 {
				group := fmt.Sprintf("%sg%02d", tag, i)
				_, err := app.CreateGroup(t.Context(), provider.GroupInput{ID: &group, Name: "group " + group}, root)
				must(t, err)
				_, err = app.CreateGrant(t.Context(), provider.GrantInput{Subject: "group:" + group, RoleID: tag + map[bool]string{true: "narrow", false: "other"}[i%2 == 0]}, root)
				must(t, err)
			}
			_, err = app.CreateGrant(t.Context(), provider.GrantInput{Subject: "user:someone", Pattern: "docs.*"}, root)
			must(t, err)
			e := around(t, app, authz.UserPrincipal("u"), "docs.files.read")
			groups := make([]string, len(e.Near.Groups))
			for i, g := range e.Near.Groups {
				groups[i] = g.GroupID
			}
			if want := tag + "g00"; !slices.Contains(groups, want) || slices.Contains(groups, tag+"g01") {
				t.Errorf("the groups are %v, without %s", groups, want)
			}
			if e.Near.Roles[0].Name != "narrow" || slices.ContainsFunc(e.Near.Roles, func(r access.NearRole) bool { return r.Name == "other" }) {
				t.Errorf("the roles are %+v", e.Near.Roles)
			}
			for _, q := range e.Near.Requests {
				_, err := app.SubmitRequest(t.Context(), provider.RequestInput{RequesterUserID: "u", RoleID: q.RoleID, Pattern: q.Pattern, Scope: q.Scope})
				if err != nil {
					t.Errorf("%+v: %v", q, err)
				}
			}
			if len(e.Near.Requests) == 0 {
				t.Error("no requests")
			}
			if e := around(t, app, authz.ServicePrincipal("robot"), "docs.files.read"); e.Near == nil || e.Near.Groups != nil || e.Near.Requests != nil || e.Near.Roles == nil {
				t.Errorf("a service is told %+v", e.Near)
			}
		})
	}
	app := newApp(t, application.Options{})
	for i := range access.MaxNear + 1 {
		_, err := app.CreateGrant(t.Context(), provider.GrantInput{Subject: fmt.Sprintf("group:g%02d", i), Pattern: "docs.files.read"}, root)
		must(t, err)
	}
	if e := around(t, app, authz.UserPrincipal("u"), "docs.files.read"); len(e.Near.Groups) != access.MaxNear || !e.Near.More {
		t.Errorf("of 11 groups %d are told, more is %v", len(e.Near.Groups), e.Near.More)
	}
}

func around(t *testing.T, app *application.Application, p authz.Principal, key string) access.Explained {
	t.Helper()
	rows, err := app.GetSubjectAccess(t.Context(), p)
	must(t, err)
	e, err := access.Explain(app.Catalog(), &rows, key, access.NewChain("", nil), 1, nil)
	must(t, err)
	told, err := app.Around(t.Context(), p, &rows, key, e)
	must(t, err)
	return told
}
