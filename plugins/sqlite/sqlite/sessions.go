package sqlite

import (
	"context"
	"sync"

	"github.com/authzhost/authz/plugins/internal/seam"
)

// sessions are as many sessions as may be open for one purpose. The one given back
// last is taken first: its page cache knows what was read just now, and the others,
// each with a cache of its own, need not be opened before they are needed at once.
type sessions struct {
	free chan struct{} // one for each that nobody uses, open or not

	mu   sync.Mutex
	open []*session // that nobody uses
}

func newSessions(most int) *sessions {
	p := &sessions{free: make(chan struct{}, most)}
	for range most {
		p.free <- struct{}{}
	}
	return p
}

// take waits for a session; nil is one that has to be opened.
func (p *sessions) take(ctx context.Context, closed <-chan struct{}) (*session, error) {
	select {
	case <-p.free:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-closed:
		return nil, seam.Closed()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.open) - 1
	if last < 0 {
		return nil, nil
	}
	s := p.open[last]
	p.open[last] = nil
	p.open = p.open[:last]
	return s, nil
}

// giveBack takes a session back; nil is in the place of one that may be broken.
func (p *sessions) giveBack(s *session, broken bool) {
	if s != nil && broken {
		s.close()
		s = nil
	}
	if s != nil {
		p.mu.Lock()
		p.open = append(p.open, s)
		p.mu.Unlock()
	}
	p.free <- struct{}{}
}

// close waits for all and closes them.
func (p *sessions) close() {
	for range cap(p.free) {
		<-p.free
	}
	for _, s := range p.open {
		s.close()
	}
	p.open = nil
}
