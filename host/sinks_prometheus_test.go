package host_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/host"
	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/internal/testlog"
	"github.com/authzhost/authz/plugins/prometheus/promtest"
)

// dropGrace is how long checks may be dropped after a killed sink is there again: the
// 5 s that a window is tried, and what noticing takes here.
const dropGrace = 6 * time.Second

// Two hosts, each with the Prometheus sink in a process of its own that is killed
// twice while checks go on, and a real server: its counters come to the checks made
// less the drops that the hosts told, and nothing is dropped but beside a kill.
func TestAPrometheusServerCountsTheChecksOfTwoHosts(t *testing.T) {
	checks, rounds, pause := 100_000, 20, 150*time.Millisecond
	if os.Getenv("AUTHZ_FULL") != "" {
		checks, rounds, pause = 10_000_000, 200, 20*time.Millisecond
	}
	var scrapes []promtest.Scrape
	for n := range 2 {
		scrapes = append(scrapes, promtest.Scrape{Job: fmt.Sprint("host", n), Target: promtest.FreeAddress(t)})
	}
	server := promtest.Start(t, scrapes...)
	var hosts []*sinking
	for n, s := range scrapes {
		hosts = append(hosts, openScraped(t, fmt.Sprint("web-", n), s.Target))
	}
	began := time.Now()
	var work sync.WaitGroup
	watches := make([]*watch, len(hosts))
	const kills = 2 // a host
	turns := make(chan int, kills*len(hosts))
	for n, s := range hosts {
		watches[n] = s.watchDrops(t)
		work.Go(func() {
			for round := range rounds {
				s.check(t, checks/len(hosts)/rounds)
				if round == rounds/3 || round == rounds*2/3 {
					turns <- n
				}
				time.Sleep(pause)
			}
		})
	}
	for range cap(turns) {
		n := <-turns
		s := hosts[n]
		eventually(t, "the sink runs", func() bool { return s.plugin(t, "prom").State == "running" })
		watches[n].killed(s.plugin(t, "prom").Restarts)
		s.killSink(t, "prom")
	}
	work.Wait()
	took := time.Since(began)
	made := map[string]int64{}
	for _, s := range hosts {
		for key, n := range s.made {
			made[key] += n
		}
	}
	if sum(made) != int64(checks) {
		t.Fatalf("%d checks were made, not %d", sum(made), checks)
	}
	counted := func() map[string]int64 {
		sums := map[string]int64{}
		for _, r := range server.Query(`sum by (permission, decision) (authz_checks_total{application="docs"})`) {
			sums[r.Labels["permission"]+" "+r.Labels["decision"]] = int64(r.Value)
		}
		return sums
	}
	// What is settled by now is told: nothing is pending, and what the server has
	// is what was delivered.
	var delivered, dropped, unknown float64
	server.Until(90*time.Second, "every window is settled, and scraped", func() bool {
		delivered, dropped, unknown = 0, 0, 0
		for _, s := range hosts {
			of := func(outcome string) float64 {
				return s.metric(t, fmt.Sprintf(`authz_sink_checks_total{app="docs",outcome=%q,sink="prom"}`, outcome))
			}
			delivered, unknown = delivered+of("delivered"), unknown+of("unknown")
			for _, outcome := range []string{"full", "refused", "unavailable", "unknown", "stopped"} {
				dropped += of(outcome)
			}
		}
		got := float64(sum(counted()))
		return delivered+dropped == float64(checks) && got >= delivered && got <= delivered+unknown
	})
	got := counted()
	if dropped == 0 {
		if diff := cmp.Diff(made, got); diff != "" {
			t.Errorf("-made +counted by the server:\n%s", diff)
		}
	}
	for n, s := range hosts {
		for _, drop := range watches[n].end() {
			t.Errorf("host %d %s", n, drop)
		}
		if p := s.plugin(t, "prom"); p.Restarts < kills {
			t.Errorf("host %d: the sink was restarted %d times", n, p.Restarts)
		}
	}
	if fell := server.Query(`resets(authz_checks_total{application="docs"}[1h]) > 0`); len(fell) != 0 {
		t.Errorf("%d counters fell back", len(fell))
	}
	t.Logf("%d checks in %v, %d kills: %.0f delivered, %.0f dropped (%.0f of unknown fate), the server counts %d",
		checks, took.Round(time.Millisecond), kills*len(hosts), delivered, dropped, unknown, sum(got))
}

