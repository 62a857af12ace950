// Package idptest gives tests a real OpenID provider: ory/fosite, built from the
// module idp and run as a child that ends with the test process. It can be told to
// be wrong, so that tests see what becomes of its tokens. The package is for tests
// and holds nothing that the product uses.
package idptest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/authzhost/authz/internal/testprocess"
)

// ClientID is what the provider calls its one client, on any port of loopback.
const ClientID = "authz"

// Provider is a running provider.
type Provider struct {
	Issuer string

	process *testprocess.Process
}

// Behaviour is how the provider behaves from now on; the zero value is an honest
// one that signs everybody in as u_42.
type Behaviour struct {
	Subject     string         `json:"subject,omitempty"`
	Claims      map[string]any `json:"claims,omitempty"`    // laid over the ID token's; nil takes one out
	Discovery   map[string]any `json:"discovery,omitempty"` // laid over the document
	CodeExpired bool           `json:"codeExpired,omitempty"`
	Algorithm   string         `json:"algorithm,omitempty"` // RS256 unless set
	Rotate      bool           `json:"rotate,omitempty"`    // new keys, once; the old ones are no longer published
	Impostor    bool           `json:"impostor,omitempty"`  // sign by other keys than the published ones, under their ids
	Token       string         `json:"token,omitempty"`     // "redirect", "huge", "html": what its token endpoint does instead
}

// Start runs a provider whose client has the secret; "" is a public client. The
// path is that of the redirect URI.
func Start(path, secret string) (*Provider, error) {
	binary, err := testprocess.Build("host/service/oidc/idptest/idp")
	if err != nil {
		return nil, fmt.Errorf("the OpenID provider for tests cannot be built: %w", err)
	}
	process, err := testprocess.Start(binary, "-client", ClientID, "-secret", secret, "-redirect", "http://127.0.0.1"+path)
	if err != nil {
		return nil, err
	}
	return &Provider{Issuer: process.Line, process: process}, nil
}

// Stop ends the provider.
func (p *Provider) Stop() error {
	return p.process.Stop()
}

// Behave changes how the provider behaves.
func (p *Provider) Behave(b Behaviour) error {
	body, err := json.Marshal(b)
	if err != nil {
		return err
	}
	answer, err := http.Post(p.Issuer+"/control", "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusNoContent {
		return fmt.Errorf("the provider answered %s", answer.Status)
	}
	return nil
}

// Counts tells how often each path of the provider was asked for.
func (p *Provider) Counts() (map[string]int, error) {
	answer, err := http.Get(p.Issuer + "/control")
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	counts := map[string]int{}
	return counts, json.NewDecoder(answer.Body).Decode(&counts)
}

// Consent goes where a browser is sent and answers the parameters with which the
// provider sends it back.
func (p *Provider) Consent(authorizationURL string) (url.Values, error) {
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Get(authorizationURL)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	back, err := answer.Location()
	if err != nil {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<10))
		return nil, fmt.Errorf("the provider answered %s: %s", answer.Status, text)
	}
	return back.Query(), nil
}
