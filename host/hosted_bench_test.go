package host_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/plugins/postgres/postgrestest"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// benchGrants are at * in the application that is the org root.
const benchGrants = 100_000

// benchmarked is a host over PostgreSQL with many grants in its local application.
func benchmarked(b *testing.B) *hostedPair {
	b.Helper()
	postgrestest.Require(b)
	buildPlugin(b, "postgres")
	p := &hostedPair{dsn: postgrestest.Database(b), files: hostedFiles(b)}
	cfg := p.postgres(b, bootUser)
	docs := cfg.Applications["docs"]
	docs.Ancestry.Kind = config.AncestryStored
	cfg.Applications["docs"] = docs
	p.a = openHosted(b, cfg, &p.clock)
	p.owner = p.a.acme(b)
	app, _ := p.a.Application("docs")
	const chunk = 10_000
	for from := 0; from < benchGrants; from += chunk {
		rows := make([]provider.GrantInput, chunk)
		for i := range rows {
			rows[i] = provider.GrantInput{Subject: fmt.Sprintf("user:u_%d", (from+i)/10), Pattern: fmt.Sprintf("docs.files.%s", []string{"read", "edit", "*"}[i%3])}
		}
		if _, err := app.CreateGrants(b.Context(), rows, authz.AdminProvenance("bench")); err != nil {
			b.Fatal(err)
		}
	}
	return p
}

func median(took []time.Duration) float64 {
	took = slices.Sorted(slices.Values(took))
	return ms(took[len(took)/2])
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// BenchmarkHostedListGrants pages through all grants, 1,000 at a time; one
// iteration is the whole list.
func BenchmarkHostedListGrants(b *testing.B) {
	p := benchmarked(b)
	var all, first, last []time.Duration
	for b.Loop() {
		p.clock.pass(time.Minute) // for the bucket of reads; a session lives on by being used
		next, pages, rows := "", 0, 0
		for more := true; more; more = next != "" {
			path := "/orgs/acme/org/grants?limit=1000"
			if next != "" {
				path += "&cursor=" + next
			}
			began := time.Now()
			a := p.owner.must(200, "GET", path, "")
			took := time.Since(began)
			b.StopTimer()
			all = append(all, took)
			if pages == 0 {
				first = append(first, took)
			}
			next = a.text("nextCursor")
			pages++
			n := strings.Count(string(a.raw), `"home":`)
			if rows += n; rows >= benchGrants && n == 1000 {
				last = append(last, took) // the last full one
			}
			b.StartTimer()
		}
		if rows < benchGrants {
			b.Fatalf("%d rows on %d pages", rows, pages)
		}
	}
	b.ReportMetric(median(all), "ms/page-p50")
	b.ReportMetric(median(first), "ms/first")
	b.ReportMetric(median(last), "ms/last")
	b.ReportMetric(ms(slices.Max(all)), "ms/page-max")
}

// BenchmarkHostedCreateGrant creates grants one after another beside the 100,000.
func BenchmarkHostedCreateGrant(b *testing.B) {
	p := benchmarked(b)
	var took []time.Duration
	for b.Loop() {
		if len(took)%200 == 199 {
			p.clock.pass(time.Minute) // for the bucket of writes
		}
		body, err := json.Marshal(object{"subject": fmt.Sprintf("user:n_%d", len(took)), "pattern": "docs.files.read"})
		if err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		p.owner.must(201, "POST", "/orgs/acme/org/grants", string(body))
		took = append(took, time.Since(began))
	}
	b.ReportMetric(median(took), "ms/p50")
	b.ReportMetric(ms(slices.Sorted(slices.Values(took))[len(took)*99/100]), "ms/p99")
}
