package ldap_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/authzhost/authz/plugins/ldap/ldap"
	"github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/plugin"
)

// configured starts the importer as its plugin does, with what is given over the
// least that it needs.
func configured(t *testing.T, given map[string]any) (directory.Importer, error) {
	t.Helper()
	p := ldap.Plugin("1.2.3")
	config := map[string]any{}
	for _, s := range p.ConfigSchema {
		if s.Default != nil {
			config[s.Name] = s.Default
		}
	}
	for name, value := range map[string]any{"urls": []string{"ldaps://ldap.example.com"}, "schema": "rfc2307bis", "user_base": "ou=people,dc=x", "group_base": "ou=groups,dc=x"} {
		config[name] = value
	}
	for name, value := range given {
		if value == nil {
			delete(config, name)
			continue
		}
		config[name] = value
	}
	i, err := p.Importer.Configure(t.Context(), config)
	if asked := p.Check(config); fmt.Sprint(asked) != fmt.Sprint(err) {
		t.Errorf("asked it said %v, configured %v", asked, err)
	}
	if err == nil {
		t.Cleanup(func() { i.Close() })
	}
	return i, err
}

type settings = map[string]any

func TestSettingsThatAreTaken(t *testing.T) {
	for name, given := range map[string]settings{
		"the least":            {},
		"posix":                {"schema": "posix"},
		"active directory":     {"schema": "active_directory"},
		"a port":               {"urls": []string{"ldaps://[::1]:6636", "ldaps://b"}},
		"TLS begun":            {"urls": []string{"ldap://ldap.example.com"}, "start_tls": true},
		"plaintext at home":    {"urls": []string{"ldap://127.0.0.1", "ldap://[::1]:389/", "ldap://LOCALHOST"}, "allow_plaintext": true},
		"a bind":               {"bind_dn": "reader@corp.example", "bind_password": "x"},
		"active by a value":    {"user_active_attribute": "employeeType", "user_active_values": []string{"staff"}},
		"inactive by any":      {"user_active_attribute": "pwdAccountLockedTime", "user_inactive_values": []string{"*"}},
		"other bits":           {"schema": "active_directory", "user_active_attribute": "userAccountControl", "user_inactive_bits": int64(18)},
		"a value and not bits": {"schema": "active_directory", "user_active_attribute": "employeeType", "user_active_values": []string{"staff"}},
		"nothing of activity":  {"schema": "active_directory", "user_active_attribute": ""},
		"no managers":          {"user_manager": ""},
		"no groups":            {"group_base": nil},
		"no pages":             {"page_size": int64(0)},
		"primary groups only":  {"schema": "active_directory", "member_attribute": ""},
	} {
		if _, err := configured(t, given); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSettingsThatAreRefused(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "file.pem")
	if err := os.WriteFile(file, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		given settings
		field string
		says  string
	}{
		"another schema":                 {settings{"schema": "novell"}, "schema", `"active_directory"`},
		"no address":                     {settings{"urls": []string{}}, "urls", "between 1 and 16"},
		"too many":                       {settings{"urls": make([]string, 17)}, "urls", "between 1 and 16"},
		"no scheme":                      {settings{"urls": []string{"ldap.example.com"}}, "urls", "addresses such as"},
		"another scheme":                 {settings{"urls": []string{"https://ldap.example.com"}}, "urls", "addresses such as"},
		"no host":                        {settings{"urls": []string{"ldaps://"}}, "urls", "addresses such as"},
		"no port":                        {settings{"urls": []string{"ldaps://a:0"}}, "urls", "ports"},
		"a password in the address":      {settings{"urls": []string{"ldaps://me:hush@a"}}, "urls", "scheme, host and port only"},
		"a base in the address":          {settings{"urls": []string{"ldaps://a/dc=x"}}, "urls", "scheme, host and port only"},
		"a query":                        {settings{"urls": []string{"ldaps://a?x"}}, "urls", "scheme, host and port only"},
		"plaintext":                      {settings{"urls": []string{"ldap://127.0.0.1"}}, "urls", "plaintext"},
		"plaintext elsewhere":            {settings{"urls": []string{"ldap://ldap.example.com"}, "allow_plaintext": true}, "allow_plaintext", "loopback"},
		"plaintext to one of two":        {settings{"urls": []string{"ldaps://a", "ldap://10.0.0.1"}, "allow_plaintext": true}, "allow_plaintext", "loopback"},
		"TLS twice":                      {settings{"start_tls": true}, "start_tls", "from its first byte"},
		"a name without a password":      {settings{"bind_dn": "cn=a"}, "bind_password", "must not be empty"},
		"a name with an empty password":  {settings{"bind_dn": "cn=a", "bind_password": ""}, "bind_password", "must not be empty"},
		"a password without a name":      {settings{"bind_password": "hush"}, "bind_dn", "required"},
		"external without a certificate": {settings{"bind_external": true}, "bind_external", "cert_file"},
		"external and a name":            {settings{"bind_external": true, "bind_dn": "cn=a", "bind_password": "hush", "cert_file": file, "key_file": file}, "bind_external", "takes the place"},
		"a certificate without its key":  {settings{"cert_file": file}, "key_file", "both or neither"},
		"no certificate in the file":     {settings{"cert_file": file, "key_file": file}, "cert_file", "PEM"},
		"no file of a certificate":       {settings{"cert_file": folder + "/none", "key_file": file}, "cert_file", "no such file"},
		"no authority in the file":       {settings{"ca_file": file}, "ca_file", "PEM"},
		"no file of an authority":        {settings{"ca_file": folder + "/none"}, "ca_file", "no such file"},
		"an empty base":                  {settings{"user_base": ""}, "user_base", "distinguished name"},
		"a base that is none":            {settings{"user_base": "people"}, "user_base", "distinguished name"},
		"a base of groups that is none":  {settings{"group_base": "cn=a,b"}, "group_base", "distinguished name"},
		"a malformed filter":             {settings{"user_filter": "(uid=*"}, "user_filter", "search filter"},
		"an empty filter":                {settings{"user_filter": ""}, "user_filter", "search filter"},
		"a malformed filter of groups":   {settings{"group_filter": "uid=a)(b"}, "group_filter", "search filter"},
		"no id":                          {settings{"user_id": ""}, "user_id", "name of an attribute"},
		"an id with an option":           {settings{"user_id": "uid;binary"}, "user_id", "name of an attribute"},
		"a manager that is no name":      {settings{"user_manager": "the boss"}, "user_manager", "name of an attribute"},
		"an org that is no name":         {settings{"user_orgs": []string{"o", ""}}, "user_orgs", "name of an attribute"},
		"no name of groups":              {settings{"group_name": ""}, "group_name", "name of an attribute"},
		"no members":                     {settings{"member_attribute": ""}, "member_attribute", "name of an attribute"},
		"another kind of member":         {settings{"member_kind": "uid"}, "member_kind", `"key"`},
		"no key of members":              {settings{"member_kind": "key", "member_key": ""}, "member_key", "name of an attribute"},
		"another primary group":          {settings{"primary_group": "all"}, "primary_group", `"sid"`},
		"an activity without values":     {settings{"user_active_attribute": "x"}, "user_active_attribute", "exactly one"},
		"an activity of two kinds":       {settings{"user_active_attribute": "x", "user_active_values": []string{"a"}, "user_inactive_bits": int64(2)}, "user_active_attribute", "exactly one"},
		"values without an activity":     {settings{"user_active_values": []string{"a"}}, "user_active_attribute", "required"},
		"bits without their attribute":   {settings{"schema": "active_directory", "user_inactive_bits": int64(18)}, "user_active_attribute", "required"},
		"negative bits":                  {settings{"user_active_attribute": "x", "user_inactive_bits": int64(-2)}, "user_inactive_bits", "negative"},
		"pages too large":                {settings{"page_size": int64(10_001)}, "page_size", "between 0 and"},
		"negative pages":                 {settings{"page_size": int64(-1)}, "page_size", "between 0 and"},
		"nobody":                         {settings{"max_entries": int64(0)}, "max_entries", "between 1 and"},
		"everybody":                      {settings{"max_entries": int64(1 << 40)}, "max_entries", "between 1 and"},
		"no patience":                    {settings{"timeout": time.Millisecond}, "timeout", "between 1s and"},
		"patience for ever":              {settings{"timeout": time.Hour}, "timeout", "between 1s and"},
	} {
		_, err := configured(t, c.given)
		var refusal *plugin.ConfigError
		switch {
		case !errors.As(err, &refusal):
			t.Errorf("%s: %v, want a refusal of %s", name, err, c.field)
		case refusal.Field != c.field || !strings.Contains(refusal.Message, c.says):
			t.Errorf("%s: %v, want %s and %q", name, err, c.field, c.says)
		case strings.Contains(err.Error(), "hush") || strings.Contains(err.Error(), folder):
			t.Errorf("%s: %q repeats what was given", name, err)
		}
	}
}

func TestEverySettingIsDescribed(t *testing.T) {
	documented, err := os.ReadFile("../../../docs/directories.md")
	if err != nil {
		t.Fatal(err)
	}
	secrets := 0
	for _, s := range ldap.Plugin("").ConfigSchema {
		if s.Description == "" {
			t.Errorf("%s has no description", s.Name)
		}
		if !strings.Contains(string(documented), "| `"+s.Name+"` |") {
			t.Errorf("docs/directories.md has no row for %s", s.Name)
		}
		if s.Secret {
			secrets++
		}
	}
	if secrets != 1 {
		t.Errorf("%d secrets", secrets)
	}
}
