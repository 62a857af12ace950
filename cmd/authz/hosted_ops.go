package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
)

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

// Call asks for an operation of the provider API, so that a command need not know
// which API it talks to.
func (h *hosted) Call(ctx context.Context, op string, params, result any) error {
	p, _ := params.(fields)
	e, err := h.endpoint(op, p)
	if err != nil {
		return err
	}
	var members map[string]json.RawMessage
	switch next := ""; {
	case e.whole != "":
		members, err = h.gather(ctx, e)
	case e.method == http.MethodGet:
		if members, next, err = h.page(ctx, e.path, e.query); next != "" {
			members["next"], err = json.Marshal(next)
		}
	default:
		err = h.ask(ctx, e.method, e.path, e.query, e.body, &members)
	}
	if err == nil && e.shape != nil {
		err = e.shape(members)
	}
	if err != nil || result == nil {
		return err
	}
	text, err := json.Marshal(members)
	if err == nil {
		err = json.Unmarshal(text, result)
	}
	if err != nil {
		return fmt.Errorf("%s answered without a usable result: %w", h.url, err)
	}
	return nil
}

// gather reads a list whole.
func (h *hosted) gather(ctx context.Context, e endpoint) (map[string]json.RawMessage, error) {
	all := []json.RawMessage{}
	err := rows(ctx, h, e.path, e.whole, e.query, 0, func(r json.RawMessage) error {
		all = append(all, r)
		return nil
	})
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(all)
	return map[string]json.RawMessage{e.whole: text}, err
}

// endpoint finds the endpoint of an operation. With --app it is the application's
// own one.
func (h *hosted) endpoint(op string, p fields) (endpoint, error) {
	if op == "resolveAncestors" && h.app == "" {
		return endpoint{}, usageError{errors.New("name the application whose resource it is with --app")}
	}
	if e, ok := h.either(op, p); ok {
		return e, nil
	}
	e, ok := h.orgDomain(op, p)
	switch {
	case !ok:
		return e, usageError{fmt.Errorf("%s is not served by the hosted API: ask the application itself, without --org", op)}
	case h.app != "":
		return e, usageError{fmt.Errorf("this is about the whole org, not about %s: leave --app out", h.app)}
	}
	return e, nil
}

// either are the operations that are about the org, or with --app about one
// application.
func (h *hosted) either(op string, p fields) (endpoint, bool) {
	at := func(rest ...string) []string { return append([]string{"org"}, rest...) }
	if h.app != "" {
		at = func(rest ...string) []string { return append([]string{"applications", h.app}, rest...) }
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
	case "listGrants", "listRevokes":
		return get(kind), true
	case "deleteGrant", "deleteRevoke":
		return endpoint{method: http.MethodDelete, path: at(kind, text(p, id))}, true
	case "listAuditEvents":
		return get("audit"), true
	case "resolveAncestors":
		return endpoint{method: http.MethodGet, path: at("ancestors"), query: fields{"scope": p["scope"]}}, true
	case "listRequests":
		return endpoint{method: http.MethodGet, path: []string{"requests"}, query: h.named(selected(p))}, true
	case "getRequest":
		return endpoint{method: http.MethodGet, path: request(), query: h.named(fields{})}, true
	case "submitRequest":
		in, _ := p["input"].(fields)
		return endpoint{method: http.MethodPost, path: []string{"requests"}, body: without(in, "requesterUserId")}, true
	case "decideRequest":
		in, _ := p["decision"].(fields)
		return endpoint{method: http.MethodPost, path: request("decide"), body: h.named(without(in, "deciderUserId"))}, true
	case "cancelRequest":
		return endpoint{method: http.MethodPost, path: request("cancel"), body: h.named(fields{})}, true
	}
	return endpoint{}, false
}

// orgDomain are the operations that are about the org only.
func (h *hosted) orgDomain(op string, p fields) (endpoint, bool) {
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
		return get(principalQuery(who), "subject-access")
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

func without(f fields, names ...string) fields {
	rest := maps.Clone(f)
	for _, name := range names {
		delete(rest, name)
	}
	return rest
}

// named adds --app, which tells where a request lives.
func (h *hosted) named(f fields) fields {
	if h.app != "" {
		f["application"] = h.app
	}
	return f
}

func principalQuery(p authz.Principal) fields {
	if p.ServiceID != "" {
		return fields{"serviceId": p.ServiceID}
	}
	return fields{"userId": p.UserID}
}

// edgesByUser makes the list of edges the object that the operation answers.
func edgesByUser(members map[string]json.RawMessage) (err error) {
	var edges []struct{ UserID, ManagerUserID string }
	if err := json.Unmarshal(members["edges"], &edges); err != nil {
		return err
	}
	by := map[string]string{}
	for _, e := range edges {
		by[e.UserID] = e.ManagerUserID
	}
	members["edges"], err = json.Marshal(by)
	return err
}

// oneCatalog joins what all applications published.
func oneCatalog(members map[string]json.RawMessage) error {
	var namespaces []struct {
		Document *struct{ Leaves, Groups []json.RawMessage }
	}
	if err := json.Unmarshal(members["namespaces"], &namespaces); err != nil {
		return err
	}
	var leaves, groups []json.RawMessage
	for _, n := range namespaces {
		if n.Document != nil {
			leaves, groups = append(leaves, n.Document.Leaves...), append(groups, n.Document.Groups...)
		}
	}
	joined, err := json.Marshal(fields{"document": fields{"leaves": leaves, "groups": groups}})
	members["published"] = joined
	return err
}

// normalURL is the address of a host as logins remember it.
func normalURL(given string) string {
	return strings.TrimRight(strings.TrimSuffix(strings.TrimRight(given, "/"), "/api/v1"), "/")
}
