package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
)

func TestErrorsAreSaidInCommands(t *testing.T) {
	u := authz.UserPrincipal("u_1")
	for _, c := range []struct {
		err  error
		want string
	}{
		{&authz.MissingConditionError{Permission: "docs.pay.approve", Shape: "can"}, `"docs.pay.approve" is declared requiresCondition: only the application can check it, with its own condition. 'authz explain' shows`},
		{&authz.AccessDeniedError{Reason: authz.ReasonForbidden, Permissions: []string{"a.b"}, Scope: "t.t:1", Principal: u}, "forbidden: a.b at t.t:1 for user:u_1 — 'authz explain' shows which rows decided"},
		{&authz.AccessDeniedError{Reason: authz.ReasonInactive, Permissions: []string{"a.b"}, Principal: u}, "inactive: a.b for user:u_1 — the principal is deactivated until 'authz user activate'"},
		{&authz.UnknownPermissionError{Permission: "a.b", Expected: authz.ExpectedPattern, Message: "as it is"}, "as it is"},
		{authz.Validation("as it is"), "as it is"},
	} {
		if got := said(fmt.Errorf("while asking: %w", c.err)); !strings.HasPrefix(got, "while asking: "+c.want) || programming.MatchString(got) {
			t.Errorf("%s", got)
		}
	}
}
