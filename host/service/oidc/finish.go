package oidc

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// leeway is how far the provider's clock and ours may be apart.
const leeway = 60 * time.Second

const maxUserID = 256 // bytes; a seat names no longer one

// Answer is what a browser came back with.
type Answer struct {
	Code, State string
	Error       string  // the provider's, in the place of a code
	Issuer      *string // iss (RFC 9207); nil when it was not sent
	Cookie      string  // what Started.Cookie was
}

// Identity is who the provider says somebody is.
type Identity struct {
	UserID string
	Email  string // "" unless the provider has verified it

	Org, ReturnTo string // of Start; told of a refused proof too, to the browser that began it
}

// Finish ends a sign-in, good or bad: the same state never works again. A failed
// proof is *Refused; anything else is an outage of ours.
func (p *Provider) Finish(ctx context.Context, a Answer) (Identity, error) {
	k, err := p.claim(ctx, a.State)
	if err != nil {
		return Identity{}, err
	}
	var began Identity // nothing of it to another browser
	refuse := func(reason Reason, cause error) (Identity, error) {
		return began, &Refused{Reason: reason, Org: k.Org, Cause: cause}
	}
	if a.Cookie == "" || subtle.ConstantTimeCompare(k.Browser, digest(a.Cookie)) != 1 {
		return refuse(CookieMismatch, nil)
	}
	began = Identity{Org: k.Org, ReturnTo: k.ReturnTo}
	if a.Issuer != nil && *a.Issuer != p.o.Issuer {
		return refuse(IssuerMismatch, nil)
	}
	if a.Error != "" || a.Code == "" {
		return refuse(ProviderError, nil)
	}
	found, err := p.discover(ctx)
	if err != nil {
		return refuse(Unreachable, err)
	}
	if a.Issuer == nil && found.namesIssuer {
		return refuse(IssuerMissing, nil)
	}
	tokens, err := p.client(found).Exchange(oidc.ClientContext(ctx, p.http), a.Code, oauth2.VerifierOption(k.Verifier))
	if err != nil {
		return refuse(exchangeReason(err), nil) // its text quotes the provider's answer
	}
	raw, _ := tokens.Extra("id_token").(string)
	identity, reason, err := p.judge(ctx, found, raw, k.Nonce)
	if reason != "" {
		return refuse(reason, err)
	}
	identity.Org, identity.ReturnTo = k.Org, k.ReturnTo
	return identity, nil
}

func exchangeReason(err error) Reason {
	var answered *oauth2.RetrieveError
	if errors.As(err, &answered) && answered.ErrorCode != "" {
		return CodeRefused
	}
	return Unreachable
}

// judge verifies an ID token; reason "" is a good one.
func (p *Provider) judge(ctx context.Context, found *discovered, raw, nonce string) (id Identity, reason Reason, err error) {
	token, err := found.verifier.Verify(ctx, raw)
	var expired *oidc.TokenExpiredError
	switch {
	case errors.As(err, &expired):
		return id, TokenExpired, err
	case err != nil:
		return id, TokenInvalid, err
	case token.Issuer != p.o.Issuer: // the library forgives one provider
		return id, TokenInvalid, errors.New("issued by another provider")
	}
	claims := map[string]any{}
	if err := token.Claims(&claims); err != nil {
		return id, TokenInvalid, err
	}
	if why := p.times(token, claims); why != "" {
		return id, TokenTime, errors.New(why)
	}
	if subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(nonce)) != 1 {
		return id, NonceMismatch, nil
	}
	party, named := claims["azp"]
	if named && party != p.o.ClientID || !named && len(token.Audience) > 1 || !slices.Contains(token.Audience, p.o.ClientID) {
		return id, PartyMismatch, nil
	}
	if verified, _ := claims["email_verified"].(bool); verified {
		id.Email, _ = claims["email"].(string)
	}
	if p.o.UserIDClaim == "email" && id.Email == "" {
		return Identity{}, EmailUnproved, nil
	}
	id.UserID, _ = claims[p.o.UserIDClaim].(string)
	if !validUserID(id.UserID) {
		return Identity{}, ClaimMissing, fmt.Errorf("claim %s is no user id", p.o.UserIDClaim)
	}
	return id, "", nil
}

// times holds iat and nbf to the leeway; exp the verifier has held.
func (p *Provider) times(token *oidc.IDToken, claims map[string]any) string {
	latest := time.UnixMilli(p.o.Clock()).Add(leeway)
	switch {
	case claims["exp"] == nil || claims["iat"] == nil:
		return "exp or iat is missing"
	case token.IssuedAt.After(latest):
		return "issued in the future"
	}
	if at, ok := claims["nbf"].(float64); ok && time.Unix(int64(at), 0).After(latest) {
		return "not valid yet"
	}
	return ""
}

func validUserID(s string) bool {
	return s != "" && len(s) <= maxUserID && utf8.ValidString(s) && strings.TrimSpace(s) == s && strings.IndexFunc(s, unicode.IsControl) < 0
}
