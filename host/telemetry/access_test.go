package telemetry

import (
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
)

func TestInstantsOfLinesAreThoseOfTheLogger(t *testing.T) {
	var s second
	began := time.Date(2026, 3, 29, 0, 59, 59, 999_999_999, time.UTC)
	zone := time.FixedZone("", -(3*60+30)*60)
	for _, at := range []time.Time{began, began.Add(time.Nanosecond), began.Add(12_345 * time.Microsecond), began.Add(-time.Hour),
		began.In(zone).Add(time.Second), {}, time.UnixMicro(1)} {
		if got, want := string(s.append(nil, at)), at.Format(hclog.TimeFormatJSON); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
