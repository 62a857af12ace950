package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// addCAFile adds --ca-file to a command that may talk TLS.
func (t *target) addCAFile(c *cobra.Command) {
	if c.Flags().Lookup("ca-file") != nil {
		return
	}
	c.Flags().Var(named{&t.caFile}, "ca-file", "a PEM file of authorities, one of which must have issued the host's certificate (default: the system's, or as at 'authz login')")
	_ = c.MarkFlagFilename("ca-file")
}

// transport carries requests to a host whose certificate is of one of the authorities;
// with "" those of the system.
func transport(base, caFile string) (http.RoundTripper, error) {
	if caFile == "" {
		return http.DefaultTransport, nil
	}
	if !strings.HasPrefix(base, "https://") {
		return nil, usageError{fmt.Errorf("--ca-file is for https, and %s is not https", base)}
	}
	text, err := os.ReadFile(caFile)
	if err != nil {
		return nil, usageError{fmt.Errorf("--ca-file: %w", err)}
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, usageError{fmt.Errorf("--ca-file %s holds no certificate in PEM", caFile)}
	}
	own := http.DefaultTransport.(*http.Transport).Clone()
	own.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	return own, nil
}

// kept is the path of a file as a login keeps it: commands run elsewhere.
func kept(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	return filepath.Abs(path)
}

// untrusted reports that the host's certificate is of no authority that was asked for.
func untrusted(err error) bool {
	var certificate *tls.CertificateVerificationError
	return errors.As(err, &certificate)
}
