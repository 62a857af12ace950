package eventlog_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

var errDown = errors.New("the database is down")

// memLog is a log in memory that can lose events, be replaced, pruned, unreadable, and
// have holes. It answers as stores do (storage.After).
type memLog struct {
	mu     sync.Mutex
	life   string
	mark   authz.Position
	events []logged
	writes int // makes every event another one
	hole   int64
	down   bool
	before func() // runs before every page, unlocked

	heads, pages int
	lost         []authz.Position // what LostPosition was told
}

type logged struct {
	authz.Position
	authz.Event
}

func newMemLog(life string, events ...authz.Event) *memLog {
	l := &memLog{life: life}
	l.append(events...)
	return l
}

func (l *memLog) head() authz.Position {
	if n := len(l.events); n > 0 {
		return l.events[n-1].Position
	}
	return l.mark
}

func (l *memLog) append(events ...authz.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range events {
		l.writes++
		head := l.head()
		l.events = append(l.events, logged{authz.Position{Seq: head.Seq + 1,
			Identity: storage.Follow(head.Identity, fmt.Sprint(l.life, l.writes), head.Seq+1)}, e})
	}
}

// lose drops the newest n events, as a failover does.
func (l *memLog) lose(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = l.events[:max(0, len(l.events)-n)]
}

func (l *memLog) replace(life string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.life = life
}

func (l *memLog) prune(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n = min(n, len(l.events)); n > 0 {
		l.mark, l.events = l.events[n-1].Position, slices.Clone(l.events[n:])
	}
}

func (l *memLog) set(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
}

func (l *memLog) Head(context.Context) (provider.EventLogHead, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heads++
	if l.down {
		return provider.EventLogHead{}, errDown
	}
	return provider.EventLogHead{Position: l.head(), Log: l.life}, nil
}

func (l *memLog) Since(_ context.Context, after authz.Position, limit int) (provider.EventLogPage, error) {
	l.mu.Lock()
	before := l.before
	l.mu.Unlock()
	if before != nil {
		before()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pages++
	if l.down {
		return provider.EventLogPage{}, errDown
	}
	identity := ""
	for _, e := range l.events {
		if e.Seq == after.Seq {
			identity = e.Identity
		}
	}
	page := provider.EventLogPage(storage.After(after, l.mark, l.head(), identity))
	if page.Gap || page.Reset {
		return page, nil
	}
	for _, e := range l.events {
		if e.Seq <= after.Seq || len(page.Events) == limit {
			continue
		}
		if l.hole != 0 && e.Seq >= l.hole {
			break
		}
		page.UpTo, page.Events = e.Position, append(page.Events, e.Event)
	}
	return page, nil
}

func (l *memLog) LostPosition(_ context.Context, log string, at authz.Position) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if log != l.life {
		at.Identity = "of another life"
	}
	l.lost = append(l.lost, at)
}
