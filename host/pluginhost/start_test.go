package pluginhost_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/host/pluginhost"
	"github.com/authzhost/authz/internal/testlog"
	"github.com/authzhost/authz/sdk/plugin"
	"github.com/authzhost/authz/sdk/storage"
)

func faulty(fault string) pluginhost.Spec {
	return pluginhost.Spec{Name: "main", Plugin: "faulty", Env: map[string]string{"FAULT": fault}}
}

func startError(t *testing.T, h *pluginhost.Host, spec pluginhost.Spec) *pluginhost.StartError {
	t.Helper()
	_, err := h.Start(t.Context(), spec)
	var e *pluginhost.StartError
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a *StartError", err)
	}
	return e
}

func TestAPluginThatCannotStartSaysWhy(t *testing.T) {
	empty := t.TempDir()
	plain := filepath.Join(empty, "authz-plugin-plain")
	if err := os.WriteFile(plain, []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(empty, "authz-plugin-text")
	if err := os.WriteFile(script, []byte("no program"), 0o700); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name   string
		spec   pluginhost.Spec
		reason []string // parts
		output string   // part of the last output
	}{
		{"a missing binary names the directories searched and what to do", pluginhost.Spec{Name: "main", Plugin: "nothing"},
			[]string{"authz-plugin-nothing", binaries, empty, "plugin_dirs"}, ""},
		{"a missing path is named", pluginhost.Spec{Name: "main", Plugin: "/nowhere/authz-plugin-x"}, []string{"/nowhere/authz-plugin-x", "does not exist"}, ""},
		{"no plugin at all", pluginhost.Spec{Name: "main"}, []string{"no plugin is named"}, ""},
		{"an instance needs a name", pluginhost.Spec{Plugin: "memory"}, []string{"no name"}, ""},
		{"a file that is not executable", pluginhost.Spec{Name: "main", Plugin: "plain"}, []string{plain, "chmod"}, ""},
		{"a directory", pluginhost.Spec{Name: "main", Plugin: empty + "/"}, []string{"no regular file"}, ""},
		{"a file that is no program", pluginhost.Spec{Name: "main", Plugin: script}, []string{"cannot be executed"}, ""},
		{"an unusable environment", pluginhost.Spec{Name: "main", Plugin: "memory", Env: map[string]string{"A=B": ""}}, []string{`"A=B"`}, ""},
		{"a crash before the handshake", faulty("crash"), []string{"exit status 7"}, "the disk is on fire"},
		{"noise on standard output", faulty("noise"), []string{"standard output", "hello from the plugin"}, ""},
		{"a newer protocol version names both sides'", faulty("protocol"), []string{"version 99", "this host speaks 2", "newer", "use a host of its release"}, ""},
		{"an older protocol version says what to do", faulty("older"), []string{"version 1", "this host speaks 2", "older", "rebuild it with github.com/authzhost/authz/sdk/plugin"}, ""},
		{"another name than the file's", faulty("name"), []string{`"innocent"`, "authz-plugin-faulty"}, ""},
		{"a refusal of the driver's in its own words", faulty("refuse"), []string{"Configure failed: the database says no"}, ""},
		{"a panic in Configure", faulty("panic"), []string{"ended during Configure", "exit status 2"}, "panic: faulty: configure"},
	}
	h := newHost(t, pluginhost.Options{Dirs: []string{binaries, empty}})
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			e := startError(t, h, c.spec)
			for _, part := range c.reason {
				if !strings.Contains(e.Reason, part) {
					t.Errorf("the reason %q lacks %q", e.Reason, part)
				}
			}
			if output := strings.Join(e.LastOutput, "\n"); !strings.Contains(output, c.output) {
				t.Errorf("the last output %q lacks %q", output, c.output)
			}
			if e.Plugin != c.spec.Name {
				t.Errorf("the error is about %q", e.Plugin)
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

func TestAStartThatHangsIsBounded(t *testing.T) {
	for fault, step := range map[string]string{"silent": "not ready", "describe": "Describe", "configure": "Configure"} {
		t.Run(fault, func(t *testing.T) {
			// On a busy machine a process may not come as far as its step in a short time.
			for timeout := 700 * time.Millisecond; ; timeout *= 4 {
				h := newHost(t, pluginhost.Options{StartTimeout: timeout})
				began := time.Now()
				e := startError(t, h, faulty(fault))
				took := time.Since(began)
				if !strings.Contains(e.Reason, timeout.String()) {
					t.Errorf("reason %q", e.Reason)
				}
				if strings.Contains(e.Reason, step) && took <= timeout+5*time.Second {
					return
				}
				if timeout > 40*time.Second {
					t.Fatalf("took %s, reason %q", took, e.Reason)
				}
			}
		})
	}
}

func TestAStartEndsWithItsContext(t *testing.T) {
	for _, fault := range []string{"silent", "describe", "configure"} {
		t.Run(fault, func(t *testing.T) {
			h := newHost(t, pluginhost.Options{})
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			if _, err := h.Start(ctx, faulty(fault)); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestClosingTheHostGivesUpAStart(t *testing.T) {
	h := newHost(t, pluginhost.Options{})
	failed := make(chan error, 1)
	go func() {
		_, err := h.Start(context.Background(), faulty("silent"))
		failed <- err
	}()
	time.Sleep(100 * time.Millisecond)
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; err == nil {
		t.Error("the start succeeded")
	}
	if _, err := h.Start(t.Context(), faulty("")); err == nil {
		t.Error("a closed host started a plugin")
	}
}

func TestTypedRefusalsOfConfigureKeepTheirIdentity(t *testing.T) {
	h := newHost(t, pluginhost.Options{})
	var unknown *plugin.ConfigError
	spec := pluginhost.Spec{Name: "main", Plugin: "memory", Config: map[string]any{"size": 3}}
	if err := error(startError(t, h, spec)); !errors.As(err, &unknown) || unknown.Field != "size" {
		t.Errorf("an unknown setting gave %v", err)
	}
	if err := error(startError(t, h, faulty("unsupported"))); storage.CodeOf(err) != storage.CodeUnsupported {
		t.Errorf("a driver's unsupported gave %v", err)
	}
}

func TestAKillOfTheHostsOwnIsNoError(t *testing.T) {
	var log testlog.Log
	h := newHost(t, pluginhost.Options{Logger: hclog.New(&hclog.LoggerOptions{Output: &log, Level: hclog.Info})})
	startError(t, h, pluginhost.Spec{Name: "main", Plugin: "memory", Config: map[string]any{"size": 3}})
	if text := log.String(); strings.Contains(text, "[ERROR]") || strings.Contains(text, "killed") {
		t.Errorf("the log says\n%s", text)
	}
}

func TestAPluginSeesOnlyItsOwnEnvironment(t *testing.T) {
	t.Setenv("AUTHZ_TEST_SECRET", "hidden")
	h := newHost(t, pluginhost.Options{})
	spec := faulty("environment")
	spec.Env["OWN"] = "mine"
	reason := startError(t, h, spec).Reason
	if strings.Contains(reason, "hidden") || strings.Contains(reason, "PATH=") || !strings.Contains(reason, "OWN=mine") {
		t.Errorf("reason %q", reason)
	}
}

func TestChecksums(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(binaries, "authz-plugin-memory"))
	if err != nil {
		t.Fatal(err)
	}
	right := fmt.Sprintf("%x", sha256.Sum256(b))
	wrong := strings.Repeat("0", 64)
	cases := []struct {
		name, pin string
		required  bool
		reason    string // "" starts
	}{
		{"the right one", right, true, ""},
		{"the right one in capitals", strings.ToUpper(right), true, ""},
		{"a wrong one is refused, naming both", wrong, false, right},
		{"one that is no digest", "abc", false, "64 hexadecimal digits"},
		{"none where one is required", "", true, "require_checksum"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h := newHost(t, pluginhost.Options{RequireChecksum: c.required})
			spec := pluginhost.Spec{Name: "main", Plugin: "memory", SHA256: c.pin}
			if c.reason == "" {
				if _, err := h.Start(t.Context(), spec); err != nil {
					t.Error(err)
				}
				return
			}
			if e := startError(t, h, spec); !strings.Contains(e.Reason, c.reason) {
				t.Errorf("reason %q", e.Reason)
			}
		})
	}
}

func TestAnInstanceNameIsUniqueAndAFailedOneIsFreeAgain(t *testing.T) {
	h := newHost(t, pluginhost.Options{})
	startError(t, h, faulty("crash"))
	if _, err := h.Start(t.Context(), faulty("")); err != nil {
		t.Fatal(err)
	}
	if e := startError(t, h, faulty("")); !strings.Contains(e.Reason, "same name") {
		t.Errorf("reason %q", e.Reason)
	}
}

func TestRunDirectory(t *testing.T) {
	if _, err := pluginhost.New(pluginhost.Options{RunDir: filepath.Join(t.TempDir(), strings.Repeat("x", 80))}); err == nil || !strings.Contains(err.Error(), "run_dir") {
		t.Errorf("a long path gave %v", err)
	}
	if _, err := pluginhost.New(pluginhost.Options{}); err == nil {
		t.Error("no path was accepted")
	}
	dir := runDir(t)
	stale := filepath.Join(dir, "plugins", "plugin-dir1", "plugin2")
	if err := os.MkdirAll(filepath.Dir(stale), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(stale, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h := newHost(t, pluginhost.Options{RunDir: dir})
	if _, err := os.Stat(stale); !errors.Is(err, os.ErrNotExist) {
		t.Error("what a killed host left is still there")
	}
	if info, err := os.Stat(pluginhost.SocketDir(h)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the socket directory: %v %v", info, err)
	}
	if _, err := pluginhost.New(pluginhost.Options{RunDir: dir}); err == nil || !strings.Contains(err.Error(), "another host") {
		t.Errorf("a second host on one run directory gave %v", err)
	}
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	again, err := pluginhost.New(pluginhost.Options{RunDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	again.Close(t.Context())
}

func TestANegativeStartTimeoutIsRefused(t *testing.T) {
	if h, err := pluginhost.New(pluginhost.Options{RunDir: t.TempDir(), StartTimeout: -1}); err == nil {
		_ = h.Close(t.Context())
		t.Error("a host with a negative start timeout")
	}
	h, err := pluginhost.New(pluginhost.Options{RunDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = h.Close(context.Background()) }()
	var refused *pluginhost.StartError
	if _, err := h.Start(t.Context(), pluginhost.Spec{Name: "p", Plugin: "absent", StartTimeout: -1}); !errors.As(err, &refused) ||
		!strings.Contains(refused.Reason, "start timeout") {
		t.Errorf("%v", err)
	}
}
