package storage_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/authzhost/authz/sdk/storage"
)

func TestAClockIsComparedOnceInAWhileAndNotByLateAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c storage.ClockOffset
		answers := func(ahead, took time.Duration, err error) func(context.Context) (int64, error) {
			return func(context.Context) (int64, error) {
				time.Sleep(took / 2)
				ms := time.Now().Add(ahead).UnixMilli()
				time.Sleep(took / 2)
				return ms, err
			}
		}
		if c.Ahead() != nil || !c.Due() || c.Due() {
			t.Error("it is due once, and nothing is known before")
		}
		for _, m := range []struct {
			ahead, took time.Duration
			err         error
			want        time.Duration
		}{
			{ahead: 7 * time.Second, took: 100 * time.Millisecond, want: 7 * time.Second},
			{ahead: time.Hour, took: 2 * time.Second, want: 7 * time.Second},
			{ahead: time.Hour, err: errors.New("down"), want: 7 * time.Second},
			{ahead: -time.Hour, want: -time.Hour},
			{ahead: 0, took: 900 * time.Millisecond, want: 0},
		} {
			c.Measure(t.Context(), answers(m.ahead, m.took, m.err))
			if got := c.Ahead(); got == nil || *got != m.want {
				t.Errorf("%+v: %v", m, got)
			}
		}
		time.Sleep(time.Minute)
		if !c.Due() {
			t.Error("it is not due again")
		}
	})
}
