package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/authzhost/authz/internal/compiled"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
	"github.com/authzhost/authz/sdk/provider"
)

// Client answers checks over a provider. It is safe for concurrent use.
type Client struct {
	settings
	source     Source
	vocabulary *compiled.Vocabulary
	clock      func() int64

	subjects   *cache[*subject]
	chains     *cache[*compiled.Chain]
	log        *logState
	external   *externalNames
	scopeTypes *unknownScopeTypes
	tier       *sharedTier       // nil shares nothing
	recorder   *metrics.Recorder // nil observes nothing

	unsubscribe func()
}

// subject is the cached closure of one principal with what was compiled of it.
type subject struct {
	rows     *authz.SubjectAccess
	compiled atomic.Pointer[compiled.Access]
}

// New attaches a client to a provider.
func New(o Options) (*Client, error) {
	s, err := o.settings()
	if err != nil {
		return nil, err
	}
	c := &Client{settings: s, source: o.Provider, vocabulary: compiled.NewVocabulary(o.Catalog), clock: o.Clock,
		log: newLogState(), external: new(externalNames), scopeTypes: new(unknownScopeTypes)}
	if o.Metrics != nil {
		if c.recorder, err = metrics.NewRecorder(*o.Metrics); err != nil {
			return nil, err
		}
	}
	if c.clock == nil {
		c.clock = newWallClock().now
	}
	c.subjects = newCache(c.log, s.maxSubjects, s.subjectTTL, 0, subjectMembers)
	c.chains = newCache(c.log, s.maxObjects, s.objectTTL, chainLives*s.objectTTL, (*compiled.Chain).Scopes)
	if o.Statistics {
		c.subjects.lookups, c.chains.lookups = new(lookups), new(lookups)
	}
	if c.tier = newSharedTier(s.shared, o.Provider, c.log); c.tier != nil {
		c.subjects.shared = &sharedSide[*subject]{c.tier, subjectPayload, s.subjectTTL, s.revalidate, c.clock}
		c.chains.shared = &sharedSide[*compiled.Chain]{c.tier, chainPayload(c.vocabulary), s.objectTTL, s.revalidate, c.clock}
	}
	c.unsubscribe = o.Provider.OnInvalidate(func(e authz.Event) {
		c.log.hear(c.clock())
		c.invalidate(e)
	})
	return c, nil
}

// chainLives bounds the life of a chain in TTLs, so that a move that nobody
// reported is noticed.
const chainLives = 10

// Close detaches the client from the live stream and drops its caches. A closed
// client still answers, on TTL and revalidation only, and no longer uses the
// CacheStore. Closing twice is fine.
func (c *Client) Close() {
	c.unsubscribe()
	if c.tier != nil {
		c.tier.close()
	}
	c.invalidate(authz.Event{Type: authz.EventAll})
}

// begin reads the clock for a check and, unless it is a fresh one, has the caches
// compared with the event log when that is due.
func (c *Client) begin(ctx context.Context, fresh bool) (now int64, err error) {
	now = c.clock()
	if fresh {
		return now, nil
	}
	return now, c.validate(ctx, now)
}

// Unobserved is the same client, caches and all, whose checks are not observed.
// Closing it closes the client.
func (c *Client) Unobserved() *Client {
	silent := *c
	silent.recorder = nil
	return &silent
}

// roleMember indexes entries by the roles their rows name; no subject looks like
// it.
func roleMember(roleID string) string { return "\x00role:" + roleID }

func subjectMembers(s *subject) []string {
	members := slices.Clone(s.rows.Closure)
	for i := range s.rows.Roles {
		members = append(members, roleMember(s.rows.Roles[i].ID))
	}
	for _, id := range s.rows.UnresolvedRoleIDs {
		members = append(members, roleMember(id))
	}
	return members
}

// invalidate applies one event to the caches; it serves the live stream and the
// replay of the log alike.
func (c *Client) invalidate(e authz.Event) {
	switch e.Type {
	case authz.EventUser:
		c.subjects.bust(cacheKey{id: e.UserID})
	case authz.EventSubject:
		c.subjects.bustMember(e.Subject)
	case authz.EventRole:
		c.subjects.bustMember(roleMember(e.RoleID))
	case authz.EventScope:
		c.chains.bustMember(e.Scope)
	default:
		c.subjects.bustAll()
		c.chains.bustAll()
	}
}

// access answers the compiled access of a principal, and the instant at which it
// is valid: now, or later when it had to be fetched.
func (c *Client) access(ctx context.Context, p authz.Principal, fresh bool, now int64) (*compiled.Access, int64, error) {
	key := principalKey(p)
	if !fresh {
		hash := key.hash()
		s, ok := c.subjects.hit(hash, key, now)
		c.subjects.lookups.count(hash, ok)
		if ok {
			return c.compiled(s, now), now, nil
		}
	}
	s, err := c.subjects.fetch(ctx, key, fresh, now, func(ctx context.Context) (*subject, error) { return c.askSubject(ctx, p) })
	if err != nil {
		return nil, 0, err
	}
	now = c.clock()
	return c.compiled(s, now), now, nil
}

