package schedule_test

import (
	"testing"
	"time"

	"github.com/authzhost/authz/host/directory/schedule"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	when, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return when
}

func TestDueInstants(t *testing.T) {
	for _, c := range []struct{ spec, after, want string }{
		{"*/15 * * * *", "2026-03-01T10:07:30Z", "2026-03-01T10:15:00Z"},
		{"*/15 * * * *", "2026-03-01T10:15:00Z", "2026-03-01T10:30:00Z"},
		{"0 3 * * *", "2026-03-01T10:00:00+05:00", "2026-03-02T03:00:00Z"},
		{" 30 2 * * 1 ", "2026-03-01T00:00:00Z", "2026-03-02T02:30:00Z"},
		{"@daily", "2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z"},
		{"CRON_TZ=Europe/Berlin 0 3 * * *", "2026-07-01T02:00:00Z", "2026-07-02T01:00:00Z"},
		{"0 0 29 2 *", "2026-03-01T00:00:00Z", "2028-02-29T00:00:00Z"},
	} {
		s, err := schedule.Parse(c.spec)
		if err != nil {
			t.Errorf("%s: %v", c.spec, err)
			continue
		}
		if got := s.Next(at(t, c.after)); !got.Equal(at(t, c.want)) {
			t.Errorf("%s after %s: %s, want %s", c.spec, c.after, got.UTC().Format(time.RFC3339), c.want)
		}
	}
}

func TestAnEmptyScheduleIsNeverDue(t *testing.T) {
	s, err := schedule.Parse("")
	if err != nil || !s.Never() || !s.Next(time.Now()).IsZero() {
		t.Errorf("%v, %v", s, err)
	}
}

func FuzzParse(f *testing.F) {
	for _, spec := range []string{"* * * * *", "CRON_TZ=", "TZ=UTC", "TZ=UTC ", "CRON_TZ=Nowhere/At_all 0 0 * * *", "@every 1h", "0 0 30 2 *", "61 * * * *", "* * * *", "0 0 0 1 1 *", "*/0 * * * *", "1-0 * * * *"} {
		f.Add(spec)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		s, err := schedule.Parse(spec)
		if err != nil {
			return
		}
		now := time.Unix(1_800_000_000, 0)
		if next := s.Next(now); !s.Never() && !next.After(now) {
			t.Errorf("%q is due at %s after %s", spec, next, now)
		}
	})
}

func TestWhatIsNoScheduleIsRefused(t *testing.T) {
	for _, spec := range []string{"CRON_TZ=", "TZ=UTC", "CRON_TZ=Nowhere/At_all 0 0 * * *", "@every 1h", "0 0 30 2 *", "61 * * * *", "* * * *", "0 0 0 1 1 *", "*/0 * * * *", "daily"} {
		if s, err := schedule.Parse(spec); err == nil {
			t.Errorf("%q was taken, next %s", spec, s.Next(time.Now()))
		}
	}
}
