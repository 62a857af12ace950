package ldap_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/authzhost/authz/host/pluginhost"
	"github.com/authzhost/authz/internal/testplugin"
	"github.com/authzhost/authz/plugins/ldap/slapdtest"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/plugin"
)

// sample is the plugin's part of the sample configuration, for a server of the test.
func sample(t *testing.T, s *slapdtest.Server) map[string]any {
	t.Helper()
	text, err := os.ReadFile("../../../configs/ldap.yaml")
	must(t, err)
	var file struct {
		Plugins map[string]struct {
			Plugin string
			Config map[string]any
		}
	}
	must(t, yaml.Unmarshal(text, &file))
	corp := file.Plugins["corp"]
	if corp.Plugin != "ldap" || corp.Config["schema"] != "active_directory" {
		t.Fatalf("the sample runs %q with %v", corp.Plugin, corp.Config)
	}
	for name, value := range map[string]any{"urls": []any{s.TLSURL()}, "ca_file": s.Files.CA, "bind_dn": slapdtest.AdminDN, "bind_password": s.Password,
		"user_base": peopleBase, "group_base": groupsBase} {
		if _, given := corp.Config[name]; !given {
			t.Errorf("the sample does not give %s", name)
		}
		corp.Config[name] = value
	}
	return corp.Config
}

// The sample configuration and the real binary, under the real plugin host.
func TestTheSampleInAProcessOfItsOwn(t *testing.T) {
	t.Parallel()
	m := newModel(4, 500, 100)
	s := load(t, m.activeDirectory)
	h := testplugin.NewHost(t, testplugin.Build(t, "ldap"))
	config := sample(t, s)
	p, err := h.Start(t.Context(), pluginhost.Spec{Name: "corp", Plugin: "ldap", Config: config})
	must(t, err)
	i, err := p.Importer()
	must(t, err)
	got, err := read(t.Context(), i)
	must(t, err)
	same(t, m.expected(func(p modelPerson) string { return p.id.String() }, false), got)
	again, err := read(t.Context(), i)
	must(t, err)
	if !cmp.Equal(got, again) {
		t.Error("a second reading differs")
	}

	must(t, s.Kill())
	_, err = read(t.Context(), i)
	var outage *authz.UnavailableError
	if !errors.As(err, &outage) || !strings.Contains(err.Error(), "cannot be reached") {
		t.Errorf("%T: %v, want an outage", err, err)
	}
	must(t, s.Start(t.Context()))

	config["bind_password"] = "another-Tr0ub4dor"
	wrong, err := h.Start(t.Context(), pluginhost.Spec{Name: "wrong", Plugin: "ldap", Config: config})
	must(t, err)
	if i, err = wrong.Importer(); err != nil {
		t.Fatal(err)
	}
	if _, err = read(t.Context(), i); authz.CodeOf(err) != authz.CodeValidation || !strings.Contains(err.Error(), "invalid credentials") {
		t.Errorf("%T: %v, want a refusal", err, err)
	}

	config["user_filter"] = "(uid=*"
	_, err = h.Start(t.Context(), pluginhost.Spec{Name: "malformed", Plugin: "ldap", Config: config})
	var refusal *plugin.ConfigError
	if !errors.As(err, &refusal) || refusal.Field != "user_filter" {
		t.Errorf("%v, want a refusal of user_filter", err)
	}
	delete(config, "user_filter")
	config["user_filer"] = "(uid=*)"
	_, err = h.Start(t.Context(), pluginhost.Spec{Name: "misspelt", Plugin: "ldap", Config: config})
	if !errors.As(err, &refusal) || refusal.Suggestion != "user_filter" {
		t.Errorf("%v, want user_filter suggested", err)
	}

	must(t, h.Close(t.Context()))
	for _, secret := range []string{s.Password, "another-Tr0ub4dor"} {
		if strings.Contains(h.Log.String(), secret) {
			t.Error("a password was logged")
		}
	}
}
