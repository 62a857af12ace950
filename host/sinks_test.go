package host_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/host"
	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/internal/testlog"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
)

// sinking is a host whose application's checks are counted into ledgers.
type sinking struct {
	*host.Host
	log  *testlog.Log
	dir  string
	made map[string]int64
}

// openSinking opens a host with ledgers that behave as given, by name.
func openSinking(t testing.TB, window time.Duration, ledgers map[string]string, extra string) *sinking {
	t.Helper()
	cfg := configure(t, extra)
	s := &sinking{log: &testlog.Log{}, dir: t.TempDir(), made: map[string]int64{}}
	for name, behaves := range ledgers {
		cfg.Plugins.Instances[name] = config.Plugin{Plugin: "ledger", HangTimeout: 15 * time.Second,
			Config: config.NewSettings(map[string]any{"path": s.path(name), "behaves": behaves})}
		cfg.Metrics.Sinks = append(cfg.Metrics.Sinks, name)
	}
	cfg.Metrics.Window = window
	h, err := host.Open(t.Context(), cfg, host.Options{Version: "test", Embedded: embedded(t),
		Logger: hclog.New(&hclog.LoggerOptions{Output: s.log, Level: hclog.Debug})})
	if err != nil {
		t.Fatal(err)
	}
	s.Host = h
	t.Cleanup(func() { closeHost(t, h) })
	call(t, caller(h), "createGrant", object{"input": object{"subject": "user:ann", "pattern": "docs.files.read", "provenance": root}})
	return s
}

func (s *sinking) path(name string) string { return filepath.Join(s.dir, name) }

// check asks n questions in process, from as many goroutines as the machine has
// cores, and notes their answers.
func (s *sinking) check(t testing.TB, n int) {
	t.Helper()
	app, _ := s.Application("docs")
	keys := []string{"docs.files.read", "docs.files.edit"}
	var mu sync.Mutex
	var work sync.WaitGroup
	for worker := range 2 {
		work.Go(func() {
			made := map[string]int64{}
			for i := worker; i < n; i += 2 {
				key := keys[i/2%2]
				allowed, err := app.Client().Can(context.Background(), authz.UserPrincipal("ann"), key, "")
				if err != nil || allowed != (key == keys[0]) {
					t.Errorf("%s: %v, %v", key, allowed, err)
					return
				}
				made[key+map[bool]string{true: " allow", false: " deny"}[allowed]]++
			}
			mu.Lock()
			defer mu.Unlock()
			for key, n := range made {
				s.made[key] += n
			}
		})
	}
	work.Wait()
}

// killSink ends the process of a plugin.
func (s *sinking) killSink(t testing.TB, name string) {
	t.Helper()
	p := s.plugin(t, name)
	if p.PID > 0 {
		kill(t, p.PID)
	}
}

func (s *sinking) plugin(t testing.TB, name string) api.PluginStatus {
	t.Helper()
	var list struct{ Plugins []api.PluginStatus }
	if err := localCaller(s.Host).Call(t.Context(), "_host/plugins", nil, &list); err != nil {
		t.Fatal(err)
	}
	for _, p := range list.Plugins {
		if p.Name == name {
			return p
		}
	}
	t.Fatalf("no plugin %s", name)
	return api.PluginStatus{}
}

// metric reads one sample of /metrics.
func (s *sinking) metric(t testing.TB, sample string) float64 {
	t.Helper()
	n, ok := s.metrics(t)[sample]
	if !ok {
		t.Fatalf("/metrics has no %s", sample)
	}
	return n
}

