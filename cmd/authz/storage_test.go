package main

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// overSQLite keeps the rows of the configuration's application in a file.
func overSQLite(text string) string {
	return strings.Replace(text, "plugin: memory", "plugin: sqlite, config: {path: docs.db}", 1)
}

func TestStorageStatusNeedsNoHost(t *testing.T) {
	s := newShell(t)
	path := s.serveFile(overSQLite)
	first := storeOf(t, s.ok("storage", "status", "--config", path, "-o", "json"), true)
	again := storeOf(t, s.ok("storage", "status", "--config", path, "-o", "json"), true)
	want := storeFacts{Application: "docs", Driver: "sqlite", Partition: "docs", Incarnation: first.Incarnation, Durable: true, CrossProcess: true, SchemaVersion: 6}
	if first != want || again != want || first.Incarnation == "" {
		t.Errorf("got %+v, then %+v", first, again)
	}
	if !exists(filepath.Join(s.dir, "docs.db")) {
		t.Error("the path of the database does not start at the configuration's directory")
	}
	// A refused store is shown with its reason.
	s.write("docs.db", "this is no database, whatever its name says")
	out, errs, code := s.run("storage", "status", "--config", path)
	if code != exitFailure || !strings.Contains(out, "REFUSED") || !strings.Contains(out, "no SQLite database") || !strings.Contains(errs, "1 of 1") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	if left, _ := filepath.Glob(filepath.Join(s.dir, "run", "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestARenewedStoreIsAnother(t *testing.T) {
	s := newShell(t)
	path := s.serveFile(overSQLite)
	before := storeOf(t, s.ok("storage", "status", "--config", path, "-o", "json"), true)
	out, errs, code := s.run("storage", "renew", "docs", "--config", path, "-o", "json")
	var renewed renewal
	if err := json.Unmarshal([]byte(out), &renewed); err != nil || code != 0 || !renewed.Offline {
		t.Fatalf("exit %d, %v\n%s%s", code, err, out, errs)
	}
	after := storeOf(t, s.ok("storage", "status", "--config", path, "-o", "json"), true)
	if after.Incarnation != renewed.Incarnation || after.Incarnation == before.Incarnation {
		t.Errorf("the incarnation was %s, was renewed to %s and is %s", before.Incarnation, renewed.Incarnation, after.Incarnation)
	}
}

func TestARunningHostNoticesThatItsStoreWasRenewed(t *testing.T) {
	s := newShell(t)
	path := s.serveFile(nil)
	host := s.start("serve", "--config", path)
	eventually(t, "the host is ready", func() bool { return strings.Contains(host.errs.String(), "listen=") })
	before := storeOf(t, s.ok("storage", "status", "--config", path, "-o", "json"), false)
	if out := s.ok("storage", "renew", "docs", "--config", path); !strings.Contains(out, "authz storage accept docs") {
		t.Errorf("printed\n%s", out)
	}
	eventually(t, "the store is lost", func() bool { return strings.Contains(s.ok("storage", "status", "--config", path), "LOST") })
	socket := filepath.Join(s.dir, "run", "authz.sock")
	if _, errs, code := s.run("check", "--socket", socket, "--user", "u", "docs.files.read"); code != exitFailure || !strings.Contains(errs, "storage status") {
		t.Errorf("a check on a renewed store: exit %d, %s", code, errs)
	}
	s.ok("storage", "accept", "docs", "--socket", socket)
	after := storeOf(t, s.ok("storage", "status", "--config", path, "-o", "json"), false)
	if after.Error != "" || after.Incarnation == before.Incarnation {
		t.Errorf("the store was %+v and is %+v", before, after)
	}
	if out := s.ok("check", "--socket", socket, "--user", "u", "docs.files.read"); out != "DENIED\n" {
		t.Errorf("check printed %q", out)
	}
}

// A second process renews the content of the same file; nothing tells the host.
func TestARunningHostNoticesThatSomebodyElseRenewedItsStore(t *testing.T) {
	s := newShell(t)
	path := s.serveFile(overSQLite)
	host := s.start("serve", "--config", path)
	eventually(t, "the host is ready", func() bool { return strings.Contains(host.errs.String(), "listen=") })
	out := s.ok("storage", "renew", "docs", "--config", path, "--socket", filepath.Join(s.dir, "nobody.sock"), "-o", "json")
	var renewed renewal
	if err := json.Unmarshal([]byte(out), &renewed); err != nil || !renewed.Offline {
		t.Fatalf("%v\n%s", err, out)
	}
	eventually(t, "the store is lost", func() bool { return strings.Contains(s.ok("storage", "status", "--config", path), "LOST") })
	if now := storeOf(t, s.ok("storage", "status", "--config", path, "-o", "json"), false); now.Incarnation != renewed.Incarnation {
		t.Errorf("the host has %s open, not %s", now.Incarnation, renewed.Incarnation)
	}
}

// version1 makes a database of the first schema version: no column app anywhere.
func version1(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range []string{
		`CREATE TABLE "AuthzGrant" ("id" TEXT PRIMARY KEY, "subject" TEXT NOT NULL, "roleId" TEXT, "pattern" TEXT, "scope" TEXT NOT NULL,
			"expiresAt" INTEGER, "provenance" TEXT NOT NULL, "createdAt" INTEGER NOT NULL)`,
		`INSERT INTO "AuthzGrant" VALUES ('g1', 'user:u_1', NULL, 'docs.files.read', '*', NULL, '{"kind":"system"}', 1)`,
	} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
}

func TestADatabaseOfVersion1IsMigratedWhenItIsAllowed(t *testing.T) {
	s := newShell(t)
	version1(t, filepath.Join(s.dir, "docs.db"))
	path := s.serveFile(func(text string) string {
		return overSQLite(strings.Replace(text, "partition: docs", `partition: ""`, 1))
	})
	refused := func(args ...string) {
		t.Helper()
		if out, errs, code := s.run(args...); code == 0 || !strings.Contains(out+errs, "authz storage migrate") {
			t.Errorf("authz %v: exit %d\n%s%s", args, code, out, errs)
		}
	}
	refused("serve", "--config", path)
	refused("storage", "status", "--config", path)
	if out, errs, code := s.run("storage", "migrate", "--config", path); code != exitUsage || !strings.Contains(errs, "[y/N]") || !strings.Contains(errs, errDeclined.Error()) {
		t.Errorf("without an answer: exit %d\n%s%s", code, out, errs)
	}
	refused("storage", "status", "--config", path) // nothing was changed

	var report struct{ Plugins []migration }
	migrate := func() migration {
		t.Helper()
		if err := json.Unmarshal([]byte(s.ok("storage", "migrate", "--config", path, "--yes", "-o", "json")), &report); err != nil || len(report.Plugins) != 1 {
			t.Fatalf("%+v, %v", report, err)
		}
		return report.Plugins[0]
	}
	first := migrate()
	if p := first.Partitions; first.Result != resultMigrated || len(p) != 1 || p[0].BeforeVersion == nil || *p[0].BeforeVersion != 1 || p[0].Refusal == "" || *p[0].AfterVersion != 6 {
		t.Errorf("the first run: %+v", first)
	}
	second := migrate()
	if p := second.Partitions; second.Result != resultUpToDate || *p[0].BeforeVersion != 6 || *p[0].AfterVersion != 6 {
		t.Errorf("the second run: %+v", second)
	}
	host := s.start("serve", "--config", path)
	eventually(t, "the host is ready", func() bool { return strings.Contains(host.errs.String(), "listen=") })
	if out := s.ok("check", "--socket", filepath.Join(s.dir, "run", "authz.sock"), "--user", "u_1", "docs.files.read"); out != "ALLOWED\n" {
		t.Errorf("the row of version 1 says %q", out)
	}
}

// twoOfVersion1 is a configuration over two databases to migrate.
func (s *shell) twoOfVersion1() (path string) {
	s.t.Helper()
	version1(s.t, filepath.Join(s.dir, "docs.db"))
	version1(s.t, filepath.Join(s.dir, "more.db"))
	return s.serveFile(func(text string) string {
		text = overSQLite(strings.ReplaceAll(text, "partition: docs", `partition: ""`))
		text = strings.Replace(text, "applications:", "  more: {plugin: sqlite, config: {path: more.db}}\napplications:", 1)
		return text + `
  more:
    catalog: docs.yaml
    storage: {driver: more, partition: ""}
    provider: {secret: "file:secret"}
`
	})
}

func TestEachMigrationIsAskedForAndToldOf(t *testing.T) {
	s := newShell(t)
	path := s.twoOfVersion1()
	results := func(input string) (list []string, errs string, code int) {
		t.Helper()
		var out, errors bytes.Buffer
		cmd := s.command("storage", "migrate", "--config", path, "-o", "json")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &errors
		_ = cmd.Run() // the exit code is looked at
		var report struct{ Plugins []migration }
		if err := json.Unmarshal(out.Bytes(), &report); err != nil {
			t.Fatalf("%v\n%s%s", err, out.String(), errors.String())
		}
		for _, p := range report.Plugins {
			list = append(list, p.Plugin+" "+p.Result)
		}
		return list, errors.String(), cmd.ProcessState.ExitCode()
	}
	list, errs, code := results("y\nn\n")
	if want := []string{"main " + resultMigrated, "more " + resultDeclined}; code != exitUsage || !slices.Equal(list, want) || !strings.Contains(errs, "nothing was changed in the database of the plugin more") {
		t.Errorf("exit %d, %v\n%s", code, list, errs)
	}
	s = newShell(t)
	path = s.twoOfVersion1()
	if list, errs, code = results("y\nyes\n"); code != 0 || !slices.Equal(list, []string{"main " + resultMigrated, "more " + resultMigrated}) {
		t.Errorf("exit %d, %v\n%s", code, list, errs)
	}
}

func TestAnInterruptEndsTheQuestion(t *testing.T) {
	s := newShell(t)
	input, answer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
	defer answer.Close() // never given
	r := &running{Cmd: s.command("storage", "migrate", "--config", s.twoOfVersion1())}
	r.Stdin, r.Stdout, r.Stderr = input, &r.out, &r.errs
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it asks", func() bool { return strings.Contains(r.errs.String(), "[y/N]") })
	if err := r.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(20*time.Second, func() { _ = r.Process.Kill() })
	_ = r.Wait() // the exit code is looked at
	late.Stop()
	if code := r.ProcessState.ExitCode(); code != exitUsage || !strings.Contains(r.errs.String(), errDeclined.Error()) {
		t.Errorf("exit %d\n%s", code, r.errs.String())
	}
}

func TestADriverWithoutMigrationsHasNothingToMigrate(t *testing.T) {
	s := newShell(t)
	path := s.serveFile(nil)
	if out := s.ok("storage", "migrate", "--config", path); !strings.Contains(out, resultNothing) {
		t.Errorf("printed\n%s", out)
	}
	broken := s.serveFile(func(text string) string { return strings.Replace(text, "plugin: memory", "plugin: oracle", 1) })
	if out, errs, code := s.run("storage", "migrate", "--config", broken); code != exitFailure || !strings.Contains(out, "authz-plugin-oracle") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
}

func listGrants(t *testing.T, c *provider.Caller) []authz.Grant {
	t.Helper()
	var list struct{ Grants []authz.Grant }
	if err := c.Call(t.Context(), "listGrants", nil, &list); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(list.Grants, func(a, b authz.Grant) int { return strings.Compare(a.Subject, b.Subject) })
	return list.Grants
}
