package pluginhost_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/authzhost/authz/host/pluginhost"
	"github.com/authzhost/authz/sdk/plugin"
)

// TestACheckFindsWhatAStartWouldRefuse, and leaves no process and no name taken.
func TestACheckFindsWhatAStartWouldRefuse(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "authz-plugin-plain")
	if err := os.WriteFile(plain, []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	memory := pluginhost.Spec{Name: "main", Plugin: "memory"}
	with := func(s pluginhost.Spec, change func(*pluginhost.Spec)) pluginhost.Spec { change(&s); return s }
	cases := []struct {
		name    string
		spec    pluginhost.Spec
		connect bool
		reason  []string // parts; nil: nothing is wrong
	}{
		{"a good one", memory, false, nil},
		{"a good one, reached", memory, true, nil},
		{"a missing binary", pluginhost.Spec{Name: "main", Plugin: "nothing"}, false, []string{"authz-plugin-nothing", "plugin_dirs"}},
		{"a file that is not executable", pluginhost.Spec{Name: "main", Plugin: plain}, false, []string{plain, "chmod"}},
		{"another checksum", with(memory, func(s *pluginhost.Spec) { s.SHA256 = strings.Repeat("ab", 32) }), false, []string{"its sha256 is", "pins abab"}},
		{"a crash before the handshake", faulty("crash"), false, []string{"exit status 7"}},
		{"an unknown setting", with(memory, func(s *pluginhost.Spec) { s.Config = map[string]any{"leese": "1s"} }), false, []string{`"leese"`, `did you mean "lease"?`}},
		{"a value that only the plugin judges", with(memory, func(s *pluginhost.Spec) { s.Config = map[string]any{"lease": "1ms"} }), false, []string{`"lease"`, "at least 50ms"}},
		{"a database that says no is not asked", faulty("refuse"), false, nil},
		{"a database that says no", faulty("refuse"), true, []string{"Configure failed: the database says no"}},
	}
	h := newHost(t, pluginhost.Options{})
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := h.Check(t.Context(), c.spec, c.connect)
			var e *pluginhost.StartError
			if c.reason == nil && err != nil || c.reason != nil && !errors.As(err, &e) {
				t.Fatalf("got %v", err)
			}
			for _, part := range c.reason {
				if !strings.Contains(e.Reason, part) {
					t.Errorf("the reason %q lacks %q", e.Reason, part)
				}
			}
			if left, _ := filepath.Glob(filepath.Join(pluginhost.SocketDir(h), "*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
	if n := len(h.Plugins()); n != 0 {
		t.Errorf("%d plugins are listed", n)
	}
}

// TestACheckAnswersWhatThePluginIs, also of one whose settings are refused: its kinds
// are judged all the same.
func TestACheckAnswersWhatThePluginIs(t *testing.T) {
	h := newHost(t, pluginhost.Options{StartTimeout: time.Minute})
	d, err := h.Check(t.Context(), pluginhost.Spec{Name: "main", Plugin: "memory", Config: map[string]any{"size": 3}}, false)
	var refused *plugin.ConfigError
	if !errors.As(err, &refused) || refused.Field != "size" || d.Name != "memory" || !d.Serves(plugin.KindStorage) {
		t.Errorf("got %+v, %v", d, err)
	}
}
