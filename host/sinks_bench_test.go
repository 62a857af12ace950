package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/authzhost/authz/sdk/authz"
)

// BenchmarkSinks compares the latency of a check where counts go to stored usage
// alone with hosts that also have sinks: two that are well, one that hangs, and one
// that takes nothing. One iteration is ten alternating runs of each; what is
// reported is the median of their ratios to the first. "uncounted" is a host without any of it.
func BenchmarkSinks(b *testing.B) {
	const stored = "    metrics: {}\n"
	hosts := map[string]*sinking{
		"base":      openSinking(b, time.Second, nil, stored),
		"two-sinks": openSinking(b, time.Second, map[string]string{"a": "", "b": ""}, stored),
		"dead-sink": openSinking(b, time.Second, map[string]string{"a": "hang", "b": "fail"}, stored),
		"uncounted": openSinking(b, time.Second, nil, ""),
	}
	names := slices.Sorted(maps.Keys(hosts))
	for _, way := range []struct {
		name   string
		checks int
		ask    func(testing.TB, *sinking, int)
	}{{"in-process", 200_000, askInProcess}, {"POST-v1-check", 5_000, askOverHTTP}} {
		b.Run(way.name, func(b *testing.B) {
			for _, s := range hosts {
				way.ask(b, s, way.checks/4) // warm
			}
			took := map[string][]float64{} // ns a check, by run
			for b.Loop() {
				clear(took)
				for range 10 {
					parts := map[string][]float64{}
					for slice := range slicesOfARun {
						for i := range names {
							name := names[(slice+i)%len(names)]
							began := time.Now()
							way.ask(b, hosts[name], way.checks/slicesOfARun)
							parts[name] = append(parts[name], float64(time.Since(began).Nanoseconds())/float64(way.checks/slicesOfARun))
						}
					}
					for name, of := range parts {
						took[name] = append(took[name], middle(of))
					}
				}
			}
			b.ReportMetric(0, "ns/op") // an iteration is no check
			for name, runs := range took {
				ratios := make([]float64, len(runs))
				for i := range runs {
					ratios[i] = runs[i] / took["base"][i]
				}
				b.ReportMetric(middle(runs), name+"-ns/check")
				if name != "base" {
					b.ReportMetric(middle(ratios), name+"/base")
				}
			}
		})
	}
}

// slicesOfARun are timed by turns with those of the other hosts, and their median is
// the run's figure: short ones, most of which nothing else on the machine interrupts.
const slicesOfARun = 400

func middle(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

func askInProcess(t testing.TB, s *sinking, n int) {
	app, _ := s.Application("docs")
	keys := []string{"docs.files.read", "docs.files.edit"}
	people := make([]authz.Principal, 100)
	for i := range people {
		people[i] = authz.UserPrincipal("ann")
		if i%2 == 1 {
			people[i] = authz.UserPrincipal(fmt.Sprint("user-", i))
		}
	}
	ctx := context.Background()
	for i := range n {
		if _, err := app.Client().Can(ctx, people[i%len(people)], keys[i/2%2], ""); err != nil {
			t.Fatal(err)
		}
	}
}

func askOverHTTP(t testing.TB, s *sinking, n int) {
	body, err := json.Marshal(object{"principal": object{"userId": "ann"}, "key": "docs.files.read"})
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		q, err := http.NewRequest(http.MethodPost, "http://"+s.Address()+"/v1/check", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Authorization", "Bearer "+testSecret)
		q.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body) // to use the connection again
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("status %d", resp.StatusCode)
		}
	}
}
