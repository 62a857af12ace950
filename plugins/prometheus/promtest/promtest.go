// Package promtest gives tests a real Prometheus server: the prometheus on the PATH
// (Debian's package is version 2.42), run in a temporary folder on loopback, which
// scrapes every second and accepts remote-write. It ends with the test.
//
// The package is for tests and holds nothing that the product uses.
package promtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/authzhost/authz/internal/freeport"
)

// Scrape is an endpoint that the server scrapes every second.
type Scrape struct {
	Job    string
	Target string // host:port
	Bearer string // a token, "" sends none
	CA     string // a PEM file of whom to trust, "" scrapes without TLS
}

// Server is a running server.
type Server struct {
	URL string

	t   testing.TB
	log output
}

// Start runs a server until the test ends. Without one on the PATH the test is
// skipped.
func Start(t testing.TB, scrapes ...Scrape) *Server {
	t.Helper()
	binary, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("NOT PROVED HERE: there is no prometheus on the PATH (scripts/install-package prometheus)")
	}
	dir := t.TempDir()
	var config strings.Builder
	config.WriteString("global: {scrape_interval: 1s, scrape_timeout: 1s}\nscrape_configs:\n")
	for _, s := range scrapes {
		fmt.Fprintf(&config, "- {job_name: %q, honor_labels: true, static_configs: [{targets: [%q]}]", s.Job, s.Target)
		if s.Bearer != "" {
			fmt.Fprintf(&config, ", authorization: {credentials: %q}", s.Bearer)
		}
		if s.CA != "" {
			fmt.Fprintf(&config, ", scheme: https, tls_config: {ca_file: %q}", s.CA)
		}
		config.WriteString("}\n")
	}
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(config.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	address := FreeAddress(t)
	s := &Server{URL: "http://" + address, t: t}
	server := exec.Command(binary, "--config.file", file, "--storage.tsdb.path", filepath.Join(dir, "data"),
		"--web.listen-address", address, "--web.enable-remote-write-receiver", "--log.level", "warn")
	server.Stdout, server.Stderr = &s.log, &s.log
	server.SysProcAttr = withParent()
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
		if t.Failed() {
			t.Logf("prometheus said:\n%s", s.log.text())
		}
	})
	s.Until(time.Minute, "the server is ready", func() bool {
		response, err := http.Get(s.URL + "/-/ready")
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
	return s
}

// FreeAddress is one on loopback that nothing listened on a moment ago.
func FreeAddress(t testing.TB) string {
	t.Helper()
	address, err := freeport.Address()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// WriteURL accepts remote-write.
func (s *Server) WriteURL() string { return s.URL + "/api/v1/write" }

// Result is a series and its value.
type Result struct {
	Labels map[string]string
	Value  float64
}

// Query asks for an instant vector as it is now.
func (s *Server) Query(expression string) []Result {
	s.t.Helper()
	var vector struct {
		Result []struct {
			Metric map[string]string
			Value  [2]any
		}
	}
	s.ask("/api/v1/query", url.Values{"query": {expression}}, &vector)
	results := make([]Result, len(vector.Result))
	for i, v := range vector.Result {
		text, _ := v.Value[1].(string)
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			s.t.Fatal(err)
		}
		results[i] = Result{v.Metric, value}
	}
	return results
}

// Value is the one value of a query, 0 when there is none.
func (s *Server) Value(expression string) float64 {
	s.t.Helper()
	results := s.Query(expression)
	if len(results) > 1 {
		s.t.Fatalf("%s has %d values", expression, len(results))
	}
	if len(results) == 0 {
		return 0
	}
	return results[0].Value
}

// Metadata is what the server knows of a metric: its type and help.
func (s *Server) Metadata(metric string) (kind, help string) {
	s.t.Helper()
	var known map[string][]struct{ Type, Help string }
	s.ask("/api/v1/metadata", url.Values{"metric": {metric}}, &known)
	for _, m := range known[metric] {
		return m.Type, m.Help
	}
	return "", ""
}

func (s *Server) ask(path string, query url.Values, into any) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+path+"?"+query.Encode(), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %d %s %v", path, response.StatusCode, body, err)
	}
	if err := json.Unmarshal(body, &struct{ Data any }{into}); err != nil {
		s.t.Fatalf("%s: %v", body, err)
	}
}

// Until waits for what must come to be.
func (s *Server) Until(patience time.Duration, what string, holds func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("never came to be: %s", what)
		}
	}
}

// output keeps what the server says.
type output struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all.Len() < 1<<20 {
		o.all.Write(p)
	}
	return len(p), nil
}

func (o *output) text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all.String()
}
