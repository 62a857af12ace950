package pluginhost_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/host/pluginhost"
	"github.com/authzhost/authz/internal/stopped"
	"github.com/authzhost/authz/internal/testlog"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func stop(t *testing.T, p *pluginhost.Plugin) (pid int) {
	t.Helper()
	pid = p.Status().PID
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) }) // it may be gone
	if err := stopped.Await(pid); err != nil {
		t.Fatal(err)
	}
	return pid
}

func TestCallsToAStoppedPluginEndAtTheirDeadline(t *testing.T) {
	h := newHost(t, pluginhost.Options{})
	p, err := h.Start(t.Context(), pluginhost.Spec{Name: "main", Plugin: "memory", HangTimeout: -1})
	if err != nil {
		t.Fatal(err)
	}
	d, err := p.Storage()
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, d)
	section, err := s.Acquire(t.Context(), "groups")
	if err != nil {
		t.Fatal(err)
	}
	pid := stop(t, p)
	t.Run("calls", func(t *testing.T) {
		for name, c := range map[string]struct {
			call    func(context.Context) error
			outcome authz.Outcome
		}{
			"a read": {func(ctx context.Context) error { _, _, err := s.GetRole(ctx, "r"); return err }, ""},
			"a closure": {func(ctx context.Context) error {
				_, err := s.ReadAccess(ctx, storage.AccessQuery{UserID: "u"})
				return err
			}, ""},
			"a list": {func(ctx context.Context) (last error) {
				for _, err := range s.ListRoles(ctx, storage.Page{}) {
					last = err
				}
				return last
			}, ""},
			"a commit":   {func(ctx context.Context) error { _, err := s.Commit(ctx, role("r")); return err }, authz.OutcomeUnknown},
			"a prune":    {func(ctx context.Context) error { _, err := s.PruneEvents(ctx, storage.PruneEvents{}); return err }, authz.OutcomeUnknown},
			"a section":  {func(ctx context.Context) error { _, err := s.Acquire(ctx, "roles"); return err }, authz.OutcomeNotApplied},
			"a beat":     {func(ctx context.Context) error { return section.Renew(ctx) }, ""},
			"an opening": {func(ctx context.Context) error { _, err := d.Open(ctx, "docs"); return err }, authz.OutcomeNotApplied},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second) // in which a busy machine sends the call
				defer cancel()
				began := time.Now()
				err := c.call(ctx)
				if took := time.Since(began); took > 30*time.Second {
					t.Errorf("it took %s", took)
				}
				if storage.CodeOf(err) != storage.CodeUnavailable || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v", err)
				}
				if got := outcome(err); name != "a beat" && got != c.outcome {
					t.Errorf("outcome %q, want %q", got, c.outcome)
				}
			})
		}
	})
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	// Sent again by its id, the commit is there once.
	if _, err := s.Commit(t.Context(), role("r")); err != nil {
		t.Error(err)
	}
	if got := p.Status(); got.PID != pid || got.Restarts != 0 {
		t.Errorf("a plugin that is never asked was replaced: %+v", got)
	}
}

