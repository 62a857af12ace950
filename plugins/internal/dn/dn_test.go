package dn

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

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
		a, okA := Key(c.a)
		b, okB := Key(c.b)
		if !okA || !okB || (a == b) != c.same {
			t.Errorf("%s: %q and %q: same %t, parsed %t %t", name, c.a, c.b, a == b, okA, okB)
		}
	}
	for _, text := range []string{"nobody", "cn", "=,", `cn=a\`, "cn=a,", `cn="x"`} {
		if key, ok := Key(text); ok {
			t.Errorf("%q is a name: %q", text, key)
		}
	}
	if key, ok := Key(""); !ok || key != "" {
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
		keyA, _ := Key(a)
		keyB, _ := Key(b)
		if (keyA == keyB) != parsedA.EqualFold(parsedB) {
			t.Fatalf("%q and %q: keys equal %t, names %t", a, b, keyA == keyB, parsedA.EqualFold(parsedB))
		}
	})
}

// However a name is spelt it has one key, and a name with another value has another.
func TestSpellingsOfANameHaveOneKey(t *testing.T) {
	types := [][]string{{"cn", "CommonName", "2.5.4.3"}, {"ou", "OID.2.5.4.11", "organizationalUnitName"}, {"uid", "UserID", "UID"}}
	letters := []rune("abzÄßé,+=\"#<>; ")
	type pair struct {
		kind  int
		value string
	}
	spelt := func(t *rapid.T, name [][]pair) string {
		var rdns []string
		for _, rdn := range name {
			var pairs []string
			for _, p := range rapid.Permutation(rdn).Draw(t, "order") {
				var value strings.Builder
				for _, r := range p.value {
					switch how := rapid.IntRange(0, 3).Draw(t, "how"); {
					case how == 0:
						for _, b := range []byte(string(r)) {
							fmt.Fprintf(&value, `\%02x`, b)
						}
					case how == 1 && unicode.IsLetter(r):
						value.WriteRune(unicode.ToUpper(r))
					case strings.ContainsRune(`,+="#<>;`, r):
						value.WriteString(`\` + string(r))
					case r == ' ':
						value.WriteString(strings.Repeat(`\20`, 1+how/3))
					default:
						value.WriteRune(r)
					}
				}
				space := strings.Repeat(" ", rapid.IntRange(0, 1).Draw(t, "space"))
				pairs = append(pairs, space+rapid.SampledFrom(types[p.kind]).Draw(t, "type")+space+"="+space+value.String()+space)
			}
			rdns = append(rdns, strings.Join(pairs, "+"))
		}
		return strings.Join(rdns, ",")
	}
	rapid.Check(t, func(t *rapid.T) {
		var name [][]pair
		for range rapid.IntRange(1, 3).Draw(t, "rdns") {
			var rdn []pair
			for range rapid.IntRange(1, 2).Draw(t, "pairs") {
				rdn = append(rdn, pair{rapid.IntRange(0, len(types)-1).Draw(t, "kind"), "x" + rapid.StringOfN(rapid.RuneFrom(letters), 0, 4, -1).Draw(t, "value") + "y"})
			}
			name = append(name, rdn)
		}
		a, b := spelt(t, name), spelt(t, name)
		keyA, okA := Key(a)
		keyB, okB := Key(b)
		if !okA || !okB || keyA != keyB {
			t.Fatalf("%q and %q: parsed %t %t, one key %t", a, b, okA, okB, keyA == keyB)
		}
		name[0][0].value += "z"
		if other, ok := Key(spelt(t, name)); !ok || other == keyA {
			t.Fatalf("%q and another name have one key", a)
		}
	})
}

func TestTheValueThatANameChooses(t *testing.T) {
	for name, c := range map[string]struct {
		dn, attribute string
		values        []string
		want          string
	}{
		"the one in it":                  {"uid=ann,dc=x", "uid", []string{"bob", "ann"}, "ann"},
		"spelt as the entry has it":      {"uid=ANN,dc=x", "uid", []string{"bob", "ann"}, "ann"},
		"another name of the attribute":  {"userid=ann,dc=x", "uid", []string{"bob", "ann"}, "ann"},
		"the attribute as a number":      {"uid=ann,dc=x", "0.9.2342.19200300.100.1.1", []string{"bob", "ann"}, "ann"},
		"two that differ in case":        {"uid=Ann,dc=x", "uid", []string{"ann", "Ann"}, "Ann"},
		"two that both differ from it":   {"uid=ANN,dc=x", "uid", []string{"ann", "Ann"}, ""},
		"two that are both in it":        {"uid=a+uid=b,dc=x", "uid", []string{"b", "a"}, ""},
		"the same one twice":             {"uid=ann,dc=x", "uid", []string{"ann", "ann"}, "ann"},
		"a part of it with another type": {"cn=ann,dc=x", "uid", []string{"bob", "ann"}, ""},
		"one further above":              {"cn=x,uid=ann", "uid", []string{"bob", "ann"}, ""},
		"no value":                       {"uid=ann", "uid", nil, ""},
		"no name":                        {"ann", "uid", []string{"ann"}, ""},
		"the empty name":                 {"", "uid", []string{"ann"}, ""},
	} {
		if got, ok := Chosen(c.dn, c.attribute, c.values); got != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q, %t", name, got, ok)
		}
	}
}

func FuzzNames(f *testing.F) {
	for _, seed := range []string{"", "cn=a,dc=b", `cn=a\,b+uid=\ff,dc=x`, "2.5.4.3=#040141", "cn=a#'01'B", `cn=\20 x \20`} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		keyA, okA := Key(a)
		keyB, okB := Key(b)
		if okA && okB && keyA == keyB && keyA != "" {
			parsedA, _ := ldap.ParseDN(withoutUID(a))
			parsedB, _ := ldap.ParseDN(withoutUID(b))
			if len(parsedA.RDNs) != len(parsedB.RDNs) {
				t.Fatalf("%q and %q have one key", a, b)
			}
		}
		if shouted, ok := Key(strings.ToUpper(a)); okA && ok && isASCII(a) && !strings.ContainsAny(a, "\\#") && shouted != keyA {
			t.Fatalf("%q has another key in capitals", a)
		}
		if chosen, ok := Chosen(a, b, []string{a, b}); ok && chosen != a && chosen != b {
			t.Fatalf("%q was chosen of %q and %q", chosen, a, b)
		}
	})
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r > 0x7e || r < 0x20 }) < 0
}
