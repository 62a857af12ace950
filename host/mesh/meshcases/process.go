package meshcases

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/authzhost/authz/sdk/storage"
)

// hooks are what a case does to the calls of one process.
type hooks struct {
	mu      sync.Mutex
	commit  func(partition string, c storage.Commit, send func() error) error
	reads   func(partition string) error
	holding bool // sections are never given back
}

// onCommit hands every commit to f, which sends it or not; nil lets them through.
func (h *hooks) onCommit(f func(partition string, c storage.Commit, send func() error) error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.commit = f
}

// onRead asks f before each supply of access; nil lets them through.
func (h *hooks) onRead(f func(partition string) error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reads = f
}

// keepSections leaves sections to their leases, as a process does that died.
func (h *hooks) keepSections() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.holding = true
}

func (h *hooks) hooked() (commit func(string, storage.Commit, func() error) error, reads func(string) error, holding bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.commit, h.reads, h.holding
}

// Open opens the store of a partition as the mesh names it.
func (p *process) Open(ctx context.Context, partition string) (storage.Store, error) {
	_, reads, _ := p.hooks.hooked()
	if reads != nil {
		if err := reads(partition); err != nil {
			return nil, err
		}
	}
	s, err := p.driver.Open(ctx, p.prefix+partition)
	if err != nil {
		return nil, err
	}
	return &watched{s, p, partition}, nil
}

// A commit without an answer is sent again by its id, as a host does.
const (
	sends      = 5
	sendsAgain = 100 * time.Millisecond
)

// watched is a store whose calls a case sees. It is named as the mesh names it.
type watched struct {
	storage.Store
	p         *process
	partition string
}

func (s *watched) Info() storage.StoreInfo {
	info := s.Store.Info()
	info.Partition = strings.TrimPrefix(info.Partition, s.p.prefix)
	return info
}

func (s *watched) Commit(ctx context.Context, c storage.Commit) (result storage.CommitResult, err error) {
	send := func() (err error) {
		for try := 1; ; try++ {
			if result, err = s.Store.Commit(ctx, c); storage.CodeOf(err) != storage.CodeUnavailable || try == sends || ctx.Err() != nil {
				return err
			}
			s.p.Step("%s: commit to %s → %v, and sent again", s.p.name, s.partition, err)
			time.Sleep(sendsAgain)
		}
	}
	if commit, _, _ := s.p.hooks.hooked(); commit != nil {
		err = commit(s.partition, c, send)
	} else {
		err = send()
	}
	s.p.Step("%s: commit of %d changes to %s → %v", s.p.name, len(c.Changes), s.partition, err)
	if err != nil {
		result = storage.CommitResult{}
	}
	return result, err
}

func (s *watched) ReadAccess(ctx context.Context, q storage.AccessQuery) (storage.Access, error) {
	if _, reads, _ := s.p.hooks.hooked(); reads != nil {
		if err := reads(s.partition); err != nil {
			return storage.Access{}, err
		}
	}
	return s.Store.ReadAccess(ctx, q)
}

func (s *watched) Acquire(ctx context.Context, key string) (storage.Section, error) {
	section, err := s.Store.Acquire(ctx, key)
	if err != nil {
		return nil, err
	}
	return kept{section, s.p}, nil
}

// kept is a section that a process which died does not give back.
type kept struct {
	storage.Section
	p *process
}

func (k kept) Release(ctx context.Context) error {
	if _, _, holding := k.p.hooks.hooked(); holding {
		return nil
	}
	return k.Section.Release(ctx)
}
