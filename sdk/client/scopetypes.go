package client

import (
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

// ScopeTypePolicy says what becomes of a question at a scope whose type the catalog does
// not declare. Catalogs without scope types, and scopes without a type, know no such
// question.
type ScopeTypePolicy string

// The policies for scope types that the catalog does not declare.
const (
	ScopeTypeAnswer ScopeTypePolicy = "answer" // report the type once, answer: only global rows apply
	ScopeTypeError  ScopeTypePolicy = "error"  // raise UnknownScopeTypeError
)

// UnknownScopeType is a type that a check let through under ScopeTypeAnswer.
type UnknownScopeType struct {
	ScopeType  string
	Scope      string // where it was met first
	DidYouMean []string
	Shape      string
}

// maxScopeTypes is after how many types the client reports no more under ScopeTypeAnswer;
// it goes on counting.
const maxScopeTypes = 1024

// maxScopeTypeBytes is how much of a type tells it from others.
const maxScopeTypeBytes = 256

// unknownScopeTypes remembers what was reported, for all views of a client.
type unknownScopeTypes struct {
	named    atomic.Uint64
	mu       sync.Mutex
	reported map[string]struct{}
}

// verifyScope is verify for the scope of a question.
func (c *Client) verifyScope(scope, shape string) error {
	if !c.vocabulary.LacksTypeOf(scope) {
		return nil
	}
	return c.admitScope(scope, shape)
}

func (c *Client) verifyScopes(scopes []string, shape string) error {
	for _, scope := range scopes {
		if err := c.verifyScope(scope, shape); err != nil {
			return err
		}
	}
	return nil
}

// admitScope decides on a scope whose type the catalog lacks.
func (c *Client) admitScope(scope, shape string) error {
	c.scopeTypes.named.Add(1)
	if c.unknownScopeTypes == ScopeTypeError {
		return c.vocabulary.Catalog().UnknownScopeType(scope)
	}
	if c.scopeTypes.first(authz.ScopeType(scope)) {
		e := c.vocabulary.Catalog().UnknownScopeType(scope)
		c.onUnknownScopeType(UnknownScopeType{ScopeType: e.ScopeType, Scope: scope, DidYouMean: e.DidYouMean, Shape: shape})
	}
	return nil
}

// first reports whether the type is to be reported: it never was, and there is room to
// remember it.
func (u *unknownScopeTypes) first(scopeType string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	scopeType = strings.Clone(scopeType[:min(len(scopeType), maxScopeTypeBytes)]) // of the caller's text no more is kept
	if _, known := u.reported[scopeType]; known || len(u.reported) >= maxScopeTypes {
		return false
	}
	if u.reported == nil {
		u.reported = map[string]struct{}{}
	}
	u.reported[scopeType] = struct{}{}
	return true
}

// logUnknownScopeType is Options.OnUnknownScopeType where none is given.
func logUnknownScopeType(u UnknownScopeType) {
	slog.Warn("a check named a scope of a type that the catalog does not declare: only global rows answer it",
		"scope_type", spell.Quote(u.ScopeType), "scope", spell.Quote(u.Scope), "did_you_mean", spell.QuoteList(u.DidYouMean), "shape", u.Shape)
}

// WithUnknownScopeTypes is the same client, caches and all, with another policy for scope
// types that the catalog does not declare. Closing it closes the client.
func (c *Client) WithUnknownScopeTypes(policy ScopeTypePolicy) *Client {
	other := *c
	other.unknownScopeTypes = policy
	return &other
}
