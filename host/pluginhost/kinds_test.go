package pluginhost_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/host/pluginhost"
	"github.com/authzhost/authz/internal/testlog"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/metrics"
)

func startKinds(t *testing.T, o pluginhost.Options, hang time.Duration) (*pluginhost.Plugin, metrics.Sink, directory.Importer) {
	t.Helper()
	spec := faulty("kinds")
	spec.HangTimeout = hang
	return startKindsIn(t, newHost(t, o), spec)
}

func startKindsIn(t *testing.T, h *pluginhost.Host, spec pluginhost.Spec) (*pluginhost.Plugin, metrics.Sink, directory.Importer) {
	t.Helper()
	p, err := h.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.Sink()
	if err != nil {
		t.Fatal(err)
	}
	i, err := p.Importer()
	if err != nil {
		t.Fatal(err)
	}
	return p, s, i
}

func windowOf(application string) metrics.Window {
	return metrics.Window{Application: application, Origin: "test", Sequence: 1}
}

func readAll(ctx context.Context, i directory.Importer, cursor string) (entries int, last error) {
	for _, err := range i.Import(ctx, directory.Request{Cursor: cursor}) {
		if err != nil {
			return entries, err
		}
		entries++
	}
	return entries, nil
}

// hanging waits until the plugin's sink has been given that many windows that hang: a
// process that ends earlier has not begun with them, which is another outcome.
func hanging(t *testing.T, log *testlog.Log, pid int) {
	t.Helper()
	line := fmt.Sprintf("a window hangs in %d.", pid) // the log repeats the last lines of a process that ended
	eventually(t, "the window hangs in the plugin", func() bool { return strings.Contains(log.String(), line) })
}

// wantOutage checks the type and outcome of an outage.
func wantOutage(t *testing.T, what string, err error, outcome authz.Outcome) {
	t.Helper()
	var e *authz.UnavailableError
	if !errors.As(err, &e) || e.Outcome != outcome {
		t.Errorf("%s gave %v, want an outage of outcome %q", what, err, outcome)
	}
}

func TestSinkAndImporterSurviveTheirProcess(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(*testing.T, *pluginhost.Plugin) int
		hang time.Duration // as short as the case needs: a process that is merely slow is not to be killed
	}{
		"killed":  {kill, 0},
		"stopped": {stop, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			var log testlog.Log
			p, s, i := startKinds(t, pluginhost.Options{Logger: hclog.New(&hclog.LoggerOptions{Output: &log})}, c.hang)
			if err := s.Write(t.Context(), windowOf("docs")); err != nil {
				t.Fatal(err)
			}
			if n, err := readAll(t.Context(), i, ""); n != 3 || err != nil {
				t.Fatalf("%d entries, %v", n, err)
			}
			if err := s.Write(t.Context(), windowOf("refuse")); authz.CodeOf(err) != authz.CodeConflict {
				t.Errorf("a refusal came as %v", err)
			}
			writing, reading := make(chan error, 1), make(chan error, 1)
			begun := make(chan struct{})
			go func() { writing <- s.Write(context.Background(), windowOf("hang")) }()
			go func() {
				var last error
				for e, err := range i.Import(context.Background(), directory.Request{Cursor: "hang"}) {
					if _, first := e.(directory.Begin); first {
						close(begun)
					}
					last = err
				}
				reading <- last
			}()
			<-begun
			hanging(t, &log, p.Status().PID)
			c.end(t, p)
			wantOutage(t, "the write in flight", <-writing, authz.OutcomeUnknown)
			wantOutage(t, "the reading in flight", <-reading, "")

			within, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := p.AwaitRunning(within); err != nil {
				t.Fatal(err)
			}
			if err := s.Write(within, windowOf("docs")); err != nil {
				t.Errorf("once it runs again: %v, %+v", err, p.Status())
			}
			if n, err := readAll(within, i, ""); n != 3 || err != nil {
				t.Errorf("once it runs again: %d entries, %v", n, err)
			}
			if s.Info().Name != "faulty" || i.Info().Name != "faulty" {
				t.Errorf("%+v, %+v", s.Info(), i.Info())
			}
			eventually(t, "the restart is counted", func() bool { return p.Status().Restarts == 1 })
		})
	}
}

func TestAPanicEndsTheProcessAndNotTheHost(t *testing.T) {
	p, s, i := startKinds(t, pluginhost.Options{Logger: hclog.NewNullLogger()}, 0)
	wantOutage(t, "a panic in Write", s.Write(t.Context(), windowOf("panic")), authz.OutcomeUnknown)
	if err := p.AwaitRunning(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := readAll(t.Context(), i, "panic")
	wantOutage(t, "a panic in Import", err, "")
	if err := p.AwaitRunning(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), windowOf("docs")); err != nil {
		t.Error(err)
	}
	eventually(t, "both restarts are counted", func() bool { return p.Status().Restarts == 2 })
}

