//go:build linux

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
)

const (
	questions = 1000

	// staleness is how old a cached answer may be: the window in which one look at
	// the event log vouches for the caches, and some more.
	staleness = 6 * time.Second
)

// verifyAnswers asks the hosts, whose caches lived through the run, and evaluates
// the rows that the fresh one supplies by the plain definition.
func (s *stage) verifyAnswers(ctx context.Context, r *report, lived []*host, fresh *host, quiet time.Time) error {
	select {
	case <-time.After(time.Until(quiet.Add(staleness))):
	case <-ctx.Done():
		return ctx.Err()
	}
	supplied := map[string]authz.SubjectAccess{}
	d := newDice(s.options.seed, 1<<33)
	for range questions {
		q := d.question()
		data, found := supplied[q.user]
		if !found {
			var err error
			if data, err = fresh.access(ctx, q.user); err != nil {
				return err
			}
			supplied[q.user] = data
		}
		ancestors := []string{}
		if q.scope != authz.Global {
			ancestors = []string{authz.Global}
		}
		want, err := access.Decide(s.catalog, &data, q.key, access.NewChain(q.scope, ancestors), time.Now().UnixMilli(), nil)
		if err != nil {
			return fmt.Errorf("evaluating %+v: %w", q, err)
		}
		if want {
			r.allowed++
		}
		for _, h := range lived {
			got, err := h.allowed(ctx, q)
			if err != nil {
				return fmt.Errorf("host %s was asked %+v: %w", h.name, q, err)
			}
			if got != want {
				r.broken(sameAnswers, "host %s answers %t to %+v, the rows say %t", h.name, got, q, want)
			}
		}
	}
	r.asked = questions * len(lived)
	return nil
}
