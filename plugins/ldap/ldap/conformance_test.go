package ldap_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/authzhost/authz/conformance/importer"
	"github.com/authzhost/authz/internal/testprocess"
	"github.com/authzhost/authz/plugins/ldap/ldap"
	"github.com/authzhost/authz/plugins/ldap/slapdtest"
	"github.com/authzhost/authz/sdk/directory"
)

// backend has importers in this process, over one directory.
type backend struct {
	options   ldap.Options
	importers []directory.Importer
}

func (b *backend) Connect(context.Context) (directory.Importer, error) {
	i, err := ldap.New(b.options)
	if err == nil {
		b.importers = append(b.importers, i)
	}
	return i, err
}

func (b *backend) Close() error {
	var failed []error
	for _, i := range b.importers {
		failed = append(failed, i.Close())
	}
	return errors.Join(failed...)
}

// In process run no cases but those that TestConformanceOfTheBinary runs too.
func TestConformance(t *testing.T) {
	if !testing.Short() && os.Getenv("AUTHZ_FULL") != "1" {
		t.Skip("SKIPPED in process: the same cases run over the binary; AUTHZ_FULL=1 runs them here too")
	}
	m := newModel(5, 300, 60)
	o := options(t, load(t, m.rfc2307bis))
	importer.Run(t, importer.Target{Name: "ldap", New: func(context.Context) (importer.Backend, error) { return &backend{options: o}, nil }})
}

// The binary, whose processes are killed and stopped, and whose line to the
// directory is cut and stalled.
func TestConformanceOfTheBinary(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED with -short: two binaries are built and many processes started")
	}
	t.Parallel()
	m := newModel(6, 1000, 100) // several times what is on its way to a reader at once
	s := load(t, m.rfc2307bis)
	folder := t.TempDir()
	for name, of := range map[string]string{"authz-plugin-ldap": "plugins/ldap", "authz-conformance": "cmd/authz-conformance"} {
		must(t, testprocess.BuildAs(filepath.Join(folder, name), of))
	}
	at, err := url.Parse(s.TLSURL())
	must(t, err)
	_, port, err := net.SplitHostPort(at.Host)
	must(t, err)
	config, err := json.Marshal(map[string]any{"schema": "rfc2307bis", "urls": []string{"ldaps://{target}"}, "ca_file": s.Files.CA, "server_name": slapdtest.ServerName,
		"bind_dn": slapdtest.AdminDN, "bind_password": s.Password, "user_base": peopleBase, "group_base": groupsBase, "user_orgs": []string{"departmentNumber"}})
	must(t, err)
	run := exec.CommandContext(t.Context(), filepath.Join(folder, "authz-conformance"), "run", filepath.Join(folder, "authz-plugin-ldap"),
		"--config", string(config), "--target", net.JoinHostPort("127.0.0.1", port))
	out, err := run.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
}
