package authz_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
	"pgregory.net/rapid"
)

var logs = authz.NewLogSet("own", "docs", "i1")

func composite(t interface {
	Helper()
	Fatal(...any)
}, terms ...authz.Position) authz.Position {
	t.Helper()
	at, err := authz.Composite{Logs: logs, Terms: terms}.Position()
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func drawTerm(t *rapid.T) authz.Position {
	return authz.Position{Seq: rapid.Int64Range(0, 1<<45).Draw(t, "seq"),
		Identity: rapid.OneOf(rapid.StringMatching(`([0-9a-f]{2}){0,16}`), rapid.StringMatching(`[0-9A-Fa-z/ ]{0,9}`)).Draw(t, "identity")}
}

func TestACompositeIsWhatItWasMadeOf(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		c := authz.Composite{Logs: logs, Terms: rapid.SliceOfN(rapid.Custom(drawTerm), 1, 8).Draw(r, "terms")}
		at, err := c.Position()
		if err != nil {
			r.Fatal(err)
		}
		back, ok := at.Composite()
		if !ok || fmt.Sprint(back) != fmt.Sprint(c) || !at.IsComposite() {
			r.Fatalf("%v came back as %v, %v", c, back, ok)
		}
		other := authz.Composite{Logs: logs, Terms: rapid.SliceOfN(rapid.Custom(drawTerm), 1, 3).Draw(r, "other")}
		if at2, err := other.Position(); err != nil || (at2.Identity == at.Identity) != (fmt.Sprint(other) == fmt.Sprint(c)) {
			r.Fatalf("%v and %v: %q, %q, %v", c, other, at.Identity, at2.Identity, err)
		}
	})
}

func TestOnlyWhatWasMadeIsTakenApart(t *testing.T) {
	at := composite(t, authz.Position{Seq: 9, Identity: strings.Repeat("ab", 16)}, authz.Position{Seq: 300, Identity: "x"})
	stamp, err := base64.RawURLEncoding.DecodeString(at.Identity[2:])
	if err != nil {
		t.Fatal(err)
	}
	with := func(bytes ...byte) string {
		return "~1" + base64.RawURLEncoding.EncodeToString(append(append([]byte{}, logs[:]...), bytes...))
	}
	for name, p := range map[string]authz.Position{
		"of one log":                   {Seq: 309, Identity: strings.Repeat("ab", 16)},
		"without an identity":          {Seq: 309},
		"another sum":                  {Seq: 308, Identity: at.Identity},
		"a later version":              {Seq: 309, Identity: "~2" + at.Identity[2:]},
		"no base64":                    {Seq: 309, Identity: at.Identity + "!"},
		"cut off":                      {Seq: 309, Identity: "~1" + base64.RawURLEncoding.EncodeToString(stamp[:len(stamp)-1])},
		"no term":                      {Identity: with()},
		"a longer number than needed":  {Seq: 1, Identity: with(0x81, 0, 1)},
		"a number that is too large":   {Seq: -1, Identity: with(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1)},
		"an identity beyond its end":   {Seq: 1, Identity: with(1, 200, 1, 5)},
		"hexadecimal kept as text":     {Seq: 1, Identity: with(1, 4, 'a', 'b')},
		"an identity that is too long": {Seq: 1, Identity: with(append([]byte{1, 200, 1}, make([]byte, 100)...)...)},
		"a term that is composite":     {Seq: 1, Identity: with(1, 4, '~', '1')},
	} {
		if c, ok := p.Composite(); ok {
			t.Errorf("%s: %v", name, c)
		}
	}
	if _, ok := at.Composite(); !ok {
		t.Error("the position that the cases spoil is none")
	}
	for name, terms := range map[string][]authz.Position{
		"none": nil, "too many": make([]authz.Position, authz.MaxTerms+1), "negative": {{Seq: -1}}, "composite": {at},
		"a sum out of range": {{Seq: authz.MaxInstant}, {Seq: 1}}, "a long identity": {{Identity: strings.Repeat("x", 65)}},
	} {
		if p, err := (authz.Composite{Logs: logs, Terms: terms}).Position(); err == nil {
			t.Errorf("%s: made %v", name, p)
		}
	}
}

func TestPositionsAreCompared(t *testing.T) {
	at := func(a, b int64) authz.Position {
		return composite(t, authz.Position{Seq: a, Identity: "aa"}, authz.Position{Seq: b, Identity: "bb"})
	}
	elsewhere, err := authz.Composite{Logs: authz.NewLogSet("own", "docs", "i2"), Terms: []authz.Position{{Seq: 10}, {Seq: 5}}}.Position()
	if err != nil {
		t.Fatal(err)
	}
	plain := func(n int64, identity string) authz.Position { return authz.Position{Seq: n, Identity: identity} }
	for name, c := range map[string]struct {
		p, q       authz.Position
		is, covers bool
	}{
		"numbers alone":                       {plain(5, ""), plain(5, ""), true, true},
		"an unknown identity":                 {plain(5, "aa"), plain(5, ""), true, true},
		"another event of one number":         {plain(5, "aa"), plain(5, "ab"), false, true},
		"later":                               {plain(6, ""), plain(5, ""), false, true},
		"earlier":                             {plain(4, ""), plain(5, ""), false, false},
		"the same places":                     {at(10, 5), at(10, 5), true, true},
		"equal sums":                          {at(9, 6), at(10, 5), false, false},
		"a higher sum and a lower term":       {at(9, 60), at(10, 5), false, false},
		"each term at least as high":          {at(10, 6), at(10, 5), false, true},
		"other logs":                          {at(10, 5), elsewhere, false, false},
		"a number asked of a composite":       {at(10, 5), plain(15, ""), false, false},
		"a composite asked of a number":       {plain(15, ""), at(10, 5), false, false},
		"a stamp of a later version":          {plain(15, "~2xx"), plain(15, "~2yy"), false, false},
		"the same stamp of a later version":   {plain(15, "~2xx"), plain(15, "~2xx"), true, false},
		"an event's identity and a composite": {plain(15, "aa"), at(10, 5), false, false},
	} {
		if is, back := c.p.Is(c.q), c.q.Is(c.p); is != c.is || back != c.is {
			t.Errorf("%s: Is = %v, %v, want %v", name, is, back, c.is)
		}
		if covers := c.p.Covers(c.q); covers != c.covers {
			t.Errorf("%s: Covers = %v, want %v", name, covers, c.covers)
		}
	}
}

func TestTheSizeOfAStamp(t *testing.T) {
	for n, want := range map[int]int{1: 50, 10: 290, 199: 5330} {
		terms := make([]authz.Position, n)
		for i := range terms {
			terms[i] = authz.Position{Seq: 100_000 + int64(i), Identity: strings.Repeat("9f", 16)}
		}
		at := composite(t, terms...)
		if got := len(at.Identity); got != want {
			t.Errorf("of %d logs: %d bytes, want %d", n, got, want)
		}
	}
}
