package plugin_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/metrics"
	"github.com/authzhost/authz/sdk/plugin"
	"github.com/authzhost/authz/sdk/storage"
)

// testSink is a sink whose methods are the test's.
type testSink struct {
	write  func(context.Context, metrics.Window) error
	close  func(context.Context) error
	closed atomic.Int32
}

func (*testSink) Info() metrics.SinkInfo {
	return metrics.SinkInfo{Name: "test", Capabilities: metrics.SinkCapabilities()}
}

func (s *testSink) Write(ctx context.Context, w metrics.Window) error { return s.write(ctx, w) }

func (s *testSink) Close(ctx context.Context) error {
	s.closed.Add(1)
	if s.close != nil {
		return s.close(ctx)
	}
	return nil
}

// testImporter is an importer whose reading is the test's.
type testImporter struct {
	read   func(context.Context, directory.Request) iter.Seq2[directory.Entry, error]
	closed atomic.Int32
}

func (*testImporter) Info() directory.ImporterInfo {
	return directory.ImporterInfo{Name: "test", Capabilities: directory.ImporterCapabilities()}
}

func (i *testImporter) Import(ctx context.Context, r directory.Request) iter.Seq2[directory.Entry, error] {
	return i.read(ctx, r)
}

func (i *testImporter) Close() error {
	i.closed.Add(1)
	return nil
}

// serveKinds serves those that are not nil.
func serveKinds(d storage.Driver, s metrics.Sink, i directory.Importer) plugin.Plugin {
	p := plugin.Plugin{Name: "test", Version: "1"}
	if d != nil {
		p = serving(d)
	}
	if s != nil {
		p.Sink = plugin.SinkKind{Capabilities: metrics.SinkCapabilities(),
			Configure: func(context.Context, map[string]any) (metrics.Sink, error) { return s, nil }}
	}
	if i != nil {
		p.Importer = plugin.ImporterKind{Capabilities: directory.ImporterCapabilities(),
			Configure: func(context.Context, map[string]any) (directory.Importer, error) { return i, nil }}
	}
	return p
}

func configuredKinds(t *testing.T, p plugin.Plugin, log hclog.Logger) (plugin.Configured, *plugin.Client) {
	t.Helper()
	return configuredOn(t, serve(t, p, log))
}

