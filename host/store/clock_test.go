package store_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/authzhost/authz/host/store"
)

func TestClocksThatPartAreToldOnce(t *testing.T) {
	in(t, store.Options{}, func(w *world) {
		told := func(ahead *time.Duration) string {
			w.driver.mu.Lock()
			w.driver.ahead = ahead
			w.driver.mu.Unlock()
			time.Sleep(3 * time.Second)
			synctest.Wait()
			got, warning := w.store.Clock()
			if (got == nil) != (ahead == nil) || got != nil && *got != *ahead {
				w.Errorf("told %v, shows %v", ahead, got)
			}
			return warning
		}
		for _, c := range []struct {
			ahead *time.Duration
			want  string
		}{
			{nil, ""},
			{new(5 * time.Second), ""},
			{new(5001 * time.Millisecond), "5.001s ahead"},
			{new(6 * time.Second), "6s ahead"},
			{new(-time.Second), ""},
			{new(-time.Hour), "1h0m0s behind"},
		} {
			if got := told(c.ahead); got == "" && c.want != "" || !strings.Contains(got, c.want) || c.want == "" && got != "" {
				w.Errorf("%v: %q, want %q", c.ahead, got, c.want)
			}
			w.state(store.StateReady)
		}
		log := w.log.String()
		if warned, calmed := strings.Count(log, "[WARN]"), strings.Count(log, "agree again"); warned != 2 || calmed != 1 {
			w.Errorf("%d warnings, %d ends:\n%s", warned, calmed, log)
		}
	})
}
