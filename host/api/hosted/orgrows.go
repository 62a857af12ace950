package hosted

import (
	"context"
	"net/http"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/orgroot"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// The keys of authz_internal that gate the org domain (spec: hosted-api §8.3).
const (
	readAccess     = "authz_internal.access.read"
	manageGrants   = "authz_internal.access.manage_grants"
	manageRevokes  = "authz_internal.access.manage_revokes"
	manageRoles    = "authz_internal.access.manage_roles"
	manageGroups   = "authz_internal.access.manage_groups"
	manageReports  = "authz_internal.access.manage_reporting"
	readRequests   = "authz_internal.requests.read"
	readAudit      = "authz_internal.audit.read"
	accountRowGate = "; of cloud.* rows: cloud.seats.update_seat@*"
)

// byHome marks a gate that the service judges itself: it depends on whose the row
// is. Whoever calls belongs to the org.
var byHome = service.Me

// rootCodes are the answers of an org root that gates and keeps rows.
var rootCodes = append([]string{"forbidden", "inactive", "no_org_root", "org_root_moving", "UnknownPermissionError"}, relayCodes...)

// writeCodes are those of a write at its home.
var writeCodes = append([]string{"validation", "not_found", "conflict", "unsupported", "not_org_root", "not_linked"}, rootCodes...)

func codes(more ...string) []string { return append(more, writeCodes...) }

type grantInput struct {
	Subject   string  `json:"subject" min:"1" max:"512"`
	RoleID    *string `json:"roleId,omitempty"`
	Pattern   *string `json:"pattern,omitempty"`
	Scope     *string `json:"scope,omitempty"`
	ExpiresAt *int64  `json:"expiresAt,omitempty"`
}

func (in grantInput) of() provider.GrantInput {
	out := provider.GrantInput{Subject: in.Subject, RoleID: deref(in.RoleID), Pattern: deref(in.Pattern), Scope: deref(in.Scope)}
	if in.ExpiresAt != nil {
		out.ExpiresAt = authz.ExpiresAt(*in.ExpiresAt)
	}
	return out
}

// Check tells what no home accepts.
func (in grantInput) Check() error { return checkGrant("", in) }

func checkGrant(path string, in grantInput) error {
	if (in.RoleID == nil) == (in.Pattern == nil) {
		return invalid(member(path, "roleId"), "either roleId or pattern is required, and not both")
	}
	if in.Scope != nil && authz.ValidateScope(*in.Scope) != nil {
		return invalid(member(path, "scope"), fault.NoScope)
	}
	return nil
}

func (in grantInput) home() (scope, pattern, roleID string) {
	return deref(in.Scope), deref(in.Pattern), deref(in.RoleID)
}

func (in createGrants) home() (scope, pattern, roleID string) { return in.Grants[0].home() }

type revokeInput struct {
	UserID  string  `json:"userId" min:"1" max:"512"`
	Pattern string  `json:"pattern" min:"1"`
	Scope   *string `json:"scope,omitempty"`
}

func (in revokeInput) home() (scope, pattern, roleID string) { return deref(in.Scope), in.Pattern, "" }

func (in revokeInput) of() provider.RevokeInput {
	return provider.RevokeInput{UserID: in.UserID, Pattern: in.Pattern, Scope: deref(in.Scope)}
}

// Check tells what no home accepts.
func (in revokeInput) Check() error {
	if in.Scope != nil && authz.ValidateScope(*in.Scope) != nil {
		return invalid("scope", fault.NoScope)
	}
	return nil
}

type grantFilter struct {
	Subject *string `query:"subject,omitempty"`
	RoleID  *string `query:"roleId,omitempty"`
	Scope   *string `query:"scope,omitempty"`
}

func (f grantFilter) of() provider.GrantQuery {
	return provider.GrantQuery{Subject: f.Subject, RoleID: f.RoleID, Scope: f.Scope}
}

// Check tells a scope that is none.
func (f grantFilter) Check() error { return checkScope(f.Scope) }

type revokeFilter struct {
	UserID *string `query:"userId,omitempty"`
	Scope  *string `query:"scope,omitempty"`
}

func (f revokeFilter) of() provider.RevokeQuery {
	return provider.RevokeQuery{UserID: f.UserID, Scope: f.Scope}
}

// Check tells a scope that is none.
func (f revokeFilter) Check() error { return checkScope(f.Scope) }

// homes chooses rows of one home, or of all.
type homes struct {
	Homes string `query:"homes,omitempty" enum:"all"`
}

func (h homes) check(scope *string) error {
	if h.Homes != "" && scope != nil {
		return fault.Parameter("homes", "all is of every scope: leave scope out")
	}
	return nil
}

type listGrants struct {
	inOrg
	grantSearch
	homes
	Paging
}

// Check is that of the search, and tells homes with a scope.
func (in listGrants) Check() error {
	if err := in.homes.check(in.Scope); err != nil {
		return err
	}
	return in.grantSearch.Check()
}

type countGrants struct {
	inOrg
	grantFilter
}

type createGrant struct {
	inOrg
	grantInput
}

type createGrants struct {
	inOrg
	Grants []grantInput `json:"grants" min:"1" max:"1000"`
}

func (in createGrant) judge(ctx context.Context, c *Call) error {
	return c.root().MayCreateGrants(ctx, c.Access, []provider.GrantInput{in.of()})
}

func (in createGrants) of() []provider.GrantInput {
	rows := make([]provider.GrantInput, len(in.Grants))
	for i, g := range in.Grants {
		rows[i] = g.of()
	}
	return rows
}

func (in createGrants) judge(ctx context.Context, c *Call) error {
	return c.root().MayCreateGrants(ctx, c.Access, in.of())
}

// Check tells the first row that no home accepts.
func (in createGrants) Check() error {
	for i, g := range in.Grants {
		if err := checkGrant(index("grants", i), g); err != nil {
			return err
		}
	}
	return nil
}

// rowOf names a row, and the application that keeps it unless that is the root or
// the account.
type rowOf struct {
	inOrg
	ID          string `path:"id"`
	Application string `query:"application,omitempty"`
}

type listRevokes struct {
	inOrg
	revokeFilter
	homes
	Paging
}

// Check tells a scope that is none, and homes without a user.
func (in listRevokes) Check() error {
	if in.Homes != "" && in.UserID == nil {
		return fault.Parameter("homes", "all is of one userId: name it")
	}
	if err := in.homes.check(in.Scope); err != nil {
		return err
	}
	return in.revokeFilter.Check()
}

type countRevokes struct {
	inOrg
	revokeFilter
}

type createRevoke struct {
	inOrg
	revokeInput
}

func (in createRevoke) judge(ctx context.Context, c *Call) error {
	return c.root().MayCreateRevoke(ctx, c.Access, in.of())
}

// Unavailable is told of all homes alone.
type grants struct {
	Grants      []orgroot.HomedGrant   `json:"grants"`
	NextCursor  *string                `json:"nextCursor"`
	Unavailable *[]orgroot.Unavailable `json:"unavailable,omitempty"`
}

type revokes struct {
	Revokes     []orgroot.HomedRevoke  `json:"revokes"`
	NextCursor  *string                `json:"nextCursor"`
	Unavailable *[]orgroot.Unavailable `json:"unavailable,omitempty"`
}

type count struct {
	Count int64 `json:"count"`
}

type homedGrant struct {
	Grant    authz.Grant  `json:"grant"`
	Home     orgroot.Home `json:"home"`
	Warnings []string     `json:"warnings,omitempty"`
}

type homedGrants struct {
	Grants   []authz.Grant `json:"grants"`
	Home     orgroot.Home  `json:"home"`
	Warnings []string      `json:"warnings,omitempty"`
}

type homedRevoke struct {
	Revoke authz.Revoke `json:"revoke"`
	Home   orgroot.Home `json:"home"`
}

// warnings tell what the author of grants may not have meant.
func (c *Call) warnings(ctx context.Context, h orgroot.Home, rows ...authz.Grant) []string {
	var told []string
	if h.Kind == "account" {
		told = service.Warnings(rows...)
	}
	return append(told, c.root().Unstored(ctx, c.Access, rows...)...)
}

// tagged gives an answer the ETag of a row that has none of its own.
func (c *Call) tagged(row any) error {
	etag, err := orgroot.ETag(row)
	if err == nil {
		c.header.Set("ETag", etag)
	}
	return err
}

func (c *Call) root() *orgroot.Root { return c.api.o.Services.Root }
func (c *Call) page() orgroot.Page  { return orgroot.Page(c.Page) }

func rowRows(t *table) {
	add(t, endpoint{Method: "GET", Path: "/orgs/{org}/org/grants", Summary: "Grants at a scope or of all homes, in an order", Gate: service.OrgKey(readAccess)},
		func(ctx context.Context, c *Call, in listGrants) (out grants, err error) {
			var list orgroot.List[orgroot.HomedGrant]
			if in.Homes == "" {
				list, err = c.root().Grants(ctx, c.Access, in.search(), c.page())
			} else {
				out.Unavailable = new([]orgroot.Unavailable)
				list, *out.Unavailable, err = c.root().GrantsEverywhere(ctx, c.Access, in.search(), c.page())
			}
			if err != nil {
				return out, err
			}
			out.Grants = list.Rows
			out.NextCursor, err = c.next(list.Next)
			return out, err
		})
	add(t, endpoint{Method: "GET", Path: "/orgs/{org}/org/grants/count", Summary: "How many grants there are", Gate: service.OrgKey(readAccess)},
		func(ctx context.Context, c *Call, in countGrants) (count, error) {
			n, err := c.root().CountGrants(ctx, c.Access, in.of())
			return count{n}, err
		})
	add(t, endpoint{Method: "POST", Path: "/orgs/{org}/org/grants", Summary: "Create a grant where it belongs", Gate: byHome, GateText: manageGrants + accountRowGate,
		Status: http.StatusCreated, Relayed: true, Own: codes("escalation_refused", "application_not_found"), Audit: []string{"R/O: grant.create"}},
		func(ctx context.Context, c *Call, in createGrant) (out homedGrant, err error) {
			if out.Grant, out.Home, err = c.root().CreateGrant(ctx, c.Access, in.of()); err == nil {
				out.Warnings = c.warnings(ctx, out.Home, out.Grant)
				c.located("orgs", in.Org, "org", "grants", out.Grant.ID)
				c.locatedAt(out.Home.Application)
			}
			return out, err
		})
	add(t, endpoint{Method: "POST", Path: "/orgs/{org}/org/grants/bulk", Summary: "Create grants of one home, all or none", Gate: byHome,
		GateText: manageGrants + accountRowGate, Status: http.StatusCreated, Relayed: true,
		Own: codes("mixed_homes", "escalation_refused", "application_not_found"), Audit: []string{"R/O: grant.create_bulk"}},
		func(ctx context.Context, c *Call, in createGrants) (out homedGrants, err error) {
			out.Grants, out.Home, err = c.root().CreateGrants(ctx, c.Access, in.of())
			if err == nil {
				out.Warnings = c.warnings(ctx, out.Home, out.Grants...)
			}
			return out, err
		})
	changeRow(t)
	add(t, endpoint{Method: "GET", Path: "/orgs/{org}/org/grants/{id}", Summary: "A grant", Gate: service.OrgKey(readAccess),
		Own: []string{"not_found", "application_not_found", "not_linked"}},
		func(ctx context.Context, c *Call, in rowOf) (homedGrant, error) {
			g, err := c.root().OneGrant(ctx, c.Access, in.ID, in.Application)
			if err == nil {
				err = c.tagged(g.Grant)
			}
			return homedGrant{Grant: g.Grant, Home: g.Home}, err
		})
	add(t, endpoint{Method: "DELETE", Path: "/orgs/{org}/org/grants/{id}", Summary: "Delete a grant", Gate: byHome, GateText: manageGrants + accountRowGate,
		Relayed: true, Own: codes("escalation_refused", "application_not_found"), Audit: []string{"R/O: grant.delete"}},
		func(ctx context.Context, c *Call, in rowOf) (None, error) {
			return None{}, c.root().DeleteGrant(ctx, c.Access, in.ID, in.Application)
		})
	add(t, endpoint{Method: "GET", Path: "/orgs/{org}/org/revokes", Summary: "Revokes at a scope, by id", Gate: service.OrgKey(readAccess)},
		func(ctx context.Context, c *Call, in listRevokes) (out revokes, err error) {
			var list orgroot.List[orgroot.HomedRevoke]
			if in.Homes == "" {
				list, err = c.root().Revokes(ctx, c.Access, in.of(), c.page())
			} else {
				out.Unavailable = new([]orgroot.Unavailable)
				list, *out.Unavailable, err = c.root().RevokesEverywhere(ctx, c.Access, in.of(), c.page())
			}
			if err != nil {
				return out, err
			}
			out.Revokes = list.Rows
			out.NextCursor, err = c.next(list.Next)
			return out, err
		})
	add(t, endpoint{Method: "GET", Path: "/orgs/{org}/org/revokes/count", Summary: "How many revokes there are", Gate: service.OrgKey(readAccess)},
		func(ctx context.Context, c *Call, in countRevokes) (count, error) {
			n, err := c.root().CountRevokes(ctx, c.Access, in.of())
			return count{n}, err
		})
	add(t, endpoint{Method: "POST", Path: "/orgs/{org}/org/revokes", Summary: "Create a revoke where it belongs", Gate: byHome.Recoverable(), GateText: manageRevokes + accountRowGate,
		Status: http.StatusCreated, Relayed: true, Own: codes("owner_required", "last_owner", "application_not_found"), Audit: []string{"R/O: revoke.create"}},
		func(ctx context.Context, c *Call, in createRevoke) (out homedRevoke, err error) {
			if out.Revoke, out.Home, err = c.root().CreateRevoke(ctx, c.Access, in.of()); err == nil {
				c.located("orgs", in.Org, "org", "revokes", out.Revoke.ID)
				c.locatedAt(out.Home.Application)
			}
			return out, err
		})
	add(t, endpoint{Method: "GET", Path: "/orgs/{org}/org/revokes/{id}", Summary: "A revoke", Gate: service.OrgKey(readAccess),
		Own: []string{"not_found", "application_not_found", "not_linked"}},
		func(ctx context.Context, c *Call, in rowOf) (homedRevoke, error) {
			v, err := c.root().OneRevoke(ctx, c.Access, in.ID, in.Application)
			if err == nil {
				err = c.tagged(v.Revoke)
			}
			return homedRevoke{Revoke: v.Revoke, Home: v.Home}, err
		})
	add(t, endpoint{Method: "DELETE", Path: "/orgs/{org}/org/revokes/{id}", Summary: "Delete a revoke", Gate: byHome.Recoverable(), GateText: manageRevokes + accountRowGate,
		Relayed: true, Own: codes("escalation_refused", "application_not_found"), Audit: []string{"R/O: revoke.delete"}},
		func(ctx context.Context, c *Call, in rowOf) (None, error) {
			return None{}, c.root().DeleteRevoke(ctx, c.Access, in.ID, in.Application)
		})
}
