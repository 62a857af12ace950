package file_test

import (
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/authzhost/authz/plugins/file/file"
	"github.com/authzhost/authz/plugins/internal/importertest"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
)

func write(t testing.TB, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// at are the options for a path whose files need no settling.
func at(path string) file.Options {
	o := file.Defaults(path)
	o.Settle = 0
	return o
}

func open(t testing.TB, o file.Options) *file.Importer {
	t.Helper()
	i, err := file.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = i.Close() })
	return i
}

// read takes a reading of an importer.
var read = importertest.Read

// fails wants a typed error with these words, and nothing told.
func fails(t *testing.T, o file.Options, refused bool, words ...string) {
	t.Helper()
	_ = importertest.Fails(t, open(t, o), refused, words...)
}

// writers put a snapshot into files as other programs would; each gives name and text.
var writers = map[string]func(directory.Snapshot) map[string]string{
	"json": func(s directory.Snapshot) map[string]string {
		text, err := json.MarshalIndent(s, "", "  ")
		if err != nil {
			panic(err)
		}
		return map[string]string{"people.json": string(text)}
	},
	"csv":  csvOf,
	"ldif": ldifOf,
}

func csvOf(s directory.Snapshot) map[string]string {
	people := [][]string{{"groups", "user_id", "active", "manager", "orgs"}}
	for _, u := range s.Users {
		people = append(people, []string{strings.Join(s.Memberships[u.UserID], ";"), u.UserID, strconv.FormatBool(*u.Active),
			s.ReportingEdges[u.UserID], strings.Join(s.Orgs[u.UserID], ";")})
	}
	groups := [][]string{{"id", "name", "parents", "description"}}
	for _, g := range s.Groups {
		groups = append(groups, []string{g.ID, g.Name, strings.Join(g.Parents, ";"), g.Description})
	}
	files := map[string]string{}
	for name, rows := range map[string][][]string{"people.csv": people, "groups.csv": groups} {
		var b bytes.Buffer
		w := csv.NewWriter(&b)
		if err := w.WriteAll(rows); err != nil {
			panic(err)
		}
		files[name] = b.String()
	}
	return files
}

// ldifOf names entries by number, so that ids may hold anything.
func ldifOf(s directory.Snapshot) map[string]string {
	var b strings.Builder
	b.WriteString("version: 1\n# made by a test,\n  which folds its comments\n")
	line := func(name, value string) {
		text := name + ":: " + base64.StdEncoding.EncodeToString([]byte(value))
		if value != "" && !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) && !strings.ContainsAny(value[:1], " :<") {
			text = name + ": " + value
		}
		for len(text) > 30 {
			b.WriteString(text[:30] + "\n")
			text = " " + text[30:]
		}
		b.WriteString(text + "\n")
	}
	person, group := map[string]string{}, map[string]string{}
	for n, u := range s.Users {
		person[u.UserID] = fmt.Sprintf("cn=p%d,ou=people,dc=example,dc=org", n)
	}
	for n, g := range s.Groups {
		group[g.ID] = fmt.Sprintf("cn=g%d+ou=x,ou=groups,dc=example,dc=org", n)
	}
	for _, u := range s.Users {
		b.WriteString("\n")
		line("dn", person[u.UserID])
		line("objectClass", "inetOrgPerson")
		line("uid", u.UserID)
		line("employeeStatus", map[bool]string{true: "here", false: "left"}[*u.Active])
		if m := s.ReportingEdges[u.UserID]; m != "" {
			line("manager", strings.ToUpper(person[m]))
		}
		for _, o := range s.Orgs[u.UserID] {
			line("o", o)
		}
	}
	for _, g := range s.Groups {
		b.WriteString("\r\n")
		line("dn", group[g.ID])
		line("objectclass", "groupOfNames")
		line("cn", g.ID)
		line("displayName", g.Name)
		if g.Description != "" {
			line("description", g.Description)
		}
		for _, u := range s.Users {
			if slices.Contains(s.Memberships[u.UserID], g.ID) {
				line("member", strings.ReplaceAll(person[u.UserID], ",", " , "))
			}
		}
		for _, child := range s.Groups {
			if slices.Contains(child.Parents, g.ID) {
				line("member", strings.Replace(group[child.ID], "+ou=x", "+OU=X", 1))
			}
		}
	}
	return map[string]string{"people.ldif": b.String()}
}

// mapped are the options for what the writers write.
func mapped(path string) file.Options {
	o := at(path)
	o.GroupName, o.Active, o.ActiveValues, o.Orgs = "displayName", "employeeStatus", []string{"HERE"}, []string{"o"}
	return o
}

// ordered puts lists, whose order files do not keep alike, into one.
func ordered(s directory.Snapshot) directory.Snapshot {
	list := func(l []string) []string {
		if len(l) == 0 {
			return nil
		}
		return slices.Sorted(slices.Values(l))
	}
	groups := slices.Clone(s.Groups)
	for i := range groups {
		groups[i].Parents = list(groups[i].Parents)
	}
	lists := func(m map[string][]string) map[string][]string {
		m = maps.Clone(m)
		for k := range m {
			m[k] = list(m[k])
		}
		return m
	}
	s.Groups, s.Memberships, s.Orgs = groups, lists(s.Memberships), lists(s.Orgs)
	return s
}

func typed(err error) bool {
	var refused *authz.WriteRejectedError
	var outage *authz.UnavailableError
	return errors.As(err, &refused) || errors.As(err, &outage)
}
