package file_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/authzhost/authz/host/pluginhost"
	"github.com/authzhost/authz/internal/testplugin"
	"github.com/authzhost/authz/sdk/authz"
)

// The plugin's binary in a host reads what the importer reads in process, from a
// path that is relative to its directory.
func TestThePluginsProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	want := company(500, 20)
	for name, content := range ldifOf(want) {
		write(t, dir, name, content)
	}
	h := testplugin.NewHost(t, testplugin.Build(t, "file"))
	p, err := h.Start(t.Context(), pluginhost.Spec{Name: "people", Plugin: "file", Dir: dir, Config: map[string]any{
		"path": "people.ldif", "settle": "0s", "group_name": "displayName", "user_active_attribute": "employeeStatus", "user_active_values": []any{"here"}, "user_orgs": []any{"o"}}})
	if err != nil {
		t.Fatal(err)
	}
	i, err := p.Importer()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		got, err := read(t.Context(), i)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(ordered(want), ordered(got.Snapshot), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("want − got +\n%s", diff)
		}
	}
	write(t, dir, "people.ldif", "dn: cn=a\nuid: a")
	_, err = read(t.Context(), i)
	var refused *authz.WriteRejectedError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "people.ldif:2:7: the last line has no line break") {
		t.Errorf("%T: %v", err, err)
	}
	if _, err := h.Start(t.Context(), pluginhost.Spec{Name: "refused", Plugin: "file", Config: map[string]any{"paht": "."}}); err == nil || !strings.Contains(err.Error(), `did you mean "path"?`) {
		t.Error(err)
	}

	sample := testplugin.Sample(t, "../../../configs/importers.yaml", "contractors")
	if _, err := h.Start(t.Context(), pluginhost.Spec{Name: "sample", Plugin: "file", Config: sample}); err != nil {
		t.Errorf("the settings of configs/importers.yaml: %v", err)
	}
}
