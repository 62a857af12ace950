package apply

import (
	"context"
	"errors"
	"fmt"

	"github.com/authzhost/authz/internal/pages"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// Run carries the plan out step by step, and tells how many changes are done. The end
// of ctx ends it between two steps: of one that was cut nobody could say what became
// of it.
func (p *Plan) Run(ctx context.Context, app pages.Caller, tell func(applied int)) error {
	var failed error
	for _, s := range p.steps {
		if failed == nil && ctx.Err() != nil {
			failed = errors.New("interrupted")
		}
		if failed != nil {
			p.settle(s, NotTried)
			continue
		}
		s.params["provenance"] = p.provenance
		err := app.Call(context.WithoutCancel(ctx), s.op, s.params, nil)
		if err == nil {
			p.settle(s, Applied)
			tell(p.Applied())
			continue
		}
		failed = fmt.Errorf("%s: %w", s.changes[0], err)
		if outcomeUnknown(err) {
			p.settle(s, Unknown)
		} else {
			p.settle(s, Failed)
		}
	}
	return failed
}

// settle notes what became of the changes of a step.
func (p *Plan) settle(s step, state string) {
	for _, c := range s.changes {
		switch state {
		case Applied:
			if c.State, c.left = Partly, c.left-1; c.left == 0 {
				c.State = Applied
			}
		case NotTried:
			if c.State == Planned {
				c.State = NotTried
			}
		default:
			if c.State = state; c.left < c.of {
				c.State = Partly
			}
		}
	}
}

// outcomeUnknown reports that a write may have been applied.
func outcomeUnknown(err error) bool {
	var outage *authz.UnavailableError
	var transport *provider.TransportError
	return errors.As(err, &outage) && outage.Outcome == authz.OutcomeUnknown || errors.As(err, &transport) && transport.Status == 0
}