func principalKey(p authz.Principal) cacheKey {
	if p.IsService() {
		return cacheKey{id: p.ServiceID, service: true}
	}
	return cacheKey{id: p.UserID}
}

func (c *Client) askSubject(ctx context.Context, p authz.Principal) (*subject, error) {
	rows, err := c.source.GetSubjectAccess(ctx, p)
	if err != nil {
		return nil, err
	}
	return subjectOf(rows, p)
}

func subjectOf(rows authz.SubjectAccess, p authz.Principal) (*subject, error) {
	if err := aboutPrincipal(&rows, p); err != nil {
		return nil, err
	}
	return &subject{rows: &rows}, nil
}

// compiled recompiles when a row has expired since.
func (c *Client) compiled(s *subject, now int64) *compiled.Access {
	if a := s.compiled.Load(); a != nil && a.ValidAt(now) {
		return a
	}
	a := compiled.Compile(c.vocabulary, s.rows, now)
	s.compiled.Store(a)
	return a
}

// validAt is the access at an instant: while a chain was fetched rows may have expired.
func (c *Client) validAt(a *compiled.Access, now int64) *compiled.Access {
	if a.ValidAt(now) {
		return a
	}
	return compiled.Compile(c.vocabulary, a.Rows(), now)
}

// aboutPrincipal refuses an answer about somebody else.
func aboutPrincipal(rows *authz.SubjectAccess, p authz.Principal) error {
	ok := rows.UserID != nil && *rows.UserID == p.UserID
	if p.IsService() {
		ok = rows.UserID == nil && slices.Contains(rows.Closure, p.Subject())
	}
	if !ok {
		return &provider.TransportError{Message: fmt.Sprintf("the provider answered a closure that is not about %s", spell.Quote(p.Subject()))}
	}
	return nil
}

// chain answers the chain of a scope, "" meaning "*", and the instant: a later one when
// it was fetched.
func (c *Client) chain(ctx context.Context, scope string, fresh bool, now int64) (*compiled.Chain, int64, error) {
	if scope == "" || scope == authz.Global {
		return compiled.GlobalChain, now, nil
	}
	return c.chainBy(ctx, scope, compiled.HashScope(scope), fresh, now)
}

// chainBy is chain of a scope other than "*" whose HashScope is known.
func (c *Client) chainBy(ctx context.Context, scope string, hash uint64, fresh bool, now int64) (*compiled.Chain, int64, error) {
	key := cacheKey{id: scope}
	if !fresh {
		hash = chainHash(hash)
		chain, ok := c.chains.hit(hash, key, now)
		c.chains.lookups.count(hash, ok)
		if ok {
			return chain, now, nil
		}
	}
	chain, err := c.chains.fetch(ctx, key, fresh, now, func(ctx context.Context) (*compiled.Chain, error) { return c.askChain(ctx, scope) })
	return chain, c.clock(), err
}

func (c *Client) askChain(ctx context.Context, scope string) (*compiled.Chain, error) {
	if authz.ValidateScope(scope) != nil {
		// Nothing lies above it, and providers refuse the question; what is asked at it
		// or stands on a row decides nothing but what is global.
		return c.vocabulary.NewChain(scope, nil), nil
	}
	ancestors, err := c.source.ResolveAncestors(ctx, scope)
	if err != nil {
		return nil, err
	}
	return c.vocabulary.NewChain(scope, ancestors), nil
}

// chainsAt answers the chains of rows during one check, each of which is fetched once also
// where nothing is cached.
func (c *Client) chainsAt(ctx context.Context, fresh bool, now int64) compiled.Chains {
	if !fresh {
		return func(scope string) (*compiled.Chain, error) {
			chain, _, err := c.chain(ctx, scope, false, now)
			return chain, ofRow(err)
		}
	}
	fetched := map[string]*compiled.Chain{}
	return func(scope string) (*compiled.Chain, error) {
		if chain := fetched[scope]; chain != nil {
			return chain, nil
		}
		chain, _, err := c.chain(ctx, scope, true, now)
		if err == nil {
			fetched[scope] = chain
		}
		return chain, ofRow(err)
	}
}

// ofRow is why the chain of a row is not known. That the scope of a row is unknown says
// nothing of the one that was asked about.
func ofRow(err error) error {
	if unknown, is := errors.AsType[*authz.UnknownScopeError](err); is {
		return unknown.Refusal
	}
	return err
}
