// Package scimtest gives tests a SCIM service over TLS: the module testserver, built
// and run as a child that ends with the test process. The protocol there is
// elimity-com/scim's; Faults make it behave as services do on bad days.
//
// The package is for tests and holds nothing that the product uses.
package scimtest

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/authzhost/authz/internal/freeport"
	"github.com/authzhost/authz/internal/testprocess"
)

// What the service lets in, and what it issues for client credentials.
const (
	Token        = "test-token-0123456789"
	Username     = "reader"
	Password     = "test-password-0123456789"
	ClientID     = "authz"
	ClientSecret = "test-client-secret-0123456789"
	IssuedToken  = "issued-token-0123456789"
)

// Enterprise is the name of the extension among a user's attributes.
const Enterprise = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"

// World is the directory that is served.
type World struct {
	Users  []Entity `json:"users"`
	Groups []Entity `json:"groups"`
}

// Entity is a resource; its attributes are those of SCIM, without id, externalId,
// schemas and meta.
type Entity struct {
	ID         string         `json:"id"`
	ExternalID string         `json:"externalId,omitempty"`
	Attributes map[string]any `json:"attributes"`
}

// Faults are named as the members of testserver's faults.
type Faults map[string]any

// Stats is what the service was asked since the last faults were set.
type Stats struct {
	Requests       int            `json:"requests"`
	Lists          int            `json:"lists"`
	NotModified    int            `json:"notModified"`
	Throttled      int            `json:"throttled"`
	Tokens         int            `json:"tokens"`
	Authorizations map[string]int `json:"authorizations"`
	Filters        []string       `json:"filters"`
	Methods        []string       `json:"methods"`
}

// Server is a running service.
type Server struct {
	BaseURL  string
	TokenURL string
	CAFile   string

	process *testprocess.Process
	client  *http.Client
	origin  string
}

// Start serves the world until the test ends; it skips the test where the server
// cannot be built.
func Start(t testing.TB, w World) *Server {
	t.Helper()
	binary, err := testprocess.Build("plugins/scim/testserver")
	if err != nil {
		t.Skipf("the SCIM test service cannot be built: %v", err)
	}
	dir := t.TempDir()
	content, err := json.Marshal(w)
	s := &Server{CAFile: filepath.Join(dir, "ca.pem")}
	file := filepath.Join(dir, "world.json")
	if err = errors.Join(err, os.WriteFile(file, content, 0o600)); err != nil {
		t.Fatal(err)
	}
	// A port of the system's choice would be another server's soon after Stop.
	address, err := freeport.Address()
	if err != nil {
		t.Fatal(err)
	}
	if s.process, err = testprocess.Start(binary, "-world", file, "-ca", s.CAFile, "-listen", address); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.process.Stop() })
	s.BaseURL = s.process.Line
	base, err := url.Parse(s.BaseURL)
	if err != nil {
		t.Fatal(err)
	}
	s.origin = "https://" + base.Host
	s.TokenURL = s.origin + "/token"
	pem, err := os.ReadFile(s.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	s.client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	return s
}

// Set changes what the service does, and forgets what it was asked.
func (s *Server) Set(t testing.TB, f Faults) {
	t.Helper()
	body, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	response, err := s.client.Post(s.origin+"/-/faults", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Fatalf("the faults were not taken: %s", response.Status)
	}
}

// Stats returns what the service was asked.
func (s *Server) Stats(t testing.TB) (told Stats) {
	t.Helper()
	response, err := s.client.Get(s.origin + "/-/stats")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&told); err != nil {
		t.Fatal(err)
	}
	return told
}

// Stop ends the service before its test does.
func (s *Server) Stop() { _ = s.process.Stop() }
