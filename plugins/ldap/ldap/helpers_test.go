package ldap_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/authzhost/authz/plugins/ldap/ldap"
	"github.com/authzhost/authz/plugins/ldap/slapdtest"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
)

const (
	peopleBase = "ou=people," + slapdtest.Suffix
	groupsBase = "ou=groups," + slapdtest.Suffix
)

// ldif collects entries below a root with the usual units.
type ldif struct{ bytes.Buffer }

func newLDIF(units ...string) *ldif {
	l := &ldif{}
	slapdtest.Root(l, append([]string{"people", "groups"}, units...)...)
	return l
}

func (l *ldif) person(uid string, more ...slapdtest.Attribute) (dn string) {
	dn = slapdtest.DN("uid", uid, peopleBase)
	slapdtest.Write(l, dn, append([]slapdtest.Attribute{slapdtest.A("objectClass", "inetOrgPerson"), slapdtest.A("uid", uid),
		slapdtest.A("cn", uid), slapdtest.A("sn", uid)}, more...)...)
	return dn
}

func (l *ldif) group(cn string, members ...string) (dn string) {
	dn = slapdtest.DN("cn", cn, groupsBase)
	slapdtest.Write(l, dn, slapdtest.A("objectClass", "groupOfNames"), slapdtest.A("cn", cn), slapdtest.A("member", members...))
	return dn
}

// options are those of a server's directory, people and groups by name.
func options(t *testing.T, s *slapdtest.Server) ldap.Options {
	t.Helper()
	o, err := ldap.Defaults(ldap.SchemaRFC2307bis)
	if err != nil {
		t.Fatal(err)
	}
	o.URLs, o.CAFile = []string{s.TLSURL()}, s.Files.CA
	o.BindDN, o.BindPassword = slapdtest.AdminDN, s.Password
	o.UserBase, o.GroupBase, o.UserID, o.GroupID = peopleBase, groupsBase, "uid", "cn"
	return o
}

// plaintext has the options without TLS, for those who stand between.
func plaintext(o ldap.Options, url string) ldap.Options {
	o.URLs, o.AllowPlaintext, o.CAFile = []string{url}, true, ""
	return o
}

func opened(t *testing.T, o ldap.Options) *ldap.Importer {
	t.Helper()
	i, err := ldap.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { i.Close() })
	return i
}

// told is a reading as sets, so that the order of a server does not count.
type told struct {
	Datasets []directory.ImporterCapability
	Users    map[string][]string // active: true, false, or nil for unknown
	Groups   map[string]directory.Group
	Members  map[string][]string
	Managers map[string]string
	Orgs     map[string][]string
	Warnings []string
}

// read collects a reading and holds it to the order of entries.
func read(ctx context.Context, i directory.Importer) (told, error) {
	r := told{Users: map[string][]string{}, Groups: map[string]directory.Group{}, Members: map[string][]string{}, Managers: map[string]string{}, Orgs: map[string][]string{}}
	entries, ended := 0, false
	for entry, err := range i.Import(ctx, directory.Request{}) {
		if err != nil {
			return r, err
		}
		if ended {
			return r, errors.New("an entry after the end")
		}
		if _, begin := entry.(directory.Begin); begin != (entries == 0) {
			return r, fmt.Errorf("entry %d is %T", entries, entry)
		}
		entries++
		switch e := entry.(type) {
		case directory.Begin:
			r.Datasets = e.Datasets
		case directory.User:
			active := "unknown"
			if e.Active != nil {
				active = fmt.Sprint(*e.Active)
			}
			r.Users[e.UserID] = append(r.Users[e.UserID], active)
		case directory.Group:
			r.Groups[e.ID] = e
		case directory.Membership:
			if _, twice := r.Members[e.UserID]; twice {
				return r, fmt.Errorf("the groups of %q are told twice", e.UserID)
			}
			r.Members[e.UserID] = append([]string{}, e.Groups...)
		case directory.ReportingEdge:
			r.Managers[e.UserID] = e.ManagerID
		case directory.OrgMembership:
			r.Orgs[e.UserID] = e.Orgs
		case directory.Warning:
			r.Warnings = append(r.Warnings, e.Message)
		case directory.End:
			ended = true
		}
	}
	if !ended {
		return r, errors.New("no end")
	}
	return r, nil
}

func mustRead(t *testing.T, o ldap.Options) told {
	t.Helper()
	r, err := read(t.Context(), opened(t, o))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// refused wants a reading that fails before it has told anything, with all of the
// parts in its message and nothing of the secrets.
func refused(t *testing.T, o ldap.Options, parts ...string) {
	t.Helper()
	r, err := read(t.Context(), opened(t, o))
	nothing(t, r)
	if authz.CodeOf(err) != authz.CodeValidation {
		t.Fatalf("%T: %v, want a refusal", err, err)
	}
	says(t, o, err, parts...)
}

func unavailable(t *testing.T, o ldap.Options, parts ...string) {
	t.Helper()
	r, err := read(t.Context(), opened(t, o))
	nothing(t, r)
	var outage *authz.UnavailableError
	if !errors.As(err, &outage) {
		t.Fatalf("%T: %v, want an outage", err, err)
	}
	says(t, o, err, parts...)
}

func nothing(t *testing.T, r told) {
	t.Helper()
	if n := len(r.Users) + len(r.Groups) + len(r.Members) + len(r.Managers) + len(r.Orgs) + len(r.Warnings); n > 0 {
		t.Errorf("%d things were told before the error", n)
	}
}

func says(t *testing.T, o ldap.Options, err error, parts ...string) {
	t.Helper()
	t.Log(err)
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
	if o.BindPassword != "" && strings.Contains(err.Error(), o.BindPassword) {
		t.Errorf("%q holds the password", err)
	}
}

func names(groups map[string]directory.Group) []string { return slices.Sorted(maps.Keys(groups)) }
