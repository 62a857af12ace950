package relay

import (
	"context"
	"slices"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// Ping is what the link is confirmed by, whoever asks.
func (a *application) Ping(ctx context.Context) (provider.Ping, error) {
	number, sent := a.begin(), a.relay.clock()
	said, err := one(ctx, a, opPing, func(ctx context.Context, to Application) (provider.Ping, error) { return to.Ping(ctx) })
	if err == nil {
		right := CheckPing(said, a.target.Application) == nil
		a.note(number, sent, right)
		if !right {
			a.relay.leave(a) // with what is kept over the link: it may be the other one's
		}
	}
	return said, err
}

func (a *application) Capabilities(ctx context.Context) (provider.Capabilities, error) {
	return one(ctx, a, "capabilities", func(ctx context.Context, to Application) (provider.Capabilities, error) { return to.Capabilities(ctx) })
}

// GetSubjectAccess refuses an answer about somebody else.
func (a *application) GetSubjectAccess(ctx context.Context, p authz.Principal) (authz.SubjectAccess, error) {
	return one(ctx, a, "getSubjectAccess", func(ctx context.Context, to Application) (authz.SubjectAccess, error) {
		rows, err := to.GetSubjectAccess(ctx, p)
		if err != nil {
			return rows, err
		}
		about := rows.UserID != nil && *rows.UserID == p.UserID
		if p.IsService() {
			about = rows.UserID == nil && slices.Contains(rows.Closure, p.Subject())
		}
		if !about {
			return authz.SubjectAccess{}, &provider.TransportError{Message: "the closure is not about who was asked for"}
		}
		return rows, nil
	})
}

func (a *application) ResolveAncestors(ctx context.Context, scope string) ([]string, error) {
	return one(ctx, a, "resolveAncestors", func(ctx context.Context, to Application) ([]string, error) { return to.ResolveAncestors(ctx, scope) })
}

// OnInvalidate hears the application's own events when it is local.
func (a *application) OnInvalidate(listener func(authz.Event)) (unsubscribe func()) {
	if IsLocal(a.target.URL) {
		if app, err := a.here(); err == nil {
			return app.OnInvalidate(listener)
		}
	}
	if a.hosted != nil {
		return a.hosted.OnInvalidate(listener)
	}
	return func() {}
}

func (a *application) Epoch() provider.Epoch {
	if IsLocal(a.target.URL) {
		if app, err := a.here(); err == nil && app.Epoch() == nil {
			return nil
		}
	}
	return epoch{a}
}

type epoch struct{ a *application }

// of is the log of the application asked; one that keeps none since is refused as
// over the wire.
func (e epoch) of(to Application) (provider.Epoch, error) {
	if log := to.Epoch(); log != nil {
		return log, nil
	}
	return nil, authz.Rejected(authz.CodeUnsupported, "this application does not persist events")
}

func (e epoch) Head(ctx context.Context) (provider.EpochHead, error) {
	return one(ctx, e.a, "epoch.head", func(ctx context.Context, to Application) (provider.EpochHead, error) {
		log, err := e.of(to)
		if err != nil {
			return provider.EpochHead{}, err
		}
		return log.Head(ctx)
	})
}

func (e epoch) Since(ctx context.Context, after authz.Position, limit int) (provider.EpochPage, error) {
	return one(ctx, e.a, "epoch.since", func(ctx context.Context, to Application) (provider.EpochPage, error) {
		log, err := e.of(to)
		if err != nil {
			return provider.EpochPage{}, err
		}
		return log.Since(ctx, after, limit)
	})
}
