package provider

import (
	"context"
	"errors"
	"iter"

	"github.com/authzhost/authz/sdk/authz"
)

// Invoker carries out operations that are declared: over the wire, or by handing
// them to another Provider (Operation.Do, Operation.Each).
type Invoker interface {
	// Invoke carries out an operation that is no list: in points to its input, out
	// to what takes its output, which is worth nothing when there is an error.
	Invoke(ctx context.Context, op *Operation, in, out any) error

	// Rows carries out a list and hands out a pointer to each row. An error of row's
	// ends it and is returned.
	Rows(ctx context.Context, op *Operation, in any, row func(any) error) error
}

// Calls has every method of Provider that is an operation, and EventLog, each carried
// out by Invoker.
type Calls struct{ Invoker Invoker }

func ask[In, Out any](ctx context.Context, c Calls, op operation[In, Out], in In) (Out, error) {
	var out, nothing Out
	if err := c.Invoker.Invoke(ctx, &op.Operation, &in, &out); err != nil {
		return nothing, err
	}
	return out, nil
}

func tell[In any](ctx context.Context, c Calls, op operation[In, none], in In) error {
	_, err := ask(ctx, c, op, in)
	return err
}

// errStopped ends a list whose reader wants no more of it.
var errStopped = errors.New("no more rows are wanted")

func rows[In, Row any](ctx context.Context, c Calls, op list[In, Row], in In) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		in, stopped := in, false // each use begins anew
		err := c.Invoker.Rows(ctx, &op.Operation, &in, func(row any) error {
			if !yield(*row.(*Row), nil) {
				stopped = true
				return errStopped
			}
			return nil
		})
		if err != nil && !stopped {
			var nothing Row
			yield(nothing, err)
		}
	}
}

// EventLog reads the event log, which may refuse with CodeUnsupported.
func (c Calls) EventLog() EventLog { return eventLogCalls{c} }

type eventLogCalls struct{ Calls }

func (e eventLogCalls) Head(ctx context.Context) (EventLogHead, error) {
	return ask(ctx, e.Calls, opEventLogHead, none{})
}

func (e eventLogCalls) Since(ctx context.Context, after authz.Position, limit int) (EventLogPage, error) {
	return ask(ctx, e.Calls, opEventLogSince, eventLogSinceIn{after, int64(max(limit, 0))})
}
