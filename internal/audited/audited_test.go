package audited_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/authzhost/authz/internal/audited"
	"github.com/authzhost/authz/sdk/authz"
)

func TestEntriesAboutASubject(t *testing.T) {
	for _, c := range []struct {
		sentence, subject string
		entry             authz.AuditEntry
		named             bool
	}{
		{"what a user did", "user:ann", authz.AuditEntry{Actor: "ann", Action: "role.create", Target: "r"}, true},
		{"what was done to their record", "user:ann", authz.AuditEntry{Actor: "root", Action: "user.set_active", Target: "ann"}, true},
		{"their seat", "user:ann", authz.AuditEntry{Actor: "root", Action: "seat.create", Target: "ann"}, true},
		{"a role of that id is no person", "user:ann", authz.AuditEntry{Actor: "root", Action: "role.update", Target: "ann"}, false},
		{"a grant to them", "user:ann", authz.AuditEntry{Actor: "root", Action: "grant.create", Target: "g", Detail: json.RawMessage(`{"subject":"user:ann"}`)}, true},
		{"one of many grants", "user:ann", authz.AuditEntry{Action: "grant.create_bulk", Detail: json.RawMessage(`{"grants":[{"subject":"user:x"},{"subject":"user:ann"}]}`)}, true},
		{"a grant to those who report to them", "user:ann", authz.AuditEntry{Action: "grant.create", Detail: json.RawMessage(`{"subject":"directs:ann"}`)}, true},
		{"as somebody's manager", "user:ann", authz.AuditEntry{Action: "user.set_manager", Target: "x", Detail: json.RawMessage(`{"managerUserId":"ann"}`)}, true},
		{"a name that is their id", "user:ann", authz.AuditEntry{Action: "role.create", Target: "r", Detail: json.RawMessage(`{"name":"ann"}`)}, false},
		{"a group of their id", "user:ann", authz.AuditEntry{Action: "user.set_groups", Target: "x", Detail: json.RawMessage(`{"groupIds":["ann"]}`)}, false},
		{"a group as member of a list", "group:staff", authz.AuditEntry{Action: "user.set_groups", Target: "x", Detail: json.RawMessage(`{"groupIds":["ops","staff"]}`)}, true},
		{"a group's own record", "group:staff", authz.AuditEntry{Action: "group.update", Target: "staff"}, true},
		{"an actor of the group's id", "group:staff", authz.AuditEntry{Actor: "staff", Action: "group.update", Target: "x"}, false},
		{"what was removed of a subject", "group:staff", authz.AuditEntry{Action: "subject.delete", Target: "group:staff"}, true},
		{"everyone", "everyone", authz.AuditEntry{Action: "grant.create", Target: "g", Detail: json.RawMessage(`{"subject":"everyone"}`)}, true},
		{"an empty id is nobody's", "everyone", authz.AuditEntry{Actor: "root", Action: "user.set_manager", Target: "x", Detail: json.RawMessage(`{"groupId":""}`)}, false},
	} {
		about, ok := audited.Of(c.subject)
		if !ok || about.Named(c.entry) != c.named {
			t.Errorf("%s: %v, %v; want %v", c.sentence, about.Named(c.entry), ok, c.named)
		}
	}
	if _, ok := audited.Of("ann"); ok {
		t.Error("a bare id is a subject")
	}
}

// named is the definition: whether an entry is about a subject, judged one subject at a time.
func named(subject string, e authz.AuditEntry) bool {
	kind, id, _ := authz.ParseSubject(subject)
	subjects := []string{subject}
	if kind == authz.SubjectUser {
		subjects = append(subjects, "directs:"+id, "orgof:"+id)
	}
	bare := map[authz.SubjectKind][]string{authz.SubjectUser: {"user.", "seat."}, authz.SubjectGroup: {"group."}}[kind]
	if kind == authz.SubjectUser && e.Actor == id || slices.Contains(subjects, e.Target) ||
		e.Target == id && slices.ContainsFunc(bare, func(prefix string) bool { return strings.HasPrefix(e.Action, prefix) }) {
		return true
	}
	var within func(member string, v any) bool
	within = func(member string, v any) bool {
		switch v := v.(type) {
		case string:
			of, ok := authz.IDKind(member)
			return slices.Contains(subjects, v) || ok && of == kind && v == id && id != ""
		case []any:
			return slices.ContainsFunc(v, func(one any) bool { return within(member, one) })
		case map[string]any:
			for member, one := range v {
				if within(member, one) {
					return true
				}
			}
		}
		return false
	}
	var detail any
	return json.Unmarshal(e.Detail, &detail) == nil && within("", detail)
}

