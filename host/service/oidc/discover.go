package oidc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/authzhost/authz/host/internal/admission"
	"github.com/authzhost/authz/internal/spell"
)

const (
	callTimeout = 10 * time.Second
	maxAnswer   = 1 << 20
	maxQuoted   = 500 // characters of it in a log

	refreshDiscovery = time.Hour
	retryDiscovery   = 5 * time.Second
)

// discovered is what the provider's own document says, checked.
type discovered struct {
	endpoint oauth2.Endpoint // its AuthStyle is that of a client with a secret
	verifier *oidc.IDTokenVerifier
	keysURL  string
	keys     oidc.KeySet

	// namesIssuer: the provider sends iss with every answer (RFC 9207), so that one
	// without it is another's.
	namesIssuer bool
}

// discover reads the discovery document, at most once an hour while it can be read
// and once in five seconds while it cannot. An older one serves while a newer
// cannot be had.
func (p *Provider) discover(ctx context.Context) (*discovered, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.o.Clock()
	if p.found != nil && now-p.foundAt < refreshDiscovery.Milliseconds() {
		return p.found, nil
	}
	if p.failed != nil && now-p.failAt < retryDiscovery.Milliseconds() {
		if p.found != nil {
			return p.found, nil
		}
		return nil, p.failed
	}
	// Not ended with the request: others wait for the same document.
	next, err := p.read(context.WithoutCancel(ctx))
	if err != nil {
		p.failed, p.failAt = err, now
		if p.found != nil {
			return p.found, nil
		}
		return nil, err
	}
	p.found, p.foundAt, p.failed = next, now, nil
	return next, nil
}

func (p *Provider) read(ctx context.Context) (*discovered, error) {
	ctx = oidc.ClientContext(ctx, p.http)
	provider, err := oidc.NewProvider(ctx, p.o.Issuer)
	if err != nil {
		return nil, fmt.Errorf("discovery: %s", spell.EchoN(err.Error(), maxQuoted)) // it quotes whole answers
	}
	var document struct {
		Keys    string   `json:"jwks_uri"`
		Methods []string `json:"token_endpoint_auth_methods_supported"`
		Issuer  bool     `json:"authorization_response_iss_parameter_supported"`
	}
	if err := provider.Claims(&document); err != nil {
		return nil, fmt.Errorf("discovery: %w", err)
	}
	e := provider.Endpoint()
	for _, address := range []string{e.AuthURL, e.TokenURL, document.Keys} {
		if _, err := endpoint(p.o.Issuer, address); err != nil {
			return nil, fmt.Errorf("discovery: %w", err)
		}
	}
	e.AuthStyle = oauth2.AuthStyleInHeader // what a document without methods means
	if len(document.Methods) > 0 && !slices.Contains(document.Methods, "client_secret_basic") {
		e.AuthStyle = oauth2.AuthStyleInParams
	}
	d := &discovered{keysURL: document.Keys, endpoint: e, namesIssuer: document.Issuer}
	if p.found != nil && p.found.keysURL == d.keysURL {
		d.keys = p.found.keys // with what it fetched, and when
	} else {
		pace := &paced{clock: p.o.Clock}
		d.keys = keySet{oidc.NewRemoteKeySet(oidc.ClientContext(ctx, caller(pace)), d.keysURL), pace}
	}
	d.verifier = oidc.NewVerifier(p.o.Issuer, d.keys, &oidc.Config{
		ClientID: p.o.ClientID, SupportedSigningAlgs: Algorithms,
		Now: func() time.Time { return time.UnixMilli(p.o.Clock()).Add(-leeway) },
	})
	return d, nil
}

// client is this host as the provider knows it.
func (p *Provider) client(found *discovered) *oauth2.Config {
	c := &oauth2.Config{ClientID: p.o.ClientID, ClientSecret: *p.secret.Load(), Endpoint: found.endpoint, RedirectURL: p.redirect, Scopes: p.o.Scopes}
	if c.ClientSecret == "" {
		c.Endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return c
}

// endpoint admits https, and http where both the issuer and the endpoint are of
// this machine.
func endpoint(issuer, address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" {
		return nil, errors.New("an endpoint of the OpenID provider is no absolute URL")
	}
	i, err := url.Parse(issuer)
	if err != nil {
		return nil, errors.New("the issuer is no URL")
	}
	if u.Scheme == "https" || u.Scheme == "http" && i.Scheme == "http" && loopback(i.Hostname()) && loopback(u.Hostname()) {
		return u, nil
	}
	return nil, errors.New("an endpoint of the OpenID provider is not https")
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// caller calls the provider: no redirect, no proxy, ten seconds, a mebibyte.
func caller(pace *paced) *http.Client {
	transport := &http.Transport{
		DialContext: (&net.Dialer{Timeout: 3 * time.Second}).DialContext, TLSHandshakeTimeout: 3 * time.Second,
		MaxIdleConns: 4, IdleConnTimeout: 30 * time.Second, MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: true,
	}
	var way http.RoundTripper = limited{transport}
	if pace != nil {
		pace.next = way
		way = pace
	}
	return &http.Client{Transport: way, Timeout: callTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

var errTooLarge = errors.New("the OpenID provider answered with more than a mebibyte")

// limited reads whole answers, and none that is too large.
type limited struct{ next http.RoundTripper }

func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	defer admission.Away(r.Context())()
	answer, err := l.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	_ = answer.Body.Close() // it was read
	if err != nil {
		return nil, err
	}
	if len(body) > maxAnswer {
		return nil, errTooLarge
	}
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return answer, nil
}
