package prometheus_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/authzhost/authz/internal/testcert"
	"github.com/authzhost/authz/plugins/internal/sinktest"
	"github.com/authzhost/authz/plugins/prometheus/prometheus"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
	"github.com/authzhost/authz/sdk/plugin"
)

func window(origin string, sequence uint64, estimated float64, permissions ...string) metrics.Window {
	w := metrics.Window{Application: "docs", Origin: origin, Sequence: sequence}
	w.InstanceID, w.WindowStart, w.WindowEnd = "host-1", 1000, 2000
	for _, p := range permissions {
		w.Checks = append(w.Checks, metrics.CheckCounter{Permission: p, Decision: metrics.Allow, Shape: metrics.ShapeCan, Gate: true, ScopeType: "*",
			Observed: 1, Estimated: estimated})
	}
	return w
}

// scrape answers the status and the text of the endpoint.
func scrape(t testing.TB, s *prometheus.Sink, authorization string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Addr()+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

func mustHold(t testing.TB, s *prometheus.Sink, lines ...string) {
	t.Helper()
	_, text := scrape(t, s, "")
	for _, line := range lines {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("%s is not among\n%s", line, text)
		}
	}
}

const checksOfA = `authz_checks_total{application="docs",decision="allow",gate="true",instance="host-1",permission="a",scope="",scope_type="*",shape="can"} `

func TestAScrapeNeedsItsCredentials(t *testing.T) {
	for name, c := range map[string]struct {
		auth  prometheus.Auth
		right string
		wrong []string
	}{
		"a token": {prometheus.Auth{Bearer: "s3cret-token"}, "Bearer s3cret-token", []string{"", "Bearer s3cret-toke", "Bearer s3cret-token ", "s3cret-token", "Basic czNjcmV0LXRva2Vu"}},
		"basic":   {prometheus.Auth{Username: "u", Password: "p"}, "Basic dTpw", []string{"", "Basic dTpx", "Bearer p"}},
	} {
		s := mustOpen(t, prometheus.Options{Listen: "127.0.0.1:0", ScrapeAuth: c.auth})
		sinktest.Write(t, s, window("o", 1, 1, "a"))
		if code, text := scrape(t, s, c.right); code != http.StatusOK || !strings.Contains(text, checksOfA+"1\n") {
			t.Errorf("%s: %d %s", name, code, text)
		}
		for _, wrong := range c.wrong {
			if code, text := scrape(t, s, wrong); code != http.StatusUnauthorized || strings.Contains(text, "authz_") {
				// Go's client trims a trailing space: then it is the right one.
				if strings.TrimSpace(wrong) != c.right {
					t.Errorf("%s: %q is answered %d", name, wrong, code)
				}
			}
		}
	}
}

func TestOnlyTheCountersAreServed(t *testing.T) {
	s := mustOpen(t, prometheus.Options{Listen: "127.0.0.1:0"})
	for _, path := range []string{"/", "/debug/pprof/", "/metrics/x"} {
		response, err := http.Get("http://" + s.Addr() + path)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusNotFound {
			t.Errorf("%s is answered %d", path, response.StatusCode)
		}
	}
}

