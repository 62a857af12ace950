package schedule

import (
	"errors"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// Schedule is when something is due. The zero value is never.
type Schedule struct{ due cron.Schedule }

// parser takes no @every: its instants follow from when a host started, and hosts
// that share a schedule must agree on them.
var parser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// Parse reads five fields (minute, hour, day of month, month, day of week) or a
// name such as @daily, with CRON_TZ=Europe/Berlin in front for another zone than
// UTC. "" is never.
func Parse(spec string) (Schedule, error) {
	fields := strings.TrimSpace(spec)
	zone := strings.HasPrefix(fields, "CRON_TZ=") || strings.HasPrefix(fields, "TZ=")
	switch {
	case fields == "":
		return Schedule{}, nil
	case zone && !strings.Contains(fields, " "):
		return Schedule{}, errors.New("a time zone is followed by a space and five fields")
	case strings.Contains(fields, "@every"):
		return Schedule{}, errors.New("@every depends on when the host started: write */15 * * * * or @hourly")
	case !zone:
		fields = "CRON_TZ=UTC " + fields
	}
	due, err := parser.Parse(fields)
	if err != nil {
		return Schedule{}, err
	}
	if due.Next(time.Unix(0, 0)).IsZero() {
		return Schedule{}, errors.New("there is no such day")
	}
	return Schedule{due}, nil
}

// Never reports that nothing is ever due.
func (s Schedule) Never() bool { return s.due == nil }

// Next is the first due instant after t; the zero time when there is none.
func (s Schedule) Next(t time.Time) time.Time {
	if s.due == nil {
		return time.Time{}
	}
	return s.due.Next(t.UTC())
}
