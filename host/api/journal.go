package api

import (
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// journal is a log that an outage cannot flood: of one operation on one
// application it tells once an outageInterval, with how many more there were.
type journal struct {
	hclog.Logger

	mu      sync.Mutex
	outages map[operationOn]*outageCount
}

// operationOn is an operation; app is "" where the log is of one application.
type operationOn struct{ app, op string }

type outageCount struct {
	told time.Time
	more int
}

const outageInterval = time.Second

func newJournal(log hclog.Logger) *journal {
	return &journal{Logger: orSilent(log), outages: map[operationOn]*outageCount{}}
}

// outage warns that an operation could not be carried out. Operations are those of
// the manifest and applications those of the host, so that the counts are bounded.
func (j *journal) outage(of operationOn, args ...any) {
	j.mu.Lock()
	count := j.outages[of]
	if count == nil {
		count = &outageCount{}
		j.outages[of] = count
	}
	now := time.Now()
	if now.Sub(count.told) < outageInterval {
		count.more++
		j.mu.Unlock()
		return
	}
	more := count.more
	count.told, count.more = now, 0
	j.mu.Unlock()
	told := []any{"op", of.op, "more_since_last", more}
	if of.app != "" {
		told = append(told, "application", of.app)
	}
	j.Warn("unavailable", append(told, args...)...)
}
