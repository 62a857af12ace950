package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"time"

	"github.com/authzhost/authz/host/internal/admission"
	"github.com/authzhost/authz/host/listen"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// Backend is what an HTTP surface needs of the application that it serves.
type Backend interface {
	provider.Provider

	// StoredOrgRoot reads the stored authority, the same from every host.
	StoredOrgRoot(ctx context.Context) (bool, error)

	// HasEventLog reports that events are persisted: a fact about construction.
	HasEventLog() bool

	// HasMetrics reports that usage is stored.
	HasMetrics() bool

	// HasStoredAncestry reports that the application keeps parent edges of
	// scopes itself.
	HasStoredAncestry() bool

	// HasImports reports that the driver stores import manifests.
	HasImports() bool
}

// call is one operation being read.
type call struct {
	object // its parameters

	target
	exchange *exchange // nil without a limiter
	rowless  bool      // the caller may not know rows

	// Of the administration socket alone:
	local LocalBackend
	host  HostControl
}

func newCall(op string, members map[string]json.RawMessage, t target) *call {
	return &call{object: object{op: op, members: members, problem: &problem{}}, target: t}
}

// target is what a surface serves: one application, with what belongs to it.
type target struct {
	app           Backend
	applicationID string
	auditOptIn    bool
	evaluator     Evaluator // nil: check is unsupported

	snapshots        OrgSnapshots  // nil: they are unsupported
	authorityChanged AuthorityHook // nil: authority cannot move

	limiter *admission.Limiter // nil: everything is admitted
}

// action does the work. Its result is a value that marshals to a JSON object, or
// a rowStream.
type action func(ctx context.Context) (any, error)

// entry is an operation as a surface serves it.
type entry struct {
	provider.Operation
	input  reflect.Type
	act    func(c *call, in any) action // in points to an input that was read
	within time.Duration                // 0 means listen.WorkTimeout

	ready func(c *call) error // judges the target once more; nil takes it

	// quick reads the usual spelling of a body, of which it then holds nothing. nil,
	// or an answer of nil, leaves it to the general reader, which reads the same of it.
	quick func(x *exchange, body []byte, t *target) action
}

// carried serves an operation by the application's method for it.
func carried(op *provider.Operation) entry {
	act := func(c *call, in any) action {
		return func(ctx context.Context) (any, error) {
			out := reflect.New(op.Output()).Interface()
			return out, op.Do(ctx, c.app, in, out)
		}
	}
	if op.List != "" {
		act = func(c *call, in any) action {
			return listing(op.List, pageOf(in), func(ctx context.Context, row func(any) error) error {
				return op.Each(ctx, c.app, in, row)
			}, func(row any) any { return op.Key(in, row) })
		}
	}
	return entry{Operation: *op, input: op.Input(), act: act, within: patience[op.Op]}
}

// own is an operation that the serving side answers itself.
func own[In, Out any](op provider.Operation, do func(ctx context.Context, c *call, in *In) (Out, error)) entry {
	return acting(op, func(c *call, in *In) action {
		return func(ctx context.Context) (any, error) { return do(ctx, c, in) }
	})
}

// rows is own for lists.
func rows[In, Row any](op provider.Operation, open func(ctx context.Context, c *call, in *In) iter.Seq2[Row, error]) entry {
	return acting(op, func(c *call, in *In) action {
		return listing(op.List, nil, func(ctx context.Context, row func(any) error) error {
			return handing(open(ctx, c, in))(row)
		}, nil)
	})
}

func acting[In any](op provider.Operation, act func(c *call, in *In) action) entry {
	return entry{Operation: op, input: reflect.TypeFor[In](), act: func(c *call, in any) action { return act(c, in.(*In)) }}
}

// lasting gives an operation more time than others.
func (e entry) lasting(d time.Duration) entry {
	e.within = d
	return e
}

// pageOf is the size of the page that a list is asked for, nil where it has none.
func pageOf(in any) *int {
	if paged, ok := in.(interface{ Page() *int }); ok {
		return paged.Page()
	}
	return nil
}

// wireEntries answer what no application can: they concern this side alone.
func wireEntries() map[string]entry {
	table := map[string]entry{}
	for _, e := range []entry{
		own(manifest("ping"), ping),
		checkEntry(),
		own(manifest("explain"), explain),
		own(manifest("exportOrgSnapshot"), exportOrgSnapshot).lasting(importTimeout),
		acting(manifest("applyOrgSnapshot"), applyOrgSnapshot).lasting(importTimeout),
	} {
		table[e.Op] = e
	}
	return table
}

