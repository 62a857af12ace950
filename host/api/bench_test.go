package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/authzhost/authz/host/api"
)

// bare decodes the question that the host decodes and answers it.
var bare = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Principal struct{ UserID string }
		Key       string
		Scope     string
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"allowed":true}`)
})

type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }
func (d *discard) WriteHeader(int)             {}

// BenchmarkCheck is the handler alone, without a connection: what a warm check
// costs above net/http, beside a handler that only decodes and answers.
func BenchmarkCheck(b *testing.B) {
	w := benchWorld(b)
	many := make([]string, 1000)
	for i := range many {
		many[i] = `{"principal":{"userId":"u"},"key":"docs.files.read","scope":"docs.doc:d"}`
	}
	batch := `{"checks":[` + strings.Join(many, ",") + `]}`
	general := strings.NewReplacer("docs.doc:d", `docs.doc:\u0064`) // which the plain reader leaves to the general one
	observed := api.NewObserved(w, api.ObserveOptions{Done: func(*api.Answered) {}})
	for _, c := range []struct {
		name, body string
		handler    http.Handler
		checks     int
	}{
		{"bare", many[0], bare, 1},
		{"host", many[0], observed, 1},
		{"host, general reader", general.Replace(many[0]), observed, 1},
		{"batch", batch, observed, 1000},
		{"batch, general reader", general.Replace(batch), observed, 1000},
	} {
		b.Run(c.name, func(b *testing.B) {
			body := []byte(c.body)
			r := httptest.NewRequest("POST", "/v1/check", nil)
			r.Header.Set("Authorization", "Bearer "+secret)
			reader := bytes.NewReader(body)
			out := &discard{header: http.Header{}}
			b.ReportAllocs()
			for b.Loop() {
				reader.Reset(body)
				r.Body = io.NopCloser(reader)
				clear(out.header)
				c.handler.ServeHTTP(out, r)
			}
			if c.checks > 1 {
				b.ReportMetric(float64(b.N*c.checks)/b.Elapsed().Seconds(), "checks/s")
			}
		})
	}
}

func benchWorld(b *testing.B) http.Handler {
	w := newWorld(b, worldOptions{scopeParents: map[string][]string{"docs.doc:d": {"docs.folder:f"}}})
	w.mustOK("createGrant", fmt.Sprintf(`{"input":{"subject":"user:u","pattern":"docs.files.read","scope":"docs.folder:f",%s}}`, admin))
	return w.handler
}
