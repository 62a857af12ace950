package hosted

import (
	"context"
	"time"

	"github.com/authzhost/authz/host/internal/admission"
	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/fault"
)

// class says how early an endpoint is refused. None is a check: evaluate asks storage
// or another application.
func (e *endpoint) class() admission.Class {
	switch {
	case e.write() && !e.Unkept:
		return admission.Write
	case e.paged || e.Within > answerTimeout:
		return admission.List
	}
	return admission.Read
}

// place waits for a place to work in. A request takes one to find out who calls, and
// one to answer, since its body may be slow to come in between; it waits for both no
// longer than for one.
func (c *Call) place(ctx context.Context, class admission.Class) (admission.Ticket, error) {
	limiter := c.api.o.Limiter
	if limiter == nil {
		return admission.Ticket{}, nil
	}
	began := time.Now()
	ticket, err := limiter.Acquire(ctx, class, c.waited, 0)
	c.waited += time.Since(began)
	if err != nil {
		return ticket, c.api.overload()
	}
	return ticket, nil
}

// known is identify with a place to look the credential up in.
func (c *Call) known(ctx context.Context) error {
	if c.endpoint.Gate.Kind == service.GatePublic {
		return nil
	}
	ticket, err := c.place(ctx, admission.Read)
	if err != nil {
		return err
	}
	defer ticket.Release()
	err = c.identify(ctx)
	if err == nil {
		ticket.Answered()
	}
	return err
}

// overload is the refusal of a request of which nothing was done. It is told once a
// second.
func (a *API) overload() *fault.Error {
	now := time.Now().UnixMilli()
	if told := a.told.Load(); now-told >= 1000 && a.told.CompareAndSwap(told, now) {
		a.log.Warn("requests are refused: the hosted API is asked more than it can do")
	}
	e := fault.Storage(admission.ErrRefused)
	e.Message, e.RetryAfterMs = "there is more work than can be done; nothing was done, try again", admission.RetryAfter.Milliseconds()
	return e
}
