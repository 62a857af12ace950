package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/authzhost/authz/internal/hostedclient"
	"github.com/authzhost/authz/internal/words"
)

// hostedHint says what to do about an error of the hosted API, "" when its text does.
func hostedHint(e *hostedclient.Error) string {
	advice := adviceAbout(e)
	if at := explainedAt(context.Background(), e); at != "" {
		return strings.TrimSpace(advice + " It is explained at " + at)
	}
	if e.Application != "" {
		advice = strings.ReplaceAll(advice, " APP", " "+words.Shell(e.Application))
	}
	return advice
}

func adviceAbout(e *hostedclient.Error) string {
	switch {
	case e.Code == "invalid_transition":
		return transitionHint(e)
	case e.Name == "ProviderTransportError" && e.GoesOn():
		return "The move goes on by itself: 'authz application show APP' shows how far it is. The same command waits for it, with --watch as long as it takes."
	}
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
		return "It is not known whether it was applied: look before you repeat it. 'authz application probe APP' shows how the application is."
	case e.Name == "ProviderTransportError":
		return "Nothing was changed. 'authz application probe APP' shows how the application is."
	}
	return ""
}

// transitionHint says what an application, or an org, has to be first.
func transitionHint(e *hostedclient.Error) string {
	switch asked := strings.Trim(string(e.Operation), `"`); {
	case asked == "federate" && e.From == "linked" && e.PrimaryApplication != "":
		return fmt.Sprintf("The first to move is the org's primary application: 'authz application federate %s'.", words.Shell(e.PrimaryApplication))
	case asked == "federate" && e.From == "federated":
		return "It is a member already: 'authz application sync APP' pushes to it now."
	case e.From == "registered":
		return "'authz application link APP URL' links it first."
	case asked == "demote" || asked == "sync":
		return "'authz application list --state federated' shows the members, 'authz application federate APP' makes one."
	case e.From == "federated":
		return "'authz application demote APP' gives the organization back first."
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
	"escalation_refused":                    "You cannot give rights that you do not hold: 'authz whoami' shows what you hold.",
	"last_owner":                            "Make another owner who can act first: 'authz seat update USER --kind owner'.",
	"seat_not_found":                        "'authz seat list' shows all seats.",
	"api_key_not_found":                     "'authz key list' shows all keys.",
	"application_not_found":                 "'authz application list' shows all applications.",
	"dimension_not_found cap_reached":       "'authz billing usage' shows every meter with its cap.",
	"not_linked no_org_root":                "'authz application link APP URL' links one.",
	"application_mismatch":                  "An entry can only be linked to the application with its own id, also as local:NAME: 'authz application probe APP' shows which one answers.",
	"probe_failed":                          "'authz application probe APP' shows what it answers. Make it healthy, then repeat this.",
	"authority_unknown":                     "The application was asked to change sides and has not said whether it did. So it is not known which side keeps the organization: nobody can write it until the application answers, and checks go on. Bring the application back: 'authz application probe APP' shows how it is. The move then goes on by itself within seconds, and the same command waits for it.",
	"authority_refused":                     "Everything is as before. The application's reason is above; an embedded application needs a host that follows a change of authority.",
	"org_changed":                           "Everything is as before: repeat it when nobody writes to the application.",
	"no_org_administrator":                  "Everything is as before. Grant authz_internal.access.manage_grants at * to somebody active first: 'authz grant create user:ID --pattern authz_internal.access.*'.",
	"catalog_not_published":                 "'authz catalog publish FILE --org ORG --app APP' publishes it.",
	"not_last_member":                       "'authz application list --state federated' shows the members. A merged organization goes back only from a single one.",
	"snapshot_unsupported":                  "Its host is of a version that serves no org snapshots: update it, then repeat this.",
	"unresolved_conflicts":                  "'authz application federate APP --dry-run' shows them; settle each in a file for --resolutions.",
	"stale_resolutions":                     "The conflicts have changed since you decided: run the dry run again, and decide about what it shows.",
	"invalid_resolution":                    "The dry run shows each conflict with the ways to settle it.",
	"proof_required":                        "Sign in again in the browser, or use an admin key: 'authz login' keeps one, and a key needs no recent sign-in.",
	"org_root_moving":                       "The organization is being moved, which takes seconds. 'authz org show' names the application, and 'authz application show APP' shows how far the move is. Then repeat this.",
	"operation_in_progress":                 "'authz application show APP' shows how far it is. Wait until it is done, then repeat this.",
	"relay_url_rejected":                    "It takes https at a public address, or local:NAME with the entry's own id; the host's operator may allow more in service.relay.",
	"precondition_failed invalid_cursor":    "Something changed meanwhile: run it again.",
	"not_found":                             "The same command with 'list' shows what there is.",
	"storage_unavailable":                   "Try again in a moment. The host's operator sees why with 'authz storage status'.",
	"internal":                              "The host's log tells more about this request.",
}
