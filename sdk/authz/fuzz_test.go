package authz_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
)

var (
	keyExpression     = regexp.MustCompile(`\A[a-zA-Z][a-zA-Z0-9_]*(\.[a-zA-Z][a-zA-Z0-9_]*)*\z`)
	segmentExpression = regexp.MustCompile(`\A[a-zA-Z][a-zA-Z0-9_]*\z`)
)

// FuzzGrammar holds the validators to the expressions of the grammar
// (spec: catalog §1.1), and the relations of patterns to each other.
func FuzzGrammar(f *testing.F) {
	for _, seed := range [][2]string{{"docs.files.read", "docs.*"}, {"*", "a.*"}, {"a..b", "a.b.*"}, {"a.*.b", "*.a"}, {"a.b\n", "é.x"}, {"", ".*"}, {"a.b", "a.bc.d"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if got, want := authz.IsSegment(a), segmentExpression.MatchString(a); got != want {
			t.Errorf("IsSegment(%q) = %v", a, got)
		}
		isKey := keyExpression.MatchString(a)
		if authz.IsKey(a) != isKey || (authz.ValidateKey(a) == nil) != isKey {
			t.Errorf("%q: IsKey %v, ValidateKey %v, want %v", a, authz.IsKey(a), authz.ValidateKey(a), isKey)
		}
		prefix, wild := strings.CutSuffix(a, ".*")
		isPattern := a == "*" || isKey || wild && keyExpression.MatchString(prefix)
		if authz.IsPattern(a) != isPattern || (authz.ValidatePattern(a) == nil) != isPattern {
			t.Errorf("%q: IsPattern %v, ValidatePattern %v, want %v", a, authz.IsPattern(a), authz.ValidatePattern(a), isPattern)
		}
		if authz.Intersects(a, b) != authz.Intersects(b, a) {
			t.Errorf("Intersects(%q, %q) is not symmetric", a, b)
		}
		if !authz.IsPattern(a) || !authz.IsPattern(b) {
			return
		}
		if !authz.Contains(a, a) {
			t.Errorf("%q does not contain itself", a)
		}
		if authz.Contains(a, b) && !authz.Intersects(a, b) {
			t.Errorf("%q contains %q and does not intersect it", a, b)
		}
		if authz.IsKey(b) && authz.Match(a, b) != authz.Contains(a, b) {
			t.Errorf("Match and Contains of %q and the key %q differ", a, b)
		}
	})
}

// FuzzScope holds scope ids and subjects to a lossless split at the first colon.
func FuzzScope(f *testing.F) {
	for _, seed := range []string{"*", "docs.doc:1", "a:b:c", ":x", "x:", "docs.doc", "everyone", "user:u:1", "USER:x", "docs.doc:\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		scopeType, instance, ok := authz.ParseScope(s)
		if ok && (authz.ScopeID(scopeType, instance) != s || strings.Contains(scopeType, ":") || scopeType == "" || instance == "") {
			t.Errorf("%q splits into %q and %q", s, scopeType, instance)
		}
		valid := s == authz.Global || ok && keyExpression.MatchString(scopeType)
		if (authz.ValidateScope(s) == nil) != valid || authz.ScopeType(s) != scopeType {
			t.Errorf("%q: %v, type %q", s, authz.ValidateScope(s), authz.ScopeType(s))
		}
		if kind, id, ok := authz.ParseSubject(s); ok && authz.SubjectOf(kind, id) != s {
			t.Errorf("subject %q is %q of kind %q", s, id, kind)
		}
	})
}
