package ldap_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/plugins/ldap/ldap"
	"github.com/authzhost/authz/plugins/ldap/slapdtest"
	"github.com/authzhost/authz/sdk/directory"
)

func TestPeopleGroupsAndManagers(t *testing.T) {
	l := newLDIF()
	boss := l.person("boss", slapdtest.A("departmentNumber", "lead"))
	ann := l.person("ann", slapdtest.A("manager", strings.ToUpper(boss)), slapdtest.A("departmentNumber", "lab", "all"), slapdtest.A("employeeType", "active"))
	l.person("bob", slapdtest.A("manager", "uid=ghost,"+peopleBase), slapdtest.A("employeeType", "Gone"))
	inner := l.group("inner", ann, "uid=ghost,"+peopleBase)
	outer := l.group("outer", inner, boss, slapdtest.AdminDN)
	l.group("round", slapdtest.DN("cn", "round", groupsBase), outer)
	s := slapdtest.New(t, slapdtest.Options{LDIF: l})
	o := options(t, s)
	o.UserOrgs = []string{"departmentNumber"}
	o.ActiveAttribute, o.ActiveValues = "employeeType", []string{"ACTIVE"}

	got := mustRead(t, o)
	want := told{
		Datasets: []directory.ImporterCapability{"users", "groups", "memberships", "reporting", "orgs"},
		Users:    map[string][]string{"boss": {"false"}, "ann": {"true"}, "bob": {"false"}},
		Groups: map[string]directory.Group{
			"inner": {ID: "inner", Name: "inner", Parents: []string{"outer"}},
			"outer": {ID: "outer", Name: "outer", Parents: []string{"round"}},
			"round": {ID: "round", Name: "round", Parents: []string{"round"}},
		},
		Members:  map[string][]string{"boss": {"outer"}, "ann": {"inner"}, "bob": {}},
		Managers: map[string]string{"ann": "boss"},
		Orgs:     map[string][]string{"boss": {"lead"}, "ann": {"all", "lab"}, "bob": nil},
		Warnings: []string{
			`the manager of "bob" is no person that was read`,
			`the member "uid=ghost,ou=people,dc=example,dc=com" of the group "inner" is no person or group that was read`,
			`the member "cn=admin,dc=example,dc=com" of the group "outer" is no person or group that was read`,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	o.NestedGroups = false
	got = mustRead(t, o)
	if got.Groups["inner"].Parents != nil || !slices.Equal(got.Members["ann"], []string{"inner"}) {
		t.Errorf("without nested groups: %+v", got)
	}
	o.GroupBase, o.UserManager, o.UserOrgs = "", "", nil
	if got = mustRead(t, o); len(got.Datasets) != 1 || len(got.Members) != 0 || len(got.Groups) != 0 {
		t.Errorf("only people were asked for: %+v", got)
	}
	if c := opened(t, o).Info().Capabilities; !slices.Equal(c, []directory.ImporterCapability{"users"}) {
		t.Errorf("capabilities %q", c)
	}
}

func TestPosixGroupsNameTheirMembersByUID(t *testing.T) {
	l := newLDIF()
	account := func(uid, gid string) {
		slapdtest.Write(l, slapdtest.DN("uid", uid, peopleBase), slapdtest.A("objectClass", "account", "posixAccount"), slapdtest.A("uid", uid), slapdtest.A("cn", uid),
			slapdtest.A("uidNumber", "1"), slapdtest.A("gidNumber", gid), slapdtest.A("homeDirectory", "/"))
	}
	group := func(cn, gid string, members ...string) {
		slapdtest.Write(l, slapdtest.DN("cn", cn, groupsBase), slapdtest.A("objectClass", "posixGroup"), slapdtest.A("cn", cn), slapdtest.A("gidNumber", gid),
			slapdtest.A("memberUid", members...))
	}
	account("ann", "10")
	account("bob", "20")
	account("eve", "99")
	group("staff", "10", "bob", "nobody")
	group("lab", "20", "ann")
	s := slapdtest.New(t, slapdtest.Options{LDIF: l})
	o, err := ldap.Defaults(ldap.SchemaPosix)
	if err != nil {
		t.Fatal(err)
	}
	base := options(t, s)
	o.URLs, o.CAFile, o.BindDN, o.BindPassword = base.URLs, base.CAFile, base.BindDN, base.BindPassword
	o.UserBase, o.GroupBase, o.UserID, o.GroupID = peopleBase, groupsBase, "uid", "cn"

	got := mustRead(t, o)
	if diff := cmp.Diff(map[string][]string{"ann": {"lab", "staff"}, "bob": {"lab", "staff"}, "eve": {}}, got.Members); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{
		`the member "nobody" of the group "staff" is no person that was read`,
		`the primary group of "eve", "99", is no group that was read`,
	}, got.Warnings); diff != "" {
		t.Error(diff)
	}
}

// The names that entries have in lists are spelt as whoever wrote them liked.
func TestNamesAreComparedAsParsed(t *testing.T) {
	l := newLDIF()
	odd := `cn=Müller\, Änne \+ Söhne+uid=mueller,` + peopleBase
	slapdtest.Write(l, odd, slapdtest.A("manager", "uid=boss,"+peopleBase), slapdtest.A("objectClass", "inetOrgPerson"), slapdtest.A("uid", "mueller"), slapdtest.A("cn", "Müller, Änne + Söhne"), slapdtest.A("sn", "x"))
	l.person("boss")
	l.group("a", `UID=MUELLER + CN=müller\2C  änne \2b SÖHNE , OU=People,DC=Example, DC=Com`)
	l.group("b", `uid=mueller+cn=M\c3\bcller\2C Änne \+ S\C3\B6hne,ou=people,dc=example,dc=com`, "uid=BOSS,"+peopleBase)
	got := mustRead(t, options(t, slapdtest.New(t, slapdtest.Options{LDIF: l})))
	if diff := cmp.Diff(map[string][]string{"mueller": {"a", "b"}, "boss": {"b"}}, got.Members); diff != "" {
		t.Error(diff)
	}
}

func TestPagesAreAllRead(t *testing.T) {
	l := newLDIF()
	var people []string
	for _, uid := range strings.Split(strings.Repeat("x", 50), "") {
		people = append(people, l.person(uid+strings.Repeat("y", len(people)), slapdtest.A("manager", slapdtest.AdminDN)))
	}
	l.group("all", people...)
	s := slapdtest.New(t, slapdtest.Options{LDIF: l})
	for _, size := range []int64{0, 1, 7, 50, 51, 500} {
		o := options(t, s)
		o.PageSize = size
		got := mustRead(t, o)
		if len(got.Users) != 50 || len(got.Members) != 50 || len(names(got.Groups)) != 1 {
			t.Errorf("pages of %d: %d people, %d groups", size, len(got.Users), len(got.Groups))
		}
		for user, groups := range got.Members {
			if !slices.Equal(groups, []string{"all"}) {
				t.Errorf("pages of %d: %s is in %q", size, user, groups)
			}
		}
	}
}
