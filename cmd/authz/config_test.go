package main

import (
	"strings"
	"testing"
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
