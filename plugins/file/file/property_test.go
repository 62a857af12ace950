package file_test

import (
	"encoding/base64"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/authzhost/authz/plugins/internal/dn"
	"github.com/authzhost/authz/sdk/directory"
)

// What one program writes of a directory, in any of the formats, is what is read.
func TestWhatIsWrittenIsRead(t *testing.T) {
	dir := t.TempDir()
	runes := []rune("abcXYZ 09\",:<#=+\\-\n\té日\U0001F600'&\u00a0")
	text := rapid.StringOfN(rapid.RuneFrom(runes), 1, 12, -1)
	id := text.Filter(func(s string) bool { return strings.TrimSpace(s) == s && s != "" })
	rapid.Check(t, func(rt *rapid.T) {
		people := rapid.SliceOfNDistinct(id, 1, 6, rapid.ID).Draw(rt, "people")
		groups := rapid.SliceOfNDistinct(id, 1, 5, rapid.ID).Draw(rt, "groups")
		someOf := func(list []string, label string) []string {
			return rapid.SliceOfNDistinct(rapid.SampledFrom(list), 0, len(list), rapid.ID).Draw(rt, label)
		}
		s := directory.Snapshot{Memberships: map[string][]string{}, ReportingEdges: map[string]string{}, Orgs: map[string][]string{}}
		for _, g := range groups {
			s.Groups = append(s.Groups, directory.Group{ID: g, Name: text.Draw(rt, "name"), Description: rapid.OneOf(rapid.Just(""), text).Draw(rt, "description"), Parents: someOf(groups, "parents")})
		}
		for n, u := range people {
			active := rapid.Bool().Draw(rt, "active")
			s.Users = append(s.Users, directory.User{UserID: u, Active: &active})
			s.Memberships[u] = someOf(groups, "groups")
			s.Orgs[u] = rapid.SliceOfNDistinct(id, 0, 3, rapid.ID).Draw(rt, "orgs")
			if n == 0 || rapid.Bool().Draw(rt, "managed") {
				s.ReportingEdges[u] = rapid.SampledFrom(people).Draw(rt, "manager")
			}
		}
		if n := len(s.Orgs[people[0]]); n == 0 {
			s.Orgs[people[0]] = []string{"org"}
		}
		for format, written := range writers {
			folder := filepath.Join(dir, format)
			if err := os.MkdirAll(folder, 0o700); err != nil {
				rt.Fatal(err)
			}
			for name, content := range written(s) {
				write(t, folder, name, content)
			}
			got, err := read(t.Context(), open(t, mapped(folder)))
			if err != nil {
				rt.Fatalf("%s: %v", format, err)
			}
			if diff := cmp.Diff(ordered(s), ordered(got.Snapshot)); diff != "" {
				rt.Fatalf("%s: want − got +\n%s", format, diff)
			}
			if len(got.Warnings) > 0 {
				rt.Fatalf("%s: %q", format, got.Warnings)
			}
		}
	})
}

// Entries name each other as those of a server do: by names that are equal.
func TestMembersAndManagersAreFoundByEqualNames(t *testing.T) {
	dir := t.TempDir()
	spellings := rapid.SampledFrom([]string{`cn=Änn  Lee+uid=ann,ou=x`, `UID=ann + commonName=änn lee , 2.5.4.11=X`, `cn=\c3\84nn lee+userid=ANN,ou=x`, `cn=änn lee,ou=x`,
		`cn=a\,b,ou=x`, `CN=A\2cB,OU=X`, `cn=a\, b,ou=x`, `cn=k,ou=x`, "cn=\u212a,ou=X", `cn=k,ou=x#'01'B`})
	rapid.Check(t, func(rt *rapid.T) {
		name, other := spellings.Draw(rt, "name"), spellings.Draw(rt, "other")
		var b strings.Builder
		for _, line := range [][2]string{{"dn", name}, {"objectClass", "inetOrgPerson"}, {"uid", "ann"}, {"manager", other}, {"", ""},
			{"dn", "cn=g"}, {"objectClass", "groupOfNames"}, {"cn", "g"}, {"member", other}, {"member", ""}} {
			if line[0] != "" {
				b.WriteString(line[0] + ":: " + base64.StdEncoding.EncodeToString([]byte(line[1])))
			}
			b.WriteString("\n")
		}
		got, err := read(t.Context(), open(t, at(write(t, dir, "people.ldif", b.String()))))
		if err != nil {
			rt.Fatal(err)
		}
		key, _ := dn.Key(name)
		otherKey, _ := dn.Key(other)
		want := directory.Snapshot{Memberships: map[string][]string{"ann": nil}, ReportingEdges: map[string]string{}}
		warnings := 2
		if key == otherKey {
			want.Memberships["ann"], want.ReportingEdges["ann"], warnings = []string{"g"}, "ann", 0
		}
		if !cmp.Equal(want.Memberships, got.Memberships) || !cmp.Equal(want.ReportingEdges, got.ReportingEdges) || len(got.Warnings) != warnings {
			rt.Fatalf("%q and %q: %v, %v, %q", name, other, got.Memberships, got.ReportingEdges, got.Warnings)
		}
	})
}

// company is a directory with cycles among groups and among managers.
func company(people, groups int) directory.Snapshot {
	random := rand.New(rand.NewPCG(3, 5))
	s := directory.Snapshot{Memberships: map[string][]string{}, ReportingEdges: map[string]string{}, Orgs: map[string][]string{}}
	pick := func(format string, n, most int) []string {
		set := map[string]bool{}
		for range random.IntN(most) {
			set[fmt.Sprintf(format, random.IntN(n))] = true
		}
		return append([]string{}, slices.Sorted(maps.Keys(set))...)
	}
	for n := range groups {
		s.Groups = append(s.Groups, directory.Group{ID: fmt.Sprintf("g%04d", n), Name: fmt.Sprintf("Group %d, of “many”", n), Parents: pick("g%04d", groups, 3)})
	}
	for n := range people {
		id, active := fmt.Sprintf("u%05d", n), random.IntN(20) > 0
		s.Users = append(s.Users, directory.User{UserID: id, Active: &active})
		s.Memberships[id] = pick("g%04d", groups, 8)
		s.Orgs[id] = []string{fmt.Sprintf("org %d", n%9)}
		s.ReportingEdges[id] = fmt.Sprintf("u%05d", random.IntN(people))
	}
	return s
}

func TestTenThousandPeople(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED with -short: a tenth of them is read")
	}
	t.Parallel()
	readAsWritten(t, company(10_000, 200), 1)
}

func TestAThousandPeopleTwice(t *testing.T) { readAsWritten(t, company(1_000, 50), 2) }

// readAsWritten wants in every reading, whatever the format, what was written.
func readAsWritten(t *testing.T, want directory.Snapshot, times int) {
	t.Helper()
	for format, written := range writers {
		dir := t.TempDir()
		for name, content := range written(want) {
			write(t, dir, name, content)
		}
		i := open(t, mapped(dir))
		for range times {
			got, err := read(t.Context(), i)
			if err != nil {
				t.Fatalf("%s: %v", format, err)
			}
			if want, got := ordered(want), ordered(got.Snapshot); !reflect.DeepEqual(want, got) {
				t.Fatalf("%s: want − got +\n%s", format, cmp.Diff(want, got))
			}
		}
	}
}
