package postgres_test

import (
	"testing"
	"time"

	"github.com/authzhost/authz/plugins/postgres/postgres"
	"github.com/authzhost/authz/plugins/postgres/postgrestest"
)

func TestTheServersClockIsComparedWithThisMachines(t *testing.T) {
	dsn := postgrestest.Database(t)
	for _, behind := range []time.Duration{0, time.Minute, -time.Minute} {
		d, err := postgres.New(t.Context(), postgres.Options{DSN: dsn})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.Close() })
		postgres.SetClock(d, func() time.Time { return time.Now().Add(-behind) })
		s, err := d.Open(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		for until := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			health, err := s.Health(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := health.ClockAhead; got != nil {
				if (*got - behind).Abs() > 5*time.Second {
					t.Errorf("this machine is %v behind, and the server said to be %v ahead", behind, *got)
				}
				break
			}
			if time.Now().After(until) {
				t.Fatal("the clock was not compared")
			}
		}
	}
}
