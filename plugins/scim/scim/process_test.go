package scim_test

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/pluginhost"
	"github.com/authzhost/authz/internal/testplugin"
	"github.com/authzhost/authz/plugins/scim/scimtest"
	"github.com/authzhost/authz/sdk/authz"
)

func TestThePluginsProcess(t *testing.T) {
	t.Parallel() // a build and a restart
	server := scimtest.Start(t, small())
	h := testplugin.NewHost(t, testplugin.Build(t, "scim"))
	p, err := h.Start(t.Context(), pluginhost.Spec{Name: "people", Plugin: "scim", Config: map[string]any{"base_url": server.BaseURL, "ca_file": server.CAFile, "page_size": 2, "max_retries": 0,
		"token_url": server.TokenURL, "client_id": scimtest.ClientID, "client_secret": scimtest.ClientSecret}})
	if err != nil {
		t.Fatal(err)
	}
	i, err := p.Importer()
	if err != nil {
		t.Fatal(err)
	}
	want, err := read(t.Context(), open(t, options(server)))
	if err != nil {
		t.Fatal(err)
	}
	whole := func() {
		t.Helper()
		got, err := read(t.Context(), i)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, sliceAsSet()); diff != "" {
			t.Errorf("in process − by the process +\n%s", diff)
		}
	}
	whole()

	server.Set(t, scimtest.Faults{"status": 403, "echo": true})
	_, err = read(t.Context(), i)
	var outage *authz.UnavailableError
	if !errors.As(err, &outage) || !strings.Contains(err.Error(), "refuses the credentials (403)") {
		t.Errorf("%T: %v", err, err)
	}
	server.Set(t, scimtest.Faults{"body": "<html>", "contentType": "text/html"})
	if _, err = read(t.Context(), i); authz.CodeOf(err) != authz.CodeValidation {
		t.Errorf("%T: %v", err, err)
	}

	// The process is killed while it waits for its last page.
	server.Set(t, scimtest.Faults{"hangAfter": 10, "only": "Groups"})
	time.AfterFunc(300*time.Millisecond, func() { _ = syscall.Kill(p.Status().PID, syscall.SIGKILL) })
	if got, err := read(t.Context(), i); !errors.As(err, &outage) || got.Ended {
		t.Errorf("the reading of a killed process: %+v, %T %v", got, err, err)
	}
	server.Set(t, scimtest.Faults{})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := p.AwaitRunning(ctx); err != nil {
		t.Fatal(err)
	}
	whole()
	for _, secret := range []string{scimtest.ClientSecret, scimtest.IssuedToken} {
		if strings.Contains(h.Log.String(), secret) {
			t.Errorf("the log tells a secret:\n%s", h.Log)
		}
	}

	for words, config := range map[string]map[string]any{
		`did you mean "base_url"`: {"base_uri": "https://directory.example"},
		"must be https":           {"base_url": "http://directory.example"},
		"is required":             {"token": "x"},
	} {
		if _, err := h.Start(t.Context(), pluginhost.Spec{Name: "refused", Plugin: "scim", Config: config}); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%v: %v", config, err)
		}
	}

	sample := testplugin.Sample(t, "../../../configs/importers.yaml", "staff")
	if _, err := h.Start(t.Context(), pluginhost.Spec{Name: "sample", Plugin: "scim", Config: sample}); err != nil {
		t.Errorf("the settings of configs/importers.yaml: %v", err)
	}
}
