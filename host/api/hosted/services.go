package hosted

import (
	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/billing"
	"github.com/authzhost/authz/host/service/changes"
	"github.com/authzhost/authz/host/service/federation"
	"github.com/authzhost/authz/host/service/oidc"
	"github.com/authzhost/authz/host/service/orgroot"
	"github.com/authzhost/authz/host/service/registry"
	"github.com/authzhost/authz/host/service/retention"
)

// Services are what the rows of the table are bound to.
type Services struct {
	Core         *service.Service
	Applications *applications.Entries
	OIDC         *oidc.Provider // nil: sign-in by OpenID Connect is not configured
	Meters       *billing.Meters
	Registry     *registry.Registry
	Root         *orgroot.Root
	Retention    *retention.Retention
	Federation   *federation.Federation
	Changes      *changes.Watcher
	Host         Host
}
