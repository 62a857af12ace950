package hosted

import (
	"context"
	"net/http"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/fault"
)

// idempotencyKey is "" where it is not asked for or counts for nothing.
func (c *Call) idempotencyKey() (string, *fault.Error) {
	if c.endpoint.Method != http.MethodPost || c.endpoint.Gate.Kind == service.GatePublic {
		return "", nil
	}
	return idempotencyKey(c.Request.Header)
}

// once runs the handler unless the same request was answered before. It comes
// after the gate: an answer is never given again to whom it would be refused now.
// The answer is kept before it is sent, so that nobody who has it finds its
// request still running.
func (c *Call) once(ctx context.Context, w http.ResponseWriter, key string, input any) error {
	var relayed *string
	if c.endpoint.Relayed {
		app := c.relayedTo()
		relayed = &app
	}
	id := entryID(string(c.Caller.Kind)+":"+c.Caller.Org+":"+c.Caller.Actor(), rawPath(c.Request), key)
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
		c.keep(ctx, a, e.Status, envelope(e, c.requestID))
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
	if err := c.api.idempotency.end(ctx, a, status, c.header, body, c.endpoint.Relayed); err != nil {
		c.api.log.Warn("the answer to a request with an Idempotency-Key was not kept", "request_id", c.requestID, "endpoint", c.name(), "error", err)
	}
}

// relayedTo names the application that a relayed call goes to: that of the path,
// else the org root.
func (c *Call) relayedTo() string {
	if app := c.values["app"]; app != "" {
		return app
	}
	if c.Access != nil && c.Access.Org.PrimaryApplication != nil {
		return *c.Access.Org.PrimaryApplication
	}
	return ""
}
