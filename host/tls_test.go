package host_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/authzhost/authz/host"
	"github.com/authzhost/authz/sdk/authz"
)

// certificate writes a self-signed certificate and its key.
func certificate(t *testing.T, dir, name string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	public, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, name+".cert"), filepath.Join(dir, name+".key")
	write(t, cert, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: public})))
	write(t, key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})))
	return cert, key
}

func TestReloadTakesOverOtherTLSFiles(t *testing.T) {
	cfg := configure(t, "")
	dir := filepath.Dir(cfg.RunDir)
	cfg.TLS.Cert, cfg.TLS.Key = certificate(t, dir, "first")
	h, _ := open(t, cfg)
	// get tells whose certificate was presented, and that the request was served.
	get := func() (name string, err error) {
		trust := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
		answer, err := (&http.Client{Transport: trust}).Get("https://" + h.Address() + "/healthz")
		if err != nil {
			return "", err
		}
		return answer.TLS.PeerCertificates[0].DNSNames[0], answer.Body.Close()
	}
	if name, err := get(); err != nil || name != "first" {
		t.Fatalf("presented %q, %v", name, err)
	}

	next := *cfg
	next.TLS.Cert, next.TLS.Key = certificate(t, dir, "second")
	if restart := h.Reload(&next); len(restart) > 0 {
		t.Errorf("needs a restart: %v", restart)
	}
	eventually(t, "the other certificate is presented", func() bool {
		name, err := get()
		return err == nil && name == "second"
	})

	next.TLS.ClientCA = next.TLS.Cert
	if restart := h.Reload(&next); len(restart) > 0 {
		t.Errorf("needs a restart: %v", restart)
	}
	eventually(t, "a client without a certificate is refused", func() bool {
		_, err := get()
		return err != nil
	})
}

// TestOperationsBeyondLoopbackDoTLS with the files of listen; on loopback they do not.
func TestOperationsBeyondLoopbackDoTLS(t *testing.T) {
	for address, beyond := range map[string]bool{"0.0.0.0:0": true, "127.0.0.1:0": false} {
		cfg := configure(t, "")
		cfg.TLS.Cert, cfg.TLS.Key = certificate(t, filepath.Dir(cfg.RunDir), "ops")
		cfg.OpsListen = address
		h, _ := open(t, cfg)
		_, port, err := net.SplitHostPort(h.OpsAddress())
		if err != nil {
			t.Fatal(err)
		}
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
		for scheme, want := range map[string]bool{"https": beyond, "http": !beyond} {
			served := false
			if answer, err := client.Get(scheme + "://127.0.0.1:" + port + "/metrics"); err == nil {
				served = answer.StatusCode == http.StatusOK
				answer.Body.Close()
			}
			if served != want {
				t.Errorf("%s by %s: served %v", address, scheme, served)
			}
		}
	}
}

// TestProfilesAreNeverServedBeyondLoopback, whatever a program hands to Open.
func TestProfilesAreNeverServedBeyondLoopback(t *testing.T) {
	cfg := configure(t, "")
	cfg.OpsListen, cfg.Ops.Profiles = "0.0.0.0:0", true
	h, err := host.Open(t.Context(), cfg, host.Options{})
	if err == nil {
		closeHost(t, h)
		t.Fatal("it was opened")
	}
	if !strings.Contains(err.Error(), "profiles") {
		t.Error(err)
	}
}

// What goes wrong without a sound stands in the metrics.
func TestMetricsTellWhenTheCertificateEndsAndThatAReloadWasRefused(t *testing.T) {
	cfg := configure(t, "")
	dir := filepath.Dir(cfg.RunDir)
	cfg.TLS.Cert, cfg.TLS.Key = certificate(t, dir, "first")
	h, log := open(t, cfg)
	pair, err := tls.LoadX509KeyPair(cfg.TLS.Cert, cfg.TLS.Key)
	if err != nil {
		t.Fatal(err)
	}
	told := func(refused string) {
		t.Helper()
		answer, err := http.Get("http://" + h.OpsAddress() + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		text := string(body)
		for _, want := range []string{"authz_reload_refused " + refused, "authz_tls_certificate_expiry_timestamp_seconds " + strconv.FormatFloat(float64(pair.Leaf.NotAfter.Unix()), 'g', -1, 64)} {
			if !strings.Contains(text, "\n"+want+"\n") {
				t.Errorf("the metrics lack %s", want)
			}
		}
	}
	told("0")
	if !strings.Contains(log.String(), "the certificate expires at") {
		t.Error("the log warns of no certificate that ends in an hour")
	}
	h.ReloadRefused(errors.New("no such file"))
	told("1")
	h.Reload(cfg)
	told("0")
	catalog := filepath.Join(dir, "docs.yaml")
	write(t, catalog, "namespaces: [")
	h.ReloadCatalogs(t.Context(), authz.AdminProvenance("root"))
	told("1")
	write(t, catalog, testCatalog)
	h.ReloadCatalogs(t.Context(), authz.AdminProvenance("root"), "docs")
	told("1") // of others it is not known
	h.ReloadCatalogs(t.Context(), authz.AdminProvenance("root"))
	told("0")
}
