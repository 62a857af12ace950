package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

var listeningAt = regexp.MustCompile(`"listen":"([^"]+)"`)

// What is added to a catalog comes into force in a running host; anything else is refused
// with the reason, and the catalog stays.
func TestACatalogIsReadAgain(t *testing.T) {
	s := newShell(t)
	path := s.serveFile(func(text string) string {
		return strings.Replace(text, "listen: 127.0.0.1:0", "log: {level: info, format: json}\nlisten: 127.0.0.1:0", 1)
	})
	host := s.start("serve", "--config", path)
	eventually(t, "the host is ready", func() bool { return listeningAt.MatchString(host.errs.String()) })
	socket := filepath.Join(s.dir, "run", "authz.sock")
	c := &provider.Caller{Base: "http://" + listeningAt.FindStringSubmatch(host.errs.String())[1], Secret: "a-secret-of-the-test"}
	may := func(key string) (bool, error) {
		var answer struct{ Allowed bool }
		err := c.Call(t.Context(), "check", map[string]any{"principal": authz.UserPrincipal("ann"), "key": key}, &answer)
		return answer.Allowed, err
	}
	s.ok("grant", "create", "user:ann", "--pattern", "docs.files.*", "--socket", socket)
	s.ok("grant", "create", "user:ann", "--pattern", "docs.files.read", "--socket", socket)

	if out := s.ok("catalog", "reload", "--socket", socket); !strings.Contains(out, "says what it said") {
		t.Errorf("an unchanged file: %s", out)
	}
	if _, err := may("docs.files.edit"); err == nil || !strings.Contains(err.Error(), "not a permission key") {
		t.Errorf("a key that nothing declares: %v", err)
	}

	// questions while the catalog becomes another
	var asking sync.WaitGroup
	var ended atomic.Bool
	for range 4 {
		asking.Go(func() {
			for !ended.Load() {
				if ok, err := may("docs.files.read"); !ok || err != nil {
					t.Errorf("meanwhile: %v, %v", ok, err)
					return
				}
			}
		})
	}
	s.write("docs.yaml", `namespaces: [docs]
scopeTypes: {docs.folder: {parent: docs.folder}}
groups: {docs.files: {label: Files}}
permissions: {docs.files.read: {label: Read}, docs.files.edit: true, docs.bills.read: true}
`)
	out := s.ok("catalog", "reload", "--socket", socket, "--actor", "u_ops")
	ended.Store(true)
	asking.Wait()
	for _, line := range []string{"docs: in force from now on:", "permission docs.files.edit is added", "permission docs.bills.read is added", "scope type docs.folder is added", "permission docs.files.read is changed (label)"} {
		if !strings.Contains(out, line) {
			t.Errorf("%q is not in\n%s", line, out)
		}
	}
	if ok, err := may("docs.files.edit"); !ok || err != nil {
		t.Errorf("an added key below a granted wildcard: %v, %v", ok, err)
	}
	if ok, err := may("docs.bills.read"); ok || err != nil {
		t.Errorf("an added key: %v, %v", ok, err)
	}
	s.ok("grant", "create", "user:ben", "--pattern", "docs.bills.read", "--socket", socket)
	if out := s.ok("audit", "list", "--action", "catalog.reload", "--socket", socket); !strings.Contains(out, "u_ops") || !strings.Contains(out, "docs.bills.read is added") {
		t.Errorf("the audit log: %s", out)
	}

	refusals := []struct{ catalog, says string }{
		{"namespaces: [docs]\nscopeTypes: {docs.folder: {parent: docs.folder}}\ngroups: {docs.files: {label: Files}}\npermissions: {docs.files.read: {label: Read}, docs.bills.read: true, docs.new.read: true}\n", "permission docs.files.edit is removed"},
		{"namespaces: [docs]\nscopeTypes: {docs.folder: {parent: docs.folder}}\ngroups: {docs.files: {label: Files}}\npermissions: {docs.files.read: {label: Read, scopes: [docs.folder]}, docs.files.edit: true, docs.bills.read: true, docs.new.read: true}\n", "permission docs.files.read is changed (scopes)"},
		{"namespaces: [docs]\nscopeTypes: {docs.folder: {parent: docs.folder}}\ngroups: {docs.files: {label: Files}}\npermissions: {docs.files.read: {label: Read}, docs.files.edit: {requiresCondition: true}, docs.bills.read: true}\n", "permission docs.files.edit is changed (requiresCondition)"},
		{"namespaces: [docs]\nscopeTypes: {docs.folder: {}}\ngroups: {docs.files: {label: Files}}\npermissions: {docs.files.read: {label: Read}, docs.files.edit: true, docs.bills.read: true}\n", "scope type docs.folder is changed (parent)"},
		{"namespaces: [docs, more]\nscopeTypes: {docs.folder: {parent: docs.folder}}\ngroups: {docs.files: {label: Files}}\npermissions: {docs.files.read: {label: Read}, docs.files.edit: true, docs.bills.read: true, more.files.read: true}\n", "section namespaces is changed"},
		{"namespaces: [docs]\nscopeTypes: {docs.folder: {parent: docs.folder}}\ngroups: {docs.files: {label: Files}}\npermissions: {docs.files.read: {label: Read}, docs.files.edit: true, docs.bills.read: true}\nimports: {meet: {permissions: {'meet.rooms.*': true}}}\n", "the imports are others"},
		{"namespaces: [docs]\nscopeTypes: {docs.folder: {parent: docs.folder}}\npermissions: {docs.files.read: {label: Read}, docs.files.edit: true, docs.bills.read: true}\nconstraints: {sod: [{id: x, sets: [[docs.files.edit], [docs.bills.read]]}]}\n", "is "},
		{"namespaces: [docs]\npermissions: {dcs.files.read: true}\n", `"dcs" is not a declared namespace`},
		{"namespaces: [docs\n", "not a YAML catalog"},
	}
	for _, r := range refusals {
		s.write("docs.yaml", r.catalog)
		out, errs, code := s.run("catalog", "reload", "--socket", socket, "--app", "docs")
		if code != exitFailure || !strings.Contains(out, "docs: refused: ") || !strings.Contains(out, r.says) || !strings.Contains(errs, "1 of 1 catalogs stay as they are") {
			t.Errorf("%s\nexit %d\n%s%s", r.catalog, code, out, errs)
		}
	}
	if ok, err := may("docs.files.edit"); !ok || err != nil {
		t.Errorf("after refusals: %v, %v", ok, err)
	}
	if _, err := may("docs.new.read"); err == nil {
		t.Error("a part of a refused catalog is in force")
	}
	if out, _, code := s.run("catalog", "reload", "--socket", socket, "-o", "json"); code != exitFailure || !strings.Contains(out, `"refused": "catalog`) {
		t.Errorf("as JSON: exit %d, %s", code, out)
	}
	if _, errs, code := s.run("catalog", "reload", "--socket", socket, "--app", "dcs"); code != exitFailure || !strings.Contains(errs, "did you mean docs?") {
		t.Errorf("another application: exit %d, %s", code, errs)
	}
	if n := strings.Count(s.ok("audit", "list", "--action", "catalog.reload", "--socket", socket), "u_ops"); n != 1 {
		t.Errorf("%d entries in the audit log", n)
	}

	// the signal does the same
	s.write("docs.yaml", "namespaces: [docs]\nscopeTypes: {docs.folder: {parent: docs.folder}}\ngroups: {docs.files: {label: Files}}\npermissions: {docs.files.read: {label: Read}, docs.files.edit: true, docs.bills.read: true, docs.bills.approve: true}\n")
	if err := host.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the signal is answered", func() bool { _, err := may("docs.bills.approve"); return err == nil })
	if log := host.errs.String(); !strings.Contains(log, "permission docs.bills.approve is added") || !strings.Contains(log, "the catalog was not reloaded") {
		t.Errorf("the log: %s", log)
	}
	if out := s.ok("audit", "list", "--action", "catalog.reload", "--socket", socket, "-o", "json"); !strings.Contains(fmt.Sprint(out), "docs.bills.approve is added") || !strings.Contains(out, `"system`) {
		t.Errorf("the audit log: %s", out)
	}
}
