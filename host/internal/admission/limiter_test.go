package admission_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/authzhost/authz/host/internal/admission"
)

// backend carries out a number of calls at once, each in the same time. The others
// queue, as they do for a database.
type backend struct {
	slots chan struct{}

	mu   sync.Mutex
	time time.Duration
	cold time.Duration // of the first call beyond that
	done int
}

func (b *backend) call() {
	b.slots <- struct{}{}
	b.mu.Lock()
	takes := b.time + b.cold
	b.cold = 0
	b.mu.Unlock()
	time.Sleep(takes)
	<-b.slots
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done++
}

func (b *backend) finished() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.done
}

func (b *backend) slow(to time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.time = to
}

// offered is what became of a load.
type offered struct {
	mu             sync.Mutex
	done, refused  int
	slowestRefusal time.Duration
	slowest        time.Duration
	most           int // in flight
	inFlight       int
	all            sync.WaitGroup
}

func (o *offered) one(t *testing.T, l *admission.Limiter, c admission.Class, b *backend) {
	began := time.Now()
	ticket, err := l.Acquire(t.Context(), c, 0, 0)
	o.mu.Lock()
	if err != nil {
		o.refused++
		o.slowestRefusal = max(o.slowestRefusal, time.Since(began))
		o.mu.Unlock()
		return
	}
	o.inFlight++
	o.most = max(o.most, o.inFlight)
	o.mu.Unlock()
	b.call()
	ticket.Answered()
	ticket.Release()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.inFlight--
	o.done++
	o.slowest = max(o.slowest, time.Since(began))
}

// offer offers rate calls a second for a while.
func (o *offered) offer(t *testing.T, l *admission.Limiter, c admission.Class, b *backend, rate float64, span time.Duration) {
	every := time.Duration(float64(time.Second) / rate)
	for end := time.Now().Add(span); time.Now().Before(end); time.Sleep(every) {
		o.all.Go(func() { o.one(t, l, c, b) })
	}
}

// The property of the whole: whatever the driver can do, ten times as much costs it
// next to nothing, refusals come at once, and soon after the end all is calm.
func TestTenTimesTheLoadIsShed(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		at := rapid.IntRange(1, 6).Draw(r, "calls at once")
		each := time.Duration(rapid.IntRange(15, 60).Draw(r, "milliseconds each")) * time.Millisecond
		cold := time.Duration(rapid.IntRange(0, 1000).Draw(r, "milliseconds more at first")) * time.Millisecond
		class := rapid.SampledFrom(admission.Classes[1:]).Draw(r, "class")
		synctest.Test(t, func(t *testing.T) {
			l, b := admission.New(0), &backend{slots: make(chan struct{}, at), time: each, cold: cold}
			capacity := float64(at) / each.Seconds()
			(&offered{}).offer(t, l, class, b, capacity/4, 2*time.Second) // an ordinary day
			var warming, o offered
			warming.offer(t, l, class, b, 10*capacity, 2*time.Second)
			before := b.finished()
			const span = 2 * time.Second
			o.offer(t, l, class, b, 10*capacity, span)
			if got := float64(b.finished()-before) / span.Seconds() / capacity; got < 0.9 {
				t.Errorf("goodput is %.2f of the capacity", got)
			}
			ended := time.Now()
			warming.all.Wait()
			o.all.Wait()
			if took := time.Since(ended); took >= time.Second {
				t.Errorf("what was admitted took another %s", took)
			}
			if o.slowestRefusal >= 50*time.Millisecond || o.refused == 0 {
				t.Errorf("%d were refused, the last after %s", o.refused, o.slowestRefusal)
			}
			if o.slowest >= 1500*time.Millisecond {
				t.Errorf("one that was admitted took %s", o.slowest)
			}
			var again offered
			again.one(t, l, class, b)
			if again.done != 1 {
				t.Error("the next call is refused")
			}
			for _, f := range l.Facts()[1:] {
				if f.Running != 0 || f.Waiting != 0 || f.Long != 0 {
					t.Errorf("left behind: %+v", f)
				}
			}
		})
	})
}

// The first call ever says little: the load may come right behind it.
func TestAColdStartIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, b := admission.New(0), &backend{slots: make(chan struct{}, 1), time: 25 * time.Millisecond, cold: 375 * time.Millisecond}
		var cold, o offered
		cold.one(t, l, admission.Write, b)
		for range 16 { // who each wait for the one before
			cold.all.Go(func() {
				for end := time.Now().Add(3 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
					cold.one(t, l, admission.Write, b)
				}
			})
		}
		time.Sleep(2 * time.Second)
		o.offer(t, l, admission.Write, b, 400, 5*time.Second)
		if f := l.Facts()[2]; f.Limit > 24 {
			t.Errorf("it is not seen that one call takes 25 ms: %+v", f)
		}
		o.all.Wait()
		cold.all.Wait()
	})
}

