package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/authzhost/authz/host/pluginhost"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
	"github.com/authzhost/authz/sdk/plugin"
)

// build is the plugin's binary.
func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "authz-plugin-lines")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

func newHost(t *testing.T) *pluginhost.Host {
	t.Helper()
	run, err := os.MkdirTemp("", "vs") // short: sockets lie in it
	if err != nil {
		t.Fatal(err)
	}
	h, err := pluginhost.New(pluginhost.Options{RunDir: run})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(h.Close(context.Background()), os.RemoveAll(run)); err != nil {
			t.Error(err)
		}
	})
	return h
}

// A host's writer of windows, and a process that is killed under it again and again:
// every window that was taken stands in the file once.
func TestWindowsSurviveTheProcessThatTookThem(t *testing.T) {
	path := filepath.Join(t.TempDir(), "windows.jsonl")
	p, err := newHost(t).Start(t.Context(), pluginhost.Spec{Name: "lines", Plugin: build(t), Config: map[string]any{"path": path}})
	if err != nil {
		t.Fatal(err)
	}
	sink, err := p.Sink()
	if err != nil {
		t.Fatal(err)
	}
	const windows = 60
	for n := range uint64(windows) {
		w := metrics.Window{Application: "docs", Origin: "test", Sequence: n + 1, Batch: metrics.Batch{Checks: []metrics.CheckCounter{
			{Permission: "docs.read", Decision: metrics.Allow, Shape: metrics.ShapeCan, Gate: true, ScopeType: strings.Repeat("t", 200), Observed: 1, Estimated: 1}}}}
		if pid := p.Status().PID; n%12 == 5 && pid != 0 {
			killer := time.AfterFunc(time.Duration(n)*20*time.Microsecond, func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
			defer killer.Stop()
		}
		for {
			err := sink.Write(t.Context(), w)
			if err == nil {
				break
			}
			var outage *authz.UnavailableError
			if !errors.As(err, &outage) {
				t.Fatal(err)
			}
			if err := p.AwaitRunning(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if p.Status().Restarts == 0 {
		t.Error("no process was killed")
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := uint64(0)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var w metrics.Window
		if err := json.Unmarshal(lines.Bytes(), &w); err != nil {
			t.Fatal(err)
		}
		if n++; w.Sequence != n {
			t.Fatalf("line %d is window %d", n, w.Sequence)
		}
	}
	if n != windows {
		t.Errorf("%d lines, %d windows", n, windows)
	}
}

func TestSettingsAreRefusedByName(t *testing.T) {
	h, binary := newHost(t), build(t)
	for field, config := range map[string]map[string]any{
		"max_megabytes": {"path": filepath.Join(t.TempDir(), "w"), "max_megabytes": 0},
		"path":          {"path": t.TempDir()},
		"pat":           {"pat": "w"},
	} {
		_, err := h.Start(t.Context(), pluginhost.Spec{Name: field, Plugin: binary, Config: config})
		var refusal *plugin.ConfigError
		if !errors.As(err, &refusal) || refusal.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}
