package prometheus_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/internal/testcert"
	"github.com/authzhost/authz/internal/testlog"
	"github.com/authzhost/authz/plugins/internal/sinktest"
	"github.com/authzhost/authz/plugins/prometheus/prometheus"
	"github.com/authzhost/authz/plugins/prometheus/promtest"
)

// A real server scrapes over TLS and comes to the sums that were written.
func TestAServerScrapesOverTLS(t *testing.T) {
	ca, certificate, key := testcert.Make(t)
	address := promtest.FreeAddress(t)
	server := promtest.Start(t, promtest.Scrape{Job: "scraped", Target: address, Bearer: "t0ken", CA: ca})
	sink := mustOpen(t, prometheus.Options{Listen: address, CertFile: certificate, KeyFile: key, ScrapeAuth: prometheus.Auth{Bearer: "t0ken"}})
	x := newRandom(t)
	sinktest.Write(t, sink, x.window("host-1"))
	server.Until(2*time.Minute, "the scrape has the window", func() bool { return cmp.Equal(x.sums, counted(server, `job="scraped"`)) })
}

// get scrapes on a connection of its own.
func get(url, ca string, newest uint16) (string, error) {
	pem, err := os.ReadFile(ca)
	if err != nil {
		return "", err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS10, MaxVersion: newest}}
	response, err := (&http.Client{Transport: transport, Timeout: 30 * time.Second}).Get(url)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

func TestTheEndpointSpeaksTLSOnly(t *testing.T) {
	ca, certificate, key := testcert.Make(t)
	foreign, _, _ := testcert.Make(t)
	s := mustOpen(t, prometheus.Options{Listen: "127.0.0.1:0", CertFile: certificate, KeyFile: key, Log: slog.New(slog.DiscardHandler)})
	sinktest.Write(t, s, window("o", 1, 1, "a"))
	over := "https://" + s.Addr() + "/metrics"
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		if text, err := get(over, ca, version); err != nil || !strings.Contains(text, checksOfA+"1\n") {
			t.Errorf("%s: %v %s", tls.VersionName(version), err, text)
		}
	}
	if text, err := get(over, ca, tls.VersionTLS11); err == nil || !strings.Contains(err.Error(), "protocol version") {
		t.Errorf("TLS 1.1 is answered: %v %s", err, text)
	}
	if text, err := get(over, foreign, tls.VersionTLS13); err == nil {
		t.Errorf("whoever trusts another authority has read %s", text)
	}
	if code, text := scrape(t, s, ""); code != http.StatusBadRequest || strings.Contains(text, "authz_") {
		t.Errorf("without TLS: %d %s", code, text)
	}
}

func TestANewCertificateIsTakenOverOnceItIsWhole(t *testing.T) {
	ca, certificate, key := testcert.Make(t)
	nextCA, nextCertificate, nextKey := testcert.Make(t)
	log := &testlog.Log{}
	s := mustOpen(t, prometheus.Options{Listen: "127.0.0.1:0", CertFile: certificate, KeyFile: key, Log: slog.New(slog.NewTextHandler(log, nil))})
	over := "https://" + s.Addr() + "/metrics"
	if err := os.Rename(nextCertificate, certificate); err != nil { // the key is not there yet
		t.Fatal(err)
	}
	for range 3 {
		if _, err := get(over, ca, tls.VersionTLS13); err != nil {
			t.Errorf("with half of a new pair: %v", err)
		}
	}
	if said := log.String(); strings.Count(said, "cannot be used") != 1 || strings.Contains(said, ".pem") {
		t.Errorf("the log says\n%s", said)
	}
	if err := os.Rename(nextKey, key); err != nil {
		t.Fatal(err)
	}
	if _, err := get(over, nextCA, tls.VersionTLS13); err != nil {
		t.Errorf("with the new pair: %v", err)
	}
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	if _, err := get(over, nextCA, tls.VersionTLS13); err != nil {
		t.Errorf("without its files: %v", err)
	}
}
