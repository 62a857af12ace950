package spell

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// EchoLimit is how many characters of caller-supplied text a message repeats.
const EchoLimit = 120

// Echo prepares caller-supplied text for a message that inserts it bare:
// characters that are not Visible escaped, cut after EchoLimit characters.
func Echo(s string) string { return EchoN(s, EchoLimit) }

// EchoN is Echo with another limit.
func EchoN(s string, limit int) string {
	kept, dropped := cut(s, limit)
	return escapeControls(kept) + more(dropped)
}

// Quote renders caller-supplied text as a JSON string without HTML escaping,
// cut after EchoLimit characters.
func Quote(s string) string {
	kept, dropped := cut(s, EchoLimit)
	return jsonString(kept + more(dropped))
}

// QuoteList joins quoted values with ", ".
func QuoteList(values []string) string {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = Quote(v)
	}
	return strings.Join(quoted, ", ")
}

// cut counts code points; only as much of s is read as is kept.
func cut(s string, limit int) (kept string, dropped int) {
	if len(s) <= limit {
		return s, 0
	}
	end := 0
	for n := 0; n < limit && end < len(s); n++ {
		_, size := utf8.DecodeRuneInString(s[end:])
		end += size
	}
	return s[:end], utf8.RuneCountInString(s[end:])
}

func more(dropped int) string {
	if dropped == 0 {
		return ""
	}
	return fmt.Sprintf("…(+%d more)", dropped)
}

// Visible reports whether a character shows as itself. Those that do not are
// controls, line and paragraph separators, and characters without a picture of
// their own: bidirectional marks, zero-width and other format characters, fillers
// and variation selectors. They could hide text, or show it in another order.
func Visible(r rune) bool {
	if r < 0x80 {
		return r >= 0x20 && r != 0x7f
	}
	return !unicode.In(r, invisible...)
}

var invisible = []*unicode.RangeTable{unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp,
	unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector}

func escapeControls(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return !Visible(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case Visible(r):
			b.WriteRune(r)
		case r <= 0x9f:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

func jsonString(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}
