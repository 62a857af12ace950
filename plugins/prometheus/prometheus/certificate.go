package prometheus

import (
	"crypto/tls"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"sync"
)

// maxPEM bounds the files of a certificate and its key.
const maxPEM = 1 << 20

// certificate is what the endpoint shows: what its files last held that was usable.
type certificate struct {
	files [2]string // of the chain and of its key
	log   *slog.Logger

	mu      sync.Mutex
	current *tls.Certificate
	seen    [2]fs.FileInfo // of the files when they were last read
}

func openCertificate(o *Options) (*certificate, error) {
	c := &certificate{files: [2]string{o.CertFile, o.KeyFile}, log: o.Log}
	for i, setting := range []string{settingCertFile, settingKeyFile} {
		var err error
		if c.seen[i], err = os.Stat(c.files[i]); err != nil || !readable(c.seen[i]) {
			return nil, wrong(setting, "is no readable file")
		}
	}
	var err error
	if c.current, err = c.load(); err != nil {
		return nil, wrong(settingCertFile, "is no certificate that %s is the key of, both in PEM: %v", settingKeyFile, err)
	}
	return c, nil
}

// get is asked at each handshake. Files that do not load, as in the moment between
// writing certificate and key, leave the one before in use until they change again.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var now [2]fs.FileInfo
	for i, file := range c.files {
		var err error
		if now[i], err = os.Stat(file); err != nil || !readable(now[i]) {
			return c.current, nil
		}
	}
	if same(now[0], c.seen[0]) && same(now[1], c.seen[1]) {
		return c.current, nil
	}
	c.seen = now
	if loaded, err := c.load(); err != nil {
		c.log.Warn("the new certificate of the endpoint cannot be used; the one before is kept", "error", err)
	} else {
		c.current = loaded
	}
	return c.current, nil
}

// load says nothing of where the files lie.
func (c *certificate) load() (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(c.files[0], c.files[1])
	if described := (*fs.PathError)(nil); errors.As(err, &described) {
		err = described.Err
	}
	return &pair, err
}

func readable(info fs.FileInfo) bool { return info.Mode().IsRegular() && info.Size() <= maxPEM }

func same(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}
