package spell_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/authzhost/authz/internal/spell"
)

func TestEchoRule(t *testing.T) {
	full := strings.Repeat("x", spell.EchoLimit)
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
			if got := spell.Echo(c.in); got != c.bare {
				t.Errorf("Echo = %s, want %s", got, c.bare)
			}
			if got := spell.Quote(c.in); got != c.quoted {
				t.Errorf("Quote = %s, want %s", got, c.quoted)
			}
		})
	}
}

func TestEchoesAreBoundedAndSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "s")
		s = strings.Repeat(s, rapid.IntRange(1, 30).Draw(t, "times"))
		bare := spell.Echo(s)
		if strings.ContainsFunc(bare, func(r rune) bool {
			return r < 0x20 || 0x7f <= r && r <= 0x9f || r == 0x2028 || r == 0x2029 || unicode.Is(unicode.Cf, r)
		}) {
			t.Fatalf("controls in %q", bare)
		}
		if utf8.RuneCountInString(bare) > 12*spell.EchoLimit+30 {
			t.Fatalf("%d characters", utf8.RuneCountInString(bare))
		}
		var back string
		if err := json.Unmarshal([]byte(spell.Quote(s)), &back); err != nil {
			t.Fatalf("Quote(%q) is no JSON: %v", s, err)
		}
	})
}