// Work that comes and goes in batches finds nobody beside it when it begins, and has
// still not run alone.
func TestTheFirstOfABatchHasNotRunAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := admission.New(0)
		for range 40 {
			var batch []admission.Ticket
			for {
				ticket, err := l.Acquire(t.Context(), admission.Write, time.Hour, 0)
				if err != nil {
					break
				}
				batch = append(batch, ticket)
			}
			time.Sleep(time.Duration(len(batch)) * 25 * time.Millisecond)
			for _, ticket := range batch {
				ticket.Answered()
				ticket.Release()
			}
		}
		if f := l.Facts()[2]; f.Limit > 24 {
			t.Errorf("a batch is taken for what can be done at once: %+v", f)
		}
	})
}

func TestALoadThatTheDriverCanDoIsNotRefused(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		at := rapid.IntRange(1, 32).Draw(r, "calls at once")
		each := time.Duration(rapid.IntRange(20, 100).Draw(r, "milliseconds each")) * time.Millisecond
		share := rapid.Float64Range(0.1, 0.8).Draw(r, "share of the capacity")
		synctest.Test(t, func(t *testing.T) {
			l, b := admission.New(0), &backend{slots: make(chan struct{}, at), time: each}
			var o offered
			o.offer(t, l, admission.Write, b, share*float64(at)/each.Seconds(), 5*time.Second)
			o.all.Wait()
			// A driver that does many slow calls at once is found out as the load comes.
			if o.refused*20 > o.done {
				t.Errorf("%d were refused and %d done", o.refused, o.done)
			}
		})
	})
}

func TestABurstIsAdmittedAsFarAsItIsDoneSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, b := admission.New(0), &backend{slots: make(chan struct{}, 1), time: 2 * time.Millisecond}
		var o offered
		o.offer(t, l, admission.Write, b, 10, 2*time.Second)
		for range 200 {
			o.all.Go(func() { o.one(t, l, admission.Write, b) })
		}
		o.all.Wait()
		if o.refused > 0 {
			t.Errorf("%d of a burst that takes 0.4 s were refused", o.refused)
		}
	})
}

// A database that turned slow by itself, and not for want of calls at once.
func TestAnEnduringlySlowDriverKeepsWhatItDoesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, b := admission.New(0), &backend{slots: make(chan struct{}, 200), time: 2 * time.Millisecond}
		var o offered
		o.offer(t, l, admission.Write, b, 50, 5*time.Second)
		b.slow(800 * time.Millisecond)
		o.offer(t, l, admission.Write, b, 100, 40*time.Second) // in which it is found out
		before := b.finished()
		o.offer(t, l, admission.Write, b, 100, 10*time.Second)
		if got := b.finished() - before; got < 900 {
			t.Errorf("%d of 1000 were done", got)
		}
		o.all.Wait()
	})
}

func TestWorkThatTakesLongGivesItsPlaceToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := admission.New(0)
		var held []admission.Ticket
		take := func() bool {
			ticket, err := l.Acquire(t.Context(), admission.List, 0, 0)
			if err == nil {
				held = append(held, ticket)
			}
			return err == nil
		}
		for take() {
		}
		limit := len(held)
		time.Sleep(2 * time.Second)
		for range limit { // those who stall stand for nothing now
			if !take() {
				t.Fatal("readers who stall keep others out")
			}
		}
		for range 100 {
			time.Sleep(2 * time.Second)
			for take() {
			}
		}
		if got := len(held); got != limit+64 {
			t.Errorf("%d hold on for ever, of a limit of %d", got, limit)
		}
		for _, ticket := range held {
			ticket.Release()
		}
		if f := l.Facts()[3]; f.Running != 0 || f.Long != 0 {
			t.Errorf("%+v", f)
		}
	})
}

