package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/authzhost/authz/internal/testcert"
)

// TestConfigCheckReportsEverythingAtOnce: keys, catalogs and settings.
func TestConfigCheckReportsEverythingAtOnce(t *testing.T) {
	s := newShell(t)
	path := s.serveFile(func(text string) string {
		return "lisen: 127.0.0.1:1\n" + strings.Replace(overSQLite(text), "docs.db", "docs.db, busy_tiemout: 1s", 1) + `
  more:
    catalog: nowhere.yaml
    storage: {driver: main, partition: more}
  else:
    catalog: neither.yaml
    storage: {driver: main, partition: else}
`
	})
	_, errs, code := s.run("config", "check", "--config", path)
	if code != exitUsage {
		t.Errorf("exit %d", code)
	}
	for _, want := range []string{"lisen: unknown key", "nowhere.yaml", "neither.yaml", `plugins.main.config: setting "busy_tiemout": unknown; did you mean "busy_timeout"?`} {
		if !strings.Contains(errs, want) {
			t.Errorf("it does not say %q:\n%s", want, errs)
		}
	}
}

// TestConfigCheckFindsWhatServeWouldRefuse of plugins, at the line of the key, and
// touches nothing.
func TestConfigCheckFindsWhatServeWouldRefuse(t *testing.T) {
	replace := func(before, after string) func(*shell, string) string {
		return func(_ *shell, text string) string { return strings.Replace(text, before, after, 1) }
	}
	for name, c := range map[string]struct {
		change func(*shell, string) string
		want   []string
	}{
		"a binary that is missing": {replace("plugin: memory", "plugin: postgress"),
			[]string{"line 6: plugins.main: authz-plugin-postgress is in none of the directories searched", "plugin_dirs"}},
		"a path that leads nowhere": {replace("plugin: memory", "plugin: ./nowhere/authz-plugin-memory"),
			[]string{"line 6: plugins.main: ", "nowhere/authz-plugin-memory does not exist"}},
		"a binary that is not executable": {func(s *shell, text string) string {
			path := s.write("authz-plugin-memory", "no program")
			if err := os.Chmod(path, 0o600); err != nil {
				s.t.Fatal(err)
			}
			return strings.Replace(text, "plugin: memory", "plugin: "+path, 1)
		}, []string{"line 6: plugins.main: ", "authz-plugin-memory is not executable: chmod +x it"}},
		"a binary that is no plugin": {func(s *shell, text string) string {
			return strings.Replace(text, "plugin: memory", "plugin: "+s.write("authz-plugin-crash", "#!/bin/sh\necho out of luck >&2\nexit 7\n"), 1)
		}, []string{"line 6: plugins.main: ", "authz-plugin-crash: it ended before it was ready (exit status 7)", "out of luck"}},
		"a checksum of another binary": {replace("plugin: memory", "plugin: memory, sha256: "+strings.Repeat("ab", 32)),
			[]string{"line 6: plugins.main: ", "its sha256 is", "the binary is another one than was approved"}},
		"a setting that no plugin of this name has": {replace("plugin: memory", "plugin: memory, config: {leese: 1s}"),
			[]string{`line 6: plugins.main.config: setting "leese": unknown; did you mean "lease"?`}},
		"a setting that is missing": {replace("plugin: memory", "plugin: sqlite"),
			[]string{`line 6: plugins.main.config: setting "path": is required`}},
		"a value that only the plugin judges": {replace("plugin: memory", "plugin: sqlite, config: {path: a.db, lock: tabel}"),
			[]string{`line 6: plugins.main.config: setting "lock": must be "table" or "none"`}},
		"a folder for a file": {replace("plugin: memory", "plugin: sqlite, config: {path: .}"),
			[]string{`line 6: plugins.main.config: setting "path": is no regular file`}},
		"a kind that the binary does not serve": {func(s *shell, text string) string {
			return strings.Replace(text, "plugin: memory", "plugin: file, config: {path: people.csv}", 1)
		}, []string{"line 10: applications.docs.storage.driver: the plugin file of the instance main serves directory_importer and not storage: no configured plugin does"}},
		"a sink that is none": {func(_ *shell, text string) string {
			return text + "metrics: {sinks: [main]}\n"
		}, []string{"line 12: metrics.sinks[0]: the plugin memory of the instance main serves storage and not metrics_sink: no configured plugin does"}},
		"an importer that is none": {func(_ *shell, text string) string {
			text = strings.Replace(text, "plugin: memory}", "plugin: memory}\n  people: {plugin: file, config: {path: people.csv}}", 1)
			return text + "directories:\n  staff: {importer: main, application: docs, source: staff}\n"
		}, []string{"line 14: directories.staff.importer: the plugin memory of the instance main serves storage and not directory_importer: name people"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShell(t)
			path := s.serveFile(func(text string) string { return c.change(s, text) })
			out, errs, code := s.run("config", "check", "--config", path)
			if code != exitUsage {
				t.Errorf("config check: exit %d\n%s%s", code, out, errs)
			}
			for _, want := range c.want {
				if !strings.Contains(errs, want) {
					t.Errorf("it does not say %q:\n%s", want, errs)
				}
			}
			if _, errs, code := s.run("serve", "--config", path); code == 0 {
				t.Errorf("serve starts with it:\n%s", errs)
			}
		})
	}
}

