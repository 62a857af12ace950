package compare

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/authzhost/authz/bench/engine"
	"github.com/authzhost/authz/bench/workload"
)

// Timing is what a timed run shows.
type Timing struct {
	Checks       int     `json:"checks"`
	NsPerCheck   float64 `json:"nsPerCheck"` // elapsed over the checks of all goroutines
	Allocations  float64 `json:"allocationsPerCheck"`
	BytesAlloced float64 `json:"bytesPerCheck"`
}

// Line is one engine in one world.
type Line struct {
	Engine  string `json:"engine"`
	Module  string `json:"module"`
	Version string `json:"version"`
	Model   string `json:"model"`

	// LeftOut is why nothing was measured; all below is zero then.
	LeftOut string `json:"leftOut,omitempty"`

	LoadSeconds float64 `json:"loadSeconds"`
	Loaded      int64   `json:"loadedBytes"` // live heap that loading added
	Warm        int64   `json:"warmBytes"`   // the same after the warm-up
	Warmed      int     `json:"warmed"`      // questions of the warm-up, which the timed runs rotate over

	One Timing `json:"oneGoroutine"`
	Two Timing `json:"twoGoroutines"`

	OverClient   float64 `json:"ratioToClient"` // of One.NsPerCheck
	OverSnapshot float64 `json:"ratioToSnapshot"`
}

// maxWarmUp ends the warm-up of a slow engine before it has heard all questions.
const maxWarmUp = 10 * time.Second

// measure loads a world into an engine that Verify has passed and times it. Every
// timed answer is compared as well.
func measure(ctx context.Context, p engine.Peer, w *workload.World, each time.Duration) (Line, error) {
	l := Line{Engine: p.Name, Module: p.Module, Version: versionOf(p.Module), Model: p.Model}
	empty := liveHeap()
	start := time.Now()
	e, err := p.Load(ctx, w)
	if err != nil {
		return l, fmt.Errorf("%s: loading: %w", p.Name, err)
	}
	defer e.Close()
	l.LoadSeconds = time.Since(start).Seconds()
	l.Loaded = liveHeap() - empty
	check, err := e.Ask(ctx, w.Questions)
	if err != nil {
		return l, fmt.Errorf("%s: preparing: %w", p.Name, err)
	}
	start = time.Now()
	for l.Warmed < len(w.Questions) && time.Since(start) < maxWarmUp {
		if err := ask(p.Name, check, w.Questions, l.Warmed); err != nil {
			return l, err
		}
		l.Warmed++
	}
	pace := time.Since(start) / time.Duration(l.Warmed)
	l.Warm = liveHeap() - empty
	questions := w.Questions[:l.Warmed]
	if l.One, err = run(p.Name, check, questions, 1, each, pace); err != nil {
		return l, err
	}
	if l.Two, err = run(p.Name, check, questions, 2, each, pace); err != nil {
		return l, err
	}
	runtime.KeepAlive(check)
	return l, nil
}

func liveHeap() int64 {
	runtime.GC()
	runtime.GC() // what finalizers of the first run let go
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// run asks the questions in turn, each goroutine from a place of its own, until
// the time is over. The clock is read about once a millisecond.
func run(name string, check engine.Check, questions []workload.Question, goroutines int, length, pace time.Duration) (Timing, error) {
	stretch := max(1, int(time.Millisecond/max(pace, 1)))
	counts, failed := make([]int, goroutines), make([]error, goroutines)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var wg sync.WaitGroup
	start := time.Now()
	for g := range goroutines {
		wg.Go(func() {
			at, n := g*len(questions)/goroutines, 0
			for time.Since(start) < length {
				for range stretch {
					if failed[g] = ask(name, check, questions, at); failed[g] != nil {
						return
					}
					if at++; at == len(questions) {
						at = 0
					}
				}
				n += stretch
			}
			counts[g] = n
		})
	}
	wg.Wait()
	elapsed := time.Since(start)
	runtime.ReadMemStats(&after)
	t := Timing{}
	for g := range goroutines {
		if failed[g] != nil {
			return t, failed[g]
		}
		t.Checks += counts[g]
	}
	n := float64(t.Checks)
	t.NsPerCheck = float64(elapsed.Nanoseconds()) / n
	t.Allocations = float64(after.Mallocs-before.Mallocs) / n
	t.BytesAlloced = float64(after.TotalAlloc-before.TotalAlloc) / n
	return t, nil
}
