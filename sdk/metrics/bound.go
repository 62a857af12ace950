package metrics

import (
	"strings"
	"unicode/utf8"
)

// Longest texts that become counter keys or attributes, in bytes.
const (
	maxName = 256  // names and scope types
	maxID   = 1024 // the longest id that can be stored
)

const ellipsis = "…"

// BoundName prepares a permission or scope type for use as a counter key or
// attribute: longer than 256 bytes it is cut and ends in "…"; invalid UTF-8 is
// replaced. Callers' strings reach it: undeclared names and scope types.
func BoundName(s string) string { return bound(s, maxName) }

// BoundID is BoundName for ids: of rows, principals and scopes, at 1,024 bytes.
func BoundID(s string) string { return bound(s, maxID) }

func bound(s string, limit int) string {
	if len(s) <= limit && utf8.ValidString(s) {
		return s
	}
	if len(s) > limit {
		end := limit
		for end > limit-utf8.UTFMax && !utf8.RuneStart(s[end]) {
			end--
		}
		s = s[:end] + ellipsis
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
