package client

import (
	"context"
	"sync/atomic"

	"github.com/authzhost/authz/internal/compiled"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// accessAt answers the access of a principal and the chain of a scope, and the instant
// at which both hold. unresolved is why there is no chain. What is not cached of both
// is asked for at once: in one call where the provider can, else in two beside each
// other.
func (c *Client) accessAt(ctx context.Context, p authz.Principal, scope string, fresh bool, now int64) (a *compiled.Access, chain *compiled.Chain, at int64, err, unresolved error) {
	if c.cold(p, scope, fresh, now) {
		return c.fetchBoth(ctx, p, scope, fresh, now)
	}
	if a, now, err = c.access(ctx, p, fresh, now); err != nil {
		return nil, nil, now, err, nil
	}
	chain, now, unresolved = c.chain(ctx, scope, fresh, now)
	return c.validAt(a, now), chain, now, nil, unresolved
}

// cold reports that both have to be asked for.
func (c *Client) cold(p authz.Principal, scope string, fresh bool, now int64) bool {
	if scope == "" || scope == authz.Global {
		return false
	}
	if !fresh {
		who := principalKey(p)
		if e := c.subjects.table.get(who.hash(), who.id); e != nil && e.live(now) {
			return false
		}
		if e := c.chains.table.get(chainHash(compiled.HashScope(scope)), scope); e != nil && e.live(now) {
			return false
		}
	}
	return authz.ValidateScope(scope) == nil // else nobody is asked
}

func (c *Client) fetchBoth(ctx context.Context, p authz.Principal, scope string, fresh bool, now int64) (a *compiled.Access, chain *compiled.Chain, at int64, err, unresolved error) {
	who, where := principalKey(p), cacheKey{id: scope}
	if !fresh {
		c.subjects.lookups.count(who.hash(), false)
		c.chains.lookups.count(chainHash(compiled.HashScope(scope)), false)
	}
	j := &joint{principal: p, scope: scope, begun: make(chan struct{}), done: make(chan struct{}), left: make(chan struct{})}
	defer close(j.left)
	rows := c.subjects.begin(ctx, who, fresh, now, func(ctx context.Context) (*subject, error) {
		if answer, err, together := j.ask(ctx); together {
			if err != nil {
				return nil, err
			}
			return subjectOf(answer.Access, p)
		}
		return c.askSubject(ctx, p)
	})
	above := c.chains.begin(ctx, where, fresh, now, func(ctx context.Context) (*compiled.Chain, error) {
		answer, err, together := j.ask(ctx)
		switch {
		case !together:
			return c.askChain(ctx, scope)
		case err != nil: // of the access: others may wait for the chain
			<-j.left
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return c.askChain(ctx, scope)
		case answer.AncestorsErr != nil:
			return nil, answer.AncestorsErr
		}
		return c.vocabulary.NewChain(scope, answer.Ancestors), nil
	})
	if source, ok := c.source.(provider.JointSupply); ok && rows.own && above.own && c.tier == nil {
		j.source = source
		j.ctx, j.cancel = context.WithCancel(context.WithoutCancel(ctx))
	}
	close(j.begun)
	s, err := rows.wait(ctx)
	if err != nil {
		above.leave()
		return nil, nil, now, err, nil
	}
	chain, unresolved = above.wait(ctx)
	at = c.clock()
	return c.compiled(s, at), chain, at, nil, unresolved
}

// joint is one call for two fetches. It begins when both have come to ask, each with
// the position in the event log from which its answer is to be vouched for; and it ends
// early when nobody waits for either.
type joint struct {
	source    provider.JointSupply // nil: each fetch asks for itself
	principal authz.Principal
	scope     string

	ctx     context.Context
	cancel  context.CancelFunc
	begun   chan struct{} // source is known
	arrived atomic.Int32
	ended   atomic.Int32
	left    chan struct{} // the caller waits for neither

	done   chan struct{}
	answer provider.AccessAt
	err    error
}

func (j *joint) ask(ctx context.Context) (answer provider.AccessAt, err error, together bool) {
	<-j.begun // which both fetches are, one right after the other
	if j.source == nil {
		return answer, nil, false
	}
	leave := func() {
		if j.ended.Add(1) == 2 {
			j.cancel()
		}
	}
	stop := context.AfterFunc(ctx, leave)
	if j.arrived.Add(1) == 2 {
		go func() {
			defer close(j.done)
			defer j.cancel()
			j.err = contained(func() (err error) {
				j.answer, err = j.source.AccessAt(j.ctx, j.principal, j.scope)
				return err
			})
		}()
	}
	select {
	case <-j.done:
		stop()
		return j.answer, j.err, true
	case <-ctx.Done():
		if stop() { // a context is done before it says so to those who asked for it
			leave()
		}
		return answer, ctx.Err(), true
	}
}