func TestOptionsThatMakeNoSenseAreRefused(t *testing.T) {
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, certificate, key := testcert.Make(t)
	_, _, foreign := testcert.Make(t)
	url := "https://prometheus.example/api/v1/write"
	for name, c := range map[string]struct {
		o     prometheus.Options
		field string
	}{
		"nothing to do":            {prometheus.Options{}, ""},
		"open to all":              {prometheus.Options{Listen: ":9464"}, "listen"},
		"open to others":           {prometheus.Options{Listen: "0.0.0.0:9464", ScrapeAuth: prometheus.Auth{Bearer: "x"}}, "listen"},
		"a name that may be any":   {prometheus.Options{Listen: "localhost.example:9464"}, "listen"},
		"no port":                  {prometheus.Options{Listen: "127.0.0.1"}, "listen"},
		"a taken address":          {prometheus.Options{Listen: "127.0.0.1:1000000"}, "listen"},
		"a token and a password":   {prometheus.Options{Listen: "127.0.0.1:0", ScrapeAuth: prometheus.Auth{Bearer: "x", Username: "u", Password: "p"}}, "bearer_token"},
		"no password":              {prometheus.Options{Listen: "127.0.0.1:0", ScrapeAuth: prometheus.Auth{Username: "u"}}, "username"},
		"a token of two words":     {prometheus.Options{Listen: "127.0.0.1:0", ScrapeAuth: prometheus.Auth{Bearer: "a b"}}, "bearer_token"},
		"auth of nothing":          {prometheus.Options{WriteURL: url, ScrapeAuth: prometheus.Auth{Bearer: "x"}}, "listen"},
		"a certificate of nothing": {prometheus.Options{WriteURL: url, CertFile: certificate, KeyFile: key}, "listen"},
		"a certificate alone":      {prometheus.Options{Listen: "127.0.0.1:0", CertFile: certificate}, "key_file"},
		"a key alone":              {prometheus.Options{Listen: "127.0.0.1:0", KeyFile: key}, "key_file"},
		"no such certificate":      {prometheus.Options{Listen: "127.0.0.1:0", CertFile: "/nowhere", KeyFile: key}, "cert_file"},
		"no such key":              {prometheus.Options{Listen: "127.0.0.1:0", CertFile: certificate, KeyFile: "/dev/zero"}, "key_file"},
		"another's key":            {prometheus.Options{Listen: "127.0.0.1:0", CertFile: certificate, KeyFile: foreign}, "cert_file"},
		"no certificate":           {prometheus.Options{Listen: "127.0.0.1:0", CertFile: ca, KeyFile: key}, "cert_file"},
		"headers of nothing":       {prometheus.Options{Listen: "127.0.0.1:0", WriteHeaders: []string{"A: b"}}, "remote_write_url"},
		"no URL":                   {prometheus.Options{WriteURL: "prometheus:9090"}, "remote_write_url"},
		"credentials in the URL":   {prometheus.Options{WriteURL: "https://u:p@prometheus.example/"}, "remote_write_url"},
		"credentials in the clear": {prometheus.Options{WriteURL: "http://prometheus.example/", WriteAuth: prometheus.Auth{Bearer: "x"}}, "remote_write_url"},
		"no such authority":        {prometheus.Options{WriteURL: url, WriteCA: "/nowhere"}, "remote_write_ca"},
		"no authority":             {prometheus.Options{WriteURL: url, WriteCA: ca}, "remote_write_ca"},
		"a header without a colon": {prometheus.Options{WriteURL: url, WriteHeaders: []string{"s3cret"}}, "remote_write_headers"},
		"a header that is set":     {prometheus.Options{WriteURL: url, WriteHeaders: []string{"content-type: s3cret"}}, "remote_write_headers"},
		"a header of two lines":    {prometheus.Options{WriteURL: url, WriteHeaders: []string{"A: s3cret\r\nB: c"}}, "remote_write_headers"},
		"too often":                {prometheus.Options{WriteURL: url, WriteInterval: time.Millisecond}, "remote_write_interval"},
		"no series":                {prometheus.Options{Listen: "127.0.0.1:0", MaxSeries: -1}, "max_series"},
		"a strange prefix":         {prometheus.Options{Listen: "127.0.0.1:0", Prefix: "authz."}, "prefix"},
		"a label of its own":       {prometheus.Options{Listen: "127.0.0.1:0", Labels: []string{"gate=x"}}, "labels"},
		"a label twice":            {prometheus.Options{Listen: "127.0.0.1:0", Labels: []string{"x=1", "x=2"}}, "labels"},
		"a reserved label":         {prometheus.Options{Listen: "127.0.0.1:0", Labels: []string{"__x=1"}}, "labels"},
		"no state":                 {prometheus.Options{Listen: "127.0.0.1:0", StateDir: "/proc/nothing"}, "state_dir"},
	} {
		s, err := prometheus.Open(c.o)
		var refused *plugin.ConfigError
		if !errors.As(err, &refused) || refused.Field != c.field || strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), ".pem") {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			_ = s.Close(t.Context())
		}
	}
}

