package main

import (
	"errors"
	"strings"

	"github.com/authzhost/authz/internal/hostedclient"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

// said is the text of an error for somebody at a terminal: what the library advises
// programmers to call, it says by commands.
func said(err error) string {
	text := err.Error()
	var (
		unknown   *authz.UnknownPermissionError
		condition *authz.MissingConditionError
		denied    *authz.AccessDeniedError
		hosted    *hostedclient.Error
	)
	switch {
	case errors.As(err, &unknown) && unknown.Expected == authz.ExpectedKey:
		named := spell.Quote(unknown.Permission)
		if unknown.Suggestion != "" {
			return inOther(text, unknown, named+" is a group, not a permission key: groups are folders. Name a key below it; 'authz catalog show' lists them")
		}
		if authz.IsWildcard(unknown.Permission) {
			return inOther(text, unknown, named+" is a pattern, not a permission key: a question is about one key. 'authz catalog show' lists them")
		}
	case errors.As(err, &condition):
		return inOther(text, condition, spell.Quote(condition.Permission)+" is declared requiresCondition: only the application can check it, with its own condition. "+
			"'authz explain' shows what the rows say")
	case errors.As(err, &denied) && !errors.As(err, &hosted): // whose gates advise nothing
		bare := *denied
		bare.Reason, bare.Message = authz.ReasonUnauthenticated, "" // advises nothing
		_, what, _ := strings.Cut(bare.Error(), ": ")
		advice := "'authz explain' shows which rows decided"
		if denied.Reason == authz.ReasonInactive {
			advice = "the principal is deactivated until 'authz user activate'"
		}
		return inOther(text, denied, string(denied.Reason)+": "+what+" — "+advice)
	}
	return text
}

// inOther puts other words in the place of an error's own, within those of who wraps it.
func inOther(text string, own error, other string) string {
	return strings.Replace(text, own.Error(), other, 1)
}

// atScope is what a question at a scope failed with.
type atScope struct {
	error
	scope string
}

func (e atScope) Unwrap() error { return e.error }

// hint says how the ancestors of a scope are recorded: without them nothing is answered
// where the catalog nests its type under another.
func (e atScope) hint() string {
	if e.scope == "" || e.scope == authz.Global || authz.CodeOf(e.error) != authz.CodeUnsupported {
		return ""
	}
	return "If nothing is recorded of it: 'authz scope parents " + plain(e.scope) + " PARENT', or --none where it is a root."
}