func manifest(op string) provider.Operation {
	declared, ok := provider.LookupOperation(op)
	if !ok {
		panic("api: the manifest has no operation " + op)
	}
	return *declared
}

// entries is the manifest as it is served, under older names as well.
func entries() (map[string]entry, error) {
	served, wire := map[string]entry{}, wireEntries()
	for _, op := range provider.Operations {
		e, ok := wire[op.Op]
		switch {
		case op.Carried():
			e = carried(op)
		case !ok:
			return nil, fmt.Errorf("operation %q of the manifest has no handler", op.Op)
		}
		served[op.Op] = e
		if op.Older != "" {
			served[op.Older] = e
		}
	}
	return served, nil
}

// patience is for operations on as many rows as there are.
var patience = map[string]time.Duration{"deleteSubject": importTimeout, "deleteScope": importTimeout}

// run is the last three steps of serving a request (spec: provider-api §2):
// required parameters, the feature, the operation once it is admitted.
func (e entry) run(ctx context.Context, c *call) (any, error) {
	if err := e.checkRequired(c); err != nil {
		return nil, err
	}
	if err := e.checkFeature(c); err != nil {
		return nil, err
	}
	in := reflect.New(e.input)
	e.refuseBeside(c)
	c.into(in.Elem())
	c.problem.refuseUnknown()
	if err := c.problem.err; err != nil {
		return nil, err
	}
	if err := c.exchange.admit(e, c.limiter, c.reserve()); err != nil {
		return nil, err
	}
	return e.do(ctx, e.act(c, in.Interface()))
}

// refuseBeside refuses members that cannot stand beside another.
func (e entry) refuseBeside(c *call) {
	for _, m := range provider.Members(e.input) {
		if m.Unless != "" && c.has(m.Unless) && c.has(m.Name) {
			c.problem.refuse(authz.Validation("%s: %q cannot stand beside %q", e.Op, m.Name, m.Unless))
		}
	}
}

// do is step 9, the operation.
func (e entry) do(ctx context.Context, act action) (any, error) {
	limited := limit(ctx, cmp.Or(e.within, listen.WorkTimeout))
	defer limited.end()
	ctx, span := beginOperation(limited, e.Op)
	result, err := act(ctx)
	err = e.outage(ctx, err)
	endOperation(span, err)
	return result, err
}

func (e entry) checkRequired(c *call) error {
	for _, m := range provider.Members(e.input) {
		_, present := c.raw(m.Name)
		switch {
		case !m.Required || m.Unless != "" && c.has(m.Unless) || c.has(m.Name) || present && m.Null:
		case c.problem.actor != nil && m.Type == reflect.TypeFor[authz.Provenance]():
		default:
			return authz.Validation("%s requires the %q field", e.Op, m.Name)
		}
	}
	return nil
}

func (e entry) checkFeature(c *call) error {
	switch {
	case e.Requires == provider.FeatureEventLog && !c.app.HasEventLog():
		return noEventLog()
	case e.Requires == provider.FeatureMetrics && !c.app.HasMetrics():
		return authz.Rejected(authz.CodeUnsupported, "metrics are not enabled on this Application: its option metrics is off")
	case e.Requires == provider.FeatureStorage && c.snapshots == nil:
		return authz.Rejected(authz.CodeUnsupported, "org snapshot operations require the storage option")
	case e.Requires == provider.FeatureAncestry && !c.app.HasStoredAncestry():
		return authz.Rejected(authz.CodeUnsupported,
			"this application does not record the ancestry of scopes: that needs ancestry.kind stored and a driver with the ancestry capability")
	case e.Requires == provider.FeatureImports && !c.app.HasImports():
		return authz.Rejected(authz.CodeUnsupported, "this application does not store import manifests: its storage driver lacks the imports capability")
	case e.ready != nil:
		return e.ready(c)
	}
	return nil
}

func noEventLog() error {
	return authz.Rejected(authz.CodeUnsupported, "this application does not persist events (events.persist is off)")
}

// outage turns a deadline that ran out into the product's own error: of a write
// nobody can say then whether it was applied.
func (e entry) outage(ctx context.Context, err error) error {
	var typed authz.Error
	if err == nil || errors.As(err, &typed) || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return err
	}
	late := &authz.UnavailableError{Message: e.Op + " did not finish in time", Cause: err}
	if e.Kind == provider.Write {
		late.Outcome = authz.OutcomeUnknown
	}
	return late
}

// maxPage bounds the rows of one page of a list.
const maxPage = 10_000

// void is the result of operations that answer {}.
type void struct{}
