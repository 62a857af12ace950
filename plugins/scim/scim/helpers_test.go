package scim_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/authzhost/authz/plugins/internal/importertest"
	"github.com/authzhost/authz/plugins/scim/scim"
	"github.com/authzhost/authz/plugins/scim/scimtest"
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

// read takes a reading of an importer.
var read = importertest.Read

// fails reads, and wants one of the two typed errors, with these words and no secret,
// and nothing told.
func fails(t *testing.T, i *scim.Importer, refused bool, words ...string) {
	t.Helper()
	err := importertest.Fails(t, i, refused, words...)
	basic := base64.StdEncoding.EncodeToString([]byte(scimtest.Username + ":" + scimtest.Password))
	for _, secret := range []string{scimtest.Token, scimtest.Password, basic, scimtest.ClientSecret, scimtest.IssuedToken} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the error tells a secret: %v", err)
		}
	}
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }
