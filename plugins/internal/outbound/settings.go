package outbound

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"os"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// maxCA bounds a file of certificates.
const maxCA = 1 << 20

// TLS trusts the certificates of a PEM file, or the system's when there is none.
func TLS(caFile string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if caFile == "" {
		return config, nil
	}
	info, err := os.Stat(caFile)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxCA {
		return nil, errors.New("is no readable file of certificates")
	}
	pem, err := os.ReadFile(caFile)
	if err != nil {
		return nil, errors.New("cannot be read")
	}
	config.RootCAs = x509.NewCertPool()
	if !config.RootCAs.AppendCertsFromPEM(pem) {
		return nil, errors.New("holds no certificate")
	}
	return config, nil
}

// Headers reads a list of "Name: value".
func Headers(lines []string) (http.Header, error) {
	headers := http.Header{}
	for _, line := range lines {
		name, value, found := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		if !found || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return nil, errors.New(`must be a list of "Name: value"`)
		}
		switch canonical := http.CanonicalHeaderKey(name); canonical {
		case "Host", "Content-Length", "Content-Type", "Content-Encoding", "Transfer-Encoding", "Connection":
			return nil, errors.New("must not set " + canonical)
		}
		headers.Add(name, value)
	}
	return headers, nil
}

// Loopback reports whether a host is this machine, by name or address, without
// asking anybody.
func Loopback(host string) bool {
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
