package listen

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
)

// identity is a self-signed certificate with its key, as PEM.
type identity struct {
	cert, key []byte
	leaf      *x509.Certificate
}

func newIdentity(t *testing.T, name string) identity {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return identity{leaf: leaf,
		cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})}
}

func writeFile(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// tlsListener runs a server over files that hold id, on a clock the test moves.
type tlsListener struct {
	files    TLSFiles
	reloader *tlsReloader
	clock    atomic.Int64
	addr     string
}

func listenTLS(t *testing.T, id identity, clientCA []byte) *tlsListener {
	t.Helper()
	dir := t.TempDir()
	l := &tlsListener{files: TLSFiles{Cert: filepath.Join(dir, "cert"), Key: filepath.Join(dir, "key")}}
	writeFile(t, l.files.Cert, id.cert)
	writeFile(t, l.files.Key, id.key)
	if clientCA != nil {
		l.files.ClientCA = filepath.Join(dir, "ca")
		writeFile(t, l.files.ClientCA, clientCA)
	}
	reloader, err := newTLSReloader(ServerOptions{TLS: func() TLSFiles { return l.files }}, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	l.reloader = reloader
	l.clock.Store(reloader.looked.UnixNano())
	reloader.now = func() time.Time { return time.Unix(0, l.clock.Load()) }
	server, err := NewServer(ServerOptions{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})})
	if err != nil {
		t.Fatal(err)
	}
	server.TLSConfig = reloader.config()
	l.addr = serveHere(t, server)
	return l
}

func serveHere(t *testing.T, server *http.Server) (addr string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- Serve(server, listener) }()
	t.Cleanup(func() {
		if err := errors.Join(server.Close(), <-done); err != nil {
			t.Errorf("server: %v", err)
		}
	})
	return listener.Addr().String()
}

// presented handshakes and returns the name in the server's certificate.
func (l *tlsListener) presented(t *testing.T, config *tls.Config) (string, error) {
	t.Helper()
	config.InsecureSkipVerify = true
	conn, err := tls.Dial("tcp", l.addr, config)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].Subject.CommonName, nil
}

func (l *tlsListener) mustPresent(t *testing.T, want string) {
	t.Helper()
	if got, err := l.presented(t, &tls.Config{}); err != nil || got != want {
		t.Errorf("certificate %q, error %v; want %q", got, err, want)
	}
}

func (l *tlsListener) advance(d time.Duration) { l.clock.Add(int64(d)) }

func TestTLSFilesAreReadAgainWhenTheyChange(t *testing.T) {
	first, second := newIdentity(t, "first"), newIdentity(t, "second")
	l := listenTLS(t, first, nil)
	l.mustPresent(t, "first")

	standing, err := tls.Dial("tcp", l.addr, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer standing.Close()

	writeFile(t, l.files.Cert, second.cert)
	writeFile(t, l.files.Key, second.key)
	l.mustPresent(t, "first") // not looked at twice within a second
	l.advance(time.Second)
	l.mustPresent(t, "second")

	if _, err := standing.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
		t.Errorf("a connection that stood was touched: %v", err)
	}
	if n, err := standing.Read(make([]byte, 1)); n != 1 {
		t.Errorf("a connection that stood answers no more: %v", err)
	}
}

func TestABrokenPairKeepsTheOldOneUntilItIsMended(t *testing.T) {
	first, second := newIdentity(t, "first"), newIdentity(t, "second")
	l := listenTLS(t, first, nil)

	writeFile(t, l.files.Cert, second.cert) // and not yet the key
	l.advance(time.Second)
	l.mustPresent(t, "first")
	writeFile(t, l.files.Key, []byte("nonsense"))
	l.advance(time.Second)
	l.mustPresent(t, "first")
	if err := os.Remove(l.files.Key); err != nil {
		t.Fatal(err)
	}
	l.advance(time.Second)
	l.mustPresent(t, "first")
	writeFile(t, l.files.Key, second.key)
	l.advance(time.Second)
	l.mustPresent(t, "second")
}

func TestTLSBelow12IsRefused(t *testing.T) {
	l := listenTLS(t, newIdentity(t, "server"), nil)
	if _, err := l.presented(t, &tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}); err == nil {
		t.Error("a TLS 1.1 client got through")
	}
	if _, err := l.presented(t, &tls.Config{MaxVersion: tls.VersionTLS12}); err != nil {
		t.Errorf("a TLS 1.2 client was refused: %v", err)
	}
}

