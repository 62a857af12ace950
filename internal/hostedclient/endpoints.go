package hostedclient

import (
	"encoding/json"
	"maps"
	"net/http"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// fields are the named parameters of an operation.
type fields = map[string]any

// endpoint is how the hosted API serves an operation of the provider API.
type endpoint struct {
	method string
	path   []string
	query  fields
	body   any

	// whole names a list that the operation answers in one piece, and the hosted
	// API by pages.
	whole string

	// shape makes the members of the answer those of the operation.
	shape func(map[string]json.RawMessage) error
}

// endpoint finds the endpoint of an operation. When the client names an
// application it is the application's own one.
func (c *Client) endpoint(op string, p fields) (endpoint, error) {
	if (op == "resolveAncestors" || op == "listRecordedScopes") && c.App == "" {
		return endpoint{}, misuse("name the application whose resources they are with --app")
	}
	if e, ok := c.either(op, p); ok {
		return e, nil
	}
	e, ok := c.orgDomain(op, p)
	switch {
	case !ok:
		return e, misuse("%s is not served by the hosted API: ask the application itself, without --org", op)
	case c.App != "":
		return e, misuse("this is about the whole org, not about %s: leave --app out", c.App)
	}
	return e, nil
}

// either are the operations that are about the org, or about the application that
// the client names.
func (c *Client) either(op string, p fields) (endpoint, bool) {
	at := func(rest ...string) []string { return append([]string{"org"}, rest...) }
	if c.App != "" {
		at = func(rest ...string) []string { return append([]string{"applications", c.App}, rest...) }
	}
	get := func(rest ...string) endpoint {
		return endpoint{method: http.MethodGet, path: at(rest...), query: selected(p)}
	}
	request := func(rest ...string) []string { return append([]string{"requests", text(p, "requestId")}, rest...) }
	kind, id := "grants", "grantId"
	if strings.Contains(op, "Revoke") {
		kind, id = "revokes", "revokeId"
	}
	switch op {
	case "createGrant", "createRevoke":
		return endpoint{method: http.MethodPost, path: at(kind), body: p["input"]}, true
	case "listGrants", "findGrants", "listRevokes":
		return get(kind), true
	case "deleteGrant", "deleteRevoke":
		return endpoint{method: http.MethodDelete, path: at(kind, text(p, id))}, true
	case "changeGrants":
		return endpoint{method: http.MethodPost, path: []string{"org", "grants", "change"}, body: c.named(without(p, "provenance"))}, true
	case "listAuditEvents":
		return get("audit"), true
	case "reviewSodViolations", "reviewEntitlements":
		return endpoint{method: http.MethodGet, path: at(map[string]string{"reviewSodViolations": "sod-violations", "reviewEntitlements": "entitlements"}[op]), query: ofUser(p)}, true
	case "reviewWildcardDrift":
		q := selected(p)
		q["since"] = p["sinceVersion"]
		return endpoint{method: http.MethodGet, path: at("wildcard-drift"), query: q}, true
	case "reviewAuditChain":
		return endpoint{method: http.MethodGet, path: at("audit", "verify"), query: behind(p), shape: goesOn}, true
	case "listRecordedScopes":
		return endpoint{method: http.MethodGet, path: at("scopes"), query: byPrefix(p)}, true
	case "resolveAncestors":
		return endpoint{method: http.MethodGet, path: at("ancestors"), query: fields{"scope": p["scope"]}}, true
	case "listRequests":
		return endpoint{method: http.MethodGet, path: []string{"requests"}, query: c.named(selected(p))}, true
	case "getRequest":
		return endpoint{method: http.MethodGet, path: request(), query: c.named(fields{})}, true
	case "submitRequest":
		in, _ := p["input"].(fields)
		return endpoint{method: http.MethodPost, path: []string{"requests"}, body: without(in, "requesterUserId")}, true
	case "decideRequest":
		in, _ := p["decision"].(fields)
		return endpoint{method: http.MethodPost, path: request("decide"), body: c.named(without(in, "deciderUserId"))}, true
	case "cancelRequest":
		return endpoint{method: http.MethodPost, path: request("cancel"), body: c.named(fields{})}, true
	}
	return endpoint{}, false
}

// orgDomain are the operations that are about the org only.
func (c *Client) orgDomain(op string, p fields) (endpoint, bool) {
	at := func(method string, body any, rest ...string) (endpoint, bool) {
		return endpoint{method: method, path: append([]string{"org"}, rest...), body: body}, true
	}
	get := func(query fields, rest ...string) (endpoint, bool) {
		return endpoint{method: http.MethodGet, path: append([]string{"org"}, rest...), query: query}, true
	}
	role, group, user := text(p, "roleId"), text(p, "groupId"), text(p, "userId")
	switch op {
	case "createGrants":
		return at(http.MethodPost, fields{"grants": p["inputs"]}, "grants", "bulk")
	case "listUsers":
		return get(byPrefix(p), "users")
	case "countGrants":
		return get(selected(p), "grants", "count")
	case "listRoles":
		return get(selected(p), "roles")
	case "createRole":
		return at(http.MethodPost, p["input"], "roles")
	case "updateRole":
		return at(http.MethodPatch, p["input"], "roles", role)
	case "deleteRole":
		return at(http.MethodDelete, nil, "roles", role)
	case "listGroups":
		return get(selected(p), "groups")
	case "createGroup":
		return at(http.MethodPost, p["input"], "groups")
	case "updateGroup":
		return at(http.MethodPatch, p["input"], "groups", group)
	case "deleteGroup":
		return at(http.MethodDelete, nil, "groups", group)
	case "setGroupParents":
		return at(http.MethodPut, fields{"parents": p["parents"]}, "groups", group, "parents")
	case "dissolveVirtualParent":
		return at(http.MethodPost, fields{}, "groups", group, "dissolve")
	case "getGroupMembers":
		e, ok := get(nil, "groups", group, "members")
		e.whole = "userIds"
		return e, ok
	case "setGroupMembership":
		return at(http.MethodPut, fields{"groupIds": p["groupIds"]}, "users", user, "membership")
	case "changeGroupMembership": // of one group: each membership has an address
		if add, _ := p["add"].([]string); len(add) == 1 {
			return at(http.MethodPut, fields{}, "users", user, "groups", add[0])
		}
		if remove, _ := p["remove"].([]string); len(remove) == 1 {
			return at(http.MethodDelete, nil, "users", user, "groups", remove[0])
		}
	case "getUser":
		return get(nil, "users", user)
	case "setUserActive":
		return at(http.MethodPut, fields{"active": p["active"]}, "users", user, "active")
	case "setReportingEdge":
		return at(http.MethodPut, fields{"managerUserId": p["managerUserId"]}, "users", user, "manager")
	case "getReportingEdges":
		e, ok := get(nil, "reporting-edges")
		e.whole, e.shape = "edges", edgesByUser
		return e, ok
	case "getSubjectAccess":
		who, _ := p["principal"].(authz.Principal)
		return get(PrincipalQuery(who), "subject-access")
	case "deleteSubject":
		return at(http.MethodDelete, nil, "subjects", text(p, "subject"))
	case "deleteScope":
		return at(http.MethodDelete, nil, "scopes", text(p, "scope"))
	case "listApproverQueue":
		return endpoint{path: []string{"requests", "queue"}, whole: "entries"}, true
	case "getPublishedCatalog":
		e, ok := get(nil, "catalog")
		e.shape = oneCatalog
		return e, ok
	}
	return endpoint{}, false
}

// text is a parameter that stands in a path.
func text(p fields, name string) string {
	s, _ := p[name].(string)
	return s
}

// selected is the filter and the page that an operation asks for.
func selected(p fields) fields {
	q := fields{}
	filter, _ := p["filter"].(fields)
	maps.Copy(q, filter)
	for from, to := range map[string]string{"limit": "limit", "after": "cursor"} {
		switch v := p[from].(type) {
		case nil:
		case json.RawMessage: // the cursor, as the answer had it
			var cursor string
			_ = json.Unmarshal(v, &cursor) // Call made it
			q[to] = cursor
		default:
			q[to] = v
		}
	}
	return q
}

// byPrefix is selected of a list whose prefix the hosted API calls q.
func byPrefix(p fields) fields {
	q := selected(p)
	if prefix, ok := q["prefix"]; ok {
		q["q"] = prefix
	}
	return without(q, "prefix")
}

// ofUser is selected of a report, which is about one user or about everybody.
func ofUser(p fields) fields {
	q := selected(p)
	if ids, ok := p["userIds"].([]string); ok && len(ids) == 1 {
		q["userId"] = ids[0]
	} else if ok {
		q["userIds"] = ids // which the hosted API refuses: nothing is dropped
	}
	return q
}

// behind names the entry that a check of the hash chain begins behind.
func behind(p fields) fields {
	q := fields{}
	if limit, ok := p["limit"]; ok {
		q["limit"] = limit
	}
	if place, ok := p["after"].(provider.AuditPlace); ok {
		q["at"], q["id"] = place.At, place.ID
		if place.Hash != "" {
			q["hash"] = place.Hash
		}
	}
	return q
}

func without(f fields, names ...string) fields {
	rest := maps.Clone(f)
	for _, name := range names {
		delete(rest, name)
	}
	return rest
}

// named adds the application, which tells where a request lives.
func (c *Client) named(f fields) fields {
	if c.App != "" {
		f["application"] = c.App
	}
	return f
}

// PrincipalQuery names a principal in a query.
func PrincipalQuery(p authz.Principal) map[string]any {
	if p.ServiceID != "" {
		return fields{"serviceId": p.ServiceID}
	}
	return fields{"userId": p.UserID}
}
