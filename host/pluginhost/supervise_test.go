package pluginhost_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/host/pluginhost"
	"github.com/authzhost/authz/internal/testlog"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// killFlagged kills a plugin whose restarts fail while the flag lies there, and waits
// until one has failed with these words.
func killFlagged(t *testing.T, p *pluginhost.Plugin, flag, words string) {
	t.Helper()
	if err := os.WriteFile(flag, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	kill(t, p)
	eventually(t, "a failed restart shows", func() bool { return strings.Contains(p.Status().LastError, words) })
}

func kill(t *testing.T, p *pluginhost.Plugin) int {
	t.Helper()
	pid := p.Status().PID
	if pid == 0 {
		t.Fatal("the plugin does not run")
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	return pid
}

func role(id string) storage.Commit {
	return storage.Commit{ID: "commit-" + id, At: 1, Changes: []storage.Change{
		storage.UpsertRole{Role: authz.Role{ID: id, Name: id, Patterns: []string{"docs.**"}}}}}
}

func outcome(err error) authz.Outcome {
	var e *storage.Error
	if !errors.As(err, &e) {
		return ""
	}
	return e.Outcome
}

func TestAKilledPluginIsRestartedAndOldHandlesStayUnavailable(t *testing.T) {
	var log testlog.Log
	h := newHost(t, pluginhost.Options{Logger: hclog.New(&hclog.LoggerOptions{Output: &log, Level: hclog.Debug})})
	p, d := startMemory(t, h)
	restarted := make(chan struct{}, 4)
	p.OnRestart(func() { restarted <- struct{}{} })
	old := open(t, d)
	if _, err := old.Commit(t.Context(), role("r1")); err != nil {
		t.Fatal(err)
	}

	inFlight := make(chan error, 1)
	section, err := old.Acquire(t.Context(), "groups")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_, err := old.Acquire(context.Background(), "groups")
		inFlight <- err
	}()
	time.Sleep(20 * time.Millisecond)
	pid := kill(t, p)
	if err := <-inFlight; storage.CodeOf(err) != storage.CodeUnavailable {
		t.Errorf("a call in flight gave %v", err)
	}
	<-restarted

	status := p.Status()
	if status.State != pluginhost.StateRunning || status.Restarts != 1 || status.PID == pid || status.PID == 0 {
		t.Errorf("status %+v", status)
	}
	if !strings.Contains(status.LastError, "killed") {
		t.Errorf("last error %q", status.LastError)
	}
	if status.LastFailure != pluginhost.FailureEnded || status.FailedAt == 0 || status.FailedAt > status.Since {
		t.Errorf("last failure %q at %d", status.LastFailure, status.FailedAt)
	}
	if alive(pid) {
		t.Error("the killed process lives")
	}
	for range 2 {
		if _, _, err := old.GetRole(t.Context(), "r1"); storage.CodeOf(err) != storage.CodeUnavailable {
			t.Errorf("the old handle read: %v", err)
		}
		if _, err := old.Commit(t.Context(), role("r1")); storage.CodeOf(err) != storage.CodeUnavailable || outcome(err) != authz.OutcomeNotApplied {
			t.Errorf("the old handle wrote: %v", err)
		}
	}
	if err := section.Renew(t.Context()); storage.CodeOf(err) != storage.CodeUnavailable {
		t.Errorf("the old section renewed: %v", err)
	}
	if err := old.Close(); err != nil {
		t.Errorf("closing the old handle: %v", err)
	}

	fresh := open(t, d)
	if fresh.Info().Incarnation == old.Info().Incarnation {
		t.Error("content that vanished has its old incarnation")
	}
	if _, found, err := fresh.GetRole(t.Context(), "r1"); found || err != nil {
		t.Errorf("found %v, %v", found, err)
	}
	if _, err := fresh.Commit(t.Context(), role("r2")); err != nil {
		t.Error(err)
	}
	again, err := fresh.Acquire(t.Context(), "groups")
	if err != nil {
		t.Fatal(err)
	}
	if again.Fence().Fence <= section.Fence().Fence {
		t.Errorf("the fence fell from %d to %d", section.Fence().Fence, again.Fence().Fence)
	}
	if !strings.Contains(log.String(), "plugin crashed") {
		t.Error("the crash is not in the log")
	}
}

func TestACommitInFlightOfAKilledPluginIsOfUnknownFate(t *testing.T) {
	var log testlog.Log
	h := newHost(t, pluginhost.Options{Logger: hclog.New(&hclog.LoggerOptions{Output: &log})})
	p, err := h.Start(t.Context(), faulty("holds"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := p.Storage()
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, d)
	answered := make(chan error, 1)
	go func() {
		_, err := s.Commit(context.Background(), role("r1"))
		answered <- err
	}()
	eventually(t, "the commit is in the plugin", func() bool { return strings.Contains(log.String(), "a commit is held") })
	kill(t, p)
	if err := <-answered; storage.CodeOf(err) != storage.CodeUnavailable || outcome(err) != authz.OutcomeUnknown {
		t.Errorf("got %v", err)
	}
}

func TestOpenIsUnavailableWhileThePluginCannotComeUp(t *testing.T) {
	h := newHost(t, pluginhost.Options{})
	flag := filepath.Join(t.TempDir(), "down")
	p, err := h.Start(t.Context(), pluginhost.Spec{Name: "main", Plugin: "faulty", Env: map[string]string{"FAULT": "flaky", "FLAG": flag}})
	if err != nil {
		t.Fatal(err)
	}
	d, err := p.Storage()
	if err != nil {
		t.Fatal(err)
	}
	killFlagged(t, p, flag, "exit status 9")
	if s := p.Status(); s.State != pluginhost.StateRestarting || s.PID != 0 {
		t.Errorf("status %+v", s)
	}
	if _, err := d.Open(t.Context(), "docs"); storage.CodeOf(err) != storage.CodeUnavailable || outcome(err) != authz.OutcomeNotApplied {
		t.Errorf("Open gave %v", err)
	}
	if _, err := p.Storage(); storage.CodeOf(err) != storage.CodeUnavailable {
		t.Errorf("Storage gave %v", err)
	}
	var start *pluginhost.StartError
	if err := p.Restart(t.Context()); !errors.As(err, &start) {
		t.Errorf("Restart gave %v", err)
	}
	if err := os.Remove(flag); err != nil {
		t.Fatal(err)
	}
	if err := p.Restart(t.Context()); err != nil {
		t.Fatalf("Restart gave %v", err)
	}
	if _, err := d.Open(t.Context(), "docs"); err != nil {
		t.Error(err)
	}
}

func TestRestartReplacesTheProcess(t *testing.T) {
	h := newHost(t, pluginhost.Options{})
	p, d := startMemory(t, h)
	pid := p.Status().PID
	if err := p.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := p.Status()
	if s.PID == pid || s.Restarts != 1 || s.LastError != "" || alive(pid) {
		t.Errorf("status %+v, old process alive: %v", s, alive(pid))
	}
	open(t, d)
}

func TestAStoppedHandleAndDriver(t *testing.T) {
	h := newHost(t, pluginhost.Options{})
	p, d := startMemory(t, h)
	s := open(t, d)
	other, err := p.Storage()
	if err != nil {
		t.Fatal(err)
	}
	kept := open(t, other)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.GetRole(t.Context(), "r"); storage.CodeOf(err) != storage.CodeUnavailable {
		t.Errorf("a store of a closed driver gave %v", err)
	}
	if _, err := d.Open(t.Context(), "docs"); storage.CodeOf(err) != storage.CodeUnavailable {
		t.Errorf("a closed driver opened: %v", err)
	}
	if _, _, err := kept.GetRole(t.Context(), "r"); err != nil {
		t.Errorf("another driver's store ended too: %v", err)
	}
	if got := p.Status().State; got != pluginhost.StateRunning {
		t.Errorf("the process is %s", got)
	}
}

func TestStatusAsJSON(t *testing.T) {
	h := newHost(t, pluginhost.Options{})
	p, err := h.Start(t.Context(), faulty(""))
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(p.Status())
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	delete(got, "since")
	delete(got, "pid")
	text, _ := json.Marshal(got)
	want := `{"kinds":["storage"],"name":"main","path":` + strconv.Quote(filepath.Join(binaries, "authz-plugin-faulty")) +
		`,"plugin":"faulty","restarts":0,"state":"running","version":"1.2.3"}`
	if string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	if h.Plugins()[0] != p || len(h.Plugins()) != 1 {
		t.Error("the host does not list it")
	}
}
