package ldap

import (
	"strings"
	"testing"

	"github.com/go-ldap/ldap/v3"
	"pgregory.net/rapid"
)

func TestKeysOfNames(t *testing.T) {
	for name, c := range map[string]struct {
		a, b string
		same bool
	}{
		"case":                         {"CN=Ann,DC=Example", "cn=ANN,dc=example", true},
		"space around":                 {" cn = Ann , dc = example ", "cn=Ann,dc=example", true},
		"space within":                 {"cn=Ann  Lee", "cn=ann lee", true},
		"escapes":                      {`cn=a\2Cb`, `cn=a\,b`, true},
		"semicolons":                   {"cn=a;dc=b", "cn=a,dc=b", true},
		"order within a part":          {"cn=a+uid=b,dc=c", "uid=b+cn=a,dc=c", true},
		"letters beyond ASCII":         {"cn=ÄΣ", "cn=äς", true},
		"the sign for kelvin":          {"cn=K", "cn=k", true},
		"other names of types":         {"commonName=a,2.5.4.11=b,OID.2.5.4.10=c", "cn=a,ou=b,o=c", true},
		"hexadecimal":                  {"cn=#040141", "cn=a", true},
		"a bit string behind":          {"cn=a,dc=b#'0101'B", "cn=a,dc=b", true},
		"what looks like one":          {"cn=a#'02'B", "cn=a", false},
		"another value":                {"cn=a", "cn=b", false},
		"another type":                 {"cn=a", "sn=a", false},
		"one part more":                {"cn=a,dc=b", "cn=a", false},
		"order of parts":               {"dc=a,dc=b", "dc=b,dc=a", false},
		"a comma in a value":           {`cn=a\,dc=b`, "cn=a,dc=b", false},
		"a plus in a value":            {`cn=a\+sn=b`, "cn=a+sn=b", false},
		"a repeated pair":              {"cn=a+cn=a", "cn=a", false},
		"what is no text, differently": {`cn=\ff`, `cn=\fe`, false},
	} {
		a, okA := dnKey(c.a)
		b, okB := dnKey(c.b)
		if !okA || !okB || (a == b) != c.same {
			t.Errorf("%s: %q and %q: same %t, parsed %t %t", name, c.a, c.b, a == b, okA, okB)
		}
	}
	for _, text := range []string{"nobody", "cn", "=,", `cn=a\`, "cn=a,", `cn="x"`} {
		if key, ok := dnKey(text); ok {
			t.Errorf("%q is a name: %q", text, key)
		}
	}
	if key, ok := dnKey(""); !ok || key != "" {
		t.Error("the empty name is none")
	}
}

// Keys are equal exactly when the library finds the parsed names equal without
// regard to case, for names without the spaces and other names of types that it does
// not know about.
func TestKeysAgreeWithTheLibrary(t *testing.T) {
	value := rapid.StringOfN(rapid.SampledFrom([]rune(`aAbBäÄsSſkK,+="\#;<>é1`+"\x01\x02")), 0, 3, -1)
	pair := rapid.Custom(func(t *rapid.T) string {
		return rapid.SampledFrom([]string{"x", "X", "y"}).Draw(t, "type") + "=" + ldap.EscapeDN(value.Draw(t, "value"))
	})
	name := rapid.Custom(func(t *rapid.T) string {
		var parts []string
		for range rapid.IntRange(1, 2).Draw(t, "parts") {
			parts = append(parts, strings.Join(rapid.SliceOfN(pair, 1, 2).Draw(t, "pairs"), "+"))
		}
		return strings.Join(parts, ",")
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := name.Draw(t, "a"), name.Draw(t, "b")
		parsedA, errA := ldap.ParseDN(a)
		parsedB, errB := ldap.ParseDN(b)
		if errA != nil || errB != nil {
			t.Fatalf("%q: %v, %q: %v", a, errA, b, errB)
		}
		keyA, _ := dnKey(a)
		keyB, _ := dnKey(b)
		if (keyA == keyB) != parsedA.EqualFold(parsedB) {
			t.Fatalf("%q and %q: keys equal %t, names %t", a, b, keyA == keyB, parsedA.EqualFold(parsedB))
		}
	})
}

func FuzzNames(f *testing.F) {
	for _, seed := range []string{"", "cn=a,dc=b", `cn=a\,b+uid=\ff,dc=x`, "2.5.4.3=#040141", "cn=a#'01'B", `cn=\20 x \20`} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		keyA, okA := dnKey(a)
		keyB, okB := dnKey(b)
		if okA && okB && keyA == keyB && keyA != "" {
			parsedA, _ := ldap.ParseDN(withoutUID(a))
			parsedB, _ := ldap.ParseDN(withoutUID(b))
			if len(parsedA.RDNs) != len(parsedB.RDNs) {
				t.Fatalf("%q and %q have one key", a, b)
			}
		}
		if shouted, ok := dnKey(strings.ToUpper(a)); okA && ok && isASCII(a) && !strings.ContainsAny(a, "\\#") && shouted != keyA {
			t.Fatalf("%q has another key in capitals", a)
		}
		rdnValue(a, b)
	})
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r > 0x7e || r < 0x20 }) < 0
}
