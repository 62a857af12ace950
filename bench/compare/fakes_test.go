package compare

import (
	"context"
	"time"

	"github.com/authzhost/authz/bench/engine"
	"github.com/authzhost/authz/bench/workload"
)

// answering is an engine of a function.
type answering func(q workload.Question) bool

func (a answering) Ask(_ context.Context, questions []workload.Question) (engine.Check, error) {
	return func(i int) (bool, error) { return a(questions[i]), nil }, nil
}

func (answering) Close() {}

func sleeper(context.Context, *workload.World) (engine.Engine, error) {
	return answering(func(q workload.Question) bool {
		time.Sleep(20 * time.Millisecond)
		return q.Allowed
	}), nil
}

func opposite(context.Context, *workload.World) (engine.Engine, error) {
	return answering(func(q workload.Question) bool { return !q.Allowed }), nil
}
