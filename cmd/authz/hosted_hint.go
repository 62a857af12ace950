package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/authzhost/authz/internal/hostedclient"
)

// hostedHint says what to do about an error of the hosted API, "" when its text does.
func hostedHint(e *hostedclient.Error) string {
	for codes, advice := range hostedAdvice {
		if slices.Contains(strings.Fields(codes), e.Code) {
			return advice
		}
	}
	switch {
	case e.Name == "UnknownPermissionError":
		return "The hosted API knows the permissions of an application that has published its catalog: 'authz catalog publish'."
	case e.Code == "rate_limited":
		return fmt.Sprintf("Wait %s, then repeat it.", time.Duration(max(e.RetryAfterMs, 1000))*time.Millisecond)
	case e.Name == "ProviderTransportError" && e.Outcome == "unknown":
		return fmt.Sprintf("Whether it was applied is not known: look before you repeat it. 'authz application probe %s' shows how the application is.", e.Application)
	case e.Name == "ProviderTransportError":
		return fmt.Sprintf("Nothing was changed. 'authz application probe %s' shows how the application is.", e.Application)
	}
	return ""
}

// hostedAdvice is by codes.
var hostedAdvice = map[string]string{
	"credential_missing credential_invalid": "The key is unknown, revoked or expired. Run 'authz login' with another; any administrator can see the keys with 'authz key list'.",
	"credential_not_allowed":                "This takes an admin key, or somebody who signs in with a browser.",
	"org_not_found":                         "A key works in its own org only: 'authz org list' shows the orgs that you are logged in to.",
	"seat_required":                         "An owner invites you with 'authz seat invite'.",
	"owner_required":                        "An owner has to do this: 'authz seat list --kind owner' shows who is one.",
	"forbidden inactive":                    "'authz whoami' shows what you may do.",
	"escalation_refused":                    "Nobody gives what they do not hold: 'authz whoami' shows what you do.",
	"last_owner":                            "Make another owner who can act first: 'authz seat update USER --kind owner'.",
	"seat_not_found":                        "'authz seat list' shows those there are.",
	"api_key_not_found":                     "'authz key list' shows those there are.",
	"application_not_found":                 "'authz application list' shows those there are.",
	"dimension_not_found cap_reached":       "'authz billing usage' shows every meter with its cap.",
	"not_linked no_org_root":                "'authz application link APP URL' links one.",
	"application_mismatch":                  "An entry is linked to the application of its own id, local:NAME too: 'authz application probe APP' shows which one answers.",
	"probe_failed":                          "'authz application probe APP' shows what it answers.",
	"authority_unknown":                     "Bring the application back: the move goes on by itself as soon as it answers, and the same command waits for it. Checks go on meanwhile; nobody writes the organization.",
	"authority_refused":                     "Everything is as before. An embedded application needs a host that follows a change of authority.",
	"org_changed":                           "Everything is as before: repeat it when the application is quiet.",
	"no_org_administrator":                  "Grant authz_internal.access.manage_grants at * to somebody active: 'authz grant create user:ID --pattern authz_internal.*'.",
	"catalog_not_published":                 "'authz catalog publish FILE --org ORG --app APP' publishes it.",
	"not_last_member":                       "'authz application list --state federated' shows the members. A merged organization goes back only from a single one.",
	"snapshot_unsupported":                  "Its host is of a version that serves no org snapshots: update it.",
	"unresolved_conflicts":                  "'authz application federate APP --dry-run' shows them; settle each in a file for --resolutions.",
	"stale_resolutions":                     "Other conflicts arose since you decided: run the dry run again, and decide about what it shows.",
	"invalid_resolution":                    "The dry run shows each conflict with what it may be settled by.",
	"proof_required":                        "Sign in again in the browser, or use an admin key: 'authz login' keeps one, and a key needs no recent sign-in.",
	"org_root_moving operation_in_progress": "Wait until it is done, then repeat it.",
	"relay_url_rejected":                    "It takes https at a public address, or local:NAME with the entry's own id; the host's operator may allow more in service.relay.",
	"precondition_failed invalid_cursor":    "Something changed meanwhile: run it again.",
	"not_found":                             "The lists of the same command show those there are.",
	"storage_unavailable":                   "Try again in a moment. The host's operator sees why with 'authz storage status'.",
	"internal":                              "The host's log tells more about this request.",
}
