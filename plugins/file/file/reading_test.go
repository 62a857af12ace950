package file_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/plugins/file/file"
	"github.com/authzhost/authz/sdk/directory"
)

func yes() *bool { b := true; return &b }
func no() *bool  { b := false; return &b }

func TestPeopleInCSV(t *testing.T) {
	dir := t.TempDir()
	o := at(dir)
	o.Separator, o.ListSeparator = ";", "|"
	o.Columns, o.IgnoreColumns = []string{"user_id=Employee No", "active=Status"}, []string{"Mail"}
	write(t, dir, "people.csv", "\xef\xbb\xbfEmployee No;Mail;groups;Status\r\n7;a@b;\"x| y\";Active\r\n8;;;disabled\r\n9;;x;\r\n")
	write(t, dir, ".people.csv.swp", "rubbish")
	write(t, dir, "README.txt", "rubbish")
	got, err := read(t.Context(), open(t, o))
	if err != nil {
		t.Fatal(err)
	}
	want := directory.Snapshot{Users: []directory.User{{UserID: "7", Active: yes()}, {UserID: "8", Active: no()}, {UserID: "9"}},
		Memberships: map[string][]string{"7": {"x", "y"}, "8": nil, "9": {"x"}}}
	if diff := cmp.Diff(want, ordered(got.Snapshot)); diff != "" {
		t.Errorf("want − got +\n%s", diff)
	}
}

func TestGroupsAloneInCSV(t *testing.T) {
	got, err := read(t.Context(), open(t, at(write(t, t.TempDir(), "g.CSV", "id,parents\na,\nb,a;c\n"))))
	if err != nil {
		t.Fatal(err)
	}
	want := directory.Snapshot{Groups: []directory.Group{{ID: "a"}, {ID: "b", Parents: []string{"a", "c"}}}}
	if diff := cmp.Diff(want, ordered(got.Snapshot)); diff != "" {
		t.Errorf("want − got +\n%s", diff)
	}
}

func TestASnapshotInJSON(t *testing.T) {
	const text = `{"orgs": {}, "groups": null, "users": [{"userId": "ann", "active": null}, {"active": false, "userId": "\u00e9\ud83d\ude00\ufffd\\ud800\""}],
		"memberships": {"ann": ["a"], "ann": ["b"]}}`
	got, err := read(t.Context(), open(t, at(write(t, t.TempDir(), "people.json", text))))
	if err != nil {
		t.Fatal(err)
	}
	want := directory.Snapshot{Users: []directory.User{{UserID: "ann"}, {UserID: "é😀\ufffd\\ud800\"", Active: no()}},
		Memberships: map[string][]string{"ann": {"a", "b"}}, Orgs: map[string][]string{}}
	if diff := cmp.Diff(want, got.Snapshot); diff != "" {
		t.Errorf("want − got +\n%s", diff)
	}
}

const people = `version: 1

dn: dc=example,dc=org
objectClass: domain
dc: example

# Ann, who is described at
  some length
dn: uid=ann,ou=people,dc=example,dc=org
objectClass: top
objectClass: INETORGPERSON
uid: ann
userAccountControl: 512
cn: Änne
description:

dn:: dWlkPWLDtmIsb3U9cGVvcGxlLGRjPWV4YW1wbGUsZGM9b3Jn
objectClass: inetOrgPerson
uid: bob
manager: UID=Ann, OU=People,
  DC=example,DC=org
userAccountControl: 514

dn: cn=pc,dc=example,dc=org
objectClass: user
objectClass: computer
cn: pc
`

const groups = `dn: cn=devs,dc=example,dc=org
objectClass: groupOfNames
cn: devs
description: Developers
member: uid=B\C3\96B,ou=people,dc=example,dc=org
member: cn=nobody,dc=example,dc=org

dn: cn=all,dc=example,dc=org
objectClass: posixGroup
cn: all
memberUid: ann
memberUid: ghost

dn: cn=every,dc=example,dc=org
objectClass: groupOfUniqueNames
cn: every
uniqueMember: cn=Devs,dc=example,dc=org
uniqueMember: cn=every,dc=example,dc=org
`

func TestADirectoryInLDIF(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.ldif", groups)
	write(t, dir, "b.ldif", people)
	o := at(dir)
	o.Active, o.InactiveBits = "userAccountControl", 2
	got, err := read(t.Context(), open(t, o))
	if err != nil {
		t.Fatal(err)
	}
	want := directory.Snapshot{
		Users: []directory.User{{UserID: "ann", Active: yes()}, {UserID: "bob", Active: no()}},
		Groups: []directory.Group{{ID: "devs", Name: "devs", Description: "Developers", Parents: []string{"every"}}, {ID: "all", Name: "all"},
			{ID: "every", Name: "every", Parents: []string{"every"}}},
		Memberships:    map[string][]string{"ann": {"all"}, "bob": {"devs"}},
		ReportingEdges: map[string]string{"bob": "ann"},
	}
	if diff := cmp.Diff(want, ordered(got.Snapshot)); diff != "" {
		t.Errorf("want − got +\n%s", diff)
	}
	if len(got.Warnings) != 2 || !slices.ContainsFunc(got.Warnings, func(w string) bool { return strings.Contains(w, "cn=nobody") }) ||
		!slices.ContainsFunc(got.Warnings, func(w string) bool { return strings.Contains(w, `"ghost"`) }) {
		t.Errorf("%q", got.Warnings)
	}
}

