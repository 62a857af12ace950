package scim_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/authzhost/authz/plugins/scim/scim"
	"github.com/authzhost/authz/sdk/plugin"
)

func TestOptionsThatMakeNoSense(t *testing.T) {
	notPEM := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(notPEM, []byte("none"), 0o600); err != nil {
		t.Fatal(err)
	}
	const secret = "hunter2-hunter2-hunter2"
	for _, c := range []struct {
		name, field, words string
		change             func(*scim.Options)
	}{
		{"no address", "base_url", "address", func(o *scim.Options) { o.BaseURL = "directory.example" }},
		{"http elsewhere", "base_url", "https", func(o *scim.Options) { o.BaseURL = "http://directory.example/scim" }},
		{"another scheme", "base_url", "https", func(o *scim.Options) { o.BaseURL = "ldap://directory.example" }},
		{"credentials in the address", "base_url", "password", func(o *scim.Options) { o.BaseURL = "https://a:" + secret + "@directory.example" }},
		{"a query", "base_url", "query", func(o *scim.Options) { o.BaseURL = "https://directory.example/scim?key=" + secret }},
		{"two ways", "", "one of", func(o *scim.Options) { o.Token, o.Username, o.Password = secret, "a", "b" }},
		{"a token of two lines", "token", "character", func(o *scim.Options) { o.Token = secret + "\n" }},
		{"a password for nobody", "username", "needed", func(o *scim.Options) { o.Password = secret }},
		{"no password", "password", "needed", func(o *scim.Options) { o.Username = "a" }},
		{"half a client", "client_secret", "needed", func(o *scim.Options) { o.TokenURL, o.ClientID = "https://directory.example/token", "a" }},
		{"a token from anywhere", "token_url", "https", func(o *scim.Options) {
			o.TokenURL, o.ClientID, o.ClientSecret = "http://directory.example/token", "a", secret
		}},
		{"scopes of nothing", "scopes", "token_url", func(o *scim.Options) { o.Scopes = []string{"a"} }},
		{"authorities that are not there", "ca_file", "no such file", func(o *scim.Options) { o.CAFile = notPEM + "x" }},
		{"authorities that are none", "ca_file", "PEM", func(o *scim.Options) { o.CAFile = notPEM }},
		{"a folder of authorities", "ca_file", "no file", func(o *scim.Options) { o.CAFile = filepath.Dir(notPEM) }},
		{"a misspelt user id", "user_id", `did you mean "userName"`, func(o *scim.Options) { o.UserID = "username" }},
		{"a group id that groups lack", "group_id", "displayName", func(o *scim.Options) { o.GroupID = "userName" }},
		{"an attribute that names no org", "org_attributes", `did you mean "department"`, func(o *scim.Options) { o.OrgAttributes = []string{"departement"} }},
		{"an attribute twice", "org_attributes", "twice", func(o *scim.Options) { o.OrgAttributes = []string{"division", "division"} }},
		{"another paging", "paging", "cursor", func(o *scim.Options) { o.Paging = "pages" }},
		{"a filter of space", "user_filter", "space", func(o *scim.Options) { o.UserFilter = "  " }},
		{"pages of one", "page_size", "2 to", func(o *scim.Options) { o.PageSize = 1 }},
		{"no entries", "max_entries", "1 to", func(o *scim.Options) { o.MaxEntries = 0 }},
		{"short answers", "max_response_bytes", "1024 to", func(o *scim.Options) { o.MaxResponseBytes = 10 }},
		{"many retries", "max_retries", "0 to", func(o *scim.Options) { o.MaxRetries = 1000 }},
		{"no time", "timeout", "zero", func(o *scim.Options) { o.Timeout = 0 }},
		{"no time for a request", "request_timeout", "zero", func(o *scim.Options) { o.RequestTimeout = -1 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := scim.Options{BaseURL: "https://directory.example/scim", UserID: "id", GroupID: "id", Paging: "auto", PageSize: 2, MaxEntries: 1,
				MaxResponseBytes: 1 << 20, Timeout: 1, RequestTimeout: 1}
			if _, err := scim.Open(o); err != nil {
				t.Fatal(err)
			}
			c.change(&o)
			_, err := scim.Open(o)
			var refused *plugin.ConfigError
			if !errors.As(err, &refused) || refused.Field != c.field || !strings.Contains(err.Error(), c.words) {
				t.Errorf("%T of %q: %v", err, c.field, err)
			}
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("a secret is told: %v", err)
			}
		})
	}
}
