package relay

import (
	"context"
	"slices"

	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// Ping is what the link is confirmed by, whoever asks.
func (a *application) Ping(ctx context.Context) (said provider.Ping, err error) {
	number, sent := a.begin(), a.relay.clock()
	err = a.ask(ctx, opPing, func(ctx context.Context, to Backend) (err error) {
		said, err = to.Ping(ctx)
		return err
	}, nil)
	if err != nil {
		return provider.Ping{}, err
	}
	right := CheckPing(said, a.target.Application) == nil
	a.note(number, sent, right)
	if !right {
		a.relay.leave(a) // with what is kept over the link: it may be the other one's
	}
	return said, nil
}

// GetSubjectAccess refuses an answer about somebody else.
func (a *application) GetSubjectAccess(ctx context.Context, p authz.Principal) (rows authz.SubjectAccess, err error) {
	err = a.ask(ctx, "getSubjectAccess", func(ctx context.Context, to Backend) (err error) {
		if rows, err = to.GetSubjectAccess(ctx, p); err != nil {
			return err
		}
		about := rows.UserID != nil && *rows.UserID == p.UserID
		if p.IsService() {
			about = rows.UserID == nil && slices.Contains(rows.Closure, p.Subject())
		}
		if !about {
			return &provider.TransportError{Message: "the closure is not about who was asked for"}
		}
		return nil
	}, nil)
	if err != nil {
		return authz.SubjectAccess{}, err
	}
	return rows, nil
}

// explainer is an application that tells what lies around an explanation. No Provider
// has to.
type explainer interface {
	Explain(ctx context.Context, in provider.Explain) (access.Explained, error)
}

// Explain asks the application itself: the operation is carried out by no Provider.
func (a *application) Explain(ctx context.Context, in provider.Explain) (e access.Explained, err error) {
	err = a.ask(ctx, "explain", func(ctx context.Context, to Backend) (err error) {
		asked, ok := to.(explainer)
		if !ok {
			return authz.Rejected(authz.CodeUnsupported, "the application explains nothing")
		}
		e, err = asked.Explain(ctx, in)
		return err
	}, nil)
	return e, err
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

func (a *application) EventLog() provider.EventLog {
	if IsLocal(a.target.URL) {
		if app, err := a.here(); err == nil && app.EventLog() == nil {
			return nil
		}
	}
	return a.Calls.EventLog()
}
