package relay

import (
	"context"
	"errors"
	"strings"
	"sync"

	"golang.org/x/sync/singleflight"

	"github.com/authzhost/authz/host/service/fault"
)

// confirmedFor is how long a ping that named the application vouches for its link,
// in milliseconds from when it was sent.
const confirmedFor = 60_000

// confirmation is what is known of who answers over one link. It ends with the
// application that it is a member of, and so with the link.
type confirmation struct {
	pings singleflight.Group // one ping for all who wait for it

	mu    sync.Mutex
	asked int   // how many pings were sent
	told  int   // which of them was the latest that was answered; 0 is none
	sent  int64 // when it was sent
	right bool  // whether it named the application
}

func (c *confirmation) begin() (number int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	return c.asked
}

// note keeps what a ping said, unless one that was sent after it has been answered.
func (c *confirmation) note(number int, sent int64, right bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if number > c.told {
		c.told, c.sent, c.right = number, sent, right
	}
}

// holds reports a ping that vouches at an instant. A clock that was set back makes
// it ask again.
func (c *confirmation) holds(now int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.right && now >= c.sent && now-c.sent < confirmedFor
}

// Confirm asks who answers over the link, unless a ping that was sent less than a
// minute ago has said so: application_mismatch, provider_version_mismatch, or why
// there is no answer. Every other call over the link does it first.
func (a *application) Confirm(ctx context.Context) error {
	if a.holds(a.relay.clock()) {
		return nil
	}
	// It ends by the time of a probe, not with the first of those who wait for it.
	shared := a.pings.DoChan("", func() (any, error) {
		if a.holds(a.relay.clock()) {
			return nil, nil
		}
		said, err := a.Ping(context.WithoutCancel(ctx))
		if err == nil {
			err = CheckPing(said, a.target.Application)
		}
		return nil, err
	})
	select {
	case done := <-shared:
		if refused := Refusal(done.Err); refused != nil { // a copy: others have it too
			return refused
		}
		return done.Err
	case <-ctx.Done():
		return a.fault(opPing, failure{err: ctx.Err(), sent: true, ended: ctx.Err()})
	}
}

// confirmed is Confirm for another operation, of which nothing was sent when it
// fails.
func (a *application) confirmed(ctx context.Context, op string) error {
	err := a.Confirm(ctx)
	var e *fault.Error
	if writes[op] && errors.As(err, &e) && e.Name == fault.TransportName {
		e.With("outcome", notApplied)
	}
	return err
}

// here is the application of this host that a local link names, which must be the
// entry's own: whoever may link one entry must not reach another by it.
func (a *application) here() (Backend, error) {
	name := strings.TrimPrefix(a.target.URL, localScheme)
	if name != a.target.Application {
		return nil, errOther()
	}
	app, ok := a.relay.localApplication(a.target.Org, name)
	if !ok {
		return nil, errUnlisted
	}
	return app, nil
}
