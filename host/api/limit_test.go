package api

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

func TestALimitIsAContextWithATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		parent, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "v"))
		defer cancel()
		l := limit(parent, time.Second)
		defer l.end()
		if at, ok := l.Deadline(); !ok || time.Until(at) != time.Second || l.timed != nil {
			t.Errorf("deadline %v %v", at, ok)
		}
		before := runtime.NumGoroutine()
		child, stop := context.WithCancel(l)
		defer stop()
		if n := runtime.NumGoroutine(); n != before || child.Value(key{}) != "v" {
			t.Errorf("a context below it: %d goroutines more, value %v", n-before, child.Value(key{}))
		}
		if l.Err() != nil || child.Err() != nil {
			t.Error(l.Err(), child.Err())
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if !errors.Is(l.Err(), context.DeadlineExceeded) || !errors.Is(child.Err(), context.DeadlineExceeded) {
			t.Errorf("after its time: %v, below it %v", l.Err(), child.Err())
		}

		gone := limit(parent, time.Hour)
		defer gone.end()
		cancel()
		if !errors.Is(gone.Err(), context.Canceled) {
			t.Errorf("of a caller who went away: %v", gone.Err())
		}
		for _, waited := range []bool{false, true} {
			ended := limit(t.Context(), time.Hour)
			if waited {
				_ = ended.Done()
			}
			ended.end()
			if !errors.Is(ended.Err(), context.Canceled) {
				t.Errorf("ended: %v", ended.Err())
			}
		}
		near, stopNear := context.WithTimeout(t.Context(), time.Minute)
		defer stopNear()
		if at, _ := limit(near, time.Hour).Deadline(); time.Until(at) != time.Minute {
			t.Errorf("of a caller with less time: %v", time.Until(at))
		}
	})
}
