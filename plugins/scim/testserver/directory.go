package main

import (
	"net/http"

	"github.com/elimity-com/scim"
	"github.com/elimity-com/scim/errors"
	"github.com/elimity-com/scim/optional"
	"github.com/elimity-com/scim/schema"
)

const enterprise = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"

// world is the directory that is served, attributes as SCIM names them.
type world struct {
	Users  []entity `json:"users"`
	Groups []entity `json:"groups"`
}

type entity struct {
	ID         string         `json:"id"`
	ExternalID string         `json:"externalId"`
	Attributes map[string]any `json:"attributes"`
}

// handler lists the entities of one type; it changes none.
type handler struct{ entities func() []entity }

func (h handler) GetAll(_ *http.Request, p scim.ListRequestParams) (scim.Page, error) {
	var page scim.Page
	page.Resources = []scim.Resource{}
	for _, e := range h.entities() {
		r := scim.Resource{ID: e.ID, Attributes: scim.ResourceAttributes{}}
		if e.ExternalID != "" {
			r.ExternalID = optional.NewString(e.ExternalID)
		}
		for name, value := range e.Attributes {
			r.Attributes[name] = value
		}
		if p.FilterValidator != nil && p.FilterValidator.PassesFilter(r.Attributes) != nil {
			continue
		}
		page.TotalResults++
		if page.TotalResults >= p.StartIndex && len(page.Resources) < p.Count {
			page.Resources = append(page.Resources, r)
		}
	}
	return page, nil
}

func (h handler) Get(_ *http.Request, id string) (scim.Resource, error) {
	return scim.Resource{}, errors.ScimErrorResourceNotFound(id)
}

var readOnly = errors.ScimError{Status: http.StatusForbidden, Detail: "read only"}

func (h handler) Create(*http.Request, scim.ResourceAttributes) (scim.Resource, error) {
	return scim.Resource{}, readOnly
}

func (h handler) Replace(*http.Request, string, scim.ResourceAttributes) (scim.Resource, error) {
	return scim.Resource{}, readOnly
}

func (h handler) Delete(*http.Request, string) error { return readOnly }

func (h handler) Patch(*http.Request, string, []scim.PatchOperation) (scim.Resource, error) {
	return scim.Resource{}, readOnly
}

func serviceOf(f *front) (http.Handler, error) {
	return scim.NewServer(&scim.ServerArgs{
		ServiceProviderConfig: &scim.ServiceProviderConfig{MaxResults: 1000, SupportFiltering: true},
		ResourceTypes: []scim.ResourceType{
			{ID: optional.NewString("User"), Name: "User", Endpoint: "/Users", Schema: schema.CoreUserSchema(),
				SchemaExtensions: []scim.SchemaExtension{{Schema: schema.ExtensionEnterpriseUser()}},
				Handler:          handler{func() []entity { return f.world.Users }}},
			{ID: optional.NewString("Group"), Name: "Group", Endpoint: "/Groups", Schema: schema.CoreGroupSchema(),
				Handler: handler{func() []entity { return f.world.Groups }}},
		},
	})
}
