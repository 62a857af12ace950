package web_test

// later are endpoints of screens that are to come, by screen. The list only shrinks.
var later = map[string][]string{
	"applications": {
		"POST /orgs/{org}/applications",
		"DELETE /orgs/{org}/applications/{app}",
		"GET /orgs/{org}/applications/{app}",
		"POST /orgs/{org}/applications/{app}/audit-optin",
		"GET /orgs/{org}/applications/{app}/catalog",
		"POST /orgs/{org}/applications/{app}/demote",
		"POST /orgs/{org}/applications/{app}/federate",
		"POST /orgs/{org}/applications/{app}/ingest-audit",
		"POST /orgs/{org}/applications/{app}/link",
		"GET /orgs/{org}/applications/{app}/mesh",
		"POST /orgs/{org}/applications/{app}/probe",
		"POST /orgs/{org}/applications/{app}/publish",
		"GET /orgs/{org}/applications/{app}/requests",
		"POST /orgs/{org}/applications/{app}/unlink",
		"GET /orgs/{org}/applications/{app}/usage/{dimension}",
		"POST /orgs/{org}/sync",
	},
	"audit: retained events": {
		"GET /orgs/{org}/retention",
		"GET /orgs/{org}/retention/export",
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
	"registry": {
		"GET /orgs/{org}/registry",
		"GET /orgs/{org}/registry/{ns}",
		"GET /orgs/{org}/registry/{ns}/document",
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
