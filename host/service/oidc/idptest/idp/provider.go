package main

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v3"
	"github.com/ory/fosite"
	"github.com/ory/fosite/compose"
	"github.com/ory/fosite/handler/openid"
	"github.com/ory/fosite/storage"
	"github.com/ory/fosite/token/jwt"
	"golang.org/x/crypto/bcrypt"
)

// behaviour is what a test asks for; the zero value is an honest provider.
type behaviour struct {
	Subject     string         `json:"subject"`
	Claims      map[string]any `json:"claims"`    // laid over the token's; null takes one out
	Discovery   map[string]any `json:"discovery"` // laid over the document
	CodeExpired bool           `json:"codeExpired"`
	Algorithm   string         `json:"algorithm"` // RS256 unless set
	Rotate      bool           `json:"rotate"`    // new keys; the old ones are no longer published
	Impostor    bool           `json:"impostor"`  // sign by keys that are not published, under the ids of those that are
	Token       string         `json:"token"`     // "redirect", "huge", "html": what the token endpoint does instead
}

type provider struct {
	issuer string
	config *fosite.Config
	oauth  fosite.OAuth2Provider

	mu        sync.Mutex // held by every request: a test's provider is in no hurry
	behaviour behaviour
	keys      map[string]jose.JSONWebKey // by algorithm
	counts    map[string]int
}

func newProvider(issuer, client, secret, redirect string) (*provider, error) {
	p := &provider{issuer: issuer, behaviour: behaviour{Subject: "u_42"}, counts: map[string]int{}}
	var err error
	if p.keys, err = newKeys(); err != nil {
		return nil, err
	}
	registered := &fosite.DefaultClient{
		ID: client, Public: secret == "", RedirectURIs: []string{redirect},
		ResponseTypes: []string{"code"}, GrantTypes: []string{"authorization_code"}, Scopes: []string{"openid", "email"},
	}
	if secret != "" {
		if registered.Secret, err = bcrypt.GenerateFromPassword([]byte(secret), bcrypt.MinCost); err != nil {
			return nil, err
		}
	}
	store := storage.NewMemoryStore()
	store.Clients[client] = registered
	p.config = &fosite.Config{
		GlobalSecret: []byte("a provider of tests keeps no secret"[:32]), IDTokenIssuer: issuer,
		EnforcePKCE: true, AuthorizeCodeLifespan: time.Minute,
	}
	signer := lying{DefaultSigner: &jwt.DefaultSigner{GetPrivateKey: p.signingKey}, provider: p}
	p.oauth = compose.Compose(p.config, store,
		&compose.CommonStrategy{
			CoreStrategy:               compose.NewOAuth2HMACStrategy(p.config),
			OpenIDConnectTokenStrategy: &openid.DefaultStrategy{Signer: signer, Config: p.config},
			Signer:                     signer,
		},
		compose.OAuth2AuthorizeExplicitFactory, compose.OpenIDConnectExplicitFactory, compose.OAuth2PKCEFactory)
	return p, nil
}

func (p *provider) routes() http.Handler {
	mux := http.NewServeMux()
	for pattern, h := range map[string]http.HandlerFunc{
		"GET /.well-known/openid-configuration": p.discovery, "GET /keys": p.published, "GET /authorize": p.authorize,
		"POST /token": p.token, "POST /control": p.change, "GET /control": p.count,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.counts[r.URL.Path]++
			h(w, r)
		})
	}
	return mux
}

func (p *provider) discovery(w http.ResponseWriter, _ *http.Request) {
	document := map[string]any{
		"issuer": p.issuer, "authorization_endpoint": p.issuer + "/authorize", "token_endpoint": p.issuer + "/token", "jwks_uri": p.issuer + "/keys",
		"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
		"id_token_signing_alg_values_supported": []string{"RS256", "PS256", "ES256", "EdDSA"},
	}
	overlay(document, p.behaviour.Discovery)
	answer(w, document)
}

func (p *provider) published(w http.ResponseWriter, _ *http.Request) {
	set := jose.JSONWebKeySet{}
	for _, key := range p.keys {
		set.Keys = append(set.Keys, key.Public())
	}
	answer(w, set)
}

func (p *provider) authorize(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	request, err := p.oauth.NewAuthorizeRequest(ctx, r)
	if err != nil {
		p.oauth.WriteAuthorizeError(ctx, w, request, err)
		return
	}
	for _, scope := range request.GetRequestedScopes() {
		request.GrantScope(scope)
	}
	p.config.AuthorizeCodeLifespan = time.Minute
	if p.behaviour.CodeExpired {
		p.config.AuthorizeCodeLifespan = -time.Minute
	}
	response, err := p.oauth.NewAuthorizeResponse(ctx, request, &openid.DefaultSession{
		Claims: &jwt.IDTokenClaims{Subject: p.behaviour.Subject}, Headers: &jwt.Headers{}, Subject: p.behaviour.Subject,
	})
	if err != nil {
		p.oauth.WriteAuthorizeError(ctx, w, request, err)
		return
	}
	p.oauth.WriteAuthorizeResponse(ctx, w, request, response)
}

func (p *provider) token(w http.ResponseWriter, r *http.Request) {
	switch p.behaviour.Token {
	case "redirect":
		http.Redirect(w, r, p.issuer+"/keys", http.StatusTemporaryRedirect)
		return
	case "huge":
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"access_token":"` + strings.Repeat("x", 2<<20) + `"}`))
		return
	case "html":
		_, _ = w.Write([]byte("<p>not today</p>"))
		return
	}
	ctx := r.Context()
	request, err := p.oauth.NewAccessRequest(ctx, r, openid.NewDefaultSession())
	if err != nil {
		p.oauth.WriteAccessError(ctx, w, request, err)
		return
	}
	response, err := p.oauth.NewAccessResponse(ctx, request)
	if err != nil {
		p.oauth.WriteAccessError(ctx, w, request, err)
		return
	}
	p.oauth.WriteAccessResponse(ctx, w, request, response)
}

func (p *provider) change(w http.ResponseWriter, r *http.Request) {
	next := behaviour{Subject: "u_42"}
	if err := json.NewDecoder(r.Body).Decode(&next); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if next.Rotate {
		keys, err := newKeys()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		p.keys = keys
	}
	p.behaviour = next
	w.WriteHeader(http.StatusNoContent)
}

func (p *provider) count(w http.ResponseWriter, _ *http.Request) { answer(w, maps.Clone(p.counts)) }

// lying signs what the test wants signed.
type lying struct {
	*jwt.DefaultSigner
	provider *provider
}

func (l lying) Generate(ctx context.Context, claims jwt.MapClaims, header jwt.Mapper) (string, string, error) {
	overlay(claims, l.provider.behaviour.Claims)
	return l.DefaultSigner.Generate(ctx, claims, header)
}

func overlay(on, with map[string]any) {
	for name, value := range with {
		if value == nil {
			delete(on, name)
		} else {
			on[name] = value
		}
	}
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}