// An older key is read, and told with the line to write instead.
func TestConfigCheckWarnsOfOlderKeys(t *testing.T) {
	s := newShell(t)
	path := s.serveFile(func(text string) string {
		return strings.Replace(text, "    provider:", "    client: {subject_cache_ttl_ms: 5000}\n    provider:", 1)
	})
	_, errs, code := s.run("config", "check", "--config", path)
	want := "applications.docs.client.subject_cache_ttl_ms: is an older name, read until 1.0: write subject_cache_ttl: 5s"
	if code != 0 || !strings.Contains(errs, "warning: line ") || !strings.Contains(errs, want) {
		t.Errorf("exit %d, %s", code, errs)
	}
}

func TestConfigCheckWarnsOfACertificateThatEndsSoon(t *testing.T) {
	s := newShell(t)
	_, certificate, key := testcert.Make(t)
	path := s.serveFile(func(text string) string {
		return "tls: {cert: " + certificate + ", key: " + key + "}\n" + text
	})
	if _, errs, code := s.run("config", "check", "--config", path); code != 0 || !strings.Contains(errs, "warning: tls.cert: the certificate expires at ") {
		t.Errorf("exit %d, %s", code, errs)
	}
}

// TestConfigCheckReachesWhatPluginsNeed only when it is told to, and makes nothing
// otherwise.
func TestConfigCheckReachesWhatPluginsNeed(t *testing.T) {
	s := newShell(t)
	path := s.serveFile(func(text string) string {
		return strings.Replace(overSQLite(text), "plugins:\n", "plugins:\n  people: {plugin: file, config: {path: people.csv}}\n", 1) +
			"directories:\n  staff: {importer: people, application: docs, source: staff}\n"
	})
	s.ok("config", "check", "--config", path)
	database := filepath.Join(s.dir, "docs.db")
	if exists(database) {
		t.Error("the database was made")
	}
	if err := os.WriteFile(database, []byte(strings.Repeat("no database", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	s.ok("config", "check", "--config", path)
	_, errs, code := s.run("config", "check", "--config", path, "--connect")
	for _, want := range []string{"line 7: plugins.main.config: ", "is no SQLite database", "line 6: plugins.people: people.csv cannot be read"} {
		if code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("exit %d, and it does not say %q:\n%s", code, want, errs)
		}
	}
	if err := os.Remove(database); err != nil {
		t.Fatal(err)
	}
	s.write("people.csv", "user_id,active\nann,true\n")
	s.ok("config", "check", "--config", path, "--connect")
}
