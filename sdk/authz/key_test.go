package authz_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/authzhost/authz/sdk/authz"
)

// Few segments, so that prefixes such as "a.b" and "a.bc" meet.
func drawKey() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		segments := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "bc", "B"}), 1, 4).Draw(t, "segments")
		return strings.Join(segments, ".")
	})
}

func drawPattern() *rapid.Generator[string] {
	return rapid.OneOf(rapid.Just("*"), drawKey(), rapid.Map(drawKey(), authz.SubtreePattern))
}

func TestContainsMeansThatEveryMatchedKeyIsMatched(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, key := drawPattern().Draw(t, "a"), drawPattern().Draw(t, "b"), drawKey().Draw(t, "key")
		if authz.Contains(a, b) && authz.Match(b, key) && !authz.Match(a, key) {
			t.Fatalf("%q contains %q, which alone matches %q", a, b, key)
		}
		if authz.Contains(a, b) && !authz.Intersects(a, b) {
			t.Fatalf("%q contains %q and does not meet it", a, b)
		}
		if !authz.Contains(a, a) || !authz.Contains("*", a) || a != "*" && authz.Contains(a, "*") {
			t.Fatalf("%q: contains itself, is in *, and * is in nothing else", a)
		}
	})
}

func TestAKeyThatOnlyTheInnerPatternMatchesRefutesContains(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawPattern().Draw(t, "a"), drawPattern().Draw(t, "b")
		// One key below b that nothing drawn can name: b is inside a exactly
		// when a matches it.
		witness := strings.TrimSuffix(b, "*")
		if b != witness {
			witness += "fresh.x"
		}
		if authz.Contains(a, b) != authz.Match(a, witness) {
			t.Fatalf("Contains(%q, %q) = %t", a, b, authz.Contains(a, b))
		}
	})
}

func TestIntersectsIsSymmetricAndMeansThatAKeyIsShared(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, key := drawPattern().Draw(t, "a"), drawPattern().Draw(t, "b"), drawKey().Draw(t, "key")
		if authz.Intersects(a, b) != authz.Intersects(b, a) {
			t.Fatalf("not symmetric: %q, %q", a, b)
		}
		if authz.Match(a, key) && authz.Match(b, key) && !authz.Intersects(a, b) {
			t.Fatalf("%q and %q share %q", a, b, key)
		}
	})
}

func TestValidatorsAgreeWithTheirReasons(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.StringMatching(`[a-c9_.* é\n]{0,9}`), drawPattern()).Draw(t, "s")
		if authz.IsKey(s) != (authz.ValidateKey(s) == nil) || authz.IsPattern(s) != (authz.ValidatePattern(s) == nil) {
			t.Fatalf("%q: IsKey %t, IsPattern %t", s, authz.IsKey(s), authz.IsPattern(s))
		}
		if authz.IsKey(s) && !authz.IsPattern(s) {
			t.Fatalf("%q is a key and no pattern", s)
		}
		for _, segment := range strings.Split(s, ".") {
			if authz.IsKey(s) && !authz.IsSegment(segment) {
				t.Fatalf("%q has the segment %q", s, segment)
			}
		}
	})
}

func TestIsUnderGroupIsAMatchOfTheSubtree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		path, key := drawKey().Draw(t, "path"), drawKey().Draw(t, "key")
		if authz.IsUnderGroup(path, key) != authz.Match(authz.SubtreePattern(path), key) {
			t.Fatalf("IsUnderGroup(%q, %q) = %t", path, key, authz.IsUnderGroup(path, key))
		}
	})
}

func TestScopeIDsParseToWhatMadeThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scopeType := drawKey().Draw(t, "type")
		instance := rapid.StringN(1, 8, -1).Draw(t, "instance")
		gotType, gotInstance, ok := authz.ParseScope(authz.ScopeID(scopeType, instance))
		if !ok || gotType != scopeType || gotInstance != instance {
			t.Fatalf("parsed %q, %q, %t", gotType, gotInstance, ok)
		}
		if err := authz.ValidateScope(authz.ScopeID(scopeType, instance)); err != nil {
			t.Fatal(err)
		}
	})
}

func TestSubjectsParseToWhatMadeThem(t *testing.T) {
	kinds := []authz.SubjectKind{authz.SubjectUser, authz.SubjectGroup, authz.SubjectOrg, authz.SubjectService, authz.SubjectDirects, authz.SubjectOrgOf}
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom(kinds).Draw(t, "kind")
		id := rapid.OneOf(rapid.StringN(1, 8, -1), rapid.SampledFrom([]string{"everyone", "group:admins", ":", " "})).Draw(t, "id")
		gotKind, gotID, ok := authz.ParseSubject(authz.SubjectOf(kind, id))
		if !ok || gotKind != kind || gotID != id {
			t.Fatalf("parsed %q, %q, %t", gotKind, gotID, ok)
		}
	})
}

func TestWhatIsNoSubject(t *testing.T) {
	for _, s := range []string{"", ":", "user", "user:", ":x", "USER:x", " user:x", "everyone:x", "Everyone", "role:x"} {
		if kind, id, ok := authz.ParseSubject(s); ok || kind != "" || id != "" {
			t.Errorf("ParseSubject(%q) = %q, %q, %t", s, kind, id, ok)
		}
	}
	if authz.SubjectOf(authz.SubjectEveryone, "x") != authz.Everyone {
		t.Error("everyone has no id")
	}
}

func TestPrincipalsNameExactlyOne(t *testing.T) {
	cases := map[authz.Principal]string{
		{UserID: "u"}:                 "",
		{ServiceID: "s"}:              "",
		{UserID: "u", ServiceID: "s"}: "a principal names both a userId and a serviceId — it must name exactly one",
		{}:                            "a principal names neither a userId nor a serviceId — it must name exactly one",
	}
	for p, want := range cases {
		got := ""
		if err := p.Validate(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%+v: %q", p, got)
		}
	}
	if s := authz.UserPrincipal("everyone").Subject(); s != "user:everyone" {
		t.Errorf("the user called everyone is %q", s)
	}
	if s := authz.ServicePrincipal("ci").String(); s != "service:ci" {
		t.Errorf("the service ci is %q", s)
	}
}
