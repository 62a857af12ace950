package prometheus

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const (
	metricsPath   = "/metrics"
	scrapeTimeout = 30 * time.Second
	maxScrapes    = 4 // at once
)

// endpoint is what a server scrapes.
type endpoint struct {
	server   *http.Server
	listener net.Listener
	ended    chan struct{}
}

func openEndpoint(s *Sink) (*endpoint, error) {
	registry := prometheus.NewRegistry()
	if err := registry.Register(newCollector(s)); err != nil {
		return nil, wrong(settingPrefix, "the counters cannot be named so")
	}
	var speaks *tls.Config // nil: plain HTTP
	if s.options.CertFile != "" {
		shown, err := openCertificate(&s.options)
		if err != nil {
			return nil, err
		}
		speaks = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: shown.get}
	}
	listener, err := net.Listen("tcp", s.options.Listen)
	if err != nil {
		var why *net.OpError
		if errors.As(err, &why) {
			err = why.Err
		}
		return nil, wrong(settingListen, "cannot be listened on: %v", err)
	}
	handler := promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes, EnableOpenMetrics: true,
		ErrorLog: scrapeLog{s.options.Log}})
	mux := http.NewServeMux()
	mux.Handle("GET "+metricsPath, s.options.ScrapeAuth.guard(s.noteScrape(handler)))
	e := &endpoint{listener: listener, ended: make(chan struct{}), server: &http.Server{
		Handler: mux, TLSConfig: speaks, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: scrapeTimeout,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(s.options.Log.Handler(), slog.LevelDebug),
	}}
	go func() {
		defer close(e.ended)
		serve := e.server.Serve
		if speaks != nil {
			serve = func(l net.Listener) error { return e.server.ServeTLS(l, "", "") }
		}
		if err := serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.options.Log.Error("scrapes are no longer answered", "error", err)
		}
	}()
	return e, nil
}

// close ends the scrapes that are under way with ctx.
func (e *endpoint) close(ctx context.Context) {
	if e.server.Shutdown(ctx) != nil {
		_ = e.server.Close()
	}
	<-e.ended
}

// noteScrape remembers which windows a scrape that was answered has told.
func (s *Sink) noteScrape(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		before := s.table.Taken()
		a := &answer{ResponseWriter: w}
		next.ServeHTTP(a, r)
		if a.failed || r.Method != http.MethodGet || r.Context().Err() != nil {
			return
		}
		for told := s.scraped.Load(); told < before && !s.scraped.CompareAndSwap(told, before); told = s.scraped.Load() {
		}
	})
}

// answer notes whether all of it could be said.
type answer struct {
	http.ResponseWriter
	failed bool
}

func (a *answer) WriteHeader(code int) {
	a.failed = a.failed || code != http.StatusOK
	a.ResponseWriter.WriteHeader(code)
}

func (a *answer) Write(b []byte) (int, error) {
	n, err := a.ResponseWriter.Write(b)
	a.failed = a.failed || err != nil
	return n, err
}

// guard asks for credentials. What is compared is of equal length whatever was sent.
func (a Auth) guard(next http.Handler) http.Handler {
	if a.none() {
		return next
	}
	digest := func(s string) []byte { d := sha256.Sum256([]byte(s)); return d[:] }
	challenge, want := "Bearer", digest("Bearer "+a.Bearer)
	if a.Bearer == "" {
		request := http.Request{Header: http.Header{}}
		request.SetBasicAuth(a.Username, a.Password)
		challenge, want = `Basic realm="metrics"`, digest(request.Header.Get("Authorization"))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare(digest(r.Header.Get("Authorization")), want) != 1 {
			w.Header().Set("WWW-Authenticate", challenge)
			http.Error(w, "unauthorized", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// scrapeLog takes promhttp's errors.
type scrapeLog struct{ log *slog.Logger }

func (l scrapeLog) Println(v ...any) { l.log.Warn("a scrape failed", "error", v) }
