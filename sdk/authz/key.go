package authz

import (
	"strings"

	"github.com/authzhost/authz/internal/spell"
)

// Global is both the global scope and the bare pattern that matches every key.
const Global = "*"

// InternalNamespace holds the built-in administration permissions; no
// application may declare keys in it.
const InternalNamespace = "authz_internal"

// GrammarError says why a value breaks the key, pattern or scope grammar.
type GrammarError struct {
	Value  string
	Reason string
}

func (e *GrammarError) Error() string { return e.Reason }

// IsSegment reports whether s is one segment of a key:
// ^[a-zA-Z][a-zA-Z0-9_]*$, ASCII only, the whole string.
func IsSegment(s string) bool {
	if s == "" || !isLetter(s[0]) {
		return false
	}
	for i := 1; i < len(s); i++ {
		if c := s[i]; !isLetter(c) && c != '_' && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

// ValidateKey returns nil for a well-formed concrete key.
func ValidateKey(key string) *GrammarError {
	if reason := keyReason(key); reason != "" {
		return &GrammarError{Value: key, Reason: reason}
	}
	return nil
}

// ValidatePattern returns nil for a key, a group wildcard "a.b.*", or "*".
func ValidatePattern(pattern string) *GrammarError {
	if reason := patternReason(pattern); reason != "" {
		return &GrammarError{Value: pattern, Reason: reason}
	}
	return nil
}

// IsKey is ValidateKey without the reason, and without allocating.
func IsKey(key string) bool {
	for rest := key; ; {
		segment, tail, more := strings.Cut(rest, ".")
		if !IsSegment(segment) {
			return false
		}
		if !more {
			return true
		}
		rest = tail
	}
}

// IsPattern is ValidatePattern without the reason.
func IsPattern(pattern string) bool {
	if pattern == Global {
		return true
	}
	if prefix, ok := strings.CutSuffix(pattern, ".*"); ok {
		return IsKey(prefix)
	}
	return IsKey(pattern)
}

func keyReason(key string) string {
	switch {
	case key == "":
		return "empty key"
	case strings.Contains(key, "*"):
		return "wildcards are not allowed in a concrete key (use a pattern)"
	}
	for segment := range strings.SplitSeq(key, ".") {
		if !IsSegment(segment) {
			return "invalid segment " + spell.Quote(segment) + `: segments must match ^[a-zA-Z][a-zA-Z0-9_]*$`
		}
	}
	return ""
}

func patternReason(pattern string) string {
	switch {
	case pattern == Global:
		return ""
	case pattern == "":
		return "empty pattern"
	}
	if prefix, ok := strings.CutSuffix(pattern, ".*"); ok {
		switch {
		case strings.Contains(prefix, "*"):
			return "wildcards may only appear as the final segment"
		case !IsKey(prefix):
			return "invalid group prefix " + spell.Quote(prefix)
		}
		return ""
	}
	if strings.Contains(pattern, "*") {
		return "wildcards may only appear as a final `.*` segment or the bare `*`"
	}
	return keyReason(pattern)
}

// Match reports whether pattern matches the concrete key. Whole segments are
// compared: "a.b.*" matches neither "a.b" nor "a.bc.d". Arguments are not
// validated again.
func Match(pattern, key string) bool {
	if pattern == Global {
		return true
	}
	if prefix, ok := wildcardPrefix(pattern); ok {
		return len(key) > len(prefix) && key[:len(prefix)] == prefix
	}
	return pattern == key
}

// MatchAny reports whether any of the patterns matches the key.
func MatchAny(patterns []string, key string) bool {
	for _, p := range patterns {
		if Match(p, key) {
			return true
		}
	}
	return false
}

// Intersects reports whether some key could be matched by both patterns. It is
// symmetric and serves visibility questions only.
func Intersects(a, b string) bool {
	if a == Global || b == Global {
		return true
	}
	pa, wildA := wildcardPrefix(a)
	pb, wildB := wildcardPrefix(b)
	switch {
	case wildA && wildB:
		return strings.HasPrefix(pa, pb) || strings.HasPrefix(pb, pa)
	case wildA:
		return Match(a, b)
	case wildB:
		return Match(b, a)
	}
	return a == b
}

// Contains reports whether outer matches every key that inner can match: a
// proposal inner fits the limit outer.
func Contains(outer, inner string) bool {
	if outer == Global {
		return true
	}
	if inner == Global {
		return false
	}
	po, wildOuter := wildcardPrefix(outer)
	pi, wildInner := wildcardPrefix(inner)
	switch {
	case wildOuter && wildInner:
		return strings.HasPrefix(pi, po)
	case wildOuter:
		return Match(outer, inner)
	case wildInner:
		return false
	}
	return outer == inner
}

// IsWildcard reports whether pattern is "*" or a group wildcard.
func IsWildcard(pattern string) bool {
	return pattern == Global || strings.HasSuffix(pattern, ".*")
}

// SubtreePattern is the wildcard over everything below a group path.
func SubtreePattern(path string) string { return path + ".*" }

// IsUnderGroup reports whether key lies strictly below the group path.
func IsUnderGroup(path, key string) bool {
	return len(key) > len(path)+1 && key[len(path)] == '.' && key[:len(path)] == path
}

// NamespaceOf returns the first segment of a key or pattern; "" when there is
// none, as for "*".
func NamespaceOf(pattern string) string {
	first, _, _ := strings.Cut(pattern, ".")
	if first == Global {
		return ""
	}
	return first
}

// wildcardPrefix returns "a.b." of "a.b.*".
func wildcardPrefix(pattern string) (string, bool) {
	if strings.HasSuffix(pattern, ".*") {
		return pattern[:len(pattern)-1], true
	}
	return "", false
}