// openScraped opens a host whose checks go to the Prometheus sink, scraped at the
// address.
func openScraped(t testing.TB, instance, address string) *sinking {
	t.Helper()
	s := &sinking{log: &testlog.Log{}, dir: t.TempDir(), made: map[string]int64{}}
	cfg := configure(t, "")
	cfg.Plugins.Instances["prom"] = config.Plugin{Plugin: "prometheus", HangTimeout: 15 * time.Second,
		Config: config.NewSettings(map[string]any{"listen": address, "state_dir": s.path("state")})}
	cfg.Metrics = config.Observation{Sinks: []string{"prom"}, Window: time.Second, Instance: instance}
	h, err := host.Open(t.Context(), cfg, host.Options{Version: "test", Embedded: embedded(t),
		Logger: hclog.New(&hclog.LoggerOptions{Output: s.log, Level: hclog.Info})})
	if err != nil {
		t.Fatal(err)
	}
	s.Host = h
	t.Cleanup(func() {
		closeHost(t, h)
		if t.Failed() {
			t.Logf("%s logged:\n%s", instance, s.log.String())
		}
	})
	call(t, caller(h), "createGrant", object{"input": object{"subject": "user:ann", "pattern": "docs.files.read", "provenance": root}})
	return s
}

// watch notes drops that no kill explains.
type watch struct {
	stop chan struct{}
	done chan struct{}

	mu       sync.Mutex
	restarts int       // as many as the plugin has when it is back from the last kill
	away     time.Time // when a killed sink was last not back; zero: none was killed
	strange  []string
}

func (s *sinking) watchDrops(t testing.TB) *watch {
	w := &watch{stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(w.done)
		seen := uint64(0)
		for {
			select {
			case <-w.stop:
				return
			case <-time.After(100 * time.Millisecond):
			}
			asked := time.Now()
			p := s.plugin(t, "prom")
			var now uint64
			for _, c := range p.Counts {
				now += c.Dropped()
			}
			w.note(asked, p.Restarts, now-seen)
			seen = now
		}
	}()
	return w
}

// killed is told before a kill how often the plugin was restarted until then.
func (w *watch) killed(restarts int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.restarts, w.away = restarts+1, time.Now()
}

func (w *watch) note(asked time.Time, restarts int, dropped uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if restarts < w.restarts {
		w.away = time.Now()
	}
	if dropped == 0 || !w.away.IsZero() && asked.Sub(w.away) <= dropGrace {
		return
	}
	w.strange = append(w.strange, fmt.Sprintf("dropped %d checks at %v, not within %v of a killed sink's return (%v)", dropped, asked, dropGrace, w.away))
}

// end answers the drops that no kill explains.
func (w *watch) end() []string {
	close(w.stop)
	<-w.done
	return w.strange
}

// The sample runs as it stands, but for its addresses.
func TestTheSampleWithASinkRuns(t *testing.T) {
	text, err := os.ReadFile("../configs/metrics.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "authz") // short: sockets live below it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	address := promtest.FreeAddress(t)
	write(t, filepath.Join(dir, "authz.yaml"), strings.Replace(string(text), "127.0.0.1:9464", address, 1))
	write(t, filepath.Join(dir, "docs.catalog.yaml"), testCatalog)
	write(t, filepath.Join(dir, "docs.secret"), testSecret)
	cfg, err := config.Load(config.Source{Path: filepath.Join(dir, "authz.yaml"),
		Overrides: map[string]any{"listen": "127.0.0.1:0", "ops_listen": "127.0.0.1:0", "run_dir": filepath.Join(dir, "run"), "plugin_dirs": dir}})
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.Open(t.Context(), cfg, host.Options{Embedded: embedded(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeHost(t, h) })
	for range 3 {
		call(t, caller(h), "check", object{"principal": object{"userId": "ann"}, "key": "docs.files.read"})
	}
	app, _ := h.Application("docs")
	if err := app.FlushUsage(t.Context()); err != nil {
		t.Fatal(err)
	}
	resp, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	scraped, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^authz_checks_total\{.*permission="docs.files.read".*\} 3$`).Match(scraped) {
		t.Errorf("scraped\n%s", scraped)
	}
	if usage := call(t, caller(h), "getPermissionUsage", object{"query": object{}})["usage"].([]any); len(usage) != 1 {
		t.Errorf("stored %v", usage)
	}
}
