package ldap

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-ldap/ldap/v3"
	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/sdk/directory"
)

func entryOf(dn string, attributes map[string][]string) *ldap.Entry {
	return ldap.NewEntry(dn, attributes)
}

func TestIdentifiers(t *testing.T) {
	for name, c := range map[string]struct {
		attribute, dn string
		values        []string
		want          string
		err           error
	}{
		"text":                     {"uid", "cn=x", []string{"ann"}, "ann", nil},
		"none":                     {"uid", "cn=x", nil, "", errNoValue},
		"empty":                    {"uid", "cn=x", []string{""}, "", errNoValue},
		"several, one in the name": {"uid", "uid=Ann,dc=x", []string{"bob", "Ann"}, "Ann", nil},
		"several":                  {"uid", "cn=x", []string{"a", "b"}, "", errSeveral},
		"bytes":                    {"uid", "cn=x", []string{"\xff\xfe"}, "", errNotText},
		"a zero":                   {"uid", "cn=x", []string{"a\x00"}, "", errNotText},
		"huge":                     {"uid", "cn=x", []string{strings.Repeat("x", directory.MaxID+1)}, "", errTooLong},
		"as long as can be":        {"uid", "cn=x", []string{strings.Repeat("x", directory.MaxID)}, strings.Repeat("x", directory.MaxID), nil},
		"a GUID": {"ObjectGUID", "cn=x", []string{"\x33\x22\x11\x00\x55\x44\x77\x66\x88\x99\xaa\xbb\xcc\xdd\xee\xff"},
			"00112233-4455-6677-8899-aabbccddeeff", nil},
		"a security identifier": {"objectSid", "cn=x", []string{"\x01\x02\x00\x00\x00\x00\x00\x05\x20\x00\x00\x00\x20\x02\x00\x00"}, "S-1-5-32-544", nil},
	} {
		got, err := identifier(entryOf(c.dn, map[string][]string{c.attribute: c.values}), c.attribute)
		if got != c.want || err != c.err {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for attribute, value := range map[string]string{"objectGUID": "short", "objectSid": "\x01\x02\x00\x00\x00\x00\x00\x05\x20\x00\x00\x00"} {
		if got, err := identifier(entryOf("cn=x", map[string][]string{attribute: {value}}), attribute); err == nil {
			t.Errorf("%s is %q", attribute, got)
		}
	}
}

func TestLabels(t *testing.T) {
	for name, c := range map[string]struct {
		dn      string
		limit   int
		values  []string
		want    string
		changed bool
	}{
		"one":                      {"cn=x", 1, []string{"a"}, "a", false},
		"none":                     {"cn=x", 1, nil, "", false},
		"several":                  {"ou=x", 1, []string{"b", "a"}, "a", false},
		"several, one in the name": {"cn=b", 1, []string{"a", "b"}, "b", false},
		"bytes":                    {"cn=x", 5, []string{"a\xffb"}, "a\uFFFDb", true},
		"a zero":                   {"cn=x", 5, []string{"a\x00b"}, "a\uFFFDb", true},
		"huge":                     {"cn=x", 4, []string{"aaaé"}, "aaa", true},
	} {
		got, changed := label(entryOf(c.dn, map[string][]string{"cn": c.values}), "cn", c.limit)
		if got != c.want || changed != c.changed {
			t.Errorf("%s: %q, %t", name, got, changed)
		}
	}
}

func TestRanges(t *testing.T) {
	type want struct {
		next   int
		told   bool
		values int
		failed bool
	}
	for name, c := range map[string]struct {
		from       int
		attributes map[string][]string
		want       want
	}{
		"whole":                       {0, map[string][]string{"member": {"a", "b"}}, want{told: true, values: 2}},
		"in capitals":                 {0, map[string][]string{"MEMBER": {"a"}}, want{told: true, values: 1}},
		"none":                        {0, map[string][]string{"other": {"a"}}, want{}},
		"in a language":               {0, map[string][]string{"member;lang-de": {"a"}}, want{}},
		"the first part":              {0, map[string][]string{"member": {}, "member;range=0-1": {"a", "b"}}, want{told: true, values: 2, next: 2}},
		"the first and last":          {0, map[string][]string{"member;Range=0-*": {"a", "b"}}, want{told: true, values: 2}},
		"a further part":              {2, map[string][]string{"member;range=2-3": {"a", "b"}}, want{told: true, values: 2, next: 4}},
		"the last":                    {4, map[string][]string{"member;range=4-*": {}}, want{told: true}},
		"all again":                   {4, map[string][]string{"member": {"a", "b"}}, want{}},
		"another part than asked for": {4, map[string][]string{"member;range=2-3": {"a", "b"}}, want{failed: true}},
		"fewer values than it says":   {0, map[string][]string{"member;range=0-2": {"a", "b"}}, want{failed: true}},
		"nothing and no end":          {4, map[string][]string{"member;range=4-3": {}}, want{failed: true}},
		"no numbers":                  {0, map[string][]string{"member;range=a-b": {"a"}}, want{failed: true}},
		"no end":                      {0, map[string][]string{"member;range=0": {"a"}}, want{failed: true}},
		"a number too large":          {0, map[string][]string{"member;range=0-99999999999999999999": {"a"}}, want{failed: true}},
		"an attribute that begins so": {0, map[string][]string{"memberOf;range=0-0": {"a"}}, want{}},
	} {
		p, err := partOf(entryOf("cn=x", c.attributes), "member", c.from)
		got := want{p.next, p.told, len(p.values), err != nil}
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestNamesInASchema(t *testing.T) {
	for definition, want := range map[string][]string{
		"( 2.5.4.3 NAME ( 'cn' 'commonName' ) DESC 'it''s (NAME ''x'')' SUP name )": {"cn", "commonName"},
		"( 2.5.4.31 NAME 'member' DESC 'x' )":                                       {"member"},
		"( 1.2.3 DESC 'nameless' )":                                                 nil,
		"( 1.2.3 NAME 'open":                                                        nil,
		"( 1.2.3 NAME ( ":                                                           nil,
		"":                                                                          nil,
	} {
		if diff := cmp.Diff(want, definedNames(definition)); diff != "" {
			t.Errorf("%s: %s", definition, diff)
		}
	}
}

func TestWarningsAreBounded(t *testing.T) {
	var w warnings
	for i := range 1000 {
		w.add(kindMember, "member %d %s", i, strings.Repeat("ä\xff", 1000))
	}
	w.add(kindManager, "one")
	list := w.list()
	if len(list) != maxWarnings+2 || list[maxWarnings] != "and 980 more members that were not read" || list[maxWarnings+1] != "one" {
		t.Errorf("%d warnings: %q", len(list), list[maxWarnings:])
	}
	for _, text := range list {
		if len(text) > directory.MaxWarning || !utf8.ValidString(text) {
			t.Errorf("%d bytes: %q", len(text), text)
		}
	}
}

// Whatever a server puts into attributes, what leaves the package can be stored.
func FuzzAttributes(f *testing.F) {
	f.Add("uid", "uid=ann,dc=x", []byte("ann"), []byte("b"))
	f.Add("objectGUID", "cn=x", []byte("0123456789abcdef"), []byte{})
	f.Add("objectSid", "cn=x", []byte("\x01\x02\x00\x00\x00\x00\x00\x05\x20\x00\x00\x00\x20\x02\x00\x00"), []byte("x"))
	f.Add("member;range=0-1", "cn=x", []byte("cn=a"), []byte("cn=b"))
	f.Fuzz(func(t *testing.T, attribute, dn string, a, b []byte) {
		entry := &ldap.Entry{DN: dn, Attributes: []*ldap.EntryAttribute{{Name: attribute, ByteValues: [][]byte{a, b}}}}
		single := &ldap.Entry{DN: dn, Attributes: []*ldap.EntryAttribute{{Name: attribute, ByteValues: [][]byte{a}}}}
		for _, e := range []*ldap.Entry{entry, single} {
			if id, err := identifier(e, attribute); err == nil && (id == "" || len(id) > directory.MaxID || !utf8.ValidString(id) || strings.Contains(id, "\x00")) {
				t.Fatalf("id %q", id)
			}
			if text, _ := label(e, attribute, 10); len(text) > 10 || !utf8.ValidString(text) || strings.Contains(text, "\x00") {
				t.Fatalf("label %q", text)
			}
			for _, from := range []int{0, 2} {
				if p, err := partOf(e, "member", from); err == nil && p.next != 0 && p.next <= from {
					t.Fatalf("after %d comes %d", from, p.next)
				}
			}
		}
		definedNames(attribute + dn)
	})
}