// metrics reads /metrics, by sample.
func (s *sinking) metrics(t testing.TB) map[string]float64 {
	t.Helper()
	resp, err := http.Get("http://" + s.OpsAddress() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	samples := map[string]float64{}
	for one := range strings.Lines(string(text)) {
		if at := strings.LastIndexByte(one, ' '); at > 0 && one[0] != '#' {
			n, err := strconv.ParseFloat(strings.TrimSpace(one[at:]), 64)
			if err != nil {
				t.Fatal(err)
			}
			samples[one[:at]] = n
		}
	}
	return samples
}

func sum(counts map[string]int64) (n int64) {
	for _, one := range counts {
		n += one
	}
	return n
}

func TestEverySinkAndStoredUsageAreToldEachCheckOnce(t *testing.T) {
	s := openSinking(t, time.Second, map[string]string{"a": "", "b": ""}, "    metrics: {}\n")
	s.check(t, 5000)
	eventually(t, "a window is delivered", func() bool {
		return s.metric(t, `authz_sink_windows_total{app="docs",outcome="delivered",sink="a"}`) > 0
	})
	s.check(t, 5000)
	app, _ := s.Application("docs")
	if err := app.FlushUsage(t.Context()); err != nil {
		t.Fatal(err)
	}
	usage := call(t, caller(s.Host), "getPermissionUsage", object{"query": object{}})["usage"].([]any)
	closeHost(t, s.Host)
	for _, name := range []string{"a", "b"} {
		if diff := cmp.Diff(s.made, told(t, s.path(name))); diff != "" {
			t.Errorf("sink %s, -made +told:\n%s", name, diff)
		}
		lines, _, err := readLedger(s.path(name))
		if err != nil {
			t.Fatal(err)
		}
		hostname, _ := os.Hostname()
		for i, one := range lines {
			if one.Application != "docs" || one.Instance != hostname || one.Origin != lines[0].Origin || one.Sequence != uint64(i+1) {
				t.Errorf("sink %s, window %d is %+v", name, i, one)
			}
		}
		if rows := lines[0].Grants; len(rows) != 1 || rows[0].SoleMatch != rows[0].Matched || rows[0].Matched == 0 {
			t.Errorf("sink %s was told of rows: %+v", name, rows)
		}
	}
	stored := map[string]int64{}
	for _, one := range usage {
		u := one.(object)
		key := u["permission"].(string)
		for member, decision := range map[string]string{"gateAllow": " allow", "gateDeny": " deny"} {
			if n := int64(u[member].(float64)); n > 0 {
				stored[key+decision] = n
			}
		}
	}
	if diff := cmp.Diff(s.made, stored); diff != "" {
		t.Errorf("-made +stored:\n%s", diff)
	}
}

// Whatever happens to their processes, sinks that recognise are told each check
// once, and what they were not told is counted.
func TestASinkThatIsKilledIsToldEachCheckOnce(t *testing.T) {
	n, kills := 100_000, 2
	s := openSinking(t, time.Second, map[string]string{"a": "", "b": ""}, "")
	rng := rand.New(rand.NewPCG(7, 7))
	for i := range kills + 1 {
		for range 20 { // spread, so that windows are on their way at a kill
			s.check(t, n/(kills+1)/20)
			time.Sleep(time.Duration(rng.IntN(120)) * time.Millisecond)
		}
		if i < kills {
			eventually(t, "the sink runs", func() bool { return s.plugin(t, "a").State == "running" })
			s.killSink(t, "a")
		}
	}
	eventually(t, "the sink's third process runs", func() bool {
		p := s.plugin(t, "a")
		return p.State == "running" && p.Restarts >= kills // a process runs a moment before it counts as another one
	})
	if restarts := s.plugin(t, "a").Restarts; restarts != kills {
		t.Errorf("%d restarts", restarts)
	}
	// A window of unknown fate counts as dropped, and the sink may have it.
	unknown := map[string]int64{}
	for _, name := range []string{"a", "b"} {
		eventually(t, "every window of "+name+" is settled", func() bool {
			settled := 0.0
			for _, outcome := range metrics.Outcomes() {
				n := s.metric(t, fmt.Sprintf(`authz_sink_checks_total{app="docs",outcome=%q,sink=%q}`, outcome, name))
				settled += n
				if outcome == metrics.OutcomeUnknown {
					unknown[name] = int64(n)
				}
			}
			return int64(settled) == sum(s.made)
		})
	}
	closeHost(t, s.Host)
	for _, name := range []string{"a", "b"} {
		got, dropped := told(t, s.path(name)), s.dropped(t, name)
		if dropped == 0 {
			if diff := cmp.Diff(s.made, got); diff != "" {
				t.Errorf("sink %s, -made +told:\n%s", name, diff)
			}
		}
		if twice := sum(got) + dropped - sum(s.made); twice < 0 || twice > unknown[name] {
			t.Errorf("sink %s: %d made, %d told, %d dropped, %d of them of unknown fate", name, sum(s.made), sum(got), dropped, unknown[name])
		}
		if dropped > 0 && name == "b" {
			t.Errorf("the sink that was not killed missed %d checks", dropped)
		}
	}
}

// dropped reads what a host that was closed said it could not deliver.
func (s *sinking) dropped(t testing.TB, name string) (n int64) {
	t.Helper()
	for one := range strings.Lines(s.log.String()) {
		if strings.Contains(one, "a sink did not get the counts of all checks") && strings.Contains(one, "sink="+name+" ") {
			_, after, _ := strings.Cut(one, "checks_dropped=")
			if _, err := fmt.Sscan(after, &n); err != nil {
				t.Fatal(err)
			}
		}
	}
	return n
}

func TestASinkThatHangsOrFailsCostsNobodyAnything(t *testing.T) {
	s := openSinking(t, time.Second, map[string]string{"hangs": "hang", "fails": "fail", "well": ""}, "")
	longest := time.Duration(0)
	app, _ := s.Application("docs")
	check := func() {
		start := time.Now()
		if _, err := app.Client().Can(t.Context(), authz.UserPrincipal("ann"), "docs.files.read", ""); err != nil {
			t.Fatal(err)
		}
		longest = max(longest, time.Since(start))
		s.made["docs.files.read allow"]++
	}
	for end := time.Now().Add(7 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		check()
	}
	if longest > 4*time.Second { // a check that waited for a sink would have taken its 5 s
		t.Errorf("a check took %v", longest)
	}
	// If it waited for the sink that hangs, it would get no more windows than that one loses.
	eventually(t, "the sink that is well is ahead of the one that hangs", func() bool {
		check()
		all := s.metrics(t)
		return all[`authz_sink_windows_total{app="docs",outcome="delivered",sink="well"}`] >= 4+all[`authz_sink_windows_total{app="docs",outcome="unknown",sink="hangs"}`]
	})
	for sink, outcome := range map[string]string{"hangs": "unknown", "fails": "unavailable"} {
		eventually(t, sink+" loses a window", func() bool {
			return s.metric(t, fmt.Sprintf(`authz_sink_checks_total{app="docs",outcome=%q,sink=%q}`, outcome, sink)) > 0
		})
	}
	if c := s.plugin(t, "fails").Counts; len(c) != 1 || c[0].Dropped() == 0 || c[0].Checks[api.OutcomeDelivered] != 0 {
		t.Errorf("the administration socket tells %+v", c)
	}
	start := time.Now()
	closeHost(t, s.Host)
	if took := time.Since(start); took > time.Minute {
		t.Errorf("the stop took %v", took)
	}
	if diff := cmp.Diff(s.made, told(t, s.path("well"))); diff != "" {
		t.Errorf("-made +told:\n%s", diff)
	}
	for _, name := range []string{"hangs", "fails"} {
		if dropped := s.dropped(t, name); dropped != sum(s.made) {
			t.Errorf("%s: %d of %d checks are said to be dropped", name, dropped, sum(s.made))
		}
	}
}

// Counts are worth no outage: a sink whose process does not come up is told in the
// verbose report and leaves the host ready.
func TestASinkThatIsDownMakesNoHostUnready(t *testing.T) {
	s := openSinking(t, time.Second, map[string]string{"a": ""}, "")
	report := func() (status int, text string) {
		resp, err := http.Get("http://" + s.OpsAddress() + "/readyz?verbose=1")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b)
	}
	// What it wrote is no ledger any more, so that no process can be configured.
	write(t, s.path("a"), "no ledger\n")
	s.killSink(t, "a")
	eventually(t, "the sink is down", func() bool {
		_, text := report()
		return strings.Contains(text, `{"name":"plugin.a","ok":false,"optional":true,"message":"restarting"}`)
	})
	if status, text := report(); status != http.StatusOK || !s.Ready() || !strings.Contains(text, `"ready":true`) {
		t.Errorf("%d: %s", status, text)
	}
	s.check(t, 100)
}

