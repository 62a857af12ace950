package authz_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
)

func TestErrorsAreToldApartByClassAndCode(t *testing.T) {
	cases := []struct {
		err        authz.Error
		name, code string
	}{
		{authz.Rejected(authz.CodeConflict, "x"), "ProviderWriteRejectedError", "conflict"},
		{authz.Validation("x"), "ProviderWriteRejectedError", "validation"},
		{&authz.UnknownScopeError{Refusal: authz.Rejected(authz.CodeUnsupported, "x")}, "ProviderWriteRejectedError", "unsupported"},
		{&authz.GraphCycleError{}, "GraphCycleError", ""},
		{&authz.PromotionConflictError{Code: authz.StaleResolutions}, "PromotionConflictError", "stale_resolutions"},
		{&authz.UnavailableError{}, "UnavailableError", "unavailable"},
		{&authz.InvalidPrincipalError{}, "InvalidPrincipalError", ""},
		{&authz.AccessDeniedError{Reason: authz.ReasonForbidden}, "AccessDeniedError", "forbidden"},
		{&authz.UnknownPermissionError{}, "UnknownPermissionError", ""},
		{&authz.MissingConditionError{}, "MissingConditionError", ""},
		{&authz.UnresolvedScopeError{}, "UnresolvedScopeError", ""},
		{&authz.CatalogError{}, "CatalogError", ""},
	}
	for _, c := range cases {
		if c.err.ErrorName() != c.name || c.err.ErrorCode() != c.code {
			t.Errorf("%T: %s %q", c.err, c.err.ErrorName(), c.err.ErrorCode())
		}
	}
	cycle := authz.Cycle([]string{"a", "b", "a"})
	if cycle.Error() != "cycle: a → b → a" || authz.CodeOf(fmt.Errorf("writing: %w", cycle)) != authz.CodeGraphCycle {
		t.Errorf("cycle: %v", cycle)
	}
	if authz.CodeOf(errors.New("x")) != "" || authz.CodeOf(nil) != "" {
		t.Error("other errors have a code")
	}
	cause := errors.New("socket closed")
	if err := error(&authz.UnavailableError{Message: "down", Cause: cause}); !errors.Is(err, cause) || strings.Contains(err.Error(), "socket") {
		t.Errorf("an outage: %v", err)
	}
}

func TestMessagesOfDenialsAreBounded(t *testing.T) {
	huge := strings.Repeat("k", 5000)
	denied := &authz.AccessDeniedError{Reason: authz.ReasonForbidden, AnyOf: true, Scope: huge, Principal: authz.UserPrincipal(huge)}
	for range 500 {
		denied.Permissions = append(denied.Permissions, huge)
	}
	unresolved := &authz.UnresolvedScopeError{Scope: huge, ScopeType: huge, Declared: true}
	for range 500 {
		unresolved.ResolvedScopes = append(unresolved.ResolvedScopes, huge)
	}
	for _, err := range []error{denied, unresolved, &authz.MissingConditionError{Permission: huge, Shape: "can"}} {
		if len(err.Error()) > 3000 {
			t.Errorf("%T is %d bytes long", err, len(err.Error()))
		}
	}
}

func TestCyclesEchoTheirIDs(t *testing.T) {
	err := authz.Cycle([]string{"a\ab", strings.Repeat("x", 200), "a\ab"})
	if want := `cycle: a\x07b → ` + strings.Repeat("x", 120) + `…(+80 more) → a\x07b`; err.Error() != want || err.Path[0] != "a\ab" {
		t.Errorf("%q %q, want %q", err, err.Path, want)
	}
}
