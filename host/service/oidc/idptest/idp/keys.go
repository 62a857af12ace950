package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"fmt"

	"github.com/go-jose/go-jose/v3"
)

// newKeys makes a key for each algorithm that the host takes, and one for one that
// it does not.
func newKeys() (map[string]jose.JSONWebKey, error) {
	first, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	keys := map[string]jose.JSONWebKey{}
	for algorithm, key := range map[string]any{"RS256": first, "PS256": first, "RS512": first, "ES256": curve, "EdDSA": edwards} {
		keys[algorithm] = jose.JSONWebKey{Key: key, KeyID: algorithm + "-" + rand.Text()[:8], Algorithm: algorithm, Use: "sig"}
	}
	return keys, nil
}

func (p *provider) signingKey(context.Context) (any, error) {
	algorithm := p.behaviour.Algorithm
	if algorithm == "" {
		algorithm = "RS256"
	}
	if algorithm == "HS256" { // by what anybody can read: the public key's id
		return &jose.JSONWebKey{Key: []byte(p.keys["RS256"].KeyID + "-as-a-shared-secret-of-32-bytes"), KeyID: p.keys["RS256"].KeyID, Algorithm: "HS256"}, nil
	}
	key, ok := p.keys[algorithm]
	if !ok {
		return nil, fmt.Errorf("no key for %s", algorithm)
	}
	if p.behaviour.Impostor {
		others, err := newKeys()
		if err != nil {
			return nil, err
		}
		key.Key = others[algorithm].Key
	}
	return &key, nil
}