// A file of people only says nothing of groups, and so empties none.
func TestPeopleAloneInLDIF(t *testing.T) {
	got, err := read(t.Context(), open(t, at(write(t, t.TempDir(), "b.ldif", people))))
	if err != nil {
		t.Fatal(err)
	}
	if got.Groups != nil || got.Memberships != nil || got.Orgs != nil || len(got.Users) != 2 || got.ReportingEdges["bob"] != "ann" {
		t.Errorf("%+v", got.Snapshot)
	}
}

func TestWarningsAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString(people + "\n" + strings.TrimSuffix(groups, "\n") + "\n")
	for range 150 {
		b.WriteString("uniqueMember: cn=" + strings.Repeat("\U0001F47B", 300) + ",dc=example,dc=org\n")
	}
	got, err := read(t.Context(), open(t, at(write(t, t.TempDir(), "all.ldif", b.String()))))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(got.Warnings); n != 101 || got.Warnings[100] != "52 more members that do not exist" {
		t.Errorf("%d warnings, at last %q", n, got.Warnings[n-1])
	}
	for _, w := range got.Warnings {
		if len(w) > 500 || !utf8.ValidString(w) {
			t.Errorf("a warning of %d bytes: %q", len(w), w)
		}
	}
}

func TestEntriesAreBounded(t *testing.T) {
	for _, name := range []string{"p.csv", "p.json", "p.ldif"} {
		content := map[string]string{"p.csv": "user_id\na\nb\nc\n", "p.json": `{"users":[{"userId":"a"},{"userId":"b"},{"userId":"c"}]}`, "p.ldif": people + "\n" + groups}[name]
		o := at(write(t, t.TempDir(), name, content))
		o.MaxEntries = 2
		fails(t, o, true, "max_entries")
	}
}

func TestAReaderThatStops(t *testing.T) {
	i := open(t, at(write(t, t.TempDir(), "p.csv", "user_id\na\nb\nc\n")))
	n := 0
	for range i.Import(t.Context(), directory.Request{}) {
		if n++; n == 2 {
			break
		}
	}
	_ = i.Close()
	if _, err := read(t.Context(), i); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Error(err)
	}
}

func FuzzCSV(f *testing.F) {
	f.Add("user_id,active,groups\nann,true,\"a;b\"\n")
	f.Add("id,name\n\"a\"\"b\",x\r\n")
	fuzz(f, "p.csv")
}

func FuzzJSON(f *testing.F) {
	f.Add(`{"users":[{"userId":"a","active":true}],"groups":[{"id":"g","name":"n","parents":["g"]}],"orgs":{"a":["o"]}}`)
	f.Add(`{"memberships":{"a":["\ud83d\ude00"]},"reportingEdges":{"a":"b"}}`)
	fuzz(f, "p.json")
}

func FuzzLDIF(f *testing.F) {
	// Short: the engine tries ever smaller parts of what it finds of interest.
	f.Add("version: 1\ndn: uid=a\nuid:: YQ==\nobjectClass: us\n er\n")
	f.Add("dn: uid=a\nobjectClass: user\nuid: a\n\ndn: cn=b\nobjectClass: group\ncn: b\nmember: UID=A\n")
	fuzz(f, "p.ldif")
}

// fuzz wants a typed error or a reading in order whose ids an application takes.
func fuzz(f *testing.F, name string) {
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		o := at(write(t, dir, name, text))
		o.MaxEntries = 10_000
		i, err := file.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		got, err := read(t.Context(), i)
		if err != nil {
			if !typed(err) {
				t.Errorf("an error of type %T: %v", err, err)
			}
			return
		}
		id := func(ids ...string) {
			for _, s := range ids {
				if s == "" || len(s) > 1024 || strings.TrimSpace(s) != s || strings.ToValidUTF8(s, "") != s || strings.Contains(s, "\x00") {
					t.Errorf("the id %q", s)
				}
			}
		}
		for _, u := range got.Users {
			id(u.UserID)
		}
		for _, g := range got.Groups {
			id(g.ID)
			id(g.Parents...)
		}
		for u, list := range got.Memberships {
			id(u)
			id(list...)
		}
		for u, list := range got.Orgs {
			id(u)
			id(list...)
		}
		for u, m := range got.ReportingEdges {
			id(u, m)
		}
	})
}
