package prometheus_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/plugins/internal/sinktest"
	"github.com/authzhost/authz/plugins/prometheus/prometheus"
	"github.com/authzhost/authz/plugins/prometheus/promtest"
	"github.com/authzhost/authz/sdk/metrics"
)

// random makes windows and keeps the sums that a server must come to.
type random struct {
	r        *rand.Rand
	sequence uint64
	sums     map[string]float64
}

func newRandom(t *testing.T) *random {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return &random{r: rand.New(rand.NewPCG(seed, 1)), sums: map[string]float64{}}
}

func (x *random) window(instance string) metrics.Window {
	x.sequence++
	w := metrics.Window{Application: "docs", Origin: "origin-1", Sequence: x.sequence}
	w.InstanceID, w.WindowStart, w.WindowEnd = instance, 1000, 2000
	for range 20 {
		c := metrics.CheckCounter{Permission: fmt.Sprint("docs.p", x.r.IntN(10)), Decision: metrics.Allow, Shape: metrics.ShapeCan, Gate: true,
			ScopeType: "docs.file", Observed: 1, Estimated: float64(1+x.r.IntN(100)) / 4}
		if x.r.IntN(3) == 0 {
			c.Decision, c.Shape, c.Gate, c.Scope = metrics.Deny, metrics.ShapeCanAny, false, `docs.file:"q\`
		}
		w.Checks = append(w.Checks, c)
		x.sums["authz_checks_total "+instance+" "+c.Permission+" "+string(c.Decision)+" "+c.Scope] += c.Estimated
		id := fmt.Sprint("row", x.r.IntN(5))
		row := metrics.RowCounter{RowID: id, Matched: 2, SoleMatch: 1, EstimatedMatched: 2, EstimatedSoleMatch: 1}
		switch x.r.IntN(3) {
		case 0:
			w.Grants = append(w.Grants, row)
			x.sums["authz_grant_matched_total "+instance+" "+id] += 2
			x.sums["authz_grant_sole_match_total "+instance+" "+id]++
		case 1:
			w.Revokes = append(w.Revokes, row)
			x.sums["authz_revoke_matched_total "+instance+" "+id] += 2
		case 2:
			w.Roles = append(w.Roles, row)
			x.sums["authz_role_matched_total "+instance+" "+id] += 2
		}
	}
	return w
}

// counted is what the server knows, in the words of random.
func counted(s *promtest.Server, selector string) map[string]float64 {
	m := map[string]float64{}
	for _, r := range s.Query(`{__name__=~"authz_(checks|grant|revoke|role).*_total",` + selector + `}`) {
		l := r.Labels
		key := l["__name__"] + " " + l["instance"] + " "
		if l["__name__"] == "authz_checks_total" {
			key += l["permission"] + " " + l["decision"] + " " + l["scope"]
		} else {
			key += l["grant_id"] + l["revoke_id"] + l["role_id"]
		}
		m[key] = r.Value
	}
	return m
}

func mustOpen(t testing.TB, o prometheus.Options) *prometheus.Sink {
	t.Helper()
	s, err := prometheus.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(t.Context()) })
	return s
}

// One sink is scraped and writes; the server must come to the same sums both ways,
// and to those that were written.
func TestAServerCountsWhatWasCounted(t *testing.T) {
	address := promtest.FreeAddress(t)
	server := promtest.Start(t, promtest.Scrape{Job: "scraped", Target: address, Bearer: "t0ken"})
	sink := mustOpen(t, prometheus.Options{Listen: address, ScrapeAuth: prometheus.Auth{Bearer: "t0ken"},
		WriteURL: server.WriteURL(), WriteInterval: 300 * time.Millisecond, Labels: []string{"cluster=test"}})
	x := newRandom(t)
	for range 30 {
		sinktest.Write(t, sink, x.window("host-1"))
		sinktest.Write(t, sink, x.window("host-2"))
		time.Sleep(50 * time.Millisecond)
	}
	for job, way := range map[string]string{"scraped": "the scrape", "": "remote-write"} {
		selector := fmt.Sprintf("job=%q", job)
		server.Until(2*time.Minute, way+" has the last window", func() bool { return cmp.Equal(x.sums, counted(server, selector)) })
	}
	if diff := cmp.Diff(x.sums, counted(server, `job="scraped"`)); diff != "" {
		t.Error(diff)
	}
	for _, r := range server.Query(`authz_checks_total{job="",cluster="test"}`) {
		if r.Labels["application"] != "docs" || r.Labels["gate"] != fmt.Sprint(r.Labels["decision"] == "allow") || r.Labels["scope_type"] != "docs.file" {
			t.Errorf("labels %v", r.Labels)
		}
	}
	// The zero at each start lets a rate see the first window.
	if got := len(server.Query(`min_over_time(authz_checks_total{job="",cluster="test"}[1h]) == 0`)); got != len(server.Query(`authz_checks_total{job="",cluster="test"}`)) {
		t.Errorf("%d series begin at zero", got)
	}
	server.Until(2*time.Minute, "the counters are described", func() bool {
		kind, help := server.Metadata("authz_checks")
		return kind == "counter" && help != ""
	})
	if got := server.Value(`authz_sink_remote_write_failures_total{job="",cluster="test"}`); got != 0 {
		t.Errorf("%v failures", got)
	}
	if got := server.Value(`authz_sink_series_refused_total{job="scraped"}`); got != 0 {
		t.Errorf("%v refused", got)
	}
}

// Close writes what no interval has written yet.
func TestTheLastWindowIsWrittenAtTheEnd(t *testing.T) {
	server := promtest.Start(t)
	sink := mustOpen(t, prometheus.Options{WriteURL: server.WriteURL(), WriteInterval: time.Hour})
	x := newRandom(t)
	sinktest.Write(t, sink, x.window("host-1"))
	if err := sink.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	server.Until(2*time.Minute, "the window is there", func() bool { return cmp.Equal(x.sums, counted(server, `application="docs"`)) })
}
