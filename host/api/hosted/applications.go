package hosted

import (
	"context"
	"net/http"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/cloud"
)

// appOf is the input of endpoints below an application that need nothing else.
type appOf struct {
	inOrg
	App string `path:"app"`
}

type listApplications struct {
	inOrg
	State string `query:"state,omitempty" enum:"registered,linked,federated"`
	Paging
}

type applicationList struct {
	Applications []applications.Application `json:"applications"`
	NextCursor   *string                    `json:"nextCursor"`
}

type applicationAnswer struct {
	Application applications.Application `json:"application"`
}

type registerApplication struct {
	Org string `path:"org"`
	applications.Registration
}

type linkApplication struct {
	appOf
	RelayURL string `json:"relayUrl" min:"1" max:"2048"`
}

// linked tells a provider secret once.
type linked struct {
	Application    applications.Application `json:"application"`
	ProviderSecret *string                  `json:"providerSecret" once:"true"`
	SecretWithheld bool                     `json:"secretWithheld,omitempty"`
}

type healthAnswer struct {
	Health applications.Health `json:"health"`
}

type optIn struct {
	appOf
	OptIn bool `json:"optIn"`
}

func applicationRows(t *table) {
	answer := func(a applications.Application, err error) (applicationAnswer, error) {
		return applicationAnswer{a}, err
	}
	add(t, endpoint{Method: "GET", Path: "/orgs/{org}/applications", Summary: "The applications that the caller may read", Gate: service.AnySeat,
		GateText: "Seat; lists those where the caller has " + cloud.ApplicationsRead}, readableApplications)
	add(t, endpoint{Method: "POST", Path: "/orgs/{org}/applications", Summary: "Register an application and claim its namespaces",
		Gate: service.Cloud(cloud.RegisterApplication), Status: http.StatusCreated,
		Own: []string{"application_id_taken", "namespace_taken", "limit_reached", "namespace_reserved"}, Audit: []string{"A: application.register"}},
		func(ctx context.Context, c *Call, in registerApplication) (applicationAnswer, error) {
			out, err := answer(c.entries().Register(ctx, c.Caller.Actor(), in.Org, in.Registration))
			if err == nil {
				c.located("orgs", in.Org, "applications", out.Application.ID)
			}
			return out, err
		})
	add(t, endpoint{Method: "GET", Path: "/orgs/{org}/applications/{app}", Summary: "An application, with its last health and what it has published",
		Gate: service.CloudAtApp(cloud.ApplicationsRead)},
		func(ctx context.Context, c *Call, in appOf) (applicationAnswer, error) {
			return answer(c.entries().Get(ctx, in.Org, in.App))
		})
	add(t, endpoint{Method: "POST", Path: "/orgs/{org}/applications/{app}/probe", Summary: "Ask an application who it is",
		Gate: service.CloudAtApp(cloud.LinkApplication), Own: []string{"not_linked"}},
		func(ctx context.Context, c *Call, in appOf) (healthAnswer, error) {
			health, err := c.entries().Probe(ctx, in.Org, in.App)
			return healthAnswer{health}, err
		})
	add(t, endpoint{Method: "POST", Path: "/orgs/{org}/applications/{app}/link", Summary: "Link an application, or link it again; its secret is told once",
		Gate: service.CloudAtApp(cloud.LinkApplication), Proof: proofAlways, Own: []string{"relay_url_rejected", "application_mismatch", "invalid_transition", "cap_reached"},
		Audit: []string{"A: application.link"}, Meter: []string{"linked_applications"}},
		func(ctx context.Context, c *Call, in linkApplication) (linked, error) {
			l, err := c.entries().Link(ctx, c.Caller.Actor(), in.Org, in.App, in.RelayURL)
			return linked{l.Application, l.ProviderSecret, l.Withheld}, err
		})
	add(t, endpoint{Method: "POST", Path: "/orgs/{org}/applications/{app}/unlink", Summary: "Unlink an application",
		Gate: service.CloudAtApp(cloud.LinkApplication), Proof: proofAlways, Own: []string{"invalid_transition"},
		Audit: []string{"A: application.unlink"}, Meter: []string{"linked_applications"}},
		func(ctx context.Context, c *Call, in appOf) (applicationAnswer, error) {
			return answer(c.entries().Unlink(ctx, c.Caller.Actor(), in.Org, in.App))
		})
	add(t, endpoint{Method: "DELETE", Path: "/orgs/{org}/applications/{app}", Summary: "Delete an application's entry",
		Gate: service.CloudAtApp(cloud.DeleteApplication), Proof: proofAlways, Conditional: true, Own: []string{"invalid_transition"},
		Audit: []string{"A: application.delete"}, Meter: []string{"linked_applications"}}, deleteApplication)
	add(t, endpoint{Method: "POST", Path: "/orgs/{org}/applications/{app}/audit-optin", Summary: "Turn retention of an application's audit log on or off",
		Gate: service.CloudAtApp(cloud.RetentionManage), Audit: []string{"A: application.audit_optin"}},
		func(ctx context.Context, c *Call, in optIn) (applicationAnswer, error) {
			return answer(c.entries().SetAuditOptIn(ctx, c.Caller.Actor(), in.Org, in.App, in.OptIn))
		})
}

func (c *Call) entries() *applications.Entries { return c.api.o.Services.Applications }

func readableApplications(ctx context.Context, c *Call, in listApplications) (out applicationList, err error) {
	may := func(id string) (bool, error) { return c.Access.Can(ctx, cloud.ApplicationsRead, cloud.App(id)) }
	next := ""
	out.Applications, next, err = c.entries().List(ctx, in.Org,
		applications.Query{State: applications.State(in.State), May: may, After: c.Page.After, Limit: c.Page.Limit})
	if err != nil {
		return out, err
	}
	out.NextCursor, err = c.next(next)
	return out, err
}

// deleteApplication passes on the one etag of If-Match that the entry has.
func deleteApplication(ctx context.Context, c *Call, in appOf) (None, error) {
	etag := ""
	if match := c.match(); match != nil {
		now, err := c.entries().Get(ctx, in.Org, in.App)
		if err != nil {
			return None{}, err
		}
		if etag = now.Etag; !match(etag) {
			return None{}, errMoved()
		}
	}
	return None{}, c.entries().Delete(ctx, c.Caller.Actor(), in.Org, in.App, etag)
}