func TestWhileThereIsNoProcessNothingIsWrittenAndNobodyWaits(t *testing.T) {
	flag := filepath.Join(t.TempDir(), "down")
	h := newHost(t, pluginhost.Options{Logger: hclog.NewNullLogger()})
	p, s, i := startKindsIn(t, h, pluginhost.Spec{Name: "main", Plugin: "faulty", Env: map[string]string{"FAULT": "flaky kinds", "FLAG": flag}, HangTimeout: 6 * time.Second})
	killFlagged(t, p, flag, "exit status 9")
	wantOutage(t, "Write", s.Write(context.Background(), windowOf("docs")), authz.OutcomeNotApplied)
	_, err := readAll(context.Background(), i, "")
	wantOutage(t, "Import", err, "")
	_, err = p.Sink()
	wantOutage(t, "Sink", err, authz.OutcomeNotApplied)
	_, err = p.Importer()
	wantOutage(t, "Importer", err, "")
	if s.Info().Name != "faulty" || i.Info().Name != "faulty" {
		t.Error("what is known of them was forgotten")
	}
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err = p.AwaitRunning(short)
	wantOutage(t, "AwaitRunning", err, authz.OutcomeNotApplied)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("AwaitRunning gave %v", err)
	}
	if err := os.Remove(flag); err != nil {
		t.Fatal(err)
	}
	long, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := p.AwaitRunning(long); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(long, windowOf("docs")); err != nil {
		t.Error(err)
	}
	waiting := make(chan error, 1)
	stop(t, p)
	eventually(t, "it does not answer", func() bool { return p.Status().State == pluginhost.StateUnresponsive })
	go func() { waiting <- p.AwaitRunning(context.Background()) }()
	now, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.Close(now); err != nil {
		t.Error(err)
	}
	wantOutage(t, "AwaitRunning of a plugin that stops", <-waiting, authz.OutcomeNotApplied)
}

// A process ends a moment before the host has reaped it; AwaitRunning does not take
// the dead one for a running one.
func TestAProcessThatJustEndedIsNotAwaited(t *testing.T) {
	var log testlog.Log
	p, s, _ := startKinds(t, pluginhost.Options{Logger: hclog.New(&hclog.LoggerOptions{Output: &log})}, 0)
	for range 5 {
		writing := make(chan error, 1)
		go func() { writing <- s.Write(context.Background(), windowOf("hang")) }()
		hanging(t, &log, p.Status().PID)
		if err := syscall.Kill(p.Status().PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		wantOutage(t, "the write in flight", <-writing, authz.OutcomeUnknown)
		if err := p.AwaitRunning(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.Write(t.Context(), windowOf("docs")); err != nil {
			t.Error(err)
		}
	}
}

func TestClosingEndsTheKindAndNotTheProcess(t *testing.T) {
	var log testlog.Log
	p, s, i := startKinds(t, pluginhost.Options{Logger: hclog.New(&hclog.LoggerOptions{Output: &log})}, 0)
	for range 2 {
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	eventually(t, "the plugin's sink is closed", func() bool { return strings.Contains(log.String(), "the sink is closed") })
	wantOutage(t, "Write after Close", s.Write(t.Context(), windowOf("docs")), authz.OutcomeNotApplied)
	if n, err := readAll(t.Context(), i, ""); n != 3 || err != nil {
		t.Errorf("the importer ended with the sink: %d entries, %v", n, err)
	}
	for range 2 {
		if err := i.Close(); err != nil {
			t.Error(err)
		}
	}
	_, err := readAll(t.Context(), i, "")
	wantOutage(t, "Import after Close", err, "")
	// The next process has a sink again.
	if err := p.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	again, err := p.Sink()
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Write(t.Context(), windowOf("docs")); err != nil {
		t.Error(err)
	}
}

func TestAKindThatAPluginDoesNotServeIsNamed(t *testing.T) {
	h := newHost(t, pluginhost.Options{})
	memory, _ := startMemory(t, h)
	spec := faulty("kinds")
	spec.Name = "kinds"
	kinds, err := h.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	_, noStorage := kinds.Storage()
	_, noSink := memory.Sink()
	_, noImporter := memory.Importer()
	for err, want := range map[error]string{
		noStorage:  `plugin "kinds" serves no storage: it serves metrics_sink, directory_importer`,
		noSink:     `plugin "main" serves no metrics_sink: it serves storage`,
		noImporter: `plugin "main" serves no directory_importer: it serves storage`,
	} {
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	unheard := faulty("unheard")
	unheard.Name = "unheard"
	if e := startError(t, h, unheard); !strings.Contains(e.Reason, "storage, metrics_sink, directory_importer") {
		t.Errorf("reason %q", e.Reason)
	}
}
