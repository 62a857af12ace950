package eventlog

import (
	"context"

	"github.com/authzhost/authz/sdk/authz"
)

// Term is the place in one of the logs.
type Term struct {
	Part
	At          authz.Position
	Incarnation string
}

// Terms takes a position of these logs apart, in the order of their partitions. It
// answers none for a position of other logs, or of another life of one of them.
func (l *Log) Terms(ctx context.Context, at authz.Position) ([]Term, error) {
	now, err := l.read(ctx)
	if err != nil {
		return nil, err
	}
	return now.split(now.terms(at)), nil
}

func (r *reading) split(terms []authz.Position) []Term {
	split := make([]Term, len(terms))
	for i, at := range terms {
		split[i] = Term{Part: r.parts[i], At: at, Incarnation: r.logs[i]}
	}
	return split
}

// LostPosition tells each log whose place in the position is lost, and no other. A
// position of other logs says nothing of these. When the logs cannot be read nobody
// is told: whoever kept the position comes again.
func (l *Log) LostPosition(ctx context.Context, log string, at authz.Position) {
	now, err := l.read(ctx)
	if err != nil || log != now.Logs.String() {
		return
	}
	for i, t := range now.split(now.terms(at)) {
		if t.Losing != nil && (now.lost(i, t.At) || t.unknown(ctx)) {
			t.Losing.LostPosition(ctx, t.Incarnation, t.At)
		}
	}
}

// unknown asks the log itself, which tells events of one number apart.
func (t Term) unknown(ctx context.Context) bool {
	page, err := t.Log.Since(ctx, t.At, 1)
	return err == nil && page.Reset
}
