package conformance_test

import (
	"context"
	"iter"
	"sync"

	"github.com/authzhost/authz/conformance"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// processes is a backend whose connections behave as processes on a durable
// database: they can be killed, and stopped between the calls to the database. A
// killed one frees nothing: its sections end with their leases.
type processes struct {
	*memory.Backend

	// broken, when set, breaks the driver of a connection.
	broken func(storage.Driver) storage.Driver
}

func (b processes) Connect(context.Context) (storage.Driver, error) {
	p := &process{}
	p.going = sync.NewCond(&p.mu)
	var d storage.Driver = &gate{b.Driver(), p} // what a broken driver asks of its database
	if b.broken != nil {
		d = b.broken(d)
	}
	return &gate{d, p}, nil // what a host asks of the process
}

func (processes) Close() error { return nil }

func (processes) Kill(d storage.Driver) error {
	d.(*gate).process.set(func(p *process) { p.dead, p.stopped = true, false })
	return nil
}

func (processes) Stop(d storage.Driver) error {
	d.(*gate).process.set(func(p *process) { p.stopped = true })
	return nil
}

func (processes) Continue(d storage.Driver) error {
	d.(*gate).process.set(func(p *process) { p.stopped = false })
	return nil
}

// process is the state of one connection.
type process struct {
	mu            sync.Mutex
	going         *sync.Cond
	dead, stopped bool
}

func (p *process) set(f func(*process)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(p)
	p.going.Broadcast()
}

// pass waits until the process is not stopped, and fails when it is dead.
func (p *process) pass(outcome authz.Outcome) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.stopped {
		p.going.Wait()
	}
	if p.dead {
		return storage.Unavailable(outcome, nil, "the process is dead")
	}
	return nil
}

// gate lets calls pass as its process allows.
type gate struct {
	storage.Driver
	*process
}

func (p *gate) Info() storage.DriverInfo {
	info := p.Driver.Info()
	durable := true
	info.Durable = &durable
	return info
}

func (p *gate) Open(ctx context.Context, partition string) (storage.Store, error) {
	if err := p.pass(authz.OutcomeNotApplied); err != nil {
		return nil, err
	}
	s, err := p.Driver.Open(ctx, partition)
	if err != nil {
		return nil, err
	}
	return &gateStore{s, p.process}, nil
}

func (p *gate) Close() error {
	if p.pass("") != nil {
		return nil
	}
	return p.Driver.Close()
}

type gateStore struct {
	storage.Store
	p *process
}

func (s *gateStore) Commit(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
	if err := s.p.pass(authz.OutcomeNotApplied); err != nil {
		return storage.CommitResult{}, err
	}
	r, err := s.Store.Commit(ctx, c)
	if gone := s.p.pass(authz.OutcomeUnknown); gone != nil {
		return storage.CommitResult{}, gone
	}
	return r, err
}

func (s *gateStore) Acquire(ctx context.Context, key string) (storage.Section, error) {
	if err := s.p.pass(authz.OutcomeNotApplied); err != nil {
		return nil, err
	}
	return s.Store.Acquire(ctx, key)
}

func (s *gateStore) ListGrants(ctx context.Context, f storage.GrantFilter, p storage.Page) iter.Seq2[authz.Grant, error] {
	if err := s.p.pass(""); err != nil {
		return func(yield func(authz.Grant, error) bool) { yield(authz.Grant{}, err) }
	}
	return s.Store.ListGrants(ctx, f, p)
}

func (s *gateStore) Close() error {
	if s.p.pass("") != nil {
		return nil
	}
	return s.Store.Close()
}

func processTarget(broken func(storage.Driver) storage.Driver) conformance.Target {
	return conformance.Target{Name: "memory as processes", Unpartitioned: true, SeparateProcesses: true,
		New: func(_ context.Context, o conformance.Options) (conformance.Backend, error) {
			return processes{memory.NewBackend(memory.Options{Lease: o.Lease}), broken}, nil
		}}
}