func TestCountersSurviveWithAStateDirectory(t *testing.T) {
	o := prometheus.Options{Listen: "127.0.0.1:0", StateDir: t.TempDir(), MaxSeries: 3}
	s := mustOpen(t, o)
	if c := s.Info().Capabilities; len(c) != 1 || c[0] != metrics.SinkRecognises {
		t.Errorf("capabilities %v", c)
	}
	sinktest.Write(t, s, window("o", 1, 1.5, "a", "b", "c", "d"))
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, o)
	sinktest.Write(t, s, window("o", 1, 1.5, "a", "b", "c", "d")) // recognised
	sinktest.Write(t, s, window("o", 2, 1, "a"))
	mustHold(t, s, checksOfA+"2.5", "authz_sink_series_refused_total 1", "authz_sink_checks_refused_total 1.5")

	if c := mustOpen(t, prometheus.Options{Listen: "127.0.0.1:0"}).Info().Capabilities; len(c) != 0 {
		t.Errorf("capabilities %v without a state directory", c)
	}
}

func TestAttributionCanBeLeftOut(t *testing.T) {
	s := mustOpen(t, prometheus.Options{Listen: "127.0.0.1:0", OmitAttribution: true, Prefix: "acl_", Labels: []string{"cluster=eu"}})
	w := window("o", 1, 1, "a")
	w.Roles = []metrics.RowCounter{{RowID: "r", EstimatedMatched: 1}}
	w.Dropped = 3
	sinktest.Write(t, s, w)
	mustHold(t, s, `acl_dropped_total{application="docs",cluster="eu",instance="host-1"} 3`)
	if _, text := scrape(t, s, ""); strings.Contains(text, "role") {
		t.Error(text)
	}
}

func TestAStopWaitsForALastScrape(t *testing.T) {
	s := mustOpen(t, prometheus.Options{Listen: "127.0.0.1:0", FinalScrape: time.Minute})
	sinktest.Write(t, s, window("o", 1, 1, "a"))
	closed := make(chan error, 1)
	go func() { closed <- s.Close(t.Context()) }()
	for {
		err := s.Write(t.Context(), window("p", 1, 1, "a"))
		if down := (*authz.UnavailableError)(nil); errors.As(err, &down) && down.Outcome == authz.OutcomeNotApplied {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	select {
	case err := <-closed:
		t.Fatalf("closed before the scrape: %v", err)
	default:
	}
	head, err := http.Head("http://" + s.Addr() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	head.Body.Close()
	time.Sleep(100 * time.Millisecond) // in which the sink would end if it took that for a scrape
	if code, text := scrape(t, s, ""); code != http.StatusOK || !strings.Contains(text, checksOfA) {
		t.Error(text)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}

	hurried := mustOpen(t, prometheus.Options{Listen: "127.0.0.1:0", FinalScrape: time.Minute})
	sinktest.Write(t, hurried, window("o", 1, 1, "a"))
	ended, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := hurried.Close(ended); err != nil {
		t.Error(err)
	}
}

func TestWritersAndScrapesAtOnce(t *testing.T) {
	s := mustOpen(t, prometheus.Options{Listen: "127.0.0.1:0"})
	var all sync.WaitGroup
	for _, origin := range []string{"a", "b", "c", "d"} {
		all.Go(func() {
			for i := range 50 {
				sinktest.Write(t, s, window(origin, uint64(i+1), 1, "a"))
			}
		})
	}
	for range 3 {
		all.Go(func() {
			for range 10 {
				if code, text := scrape(t, s, ""); code != http.StatusOK {
					t.Errorf("%d %s", code, text)
				}
			}
		})
	}
	all.Wait()
	mustHold(t, s, checksOfA+"200")
}

// A zero is refused, not taken for the default.
func TestAZeroIsNoDefault(t *testing.T) {
	sinktest.NoZeroIsADefault(t, prometheus.Plugin("test"), map[string]any{"remote_write_url": "http://127.0.0.1:9"},
		"remote_write_interval", "remote_write_timeout", "max_series")
}