func TestChecksAreRefusedLastAndListsFirst(t *testing.T) {
	l := admission.New(64)
	admitted := map[admission.Class]int{}
	var checks []admission.Ticket
	for {
		for _, c := range admission.Classes[1:] {
			if ticket, err := l.Acquire(t.Context(), c, time.Hour, 0); err == nil {
				admitted[c] = len(checks)
				ticket.Release()
			}
		}
		ticket, err := l.Check()
		if errors.Is(err, admission.ErrRefused) {
			break
		}
		checks = append(checks, ticket)
	}
	if admitted[admission.List] != 15 || admitted[admission.Write] != 31 || admitted[admission.Read] != 47 || len(checks) != 64 {
		t.Errorf("beside how many checks others were still admitted: %v, of %d", admitted, len(checks))
	}
	for _, c := range checks {
		c.Release()
	}
	if f := l.Facts()[0]; f.Running != 0 || f.Admitted != 64 || f.Refused != 1 {
		t.Errorf("%+v", f)
	}
}

func TestTheReserveIsForThoseWhoMustNotBeShutOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := admission.New(0)
		for {
			if _, err := l.Acquire(t.Context(), admission.Write, 0, 0); err != nil {
				break
			}
		}
		for range admission.Reserve {
			if _, err := l.Acquire(t.Context(), admission.Write, 0, admission.Reserve); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := l.Acquire(t.Context(), admission.Write, 0, admission.Reserve); err == nil {
			t.Error("the reserve has no end")
		}
	})
}

func TestWorkThatWaitsForSomebodyElseHoldsNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := admission.New(0)
		facts := func(running int, long int) {
			t.Helper()
			if f := l.Facts()[1]; f.Running != running || f.Long != long {
				t.Errorf("%+v, want %d and %d", f, running, long)
			}
		}
		ticket, err := l.Acquire(t.Context(), admission.Read, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		ctx := admission.With(t.Context(), ticket)
		facts(1, 0)
		back := admission.Away(ctx)
		facts(0, 0)
		also := admission.Away(ctx) // two are asked at once
		back()
		facts(0, 0)
		time.Sleep(time.Hour)
		also()
		facts(1, 0)
		limit := l.Facts()[1].Limit
		for range limit - 1 { // its time away is not held against it, nor against the limit
			other, err := l.Acquire(t.Context(), admission.Read, 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer other.Release()
		}
		late := admission.Away(ctx)
		another, err := l.Acquire(t.Context(), admission.Read, 0, 0)
		if err != nil {
			t.Fatal("its place was not given to another: ", err)
		}
		late() // beyond the limit: it must not be kept waiting for what it has begun
		facts(limit+1, 0)
		ticket.Answered()
		gone := admission.Away(ctx)
		ticket.Release()
		gone()
		facts(limit, 0)
		another.Release()
		admission.Away(t.Context())()
	})
}

func TestTheQueueIsShortAndInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := admission.New(0)
		var held []admission.Ticket
		for range 32 {
			ticket, err := l.Acquire(t.Context(), admission.Write, 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, ticket)
		}
		granted := make(chan int, 100)
		refused := make(chan time.Duration, 100)
		began := time.Now()
		for i := range 20 {
			go func() {
				ticket, err := l.Acquire(t.Context(), admission.Write, 0, 0)
				if err != nil {
					refused <- time.Since(began)
					return
				}
				defer ticket.Release()
				granted <- i
				time.Sleep(time.Hour)
			}()
			synctest.Wait()
		}
		if len(refused) != 4 || l.Expect(admission.Write) == nil || l.Expect(admission.Read) != nil {
			t.Errorf("%d of 20 were refused at once", len(refused))
		}
		for range 3 {
			held[0].Release()
			held = held[1:]
			synctest.Wait()
		}
		for want := range 3 {
			if got := <-granted; got != want {
				t.Errorf("%d came before %d", got, want)
			}
		}
		time.Sleep(40 * time.Millisecond)
		synctest.Wait()
		if len(refused) != 17 {
			t.Errorf("%d were refused within 40 ms", len(refused))
		}
		leaving, leave := context.WithCancel(t.Context())
		leave()
		if _, err := l.Acquire(leaving, admission.Write, 0, 0); err == nil {
			t.Error("a caller who has gone is given a place")
		}
		if f := l.Facts()[2]; f.Waiting != 0 || f.Running != 32 {
			t.Errorf("%+v", f)
		}
		time.Sleep(time.Hour)
	})
}

func TestACheckCostsNoAllocation(t *testing.T) {
	l := admission.New(0)
	if n := testing.AllocsPerRun(100, func() {
		ticket, err := l.Check()
		if err != nil {
			t.Fatal(err)
		}
		ticket.Answered()
		ticket.Release()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkCheck(b *testing.B) {
	l := admission.New(0)
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			ticket, _ := l.Check()
			ticket.Answered()
			ticket.Release()
		}
	})
}
