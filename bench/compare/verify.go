package compare

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/authzhost/authz/bench/engine"
	"github.com/authzhost/authz/bench/workload"
)

// DisagreementError says that an engine answered otherwise than the rows do.
type DisagreementError struct {
	Engine   string
	Question workload.Question // with the answer of the rows
}

func (e *DisagreementError) Error() string {
	return fmt.Sprintf("%s disagrees with the rows: %s may use %s at %+v: want %v", e.Engine, e.Question.User, e.Question.Key, e.Question.Scope, e.Question.Allowed)
}

// ImpatienceError says that an engine would need longer for all the questions than
// was granted. Its estimate is no measurement.
type ImpatienceError struct {
	Engine   string
	Each     time.Duration // elapsed over the questions of a trial
	Expected time.Duration
	Patience time.Duration
}

func (e *ImpatienceError) Error() string {
	return fmt.Sprintf("at about %v a check its answers would take %v to verify, more than the patience of %v",
		e.Each.Round(time.Millisecond/10), e.Expected.Round(time.Second), e.Patience)
}

// trial is how many questions tell whether the rest is worth waiting for.
const trial = 40

// Verify loads a world into an engine and asks it every question, two at a time.
// It fails with a DisagreementError at a wrong answer and with an ImpatienceError,
// after a trial, where the questions would outlast patience; zero waits for ever.
func Verify(ctx context.Context, p engine.Peer, w *workload.World, patience time.Duration) error {
	e, err := p.Load(ctx, w)
	if err != nil {
		return fmt.Errorf("%s: loading: %w", p.Name, err)
	}
	defer e.Close()
	check, err := e.Ask(ctx, w.Questions)
	if err != nil {
		return fmt.Errorf("%s: preparing: %w", p.Name, err)
	}
	tried := min(trial, len(w.Questions))
	start := time.Now()
	if err := agree(p.Name, check, w.Questions, 0, tried); err != nil {
		return err
	}
	each := time.Since(start) / time.Duration(tried)
	if expected := each * time.Duration(len(w.Questions)-tried); patience > 0 && expected > patience {
		return &ImpatienceError{Engine: p.Name, Each: each, Expected: expected, Patience: patience}
	}
	return agree(p.Name, check, w.Questions, tried, len(w.Questions))
}

// askers is how many goroutines verify; concurrent checks are verified with it.
const askers = 2

func agree(name string, check engine.Check, questions []workload.Question, from, to int) error {
	var next atomic.Int64
	next.Store(int64(from))
	failed := make([]error, askers)
	var wg sync.WaitGroup
	for n := range askers {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= to {
					return
				}
				if failed[n] = ask(name, check, questions, i); failed[n] != nil {
					next.Store(int64(to))
					return
				}
			}
		})
	}
	wg.Wait()
	for _, err := range failed {
		if err != nil {
			return err
		}
	}
	return nil
}

func ask(name string, check engine.Check, questions []workload.Question, i int) error {
	allowed, err := check(i)
	if err != nil {
		return fmt.Errorf("%s: question %d: %w", name, i, err)
	}
	if allowed != questions[i].Allowed {
		return &DisagreementError{name, questions[i]}
	}
	return nil
}
