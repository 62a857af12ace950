package listen

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/host/files"
)

// TLSFiles names the PEM files of a TLS listener. They are read again when they,
// or their names, change; connections that stand are not touched.
type TLSFiles struct {
	Cert string
	Key  string

	// ClientCA, when set, demands of clients a certificate that it vouches for.
	ClientCA string

	// Exposed uses them also when other users may write them, or read the key.
	Exposed bool
}

func (f TLSFiles) paths() []string {
	paths := []string{f.Cert, f.Key}
	if f.ClientCA != "" {
		paths = append(paths, f.ClientCA)
	}
	return paths
}

// suites are those of TLS 1.2: forward secrecy and authenticated encryption alone.
// Those of TLS 1.3, which are all of that kind, are Go's choice.
var suites = []uint16{
	tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
}

// load reads the files into a configuration for handshakes.
func (f TLSFiles) load() (*tls.Config, error) {
	if err := f.judge(); err != nil {
		return nil, err
	}
	pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return nil, fmt.Errorf("tls certificate %s: %w", f.Cert, err)
	}
	config := &tls.Config{
		MinVersion:   tls.VersionTLS12,
		CipherSuites: suites,
		NextProtos:   []string{"h2", "http/1.1"},
		Certificates: []tls.Certificate{pair},
	}
	if f.ClientCA != "" {
		pem, err := os.ReadFile(f.ClientCA)
		if err != nil {
			return nil, fmt.Errorf("tls client_ca: %w", err)
		}
		config.ClientCAs = x509.NewCertPool()
		if !config.ClientCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("tls client_ca %s holds no certificate", f.ClientCA)
		}
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return config, nil
}

// judge refuses files that other users may write, and a key that they may read.
func (f TLSFiles) judge() error {
	if f.Exposed {
		return nil
	}
	for _, path := range f.paths() {
		use := files.Trusted
		if path == f.Key {
			use = files.Secret
		}
		if err := files.Judge(path, use); err != nil {
			return fmt.Errorf("tls: %w", err)
		}
	}
	return nil
}

// reloadInterval is how often the files are looked at, at most.
const reloadInterval = time.Second

// tlsReloader serves handshakes with what the files last held that was usable.
type tlsReloader struct {
	files func() TLSFiles
	tell  func(*x509.Certificate) // nil: nobody asks
	log   hclog.Logger
	now   func() time.Time

	mu      sync.Mutex
	current *tls.Config
	seen    []fs.FileInfo // of the files when they were last read
	looked  time.Time
}

func newTLSReloader(o ServerOptions, log hclog.Logger) (*tlsReloader, error) {
	r := &tlsReloader{files: o.TLS, tell: o.Certificate, log: log, now: time.Now}
	named := o.TLS()
	seen, err := stat(named.paths())
	if err != nil {
		return nil, err
	}
	if r.current, err = named.load(); err != nil {
		return nil, err
	}
	r.seen, r.looked = seen, r.now()
	r.shows(named.Cert)
	return r, nil
}

// shows tells which certificate is shown from now on.
func (r *tlsReloader) shows(file string) {
	leaf := r.current.Certificates[0].Leaf
	if text := Expiring(leaf, r.now()); text != "" {
		r.log.Warn(text, "cert", file)
	}
	if r.tell != nil {
		r.tell(leaf)
	}
}

// config is what the server is given; each handshake asks for the current one.
func (r *tlsReloader) config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: r.current.NextProtos,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return r.refresh(), nil
		},
	}
}

// refresh reads changed files. A set that does not load, as in the moment between
// writing certificate and key, leaves the old one in use and is tried again once
// it changes.
func (r *tlsReloader) refresh() *tls.Config {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if now.Sub(r.looked) < reloadInterval {
		return r.current
	}
	r.looked = now
	files := r.files()
	seen, err := stat(files.paths())
	if err != nil {
		if r.seen != nil {
			r.log.Error("tls files cannot be read; the certificate in use is kept", "error", err)
		}
		r.seen = nil
		return r.current
	}
	if same(seen, r.seen) {
		return r.current
	}
	r.seen = seen
	loaded, err := files.load()
	if err != nil {
		r.log.Error("the new tls files are not usable; the certificate in use is kept", "error", err)
		return r.current
	}
	r.log.Info("tls certificate reloaded", "cert", files.Cert)
	r.current = loaded
	r.shows(files.Cert)
	return r.current
}

func stat(paths []string) ([]fs.FileInfo, error) {
	infos := make([]fs.FileInfo, len(paths))
	for i, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		infos[i] = info
	}
	return infos, nil
}

func same(a, b []fs.FileInfo) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !os.SameFile(a[i], b[i]) || !a[i].ModTime().Equal(b[i].ModTime()) || a[i].Size() != b[i].Size() {
			return false
		}
	}
	return true
}