func TestSinksMustServeTheKind(t *testing.T) {
	cfg := configure(t, "")
	cfg.Metrics.Sinks = []string{"main"}
	_, err := host.Open(t.Context(), cfg, host.Options{})
	if err == nil {
		t.Fatal("the memory driver was taken for a sink")
	}
	for _, want := range []string{"metrics.sinks[0]", `"main"`, "metrics_sink"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %s", err, want)
		}
	}
}

func TestScopesAreCountedByThemselvesWhenAskedFor(t *testing.T) {
	cfg := configure(t, "")
	dir := t.TempDir()
	cfg.Plugins.Instances["a"] = config.Plugin{Plugin: "ledger", Config: config.NewSettings(map[string]any{"path": filepath.Join(dir, "a")})}
	cfg.Metrics = config.Observation{Sinks: []string{"a"}, Window: time.Minute, Instance: "web-3", ScopeInstances: []string{"docs.folder"}}
	h, err := host.Open(t.Context(), cfg, host.Options{Embedded: embedded(t)})
	if err != nil {
		t.Fatal(err)
	}
	for _, scope := range []string{"docs.folder:1", "docs.folder:1", "docs.folder:2", "docs.doc:1"} {
		call(t, caller(h), "setScopeParents", object{"entries": []object{{"scope": scope, "parents": []string{}}}, "provenance": root})
		call(t, caller(h), "check", object{"principal": object{"userId": "ann"}, "key": "docs.files.read", "scope": scope})
	}
	closeHost(t, h)
	lines, _, err := readLedger(filepath.Join(dir, "a"))
	if err != nil || len(lines) != 1 || lines[0].Instance != "web-3" {
		t.Fatalf("%+v, %v", lines, err)
	}
	got := map[string]int64{}
	for _, c := range lines[0].Checks {
		got[c.ScopeType+" "+c.Scope] = c.Observed
	}
	want := map[string]int64{"docs.folder docs.folder:1": 2, "docs.folder docs.folder:2": 1, "docs.doc ": 1}
	if !maps.Equal(want, got) {
		t.Errorf("%v, want %v", got, want)
	}
}
