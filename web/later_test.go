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
}
