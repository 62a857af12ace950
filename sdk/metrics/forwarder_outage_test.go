package metrics_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/authzhost/authz/sdk/metrics"
)

// process is the life of a sink's process: Write and Await see whether it is there.
type process struct {
	mu     sync.Mutex
	dead   bool
	turned chan struct{} // closed, and another made, when dead changes
}

func (p *process) now() (dead bool, turned <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead, p.turned
}

func (p *process) turn(dead bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead = dead
	close(p.turned)
	p.turned = make(chan struct{})
}

// write takes a while and is cut off when the process dies meanwhile, before or after
// the window was taken.
func (p *process) write(ctx context.Context, takes time.Duration, first bool, take func()) error {
	dead, turned := p.now()
	if dead {
		return down
	}
	if first {
		take()
	}
	select {
	case <-time.After(takes):
		if !first {
			take()
		}
		return nil
	case <-turned:
		return unclear
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *process) await(ctx context.Context) error {
	for {
		dead, turned := p.now()
		if !dead {
			return nil
		}
		select {
		case <-turned:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Windows of a second and queues of one to four, a sink that dies now and then for up
// to ten seconds: nothing is dropped but while it is dead and within the 5 s that a
// window is tried, each window counts once, and a sink that recognises has exactly
// those that count as delivered or of unknown fate.
func TestNothingIsDroppedButBesideAnOutage(t *testing.T) {
	const step, grace = 10 * time.Millisecond, 5 * time.Second
	type span struct{ from, to time.Time }
	var all metrics.Forwarded
	for seed := range uint64(60) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			var drawing sync.Mutex
			draw := func(n int) int {
				drawing.Lock()
				defer drawing.Unlock()
				return rng.IntN(n)
			}
			millis := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
			p := &process{turned: make(chan struct{})}
			s := &sink{recognises: seed%2 == 0, answer: func(ctx context.Context, _ int, take func()) error {
				return p.write(ctx, millis(1+draw(200)), draw(2) == 0, take)
			}}
			f := newForwarder(t, s, metrics.ForwarderOptions{MaxPending: new(1 + draw(4)), Await: p.await})

			var made, seen uint64
			var outages []span
			var drops []time.Time
			began := time.Now()
			nextWindow, nextTurn := began, began.Add(millis(draw(10_000)))
			dead := false
			for now := began; now.Sub(began) < time.Minute; now = time.Now() {
				if !now.Before(nextTurn) {
					dead = !dead
					p.turn(dead)
					if dead {
						outages = append(outages, span{from: now, to: now.Add(time.Hour)})
					} else {
						outages[len(outages)-1].to = now
					}
					nextTurn = now.Add(millis(draw(10_000)))
				}
				if !now.Before(nextWindow) {
					n := 1 + draw(50)
					f.Forward(batchOf(n))
					made += uint64(n)
					nextWindow = now.Add(time.Second)
				}
				time.Sleep(step)
				synctest.Wait()
				counts := f.Counts()
				if dropped := counts.Dropped().Windows; dropped > seen {
					seen = dropped
					drops = append(drops, time.Now())
				}
			}
			p.turn(false)
			if dead {
				outages[len(outages)-1].to = time.Now()
			}
			f.Stop(t.Context())
			for _, at := range drops {
				beside := false
				for _, o := range outages {
					beside = beside || at.After(o.from) && at.Sub(o.to) <= grace+step
				}
				if !beside {
					t.Errorf("seed %d: dropped at %v, outages %v", seed, at.Sub(began), outages)
				}
			}
			c := f.Counts()
			dropped := c.Dropped()
			if c.Delivered.Checks+dropped.Checks != made || c.Pending != 0 {
				t.Errorf("seed %d: %d made, counted %+v", seed, made, c)
			}
			if taken := s.checks(); taken < c.Delivered.Checks || taken > c.Delivered.Checks+c.Unknown.Checks {
				t.Errorf("seed %d: %d taken, counted %+v", seed, taken, c)
			}
			all.Full.Windows += c.Full.Windows
			all.Unavailable.Windows += c.Unavailable.Windows
			all.Unknown.Windows += c.Unknown.Windows
			all.Delivered.Windows += c.Delivered.Windows
		})
		if t.Failed() {
			return
		}
	}
	if all.Full.Windows == 0 || all.Unavailable.Windows == 0 || all.Unknown.Windows == 0 || all.Delivered.Windows == 0 {
		t.Errorf("a fate that never was: %+v", all)
	}
	t.Logf("windows: %+v", all)
}
