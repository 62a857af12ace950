package authz_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/conformance/vectors"
	"github.com/authzhost/authz/sdk/authz"
)

// grammarCase is the union of the cases of grammar.jsonl, told apart by Fn.
type grammarCase struct {
	Fn    string `json:"fn"`
	Value string `json:"value"`

	// validate; Reason of a scope
	Segment   bool    `json:"segment"`
	IsKey     bool    `json:"isKey"`
	IsPattern bool    `json:"isPattern"`
	Wildcard  bool    `json:"wildcard"`
	Namespace *string `json:"namespace"`
	Key       *string `json:"key"`
	Pattern   *string `json:"pattern"`
	Reason    *string `json:"reason"`

	// scope and subject
	Valid  bool `json:"valid"`
	Parsed *struct {
		Type       string            `json:"type"`
		InstanceID string            `json:"instanceId"`
		Kind       authz.SubjectKind `json:"kind"`
		ID         string            `json:"id"`
	} `json:"parsed"`
	Type     *string `json:"type"`
	Implicit bool    `json:"implicit"`

	// pair and anyMatch
	A          string   `json:"a"`
	B          string   `json:"b"`
	Matches    *bool    `json:"matches"`
	Intersects bool     `json:"intersects"`
	Contains   bool     `json:"contains"`
	Patterns   []string `json:"patterns"`
	Expect     bool     `json:"expect"`
}

func TestVectorsGrammar(t *testing.T) {
	vectors.Replay(t, "grammar.jsonl", nil, func(t *testing.T, c grammarCase) {
		var got grammarCase
		switch c.Fn {
		case "validate":
			got = validated(c)
		case "scope":
			got = parsedScope(t, c)
		case "subject":
			got = parsedSubject(t, c)
		case "pair":
			got = paired(c)
		case "anyMatch":
			got = grammarCase{Key: c.Key, Patterns: c.Patterns, Expect: authz.MatchAny(c.Patterns, *c.Key)}
		default:
			t.Fatalf("unknown fn %q", c.Fn)
		}
		got.Fn, got.Value = c.Fn, c.Value
		// The echo rule writes control characters in another way than the
		// vectors; the reason is compared only where there are none.
		if !vectors.Wording() || strings.ContainsFunc(c.Value, unicode.IsControl) {
			for _, reasons := range [][2]*string{{c.Key, got.Key}, {c.Pattern, got.Pattern}, {c.Reason, got.Reason}} {
				if reasons[0] != nil && reasons[1] != nil {
					*reasons[1] = *reasons[0]
				}
			}
		}
		if diff := cmp.Diff(c, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

func reason(err *authz.GrammarError) *string {
	if err == nil {
		return nil
	}
	return &err.Reason
}

func notEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func validated(c grammarCase) grammarCase {
	return grammarCase{
		Segment:   authz.IsSegment(c.Value),
		IsKey:     authz.IsKey(c.Value),
		IsPattern: authz.IsPattern(c.Value),
		Wildcard:  authz.IsWildcard(c.Value),
		Namespace: notEmpty(authz.NamespaceOf(c.Value)),
		Key:       reason(authz.ValidateKey(c.Value)),
		Pattern:   reason(authz.ValidatePattern(c.Value)),
	}
}

func parsedScope(t *testing.T, c grammarCase) grammarCase {
	invalid := authz.ValidateScope(c.Value)
	got := grammarCase{Valid: invalid == nil, Reason: reason(invalid), Type: notEmpty(authz.ScopeType(c.Value))}
	scopeType, instance, ok := authz.ParseScope(c.Value)
	if ok != (c.Parsed != nil) || ok && (scopeType != c.Parsed.Type || instance != c.Parsed.InstanceID) {
		t.Errorf("ParseScope(%q) = %q, %q, %t", c.Value, scopeType, instance, ok)
	}
	got.Parsed = c.Parsed
	return got
}

func parsedSubject(t *testing.T, c grammarCase) grammarCase {
	kind, id, ok := authz.ParseSubject(c.Value)
	if ok != (c.Parsed != nil) || ok && (kind != c.Parsed.Kind || id != c.Parsed.ID) {
		t.Errorf("ParseSubject(%q) = %q, %q, %t", c.Value, kind, id, ok)
	}
	return grammarCase{Valid: ok, Parsed: c.Parsed, Implicit: kind.IsImplicit()}
}

func paired(c grammarCase) grammarCase {
	got := grammarCase{A: c.A, B: c.B, Intersects: authz.Intersects(c.A, c.B), Contains: authz.Contains(c.A, c.B)}
	if !authz.IsWildcard(c.B) {
		matches := authz.Match(c.A, c.B)
		got.Matches = &matches
	}
	return got
}