// The subjects of an entry are exactly those that it is about.
func TestSubjectsAreThoseThatAnEntryIsAbout(t *testing.T) {
	ids := rapid.SampledFrom([]string{"", "a", "b", "a:b", "é", "everyone", "user:a"})
	kinds := []string{"user", "group", "org", "service", "directs", "orgof"}
	texts := rapid.OneOf(ids, rapid.Custom(func(t *rapid.T) string {
		return rapid.SampledFrom(kinds).Draw(t, "kind") + ":" + ids.Draw(t, "id")
	}))
	members := rapid.SampledFrom([]string{"subject", "userId", "userIds", "groupIds", "groupId", "serviceId", "orgs", "users", "name"})
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		plain := rapid.OneOf(rapid.Map(texts, func(s string) any { return s }), rapid.Just[any](nil), rapid.Just[any](1))
		if depth == 0 {
			return plain
		}
		return rapid.OneOf(plain, rapid.Map(rapid.SliceOfN(value(depth-1), 0, 3), func(l []any) any { return l }),
			rapid.Map(rapid.MapOfN(members, value(depth-1), 0, 4), func(m map[string]any) any { return m }))
	}
	rapid.Check(t, func(t *rapid.T) {
		e := authz.AuditEntry{Actor: ids.Draw(t, "actor"), Target: texts.Draw(t, "target"),
			Action: rapid.SampledFrom([]string{"user.set_groups", "seat.create", "group.update", "grant.create", "users.x"}).Draw(t, "action")}
		if rapid.Bool().Draw(t, "detail?") {
			detail, err := json.Marshal(value(3).Draw(t, "detail"))
			if err != nil {
				t.Fatal(err)
			}
			e.Detail = detail
		}
		subjects := e.Subjects()
		if !slices.IsSorted(subjects) || len(slices.Compact(slices.Clone(subjects))) != len(subjects) {
			t.Fatalf("not each once and in order: %q", subjects)
		}
		asked := slices.Concat(subjects, []string{"everyone"})
		for _, kind := range kinds {
			for _, id := range []string{"a", "b", "a:b", "é", "c", "user:a"} {
				asked = append(asked, kind+":"+id)
			}
		}
		for _, subject := range asked {
			want := named(subject, e)
			if about, ok := audited.Of(subject); !ok || about.Named(e) != want || slices.Contains(subjects, subject) != want {
				t.Fatalf("%s: %v, subjects %q; want %t of %+v", subject, about.Named(e), subjects, want, e)
			}
		}
	})
}

// A text too long for an id is nobody's: databases could not keep it in an index.
func TestASubjectOfAnEntryHasABoundedID(t *testing.T) {
	longest := "user:" + strings.Repeat("x", 1024)
	e := authz.AuditEntry{Detail: json.RawMessage(`["` + longest + `","` + longest + `x"]`)}
	if got := e.Subjects(); !slices.Equal(got, []string{longest}) || e.IsAbout(longest+"x") {
		t.Errorf("%d subjects", len(got))
	}
}

func TestFamiliesOfActions(t *testing.T) {
	for wanted, actions := range map[string]map[string]bool{
		"":             {"grant.create": true},
		"grant.create": {"grant.create": true, "grant.create_bulk": false},
		"grant.*":      {"grant.create": true, "grants.x": false, "grant": false},
		"grant*":       {"grant.create": false},
		".*":           {".x": false, "grant.create": false},
		"*.*":          {"grant.create": false},
		"a.b.*":        {"a.b.c": false},
	} {
		for action, want := range actions {
			if audited.Action(wanted, action) != want {
				t.Errorf("%q of %q: %v", action, wanted, !want)
			}
		}
	}
}
