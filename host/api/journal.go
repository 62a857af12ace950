package api

import (
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// journal is a log that an outage cannot flood: of one operation it tells once an
// outageInterval, with how many more there were.
type journal struct {
	hclog.Logger

	mu      sync.Mutex
	outages map[string]*outageCount
}

type outageCount struct {
	told time.Time
	more int
}

const outageInterval = time.Second

func newJournal(log hclog.Logger) *journal {
	return &journal{Logger: orSilent(log), outages: map[string]*outageCount{}}
}

// outage warns that an operation could not be carried out. Operations are those of
// the manifest, so that their counts are bounded.
func (j *journal) outage(op string, args ...any) {
	j.mu.Lock()
	count := j.outages[op]
	if count == nil {
		count = &outageCount{}
		j.outages[op] = count
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
	j.Warn("unavailable", append([]any{"op", op, "more_since_last", more}, args...)...)
}
