package mongo

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/authzhost/authz/plugins/mongo/internal/layout"
)

const (
	// keepFor is how long stones, commit records, free sections of requests and
	// users, and journals that nobody decided are kept.
	keepFor = 24 * time.Hour

	// sweepEvery is how often an open partition looks for older ones, at most.
	sweepEvery = 10 * time.Minute
)

// withStones are the collections whose documents are deleted by commits.
var withStones = []layout.Name{
	layout.Grants, layout.Revokes, layout.Roles, layout.Groups, layout.Users, layout.Requests, layout.Scopes, layout.Records,
}

// manySections are the ranges of section keys that there is one of for each
// request and each user, as the first key of the range and the first above it.
var manySections = [][2]string{{"request:", "request;"}, {"sod:", "sod;"}}

// sweep forgets what no late writer can ask for any more.
func (p *partition) sweep(ctx context.Context) error {
	now, err := p.clock.now(ctx)
	if err != nil {
		return err
	}
	before := bson.D{eq("$lt", now-keepFor.Milliseconds())}
	var failures []error
	remove := func(c *layout.Collection, f layout.Filter) {
		_, err := c.Delete(ctx, f)
		failures = append(failures, err)
	}
	for _, name := range withStones {
		c := p.in(name)
		remove(c, c.Where(eq("gone", true), eq("at", before)))
	}
	commits := p.in(layout.Commits)
	remove(commits, commits.Where(eq("at", before)))
	locks := p.in(layout.Locks)
	for _, keys := range manySections {
		remove(locks, locks.Between(keys[0], keys[1], eq("expiresAt", before)))
	}
	// Under the turn no journal of that age is one that is still to be applied.
	failures = append(failures, p.underTurn(ctx, func(*turn) error {
		journal := p.in(layout.Journal)
		remove(journal, journal.Where(eq("at", before)))
		return nil
	}))
	return errors.Join(failures...)
}
