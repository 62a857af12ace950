package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/authzhost/authz/examples/vendor-sink/linesink"
	"github.com/authzhost/authz/sdk/metrics"
)

func TestTheFilesAreAddedUp(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "case1.jsonl")
	sink, err := linesink.Open(t.Context(), path, 1) // each window puts the file aside
	if err != nil {
		t.Fatal(err)
	}
	for n := range uint64(3) {
		w := metrics.Window{Application: "docs", Origin: "o", Sequence: n + 1, Batch: metrics.Batch{
			Checks: []metrics.CheckCounter{{Permission: `a"b`, Decision: metrics.Allow, Shape: metrics.ShapeCan, Gate: true, ScopeType: "*", Observed: 1, Estimated: 1.5}}}}
		if err := sink.Write(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	if err := sink.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"application":"torn`); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler(dir))
	defer server.Close()
	for target, want := range map[string]struct {
		code int
		text string
	}{
		"/case1":               {http.StatusOK, "# TYPE authz_checks_total counter\n" + `authz_checks_total{application="docs",permission="a\"b",decision="allow"} 3` + "\n"}, // of the last two
		"/case2":               {http.StatusOK, "# TYPE authz_checks_total counter\n"},
		"/..%2F..%2Fetc%2Fpwd": {http.StatusNotFound, "404 page not found\n"},
	} {
		response, err := http.Get(server.URL + target)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != want.code || string(body) != want.text {
			t.Errorf("%s: %d %q, %v", target, response.StatusCode, body, err)
		}
	}
}
