package web_test

// later are endpoints of screens that are to come, by screen. The list only shrinks.
var later = map[string][]string{
	"audit: retained events": {
		"GET /orgs/{org}/retention",
		"GET /orgs/{org}/retention/export",
	},
	"grants: bulk, change": {
		"POST /orgs/{org}/applications/{app}/grants",
		"DELETE /orgs/{org}/applications/{app}/grants/{id}",
		"GET /orgs/{org}/applications/{app}/grants/{id}",
		"POST /orgs/{org}/org/grants/bulk",
		"GET /orgs/{org}/org/grants/{id}",
	},
	"audits": {
		"GET /orgs/{org}/applications/{app}/audit/verify",
		"GET /orgs/{org}/applications/{app}/entitlements",
		"GET /orgs/{org}/applications/{app}/sod-violations",
		"GET /orgs/{org}/applications/{app}/wildcard-drift",
		"GET /orgs/{org}/org/audit/verify",
		"GET /orgs/{org}/org/entitlements",
		"GET /orgs/{org}/org/sod-violations",
		"GET /orgs/{org}/org/wildcard-drift",
	},
	"groups: writes": {
		"POST /orgs/{org}/org/groups",
		"DELETE /orgs/{org}/org/groups/{id}",
		"PATCH /orgs/{org}/org/groups/{id}",
		"POST /orgs/{org}/org/groups/{id}/dissolve",
		"PUT /orgs/{org}/org/groups/{id}/parents",
	},
	"host": {
		"GET /host/directories",
		"GET /host/plugins",
		"GET /host/sinks",
	},
	"keys": {
		"GET /orgs/{org}/api-keys",
		"POST /orgs/{org}/api-keys",
		"DELETE /orgs/{org}/api-keys/{id}",
		"GET /orgs/{org}/api-keys/{id}",
		"POST /orgs/{org}/api-keys/{id}/rotate",
	},
	"people: writes, offboarding": {
		"GET /orgs/{org}/org/reporting-edges",
		"DELETE /orgs/{org}/org/subjects/{subject}",
		"PUT /orgs/{org}/org/users/{id}/active",
		"PUT /orgs/{org}/org/users/{id}/manager",
		"PUT /orgs/{org}/org/users/{id}/membership",
	},
	"registry": {
		"GET /orgs/{org}/registry",
		"GET /orgs/{org}/registry/{ns}",
		"GET /orgs/{org}/registry/{ns}/document",
	},
	"resources": {
		"GET /orgs/{org}/applications/{app}/ancestors",
		"DELETE /orgs/{org}/org/scopes/{scope}",
	},
	"revokes: writes": {
		"POST /orgs/{org}/applications/{app}/revokes",
		"DELETE /orgs/{org}/applications/{app}/revokes/{id}",
		"GET /orgs/{org}/applications/{app}/revokes/{id}",
		"POST /orgs/{org}/org/revokes",
		"DELETE /orgs/{org}/org/revokes/{id}",
		"GET /orgs/{org}/org/revokes/{id}",
	},
	"roles: writes": {
		"POST /orgs/{org}/org/roles",
		"DELETE /orgs/{org}/org/roles/{id}",
		"PATCH /orgs/{org}/org/roles/{id}",
	},
	"seats": {
		"GET /orgs/{org}/seats",
		"POST /orgs/{org}/seats",
		"DELETE /orgs/{org}/seats/{userId}",
		"GET /orgs/{org}/seats/{userId}",
		"PATCH /orgs/{org}/seats/{userId}",
		"DELETE /orgs/{org}/seats/{userId}/sessions",
	},
	"settings": {
		"PATCH /orgs/{org}",
	},
	"usage": {
		"PUT /orgs/{org}/billing/caps/{dimension}",
	},
}
