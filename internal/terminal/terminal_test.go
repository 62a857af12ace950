package terminal

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

func through(t testing.TB, pieces ...string) string {
	t.Helper()
	var out bytes.Buffer
	w := New(&out)
	for _, p := range pieces {
		if n, err := w.Write([]byte(p)); n != len(p) || err != nil {
			t.Fatalf("%d, %v", n, err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestWhatATerminalWouldObeyOrHideIsEscaped(t *testing.T) {
	for in, want := range map[string]string{
		"a\tb\nc é 日 🙂 → ✖":                                        "a\tb\nc é 日 🙂 → ✖",
		"\x1b[2J\r\x07\x7f\u009b":                                  `\u001b[2J\u000d\u0007\u007f\u009b`,
		"user\u202eresu\u2066\u200b\u200d\ufeff\u00ad\u2028\u2029": `user\u202eresu\u2066\u200b\u200d\ufeff\u00ad\u2028\u2029`,
		"\U000e0041\u3164\ufe0f\U000e0100":                         `\udb40\udc41\u3164\ufe0f\udb40\udd00`,
		"\x9b31m\xff":                                              `\x9b31m\xff`,
		"cut \xe2\x80":                                             `cut \xe2\x80`,
	} {
		if got := through(t, in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
		if got := through(t, strings.Split(in, "")...); strings.ToValidUTF8(in, "") == in && got != want {
			t.Errorf("%q in pieces: %s", in, got)
		}
	}
	if got := through(t, "a\xe2", "\x80", "\xaeb"); got != `a\u202eb` {
		t.Errorf("a character in three writes: %s", got)
	}
}

func TestJSONHoldsTheSameValuesAfterwards(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.String().Draw(t, "value") + rapid.SampledFrom([]string{"", "\u202e", "\U000e0041", "\u0085"}).Draw(t, "more")
		body, err := authz.Marshal(map[string]string{"v": value})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		w := New(&out)
		for len(body) > 0 {
			n := rapid.IntRange(1, len(body)).Draw(t, "n")
			_, _ = w.Write(body[:n])
			body = body[n:]
		}
		_ = w.Flush()
		var back map[string]string
		if err := json.Unmarshal(out.Bytes(), &back); err != nil || back["v"] != strings.ToValidUTF8(value, "\ufffd") {
			t.Fatalf("%q became %s, %v", value, &out, err)
		}
		if strings.ContainsFunc(out.String(), func(r rune) bool { return !spell.Visible(r) }) {
			t.Fatalf("%q", &out)
		}
	})
}