// Every suite of TLS 1.2 that is admitted keeps sessions secret when the key is lost
// later, and authenticates what it encrypts.
func TestWeakCipherSuitesAreRefused(t *testing.T) {
	l := listenTLS(t, newIdentity(t, "server"), nil)
	for _, suite := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		if slices.Contains(suite.SupportedVersions, tls.VersionTLS13) || strings.Contains(suite.Name, "RSA") {
			continue // of TLS 1.3 none is weak; the server's key is an ECDSA one
		}
		_, err := l.presented(t, &tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{suite.ID}})
		if good := strings.Contains(suite.Name, "GCM") || strings.Contains(suite.Name, "CHACHA20"); good != (err == nil) {
			t.Errorf("%s: %v", suite.Name, err)
		}
	}
}

func TestClientCADemandsACertificateItVouchesFor(t *testing.T) {
	vouched, stranger := newIdentity(t, "vouched"), newIdentity(t, "stranger")
	l := listenTLS(t, newIdentity(t, "server"), vouched.cert)
	get := func(id *identity) error {
		config := &tls.Config{InsecureSkipVerify: true}
		if id != nil {
			pair, err := tls.X509KeyPair(id.cert, id.key)
			if err != nil {
				t.Fatal(err)
			}
			// Sent whatever authorities the server names.
			config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
		}
		transport := &http.Transport{TLSClientConfig: config}
		defer transport.CloseIdleConnections()
		resp, err := (&http.Client{Transport: transport}).Get("https://" + l.addr)
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	if get(nil) == nil {
		t.Error("a client without a certificate got through")
	}
	if get(&stranger) == nil {
		t.Error("a stranger's certificate got through")
	}
	if err := get(&vouched); err != nil {
		t.Errorf("the vouched-for client was refused: %v", err)
	}

	writeFile(t, l.files.ClientCA, stranger.cert)
	l.advance(time.Second)
	if get(&vouched) == nil {
		t.Error("the changed client_ca was not read")
	}
	if err := get(&stranger); err != nil {
		t.Errorf("the changed client_ca was not read: %v", err)
	}
}

func TestAServerWithUnusableTLSFilesIsNotBuilt(t *testing.T) {
	id := newIdentity(t, "server")
	dir := t.TempDir()
	files := TLSFiles{Cert: filepath.Join(dir, "cert"), Key: filepath.Join(dir, "key"), ClientCA: filepath.Join(dir, "ca")}
	writeFile(t, files.Cert, id.cert)
	build := func(files TLSFiles) error {
		_, err := NewServer(ServerOptions{Handler: http.NotFoundHandler(), TLS: func() TLSFiles { return files }})
		return err
	}
	if build(files) == nil {
		t.Error("the key is missing and the server was built")
	}
	writeFile(t, files.Key, newIdentity(t, "other").key)
	writeFile(t, files.ClientCA, id.cert)
	if build(files) == nil {
		t.Error("the key belongs to another certificate and the server was built")
	}
	writeFile(t, files.Key, id.key)
	if err := build(files); err != nil {
		t.Errorf("usable files were refused: %v", err)
	}
	writeFile(t, files.ClientCA, []byte("no certificate"))
	if build(files) == nil {
		t.Error("client_ca holds no certificate and the server was built")
	}
}

// TestAKeyThatOthersMayReadIsNotTakenOver: the one in use is kept.
func TestAKeyThatOthersMayReadIsNotTakenOver(t *testing.T) {
	first := newIdentity(t, "first")
	l := listenTLS(t, first, nil)
	before := l.reloader.refresh()
	next := newIdentity(t, "next")
	writeFile(t, l.files.Cert, next.cert)
	writeFile(t, l.files.Key, next.key)
	if err := os.Chmod(l.files.Key, 0o644); err != nil {
		t.Fatal(err)
	}
	later := func() *tls.Config {
		l.clock.Add(int64(2 * reloadInterval))
		return l.reloader.refresh()
	}
	if later() != before {
		t.Error("a key that every user may read was taken over")
	}
	if _, err := NewServer(ServerOptions{Handler: http.NotFoundHandler(), TLS: func() TLSFiles { return l.files }}); err == nil || !strings.Contains(err.Error(), "chmod go-rwx ") {
		t.Errorf("a server was built: %v", err)
	}
	l.files.Exposed = true
	writeFile(t, l.files.Cert, append(next.cert, '\n')) // changed again
	if later() == before {
		t.Error("allowed, it was not taken over")
	}
}
