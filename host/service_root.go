package host

import (
	"context"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/client"
)

// noRoot is an org root that nobody has: every question is no_org_root, none is
// answered yes.
type noRoot struct{}

func none() error { return fault.Cloud("no_org_root", "the org has no org root") }

func (noRoot) Decide(context.Context, service.Question) (bool, authz.DenialReason, error) {
	return false, "", none()
}

func (noRoot) Access(context.Context, string, authz.Principal, bool) (*authz.SubjectAccess, error) {
	return nil, none()
}

func (noRoot) Held(context.Context, string, authz.Principal, *client.ViewAs) ([]service.HeldKey, error) {
	return nil, none()
}

func (noRoot) Role(context.Context, string, string) (authz.Role, error) { return authz.Role{}, none() }

func (noRoot) Status(context.Context, string) (service.RootStatus, error) {
	return service.RootStatus{Home: service.HomeNone}, nil
}
