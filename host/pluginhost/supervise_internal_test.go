package pluginhost

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestBackoffDoublesFromItsBaseToItsCap(t *testing.T) {
	least := func(time.Duration) time.Duration { return 0 }
	most := func(n time.Duration) time.Duration { return n - 1 }
	want := []time.Duration{
		100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond, 1600 * time.Millisecond,
		3200 * time.Millisecond, 6400 * time.Millisecond, 12800 * time.Millisecond, 25600 * time.Millisecond, 30 * time.Second, 30 * time.Second,
	}
	for i, w := range want {
		if got := backoff(i+1, most); got != w {
			t.Errorf("attempt %d waits %s at most, want %s", i+1, got, w)
		}
		if got := backoff(i+1, least); got != w/2 {
			t.Errorf("attempt %d waits %s at least, want %s", i+1, got, w/2)
		}
	}
	if got := backoff(1000, most); got != backoffCap {
		t.Errorf("attempt 1000 waits %s", got)
	}
}

func TestAQuietMinuteResetsTheBackoff(t *testing.T) {
	for _, c := range []struct {
		attempt int
		ran     time.Duration
		want    int
	}{{0, 0, 1}, {4, 59 * time.Second, 5}, {4, time.Minute, 1}, {0, time.Hour, 1}} {
		if got := nextAttempt(c.attempt, c.ran); got != c.want {
			t.Errorf("after attempt %d and %s: %d, want %d", c.attempt, c.ran, got, c.want)
		}
	}
}

func TestTheLastOutputIsReadable(t *testing.T) {
	var out tail
	fmt.Fprintln(&out, `{"@level":"debug","@message":"plugin address"}`)
	fmt.Fprintln(&out, `{"@level":"error","@message":"no database","error":"refused","dsn":"x","@timestamp":"2026"}`)
	fmt.Fprintln(&out, `{"@level":"error"`)
	fmt.Fprintln(&out, "panic: \x1b[31mred")
	want := []string{"[ERROR] no database dsn=x error=refused", `{"@level":"error"`, `panic: \x1b[31mred`}
	if got := out.last(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTheLastOutputIsBounded(t *testing.T) {
	var out tail
	for i := range 100 {
		fmt.Fprintf(&out, "line %d\n", i)
	}
	fmt.Fprint(&out, strings.Repeat("x", 5*keepBytes))
	fmt.Fprint(&out, "the end\nlast")
	got := out.last()
	if len(got) != keepLines || got[keepLines-1] != "last" || got[keepLines-2] != strings.Repeat("x", keepBytes) || got[0] != fmt.Sprint("line ", 102-keepLines) {
		t.Errorf("got %d lines: %.200q", len(got), got)
	}
	if !slices.Equal(out.last(), got) {
		t.Error("reading changed the lines")
	}
}
