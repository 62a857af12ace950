package hosted

import (
	"context"
	"net/http"

	"github.com/authzhost/authz/host/internal/request"
	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/sdk/authz"
)

// idempotencyKey is "" where it is not asked for or counts for nothing.
func (c *Call) idempotencyKey() (string, *fault.Error) {
	if !c.endpoint.keeps() {
		return "", nil
	}
	return idempotencyKey(c.Request.Header)
}

// once runs the handler unless the same request was answered before. It comes
// after the gate, wherever that is judged: an answer is never given again to whom it
// would be refused now.
// The answer is kept before it is sent, so that nobody who has it finds its
// request still running.
func (c *Call) once(ctx context.Context, w http.ResponseWriter, key string, input any) error {
	if own, ok := input.(judged); ok {
		if err := own.judge(ctx, c); err != nil {
			return err
		}
	}
	relayed, err := c.relayedTo(ctx, input)
	if err != nil {
		return err
	}
	id := entryID(string(c.Caller.Kind)+":"+c.Caller.Actor(), request.Path(c.Request), key)
	a, replay, err := c.api.idempotency.begin(ctx, c.org(), id, c.body, relayed)
	if err != nil {
		return err
	}
	if replay != nil {
		for name, values := range replay.Header {
			c.header[name] = values
		}
		c.header.Set("Idempotency-Replayed", "true")
		c.write(w, replay.Status, replay.Answer)
		return nil
	}
	output, err := c.endpoint.handle(account.WithWork(ctx, a.row.Value.Work), c, input)
	var body []byte
	if err == nil {
		body, err = c.encode(output)
	}
	if err != nil {
		e := typed(err)
		c.keep(ctx, a, statusOf(e), envelope(e, c.requestID))
		return err
	}
	without, err := withheld(output, body)
	if err != nil {
		return err
	}
	c.keep(ctx, a, c.status, without)
	c.write(w, c.status, body)
	return nil
}

// keep stores an answer. Where that fails the request itself has still been
// answered; until its minute is over a repeat is told that it is running.
func (c *Call) keep(ctx context.Context, a *attempt, status int, body []byte) {
	if err := c.api.idempotency.end(ctx, a, status, c.header, body); err != nil {
		c.api.log.Warn("the answer to a request with an Idempotency-Key was not kept", "request_id", c.requestID, "endpoint", c.name(), "error", err)
	}
}

// homed inputs create a row whose home follows from what it is
// (spec: hosted-api §10).
type homed interface {
	home() (scope, pattern, roleID string)
}

// routed inputs find out themselves where they go, as relayedTo does.
type routed interface {
	sentTo(ctx context.Context, c *Call) (*string, error)
}

// relayedTo names the application that a relayed call goes to: that of the path,
// the owner of the row's scope, else the org root; nil for a call that writes
// account data, which this host can send again.
func (c *Call) relayedTo(ctx context.Context, input any) (*string, error) {
	if !c.endpoint.Relayed {
		return nil, nil
	}
	if app := c.values["app"]; app != "" {
		return &app, nil
	}
	if own, ok := input.(routed); ok {
		return own.sentTo(ctx, c)
	}
	if row, ok := input.(homed); ok {
		scope, pattern, roleID := row.home()
		ours, err := c.core().IsAccountWrite(ctx, c.org(), scope, pattern, roleID)
		if err != nil || ours {
			return nil, err
		}
		if scope != "" && scope != authz.Global {
			owner, _, err := c.entries().OwnerID(ctx, c.org(), authz.NamespaceOf(authz.ScopeType(scope)))
			return &owner, err
		}
	}
	return new(deref(c.Access.Org.PrimaryApplication)), nil
}
