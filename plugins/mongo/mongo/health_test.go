package mongo

import (
	"testing"
	"time"
)

func TestTheServersClockIsComparedWithThisMachines(t *testing.T) {
	needServer(t)
	for _, behind := range []time.Duration{0, time.Minute, -time.Minute} {
		d := freshDatabase(layouts[0])
		t.Cleanup(func() { _ = d.Close() })
		s := d.openAs(t, func(m *driver) {
			m.clock.offset.Now = func() time.Time { return time.Now().Add(-behind) }
		})
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
