package cloud

import (
	"slices"
	"strings"
	"sync"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

// Namespace is reserved in every registry; AppType is its scope type.
const (
	Namespace = "cloud"
	AppType   = "cloud.app"
)

// Everything is the pattern of the whole account vocabulary; the built-in roles
// have it.
const (
	Everything = Namespace + ".*"
	RoleOwner  = "cloud_owner"
	RoleAdmin  = "cloud_admin"
)

// The keys (spec: hosted-api §5.1).
const (
	ApplicationsRead    = "cloud.applications.read"
	RegisterApplication = "cloud.applications.register_application"
	LinkApplication     = "cloud.applications.link_application"
	FederateApplication = "cloud.applications.federate_application"
	DemoteApplication   = "cloud.applications.demote_application"
	PublishCatalog      = "cloud.applications.publish_catalog"
	ManageCredentials   = "cloud.applications.manage_credentials"
	ManageAccess        = "cloud.applications.manage_access"
	DeleteApplication   = "cloud.applications.delete"
	SeatsRead           = "cloud.seats.read"
	InviteSeat          = "cloud.seats.invite_seat"
	UpdateSeat          = "cloud.seats.update_seat"
	DeleteSeat          = "cloud.seats.delete"
	BillingRead         = "cloud.billing.read"
	ManageCaps          = "cloud.billing.manage_caps"
	RegistryRead        = "cloud.registry.read"
	RetentionRead       = "cloud.retention.read"
	RetentionExport     = "cloud.retention.export_audit"
	RetentionManage     = "cloud.retention.manage_retention"
	AuditRead           = "cloud.audit.read"
)

// App is the scope of an application's entry.
func App(id string) string { return authz.ScopeID(AppType, id) }

// AppOf is the application that a scope names.
func AppOf(scope string) (id string, ok bool) {
	scopeType, id, ok := authz.ParseScope(scope)
	return id, ok && scopeType == AppType
}

// IsPattern tells whether a pattern is of account vocabulary. A bare * is not: it
// never reaches cloud.*.
func IsPattern(pattern string) bool {
	return pattern == Namespace || strings.HasPrefix(pattern, Namespace+".")
}

// IsRole tells whether a role has only patterns of account vocabulary, which makes
// it account data.
func IsRole(patterns []string) bool {
	return len(patterns) > 0 && !slices.ContainsFunc(patterns, func(p string) bool { return !IsPattern(p) })
}

// BuiltIn are the roles of owner and admin seats: fixed, not editable.
func BuiltIn() []authz.Role {
	return []authz.Role{
		{ID: RoleAdmin, Name: "Administrator", Description: "Held by every admin seat.", Patterns: []string{Everything}},
		{ID: RoleOwner, Name: "Owner", Description: "Held by every owner seat.", Patterns: []string{Everything}},
	}
}

// Catalog is the vocabulary of account data.
var Catalog = sync.OnceValue(func() *catalog.Catalog { return catalog.MustDefine(input(false)) })

// Evaluable is the vocabulary that POST evaluate knows: cloud and authz_internal.
var Evaluable = sync.OnceValue(func() *catalog.Catalog { return catalog.MustDefine(input(true)) })

// Root is the vocabulary that a hosted org root has of itself: authz_internal. What its
// rows may name beside it is what applications have published.
var Root = sync.OnceValue(func() *catalog.Catalog {
	return catalog.MustDefine(catalog.Input{Namespaces: []string{Namespace}, IncludeAuthzInternal: new(true)})
})

func input(internal bool) catalog.Input {
	app := []string{AppType}
	org := []string{}
	leaf := func(key, description string, scopes []string) catalog.Permission {
		return catalog.Permission{Key: key, Description: description, Scopes: scopes}
	}
	sharp := func(p catalog.Permission) catalog.Permission {
		p.Destructive = new(true)
		return p
	}
	return catalog.Input{
		Namespaces:           []string{Namespace},
		IncludeAuthzInternal: &internal,
		ScopeTypes:           []catalog.ScopeType{{Type: AppType, Description: "An application's entry"}},
		Permissions: []catalog.PermissionSet{catalog.Leaves(
			leaf(ApplicationsRead, "View an application: its entry, rows, requests, audit, catalog and usage", app),
			leaf(RegisterApplication, "Register an application", org),
			leaf(LinkApplication, "Link, unlink and probe an application", app),
			sharp(leaf(FederateApplication, "Move org data to the hosted root", app)),
			sharp(leaf(DemoteApplication, "Move org data back to an application", app)),
			leaf(PublishCatalog, "Publish an application's catalog", app),
			leaf(ManageCredentials, "Create, rotate and revoke API keys", app),
			leaf(ManageAccess, "Write an application's instance grants and revokes", app),
			leaf(DeleteApplication, "Delete an application's entry", app),
			leaf(SeatsRead, "List seats", org),
			leaf(InviteSeat, "Invite a seat", org),
			leaf(UpdateSeat, "Change seats, revoke sessions, write account rows", org),
			leaf(DeleteSeat, "Remove a seat", org),
			leaf(BillingRead, "View usage", org),
			leaf(ManageCaps, "Set caps", org),
			leaf(RegistryRead, "View the drift report", org),
			leaf(RetentionRead, "Read retained audit events", app),
			leaf(RetentionExport, "Export retained audit events", app),
			leaf(RetentionManage, "Switch retention and ingest audit events", app),
			leaf(AuditRead, "Read the account log", org),
		)},
	}
}