func TestAPluginThatGivesNoSignOfLifeIsKilledAndReplaced(t *testing.T) {
	var log testlog.Log
	h := newHost(t, pluginhost.Options{Logger: hclog.New(&hclog.LoggerOptions{Output: &log})})
	p, err := h.Start(t.Context(), pluginhost.Spec{Name: "main", Plugin: "memory", HangTimeout: 1500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	d, err := p.Storage()
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, d)
	time.Sleep(1700 * time.Millisecond) // it is asked and answers
	eventually(t, "it runs", func() bool { return p.Status().State == pluginhost.StateRunning })
	if got := p.Status(); got.Restarts != 0 {
		t.Fatalf("a plugin that answers: %+v", got)
	}
	began := time.Now()
	pid := stop(t, p)
	inFlight := make(chan error, 1)
	go func() {
		_, err := s.Commit(context.Background(), role("r"))
		inFlight <- err
	}()
	eventually(t, "that it does not answer shows", func() bool { return p.Status().State == pluginhost.StateUnresponsive })
	if err := <-inFlight; storage.CodeOf(err) != storage.CodeUnavailable || outcome(err) != authz.OutcomeUnknown {
		t.Errorf("the call in flight gave %v", err)
	}
	if took := time.Since(began); took < 1400*time.Millisecond || took > 30*time.Second {
		t.Errorf("it was given up after %s", took)
	}
	eventually(t, "another process runs", func() bool { return p.Status().Restarts == 1 })
	got := p.Status()
	if got.State != pluginhost.StateRunning || got.PID == pid || alive(pid) || !strings.Contains(got.LastError, "no sign of life for 1.5s") || got.LastFailure != pluginhost.FailureHung {
		t.Errorf("status %+v, the old process lives: %v", got, alive(pid))
	}
	if _, err := open(t, d).Commit(t.Context(), role("r")); err != nil {
		t.Error(err)
	}
	if text := log.String(); !strings.Contains(text, "plugin does not answer") || !strings.Contains(text, "no sign of life") {
		t.Errorf("the log does not say so:\n%s", text)
	}
}

func TestAnAnswerInTimeEndsTheSuspicion(t *testing.T) {
	h := newHost(t, pluginhost.Options{})
	p, err := h.Start(t.Context(), pluginhost.Spec{Name: "main", Plugin: "memory", HangTimeout: 3 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	pid := stop(t, p)
	eventually(t, "that it does not answer shows", func() bool { return p.Status().State == pluginhost.StateUnresponsive })
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	eventually(t, "that it answers again shows", func() bool { return p.Status().State == pluginhost.StateRunning })
	if got := p.Status(); got.PID != pid || got.Restarts != 0 {
		t.Errorf("status %+v", got)
	}
}

func TestADatabaseThatDoesNotAnswerIsNoHungPlugin(t *testing.T) {
	h := newHost(t, pluginhost.Options{})
	spec := faulty("stuck")
	spec.HangTimeout = 2 * time.Second
	p, err := h.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	d, err := p.Storage()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if _, err := d.Open(ctx, "docs"); storage.CodeOf(err) != storage.CodeUnavailable {
		t.Errorf("Open gave %v", err)
	}
	eventually(t, "it runs", func() bool { return p.Status().State == pluginhost.StateRunning })
	if got := p.Status(); got.Restarts != 0 {
		t.Errorf("status %+v", got)
	}
}

func TestAHostThatWasStoppedDoesNotBlameItsPlugins(t *testing.T) {
	host := exec.Command(os.Args[0])
	host.Env = append(os.Environ(), asHost+"="+binaries+string(filepath.ListSeparator)+runDir(t))
	host.Stderr = os.Stderr
	out, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = host.Process.Kill()
		_ = host.Wait() // it was killed
	})
	pid := readPID(t, bufio.NewReader(out))
	if err := host.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(hostHangTimeout + hostHangTimeout/2)
	if err := host.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	time.Sleep(hostHangTimeout)
	if !alive(pid) {
		t.Error("the plugin was killed")
	}
}

func TestACrashLoopBacksOffAndLeavesNoSockets(t *testing.T) {
	h := newHost(t, pluginhost.Options{Logger: hclog.NewNullLogger()})
	p, err := h.Start(t.Context(), faulty("dies"))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	var seen []time.Duration
	for len(seen) < 5 {
		if n := p.Status().Restarts; n > len(seen) {
			seen = append(seen, time.Since(began))
		}
		if time.Since(began) > 2*time.Minute {
			t.Fatalf("restarts came after %v only", seen)
		}
		if left, _ := filepath.Glob(filepath.Join(pluginhost.SocketDir(h), "*")); len(left) > 2 {
			t.Fatalf("sockets pile up: %v", left)
		}
		time.Sleep(5 * time.Millisecond)
	}
	// Half of 100, 200, … 1600 ms at the least, beside 50 ms of life each.
	if seen[4] < 1550*time.Millisecond {
		t.Errorf("five restarts within %s", seen[4])
	}
	if s := p.Status(); !strings.Contains(s.LastError, "exit status 3") {
		t.Errorf("status %+v", s)
	}
	// The host lives and stops while nothing runs.
	if err := h.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(pluginhost.SocketDir(h)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket directory is left: %v", err)
	}
}

func TestABinaryThatWasReplacedIsNotRestarted(t *testing.T) {
	good, err := os.ReadFile(filepath.Join(binaries, "authz-plugin-memory"))
	if err != nil {
		t.Fatal(err)
	}
	other, err := os.ReadFile(filepath.Join(binaries, "authz-plugin-faulty"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "authz-plugin-memory")
	put := func(b []byte) {
		if err := os.WriteFile(path+".new", b, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	put(good)
	pin, found := fmt.Sprintf("%x", sha256.Sum256(good)), fmt.Sprintf("%x", sha256.Sum256(other))
	h := newHost(t, pluginhost.Options{Logger: hclog.NewNullLogger()})
	p, err := h.Start(t.Context(), pluginhost.Spec{Name: "main", Plugin: path, SHA256: pin})
	if err != nil {
		t.Fatal(err)
	}
	put(other)
	kill(t, p)
	eventually(t, "the other binary is refused by name", func() bool {
		s := p.Status()
		return s.State == pluginhost.StateRestarting && strings.Contains(s.LastError, pin) && strings.Contains(s.LastError, found) && s.LastFailure == pluginhost.FailureNotStarted
	})
	put(good)
	if err := p.Restart(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestARestartThatHangsIsBoundedAndTriedAgain(t *testing.T) {
	h := newHost(t, pluginhost.Options{StartTimeout: time.Hour, Logger: hclog.NewNullLogger()})
	flag := filepath.Join(t.TempDir(), "slow")
	spec := pluginhost.Spec{Name: "main", Plugin: "faulty", Env: map[string]string{"FAULT": "slow", "FLAG": flag}, StartTimeout: 5 * time.Second}
	p, err := h.Start(t.Context(), spec)
	for err != nil && spec.StartTimeout < 30*time.Second { // a busy machine may start it later
		spec.StartTimeout *= 2
		p, err = h.Start(t.Context(), spec)
	}
	if err != nil {
		t.Fatal(err)
	}
	killFlagged(t, p, flag, "not ready within "+spec.StartTimeout.String())
	if err := os.Remove(flag); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is tried again", func() bool { return p.Status().State == pluginhost.StateRunning })
}

func TestWhatAPluginPrintsNeverBreaksIt(t *testing.T) {
	var log testlog.Log
	h := newHost(t, pluginhost.Options{StartTimeout: time.Minute, Logger: hclog.New(&hclog.LoggerOptions{Output: &log})})
	began := time.Now()
	e := startError(t, h, faulty("flood"))
	if took := time.Since(began); took > 30*time.Second || len(e.Error()) > 10_000 {
		t.Errorf("a flood took %s and left %d bytes", took, len(e.Error()))
	}
	if !strings.Contains(e.Reason, "standard output before the handshake") {
		t.Errorf("a flood: %q", e.Reason)
	}
	p, err := h.Start(t.Context(), faulty("chatter"))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "what it prints later is in the log", func() bool { return strings.Contains(log.String(), "printed by a library") })
	if s := p.Status(); s.State != pluginhost.StateRunning {
		t.Errorf("status %+v", s)
	}
}

func TestMessagesAreBoundedBothWays(t *testing.T) {
	h := newHost(t, pluginhost.Options{})
	if e := startError(t, h, faulty("oversized")); !strings.Contains(e.Reason, "Describe failed") || !strings.Contains(e.Reason, "larger than max") {
		t.Errorf("a large answer: %.300q", e.Reason)
	}
	spec := faulty("")
	spec.Config = map[string]any{"text": strings.Repeat("x", 5<<20)}
	if e := startError(t, h, spec); !strings.Contains(e.Reason, "Configure failed") || !strings.Contains(e.Reason, "larger than max") {
		t.Errorf("a large question: %.300q", e.Reason)
	}
}
