package authz_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/authzhost/authz/sdk/authz"
)

func TestEchoRule(t *testing.T) {
	full := strings.Repeat("x", authz.EchoLimit)
	cases := map[string]struct{ in, bare, quoted string }{
		"short text as it is":            {"a b", "a b", `"a b"`},
		"exactly the limit":              {full, full, `"` + full + `"`},
		"one past the limit":             {full + "y", full + "…(+1 more)", `"` + full + `…(+1 more)"`},
		"characters are counted":         {strings.Repeat("é", 122), strings.Repeat("é", 120) + "…(+2 more)", `"` + strings.Repeat("é", 120) + `…(+2 more)"`},
		"many bytes in few characters":   {strings.Repeat("é", 100), strings.Repeat("é", 100), `"` + strings.Repeat("é", 100) + `"`},
		"controls are escaped when bare": {"a\nb\x7f\u0085\u2028\u2029\x00", `a\x0ab\x7f\x85\u2028\u2029\x00`, "\"a\\nb\x7f\u0085\\u2028\\u2029\\u0000\""},
		"what hides or turns text":       {"a\u202eb\u200bc\u2066d\ufeffe\u00adf\u3164g\ufe0fh\U000e0041", `a\u202eb\u200bc\u2066d\ufeffe\u00adf\u3164g\ufe0fh\udb40\udc41`, "\"a\u202eb\u200bc\u2066d\ufeffe\u00adf\u3164g\ufe0fh\U000e0041\""},
		"quotes and angles":              {`"<&>`, `"<&>`, `"\"<&>"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := authz.Echo(c.in); got != c.bare {
				t.Errorf("Echo = %s, want %s", got, c.bare)
			}
			if got := authz.Quote(c.in); got != c.quoted {
				t.Errorf("Quote = %s, want %s", got, c.quoted)
			}
		})
	}
}

func TestEchoesAreBoundedAndSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "s")
		s = strings.Repeat(s, rapid.IntRange(1, 30).Draw(t, "times"))
		bare := authz.Echo(s)
		if strings.ContainsFunc(bare, func(r rune) bool {
			return r < 0x20 || 0x7f <= r && r <= 0x9f || r == 0x2028 || r == 0x2029 || unicode.Is(unicode.Cf, r)
		}) {
			t.Fatalf("controls in %q", bare)
		}
		if utf8.RuneCountInString(bare) > 12*authz.EchoLimit+30 {
			t.Fatalf("%d characters", utf8.RuneCountInString(bare))
		}
		var back string
		if err := json.Unmarshal([]byte(authz.Quote(s)), &back); err != nil {
			t.Fatalf("Quote(%q) is no JSON: %v", s, err)
		}
	})
}

func TestErrorsAreToldApartByClassAndCode(t *testing.T) {
	cases := []struct {
		err        authz.Error
		name, code string
	}{
		{authz.Rejected(authz.CodeConflict, "x"), "ProviderWriteRejectedError", "conflict"},
		{authz.Validation("x"), "ProviderWriteRejectedError", "validation"},
		{&authz.GraphCycleError{}, "GraphCycleError", ""},
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