func configuredOn(t *testing.T, b *bridge) (plugin.Configured, *plugin.Client) {
	t.Helper()
	client, _ := b.dial(t)
	c, err := client.Configure(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return c, client
}

func bridgedSink(t *testing.T, write func(context.Context, metrics.Window) error) metrics.Sink {
	t.Helper()
	c, _ := configuredKinds(t, serveKinds(nil, &testSink{write: write}, nil), nil)
	return c.Sink
}

func bridgedImporter(t *testing.T, read func(context.Context, directory.Request) iter.Seq2[directory.Entry, error]) directory.Importer {
	t.Helper()
	c, _ := configuredKinds(t, serveKinds(nil, nil, &testImporter{read: read}), nil)
	return c.Importer
}

// told is a reading of these entries, and of err unless it is nil.
func told(err error, entries ...directory.Entry) func(context.Context, directory.Request) iter.Seq2[directory.Entry, error] {
	return func(context.Context, directory.Request) iter.Seq2[directory.Entry, error] {
		return func(yield func(directory.Entry, error) bool) {
			for _, e := range entries {
				if !yield(e, nil) {
					return
				}
			}
			if err != nil {
				yield(nil, err)
			}
		}
	}
}

// readAll is what a reading gave before it ended.
func readAll(ctx context.Context, i directory.Importer, cursor string) (entries []directory.Entry, last error) {
	for e, err := range i.Import(ctx, directory.Request{Cursor: cursor}) {
		if err != nil {
			return entries, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func window(sequence uint64) metrics.Window {
	return metrics.Window{Application: "docs", Origin: "test", Sequence: sequence, Batch: metrics.Batch{
		WindowEnd: 1, Checks: []metrics.CheckCounter{{Permission: "docs.read", Decision: metrics.Allow, Shape: metrics.ShapeCan, Gate: true, ScopeType: "*", Observed: 7, Estimated: 7}}}}
}

func TestAPluginOfEveryKindIsDescribedConfiguredAndStoppedWhole(t *testing.T) {
	sink := &testSink{write: func(context.Context, metrics.Window) error { return nil }}
	importer := &testImporter{read: told(nil, directory.Begin{}, directory.End{})}
	c, client := configuredKinds(t, serveKinds(memory.New(memory.Options{}), sink, importer), nil)
	d, err := client.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{plugin.KindStorage, plugin.KindSink, plugin.KindImporter}
	for i, kind := range d.Kinds {
		if kind.Name != want[i] || len(kind.Capabilities) == 0 || !d.Serves(kind.Name) {
			t.Errorf("kind %d is %+v", i, kind)
		}
	}
	if len(d.Kinds) != 3 {
		t.Errorf("kinds %+v", d.Kinds)
	}
	if diff := cmp.Diff(sink.Info(), c.Sink.Info()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(importer.Info(), c.Importer.Info()); diff != "" {
		t.Error(diff)
	}
	openStore(t, c.Storage, "docs")
	if err := c.Sink.Write(t.Context(), window(1)); err != nil {
		t.Error(err)
	}
	if _, err := readAll(t.Context(), c.Importer, ""); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := client.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if sink.closed.Load() != 1 || importer.closed.Load() != 1 {
		t.Errorf("the sink was closed %d times, the importer %d", sink.closed.Load(), importer.closed.Load())
	}
	var e *authz.UnavailableError
	if err := c.Sink.Write(t.Context(), window(2)); !errors.As(err, &e) || e.Outcome != authz.OutcomeNotApplied {
		t.Errorf("a write after the stop gave %v", err)
	}
	if _, err := readAll(t.Context(), c.Importer, ""); !errors.As(err, &e) {
		t.Errorf("an import after the stop gave %v", err)
	}
}

func TestAKindThatRefusesItsConfigurationClosesThoseBeforeIt(t *testing.T) {
	sink := &testSink{}
	next := errors.New("the directory says no")
	p := serveKinds(nil, sink, &testImporter{read: told(nil, directory.Begin{}, directory.End{})})
	open := p.Importer.Configure
	p.Sink.Configure = func(_ context.Context, config map[string]any) (metrics.Sink, error) {
		config["dsn"] = "spoiled" // each kind has a configuration of its own
		return sink, nil
	}
	p.Importer.Configure = func(ctx context.Context, config map[string]any) (directory.Importer, error) {
		if config["dsn"] != "x" {
			return nil, fmt.Errorf("dsn is %v", config["dsn"])
		}
		if next != nil {
			return nil, next
		}
		return open(ctx, config)
	}
	p.ConfigSchema = schema
	client, _ := serve(t, p, nil).dial(t)
	config := map[string]any{"dsn": "x"}
	if _, err := client.Configure(t.Context(), config); err == nil || err.Error() != next.Error() || sink.closed.Load() != 1 {
		t.Errorf("got %v, the sink was closed %d times", err, sink.closed.Load())
	}
	next = &plugin.ConfigError{Field: "dsn", Message: "is no directory"}
	var refused *plugin.ConfigError
	if _, err := client.Configure(t.Context(), config); !errors.As(err, &refused) || refused.Field != "dsn" || sink.closed.Load() != 2 {
		t.Errorf("got %v, the sink was closed %d times", err, sink.closed.Load())
	}
	next = nil
	c, err := client.Configure(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	if c.Storage != nil || c.Sink == nil || c.Importer == nil {
		t.Errorf("configured %+v", c)
	}
}

// The failures of a kind, and what of them must arrive.
func failures(write bool) map[string]struct{ told, want error } {
	unknown := authz.OutcomeUnknown
	notApplied := authz.OutcomeNotApplied
	if !write {
		unknown, notApplied = "", ""
	}
	secret := errors.New("password=hunter2")
	out := map[string]struct{ told, want error }{
		"unavailable":              {&authz.UnavailableError{Message: "no server", Outcome: authz.OutcomeNotApplied, Cause: secret}, &authz.UnavailableError{Message: "no server", Outcome: notApplied}},
		"unavailable, fate open":   {&authz.UnavailableError{Message: "lost", Outcome: authz.OutcomeUnknown}, &authz.UnavailableError{Message: "lost", Outcome: unknown}},
		"unavailable, fate untold": {&authz.UnavailableError{Message: "lost"}, &authz.UnavailableError{Message: "lost", Outcome: unknown}},
		"unavailable, because of a refusal": {&authz.UnavailableError{Message: "lost", Cause: authz.Validation("far away")},
			&authz.UnavailableError{Message: "lost", Outcome: unknown}},
		"a text that is not UTF-8": {authz.Validation("Ä\xff"), authz.Validation("Ä\uFFFD")},
		"a code of no refusal":     {authz.Rejected("unavailable", "odd"), authz.Validation("odd")},
		"an error of its own":      {secret, &authz.UnavailableError{Message: "", Outcome: unknown}},
		"an error of storage's":    {storage.Errorf(storage.CodeConflict, "hunter2"), &authz.UnavailableError{Message: "", Outcome: unknown}},
	}
	for _, code := range []authz.Code{authz.CodeValidation, authz.CodeNotFound, authz.CodeConflict, authz.CodeNotOrgRoot, authz.CodeUnsupported, "later"} {
		out["refused: "+string(code)] = struct{ told, want error }{fmt.Errorf("while writing: %w", authz.Rejected(code, "%s", "100% no")), authz.Rejected(code, "%s", "100% no")}
	}
	return out
}

// sameFailure compares; an error whose text stays at home has no wanted message.
func sameFailure(t *testing.T, what string, got, want error) {
	t.Helper()
	var u *authz.UnavailableError
	if wanted, ok := want.(*authz.UnavailableError); ok && wanted.Message == "" && errors.As(got, &u) {
		wanted.Message = u.Message
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got): %s", what, diff)
	}
	if got != nil && strings.Contains(got.Error(), "hunter2") {
		t.Errorf("%s told a secret: %v", what, got)
	}
}

func TestEveryFailureOfASinkKeepsItsIdentity(t *testing.T) {
	for name, c := range failures(true) {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			sink := &testSink{write: func(context.Context, metrics.Window) error { return c.told }, close: func(context.Context) error { return c.told }}
			k, _ := configuredKinds(t, serveKinds(nil, sink, nil), hclog.New(&hclog.LoggerOptions{Output: &log}))
			sameFailure(t, "Write", k.Sink.Write(t.Context(), window(1)), c.want)
			sameFailure(t, "Close", k.Sink.Close(t.Context()), c.want)
			if err := k.Sink.Close(t.Context()); err != nil {
				t.Errorf("a second Close gave %v", err)
			}
			if _, own := c.want.(*authz.UnavailableError); own && strings.Contains(fmt.Sprint(errors.Unwrap(c.told), c.told), "hunter2") && !strings.Contains(log.String(), "hunter2") {
				t.Error("the plugin's log does not have it")
			}
		})
	}
}

func TestEveryFailureOfAnImporterKeepsItsIdentityAndWhatCameBeforeIt(t *testing.T) {
	for name, c := range failures(false) {
		t.Run(name, func(t *testing.T) {
			importer := bridgedImporter(t, told(c.told, directory.Begin{}, directory.Warning{Message: "odd"}))
			entries, err := readAll(t.Context(), importer, "")
			sameFailure(t, "Import", err, c.want)
			if len(entries) != 2 {
				t.Errorf("%d entries came before it", len(entries))
			}
		})
	}
}

func TestDeadlinesAndCancellationReachSinkAndImporter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reached := make(chan context.Context, 1)
		wait := func(ctx context.Context) error {
			reached <- ctx
			<-ctx.Done()
			return ctx.Err()
		}
		writes := &testSink{write: func(ctx context.Context, _ metrics.Window) error { return wait(ctx) }}
		reads := &testImporter{read: func(ctx context.Context, _ directory.Request) iter.Seq2[directory.Entry, error] {
			return func(yield func(directory.Entry, error) bool) {
				if yield(directory.Begin{}, nil) {
					yield(nil, wait(ctx))
				}
			}
		}}
		configured, _ := configuredOn(t, serveInBubble(t, serveKinds(nil, writes, reads)))
		sink, importer := configured.Sink, configured.Importer
		for name, c := range map[string]struct {
			call    func(context.Context) error
			outcome authz.Outcome
		}{
			"a write":   {func(ctx context.Context) error { return sink.Write(ctx, window(1)) }, authz.OutcomeUnknown},
			"an import": {func(ctx context.Context) error { _, err := readAll(ctx, importer, ""); return err }, ""},
		} {
			for reason, cause := range map[string]error{"cancelled": context.Canceled, "too late": context.DeadlineExceeded} {
				ctx, cancel := context.WithCancel(t.Context())
				if cause == context.DeadlineExceeded {
					cancel()
					ctx, cancel = context.WithTimeout(t.Context(), time.Second)
				}
				ended := make(chan error, 1)
				go func() { ended <- c.call(ctx) }()
				var inDriver context.Context
				select {
				case inDriver = <-reached:
				case err := <-ended:
					t.Fatalf("%s, %s, ended before it reached the plugin: %v", name, reason, err)
				}
				if _, limited := inDriver.Deadline(); limited != (cause == context.DeadlineExceeded) {
					t.Errorf("%s, %s: a deadline in the plugin: %v", name, reason, limited)
				}
				if cause == context.Canceled {
					cancel()
				}
				err := <-ended
				var e *authz.UnavailableError
				if !errors.As(err, &e) || e.Outcome != c.outcome || !errors.Is(err, cause) {
					t.Errorf("%s, %s, gave %v", name, reason, err)
				}
				<-inDriver.Done()
				cancel()
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			var e *authz.UnavailableError
			if err := c.call(ctx); !errors.As(err, &e) || e.Outcome == authz.OutcomeUnknown || !errors.Is(err, context.Canceled) {
				t.Errorf("%s that never began gave %v", name, err)
			}
			if len(reached) > 0 {
				t.Errorf("%s that never began reached the plugin", name)
			}
		}
	})
}
