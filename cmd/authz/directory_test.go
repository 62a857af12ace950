package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/authzhost/authz/host/directory"
	"github.com/authzhost/authz/internal/testprocess"
)

// serveDirectory starts a host with the directory staff, which tells what the file
// people.jsonl says, and answers the arguments of its commands.
func (s *shell) serveDirectory(changes ...func(string) string) (at func(args ...string) []string) {
	s.t.Helper()
	importer := filepath.Join(s.dir, "authz-plugin-scripted")
	if err := testprocess.BuildAs(importer, "host/testdata/importer"); err != nil {
		s.t.Fatal(err)
	}
	path := s.serveFile(func(text string) string {
		text = strings.Replace(text, "listen: 127.0.0.1:0", "log: {level: info, format: json}\nlisten: 127.0.0.1:0", 1)
		text = strings.Replace(text, "plugins:\n", "plugins:\n  hr: {plugin: "+importer+", config: {file: people.jsonl}}\n", 1)
		for _, change := range changes {
			text = change(text)
		}
		return text + "\ndirectories:\n  staff: {importer: hr, schedule: '0 3 29 2 *'}\n"
	})
	host := s.start("serve", "--config", path)
	listening := regexp.MustCompile(`"listen":"([^"]+)"`)
	eventually(s.t, "the host is ready", func() bool { return listening.MatchString(host.errs.String()) })
	socket := filepath.Join(s.dir, "run", "authz.sock")
	return func(args ...string) []string {
		return append(append([]string{"directory"}, args...), "--socket", socket)
	}
}

// TestADirectoryIsListedImportedAndGuarded runs the commands of a directory against
// a host with an importer process.
func TestADirectoryIsListedImportedAndGuarded(t *testing.T) {
	s := newShell(t)
	reading := func(lines ...string) {
		all := append([]string{`{"begin":{"datasets":["users","groups","memberships"]}}`}, lines...)
		s.write("people.jsonl", strings.Join(append(all, `{"end":{}}`), "\n"))
	}
	ann, bob := `{"user":{"userId":"ann"}}`, `{"user":{"userId":"bob"}}`
	reading(ann, bob, `{"group":{"id":"eng","name":"Engineering"}}`, `{"membership":{"userId":"ann","groups":["eng"]}}`, `{"warning":{"message":"carl has no id"}}`)
	at := s.serveDirectory()
	says := func(out string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !strings.Contains(out, w) {
				t.Errorf("%q is not in\n%s", w, out)
			}
		}
	}

	says(s.ok(at("list")...), "staff", "hr", "0 3 29 2 *", "idle")
	says(s.ok(at("import", "staff", "--dry-run")...), "people created", "2", "ann, bob", "memberships added", "ann in eng", "warning: carl has no id", "nothing was changed: this was a dry run")
	says(s.ok(at("import", "staff")...), "read all of staff: 7 entries, 2 people, 1 groups", "groups created", "eng", "audit entry ")
	says(s.ok(at("import", "staff")...), "nothing differs")
	says(s.ok(at("list")...), "succeeded")

	reading(ann)
	_, errs, code := s.run(at("import", "staff", "--authoritative")...)
	if code != exitFailure {
		t.Errorf("exit %d", code)
	}
	says(errs, "1 of 2 (50 %) active people inactive", "at most 10 %", "'authz directory import staff --dry-run'", "--confirm-deactivations")
	says(s.ok(at("import", "staff", "--authoritative", "--dry-run")...), "people made inactive", "bob", "would be refused")
	var report directory.Report
	if err := json.Unmarshal([]byte(s.ok(at("import", "staff", "--authoritative", "--confirm-deactivations", "-o", "json")...)), &report); err != nil {
		t.Fatal(err)
	}
	if !report.Authoritative || report.Plan.DeactivatedPeople.Count != 1 || report.Audit == nil {
		t.Errorf("%+v", report)
	}
	_, errs, code = s.run(at("import", "stuff")...)
	if code != exitFailure {
		t.Errorf("exit %d", code)
	}
	says(errs, "did you mean staff?")
	if _, _, code := s.run(at("import")...); code != exitUsage {
		t.Errorf("exit %d", code)
	}
	says(s.ok(at("cancel", "staff")...), "not running")
	says(s.ok(append(append([]string{"__complete"}, at("import")...), "st")...), "staff")

	snapshot := s.write("all.json", `{"users":[]}`)
	_, errs, code = s.run(at("apply", "-f", snapshot, "--source", "hr", "--authoritative", "--max-deactivations", "0.5")...)
	if code != exitFailure {
		t.Errorf("exit %d", code)
	}
	says(errs, "no people at all")
	says(s.ok(at("apply", "-f", snapshot, "--source", "hr", "--authoritative", "--max-deactivations", "0.5", "--confirm-deactivations")...), "deactivated 1 users")
}

// TestAnImportIsInterrupted in the middle of what it writes: by Ctrl-C, and by another
// command. What stands is told, and the next run does the rest.
func TestAnImportIsInterrupted(t *testing.T) {
	const people = 20_000
	s := newShell(t)
	lines := []string{`{"begin":{"datasets":["users"]}}`}
	for i := range people {
		lines = append(lines, fmt.Sprintf(`{"user":{"userId":"p%05d"}}`, i))
	}
	s.write("people.jsonl", strings.Join(append(lines, `{"end":{}}`), "\n"))
	at := s.serveDirectory(func(text string) string {
		return strings.Replace(text, "main: {plugin: memory}", "main: {plugin: sqlite, config: {path: authz.db}}", 1)
	})
	db, err := sql.Open("sqlite", filepath.Join(s.dir, "authz.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	do := func(statement string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	do("pragma busy_timeout = 20000")
	applying := regexp.MustCompile(`applying, ([1-9]\d*) of \d+ people, \d+ commits, about \d+s left`)
	stood := regexp.MustCompile(`cancelled; (\d+) of (\d+) people were written in \d+ commits and stand, the next run does the rest`)
	left := people
	for _, end := range []struct {
		how string
		do  func(cmd *running)
	}{
		{"by Ctrl-C", func(cmd *running) {
			_ = cmd.Process.Signal(os.Interrupt)
			cmd.waitFor(t, regexp.MustCompile("cancelling the run"))
		}},
		{"by another command", func(*running) {
			if out := s.ok(at("cancel", "staff")...); !strings.Contains(out, "cancelled") {
				t.Error(out)
			}
		}},
	} {
		cmd := s.start(at("import", "staff")...)
		eventually(t, "it is in the middle", func() bool {
			do("begin immediate") // the next commit waits, so that it stays where it is seen
			if applying.MatchString(s.ok(at("list")...)) {
				return true
			}
			do("rollback")
			return false
		})
		end.do(cmd)
		do("rollback")
		<-cmd.done
		m := stood.FindStringSubmatch(cmd.errs.String())
		if cmd.ProcessState.ExitCode() != exitFailure || m == nil || m[2] != strconv.Itoa(left) {
			t.Fatalf("%s: exit %d with %d people left\n%s", end.how, cmd.ProcessState.ExitCode(), left, cmd.errs.String())
		}
		n, _ := strconv.Atoi(m[1])
		left -= n
		if out := s.ok(at("list")...); !strings.Contains(out, "idle") || !strings.Contains(out, "cancelled") {
			t.Error(out)
		}
	}
	var report directory.Report
	if err := json.Unmarshal([]byte(s.ok(at("import", "staff", "-o", "json")...)), &report); err != nil {
		t.Fatal(err)
	}
	if n := report.Plan.CreatedPeople.Count; n != left {
		t.Errorf("the last run created %d people of %d that were left", n, left)
	}
}
