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
	"grants: bulk, change": {
		"POST /orgs/{org}/applications/{app}/grants",
		"DELETE /orgs/{org}/applications/{app}/grants/{id}",
		"GET /orgs/{org}/applications/{app}/grants/{id}",
		"POST /orgs/{org}/org/grants/bulk",
		"GET /orgs/{org}/org/grants/{id}",
	},
	"groups: writes": {
		"POST /orgs/{org}/org/groups",
		"DELETE /orgs/{org}/org/groups/{id}",
		"PATCH /orgs/{org}/org/groups/{id}",
		"POST /orgs/{org}/org/groups/{id}/dissolve",
		"PUT /orgs/{org}/org/groups/{id}/parents",
	},
	"people: writes, offboarding": {
		"GET /orgs/{org}/org/reporting-edges",
		"DELETE /orgs/{org}/org/subjects/{subject}",
		"PUT /orgs/{org}/org/users/{id}/active",
		"PUT /orgs/{org}/org/users/{id}/manager",
		"PUT /orgs/{org}/org/users/{id}/membership",
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
}
