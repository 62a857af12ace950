package scim_test

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/authzhost/authz/plugins/scim/scim"
	"github.com/authzhost/authz/plugins/scim/scimtest"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
)

func user(id string, more map[string]any) scimtest.Entity {
	attributes := map[string]any{"userName": id + "@example.org", "active": true}
	for name, value := range more {
		attributes[name] = value
	}
	return scimtest.Entity{ID: id, ExternalID: "x-" + id, Attributes: attributes}
}

func group(id string, members ...map[string]any) scimtest.Entity {
	return scimtest.Entity{ID: id, Attributes: map[string]any{"displayName": "Group " + id, "members": members}}
}

func of(value string) map[string]any { return map[string]any{"value": value} }

func extension(attributes map[string]any) map[string]any {
	return map[string]any{scimtest.Enterprise: attributes}
}

// small is a directory with something of everything.
func small() scimtest.World {
	return scimtest.World{
		Users: []scimtest.Entity{
			user("ann", extension(map[string]any{"department": "Sales", "organization": "Acme"})),
			user("bob", map[string]any{"active": false, scimtest.Enterprise: map[string]any{"manager": of("ann"), "organization": "Acme"}}),
			user("cyd", extension(map[string]any{"manager": map[string]any{"value": "gone"}})),
		},
		Groups: []scimtest.Entity{
			group("all", map[string]any{"value": "devs", "type": "Group"}, map[string]any{"value": "ann", "$ref": "https://x/v2/Users/ann"}),
			group("devs", of("bob"), of("bob"), of("nobody"), map[string]any{"value": "ann", "type": "Group"}),
		},
	}
}

func options(s *scimtest.Server) scim.Options {
	return scim.Options{BaseURL: s.BaseURL, CAFile: s.CAFile, Token: scimtest.Token, UserID: "id", GroupID: "id",
		Groups: true, Manager: true, Paging: "auto", PageSize: 2, PageOverlap: true, MaxEntries: 100_000,
		MaxResponseBytes: 8 << 20, MaxRetries: 2, Timeout: time.Minute, RequestTimeout: 20 * time.Second}
}

func open(t *testing.T, o scim.Options) *scim.Importer {
	t.Helper()
	i, err := scim.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = i.Close() })
	return i
}

// told is a reading, sorted into what an application takes.
type told struct {
	directory.Snapshot
	begin    directory.Begin
	warnings []string
	ended    bool
}

// read takes the sequence by itself, not by directory.Collect, so that the order of
// its entries is seen.
func read(ctx context.Context, i directory.Importer) (t told, err error) {
	first := true
	for entry, err := range i.Import(ctx, directory.Request{}) {
		if err != nil {
			return t, err
		}
		if _, begins := entry.(directory.Begin); begins != first || t.ended {
			return t, errors.New("an entry out of order")
		}
		first = false
		switch e := entry.(type) {
		case directory.Begin:
			t.begin = e
			for _, d := range e.Datasets {
				switch d {
				case directory.CapUsers:
					t.Users = []directory.User{}
				case directory.CapGroups:
					t.Groups = []directory.Group{}
				case directory.CapMemberships:
					t.Memberships = map[string][]string{}
				case directory.CapReporting:
					t.ReportingEdges = map[string]string{}
				case directory.CapOrgs:
					t.Orgs = map[string][]string{}
				}
			}
		case directory.Group:
			t.Groups = append(t.Groups, e)
		case directory.User:
			t.Users = append(t.Users, e)
		case directory.Membership:
			t.Memberships[e.UserID] = e.Groups
		case directory.ReportingEdge:
			t.ReportingEdges[e.UserID] = e.ManagerID
		case directory.OrgMembership:
			t.Orgs[e.UserID] = e.Orgs
		case directory.Warning:
			t.warnings = append(t.warnings, e.Message)
		case directory.End:
			t.ended = true
		}
	}
	if !t.ended {
		return t, errors.New("the reading stopped without an error and without its end")
	}
	return t, nil
}

// fails reads, and wants one of the two typed errors, with these words, and nothing told.
func fails(t *testing.T, i *scim.Importer, rejected bool, words ...string) {
	t.Helper()
	entries := 0
	var err error
	for entry, e := range i.Import(t.Context(), directory.Request{}) {
		if err = e; entry != nil {
			entries++
		}
	}
	if err == nil {
		t.Fatalf("the reading ended well with %d entries", entries)
	}
	if entries > 0 {
		t.Errorf("%d entries were told before the error", entries)
	}
	var refused *authz.WriteRejectedError
	var outage *authz.UnavailableError
	if rejected && (!errors.As(err, &refused) || refused.Code != authz.CodeValidation) || !rejected && !errors.As(err, &outage) {
		t.Errorf("an error of type %T: %v", err, err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q says nothing of %q", err, w)
		}
	}
	basic := base64.StdEncoding.EncodeToString([]byte(scimtest.Username + ":" + scimtest.Password))
	for _, secret := range []string{scimtest.Token, scimtest.Password, basic, scimtest.ClientSecret, scimtest.IssuedToken} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the error tells a secret: %v", err)
		}
	}
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }
