package prometheus_test

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/snappy"

	"github.com/authzhost/authz/internal/testlog"
	"github.com/authzhost/authz/plugins/internal/sinktest"
	"github.com/authzhost/authz/plugins/prometheus/prometheus"
	"github.com/authzhost/authz/plugins/prometheus/promtest"
	"github.com/authzhost/authz/sdk/authz"
)

// front stands before a server and has it fail.
type front struct {
	*httptest.Server
	status  atomic.Int32 // 0: what the server says
	before  atomic.Int32 // requests until status holds
	headers chan http.Header
}

// newFront passes requests on to a server, over TLS.
func newFront(t *testing.T, to *promtest.Server) *front {
	f := &front{headers: make(chan http.Header, 1000)}
	f.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case f.headers <- r.Header:
		default:
		}
		if status := f.status.Load(); status != 0 && f.before.Add(-1) < 0 {
			w.Header().Set("Location", "http://127.0.0.1:1/stolen")
			http.Error(w, "you sent "+r.Header.Get("Authorization")+r.Header.Get("X-Key"), int(status))
			return
		}
		request, err := http.NewRequestWithContext(r.Context(), r.Method, to.WriteURL(), r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		for _, name := range []string{"Content-Type", "Content-Encoding", "X-Prometheus-Remote-Write-Version"} {
			request.Header.Set(name, r.Header.Get(name))
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer response.Body.Close()
		w.WriteHeader(response.StatusCode)
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *front) ca(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ca.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.Certificate().Raw})
	if err := os.WriteFile(path, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Whatever the server answers, the newest totals get there in the end, once, and
// nothing secret is said.
func TestFailuresAreRepeatedWithTheNewestTotals(t *testing.T) {
	server := promtest.Start(t)
	for _, status := range []int32{500, 503, 429, 400, 404, 401, 307} {
		f := newFront(t, server)
		log := &testlog.Log{}
		application := "docs" + http.StatusText(int(status))
		sink := mustOpen(t, prometheus.Options{Listen: "127.0.0.1:0", WriteURL: f.URL + "/api/v1/write?key=s3cret", WriteCA: f.ca(t), WriteInterval: 100 * time.Millisecond,
			WriteAuth: prometheus.Auth{Bearer: "s3cret"}, WriteHeaders: []string{"X-Key: s3cret"}, Log: slog.New(slog.NewTextHandler(log, nil))})
		f.before.Store(1)
		f.status.Store(status)
		x := newRandom(t)
		write := func() {
			w := x.window("host-1")
			w.Application = application
			sinktest.Write(t, sink, w)
		}
		write()
		server.Until(2*time.Minute, "a failure is counted", func() bool {
			_, text := scrape(t, sink, "")
			return !strings.Contains(text, "authz_sink_remote_write_failures_total 0\n")
		})
		write()
		f.status.Store(0)
		write()
		server.Until(2*time.Minute, "the totals are there", func() bool { return cmp.Equal(x.sums, counted(server, `application="`+application+`"`)) })
		h := <-f.headers
		if h.Get("Authorization") != "Bearer s3cret" || h.Get("X-Key") != "s3cret" {
			t.Errorf("headers %v", h)
		}
		if err := sink.Close(t.Context()); err != nil {
			t.Errorf("%d: %v", status, err)
		}
		if said := log.String(); strings.Contains(said, "s3cret") || strings.Count(said, "could not be written") != 1 || !strings.Contains(said, "written again") {
			t.Errorf("%d: the log says\n%s", status, said)
		}
	}
}

// A server that refuses the zero at a start takes the totals all the same.
func TestAZeroThatIsTooOldIsLeftOut(t *testing.T) {
	server := promtest.Start(t)
	early := atomic.Bool{}
	early.Store(true)
	sink := mustOpen(t, prometheus.Options{WriteURL: server.WriteURL(), WriteInterval: time.Hour, Clock: func() time.Time {
		if early.Load() {
			return time.Now().Add(-100 * time.Hour) // when the series begin
		}
		return time.Now()
	}})
	filler := mustOpen(t, prometheus.Options{WriteURL: server.WriteURL(), WriteInterval: time.Hour, Prefix: "other_"})
	sinktest.Write(t, filler, window("o", 1, 1, "a"))
	if err := filler.Close(t.Context()); err != nil { // now the server's head has a beginning
		t.Fatal(err)
	}
	x := newRandom(t)
	sinktest.Write(t, sink, x.window("host-1"))
	early.Store(false)
	if err := sink.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(x.sums, counted(server, `application="docs"`)); diff != "" {
		t.Error(diff)
	}
}

// A series that begins in the millisecond in which it is written begins at zero too.
func TestASeriesBeginsAtZeroWheneverItBegins(t *testing.T) {
	server := promtest.Start(t)
	now := time.Now()
	sink := mustOpen(t, prometheus.Options{WriteURL: server.WriteURL(), WriteInterval: time.Hour, Clock: func() time.Time { return now }})
	x := newRandom(t)
	sinktest.Write(t, sink, x.window("host-1"))
	if err := sink.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(x.sums, counted(server, `application="docs"`)); diff != "" {
		t.Error(diff)
	}
	if late := server.Query(`min_over_time(authz_checks_total{application="docs"}[1h]) > 0`); len(late) != 0 {
		t.Errorf("%d series begin above zero", len(late))
	}
}

func TestAStopDoesNotWaitForADeadServer(t *testing.T) {
	hung := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then is the other end's leaving noticed
		<-r.Context().Done()
	}))
	t.Cleanup(hung.Close)
	for name, url := range map[string]string{"dead": "http://" + promtest.FreeAddress(t), "hung": hung.URL} {
		sink := mustOpen(t, prometheus.Options{WriteURL: url, WriteInterval: 100 * time.Millisecond, Log: slog.New(slog.DiscardHandler)})
		sinktest.Write(t, sink, window("o", 1, 1, "a"))
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		err := sink.Close(ctx)
		cancel()
		if down := (*authz.UnavailableError)(nil); !errors.As(err, &down) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnAuthorityThatDidNotSignIsNotTrusted(t *testing.T) {
	f := newFront(t, nil)
	log := &testlog.Log{}
	mustOpen(t, prometheus.Options{WriteURL: f.URL, WriteInterval: 100 * time.Millisecond, WriteTimeout: time.Minute, Log: slog.New(slog.NewTextHandler(log, nil))})
	for deadline := time.Now().Add(time.Minute); log.String() == ""; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no failure is told")
		}
	}
	if said := log.String(); !strings.Contains(said, "could not be written") || !strings.Contains(said, "certificate") {
		t.Errorf("the log says\n%s", said)
	}
	if len(f.headers) != 0 {
		t.Error("a request was sent")
	}
}

// A server that refuses a request takes the next one all the same.
func TestARefusedRequestKeepsNoOtherFromTheServer(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]bool{}
	permission := regexp.MustCompile(`p\d{4}`)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		packed, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		body, err := snappy.Decode(nil, packed)
		if err != nil {
			t.Error(err)
		}
		named := permission.FindAllString(string(body), -1)
		mu.Lock()
		defer mu.Unlock()
		for _, p := range named {
			seen[p] = true
		}
		if len(named) > 0 {
			http.Error(w, "no", http.StatusBadRequest)
		}
	}))
	t.Cleanup(server.Close)
	names := make([]string, 5000)
	for i := range names {
		names[i] = fmt.Sprintf("p%04d", i)
	}
	sink := mustOpen(t, prometheus.Options{WriteURL: server.URL, WriteInterval: time.Hour, Log: slog.New(slog.DiscardHandler)})
	sinktest.Write(t, sink, window("o", 1, 1, names...))
	if err := sink.Close(t.Context()); err == nil {
		t.Error("what was refused is lost, and nobody hears of it")
	}
	mu.Lock()
	defer mu.Unlock()
	if len(seen) != len(names) {
		t.Errorf("%d of %d series were sent", len(seen), len(names))
	}
}
