package relay

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/authzhost/authz/host/internal/admission"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/sdk/provider"
)

// application asks one application. Every operation is one call of ask.
type application struct {
	provider.Calls
	relay  *Relay
	target Target
	hosted *provider.Hosted // nil when broken, and for local ones
	broken error            // why the target cannot be asked at all
	circuit
	confirmation
}

const opPing = "ping"

// Bounds of answers, in bytes.
const (
	maxAnswer = 8 << 20
	maxList   = 64 << 20
)

// whole are the operations whose answers are lists or snapshots.
var whole = chosen(func(o *provider.Operation) bool {
	return o.List != "" || slices.Contains([]string{"getReportingEdges", "reviewEntitlements", "exportOrgSnapshot", "applyOrgSnapshot"}, o.Op)
})

var writes = chosen(func(o *provider.Operation) bool { return o.Kind == provider.Write })

func chosen(some func(*provider.Operation) bool) map[string]bool {
	set := map[string]bool{}
	for _, o := range provider.Operations {
		set[o.Op] = some(o)
	}
	return set
}

func limitOf(op string) int64 {
	if whole[op] {
		return maxList
	}
	return maxAnswer
}

func (t Times) of(op string) time.Duration {
	switch op {
	case opPing:
		return t.Probe
	case "exportOrgSnapshot", "applyOrgSnapshot":
		return t.Snapshot
	}
	return t.Call
}

var (
	errUnlisted = errors.New("this host has no such application for the org")
	errCircuit  = errors.New("the application failed repeatedly")
)

type probingKey struct{}

// Probing lets calls through an open circuit: those of a probe, which is what finds
// out.
func Probing(ctx context.Context) context.Context {
	return context.WithValue(ctx, probingKey{}, true)
}

// ask makes one call, of a read twice when the connection failed and nothing was
// handed out yet, and gives every error its name. fn is handed the application;
// delivered, which may be nil, reports that something was handed out. Nothing but
// the ping goes over a link that is not confirmed.
func (a *application) ask(ctx context.Context, op string, fn func(context.Context, Backend) error, delivered func() bool) error {
	bounded, cancel := context.WithTimeout(ctx, a.relay.times.of(op))
	defer cancel()
	if !IsLocal(a.target.URL) { // who waits for somebody else keeps nobody from working here
		defer admission.Away(ctx)()
	}
	if op != opPing {
		if err := a.confirmed(bounded, op); err != nil {
			return err
		}
	}
	probe, wait, ok := a.enter(a.relay.clock(), ctx.Value(probingKey{}) != nil)
	if !ok {
		return a.fault(op, failure{err: errCircuit, wait: wait})
	}
	var f failure
	defer func() {
		counts := !errors.Is(ctx.Err(), context.Canceled) // a caller who left proves nothing
		a.leave(a.relay.clock(), probe, f.transport(), counts)
	}()
	f = a.attempt(bounded, op, fn)
	if f.lost() && !writes[op] && (delivered == nil || !delivered()) && bounded.Err() == nil {
		f = a.attempt(bounded, op, fn)
	}
	return a.fault(op, f)
}

func (a *application) attempt(ctx context.Context, op string, fn func(context.Context, Backend) error) failure {
	if IsLocal(a.target.URL) {
		app, err := a.here()
		if err != nil {
			return failure{err: err}
		}
		return failure{err: fn(ctx, app), sent: true, ended: ctx.Err()}
	}
	if err := a.askable(ctx); err != nil {
		return failure{err: err}
	}
	x := &exchange{limit: limitOf(op), plain: strings.HasPrefix(a.target.URL, "http:")}
	err := fn(context.WithValue(ctx, exchangeKey{}, x), a.hosted)
	return failure{err: err, sent: x.sent.Load(), begun: x.begun.Load(), status: int(x.status.Load()), ended: ctx.Err()}
}

// askable holds the target to the rules of URLs as they are now.
func (a *application) askable(ctx context.Context) error {
	if a.broken != nil {
		return a.broken
	}
	u, err := url.Parse(a.target.URL)
	if err != nil {
		return errAddress
	}
	if err := a.relay.checkScheme(ctx, u); err != nil {
		if refused := new(fault.Error); errors.As(err, &refused) && refused.Code == codeRejected {
			return errAddress
		}
		return err
	}
	return nil
}

// Invoke asks the application to carry an operation out.
func (a *application) Invoke(ctx context.Context, op *provider.Operation, in, out any) error {
	return a.ask(ctx, op.Op, func(ctx context.Context, to Backend) error { return op.Do(ctx, to, in, out) }, nil)
}

// Rows hands rows on as they arrive. The time of a call bounds the reader too.
func (a *application) Rows(ctx context.Context, op *provider.Operation, in any, row func(any) error) error {
	handed := false
	var stopped error
	err := a.ask(ctx, op.Op, func(ctx context.Context, to Backend) error {
		err := op.Each(ctx, to, in, func(r any) error {
			handed = true
			stopped = row(r)
			return stopped
		})
		if stopped != nil {
			return nil // the reader's affair, and none of the application's
		}
		return err
	}, func() bool { return handed })
	return cmp.Or(stopped, err)
}
