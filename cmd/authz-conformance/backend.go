package main

import (
	"context"
	"errors"
	"sync"
	"syscall"

	"github.com/authzhost/authz/conformance"
	"github.com/authzhost/authz/sdk/storage"
)

// backend makes the database of a case.
func (l *launcher) backend(_ context.Context, o conformance.Options) (conformance.Backend, error) {
	g, err := l.ground()
	if err != nil {
		return nil, err
	}
	if o.Lease > 0 && l.lease {
		g.config["lease"] = o.Lease.String()
	}
	return &backend{ground: g, uses: map[*process]int{}}, nil
}

// backend is the database of one case, reached through processes of the plugin.
type backend struct {
	*ground

	connecting sync.Mutex
	shared     *process // of all connections, when rows live in the process
	uses       map[*process]int
}

var (
	_ conformance.Crasher = (*backend)(nil)
	_ conformance.Freezer = (*backend)(nil)
)

// connection is a driver over a process.
type connection struct {
	storage.Driver
	backend *backend
	process *process
	closing sync.Once
}

func (b *backend) Connect(ctx context.Context) (storage.Driver, error) {
	b.connecting.Lock()
	defer b.connecting.Unlock()
	p := b.shared
	if p == nil || p.hasEnded() {
		var err error
		if p, err = b.launch(ctx, b.config); err != nil {
			return nil, err
		}
		if b.inProcess {
			b.shared = p
		}
	}
	d, err := p.plugin.Storage()
	if err != nil {
		if b.uses[p] == 0 {
			p.end()
		}
		return nil, err
	}
	b.uses[p]++
	return &connection{Driver: d, backend: b, process: p}, nil
}

// Close ends the process with its last connection.
func (c *connection) Close() (err error) {
	c.closing.Do(func() {
		b := c.backend
		b.connecting.Lock()
		defer b.connecting.Unlock()
		if !c.process.hasEnded() {
			err = c.Driver.Close()
		}
		if b.uses[c.process]--; b.uses[c.process] == 0 {
			c.process.end()
		}
	})
	return err
}

// processOf is the process behind what a plugin serves.
func processOf(served any) (*process, error) {
	switch c := served.(type) {
	case *connection:
		return c.process, nil
	case *sinkConnection:
		return c.process, nil
	case *importerConnection:
		return c.process, nil
	}
	return nil, errors.New("no process is behind it")
}

func signalTo(served any, s syscall.Signal) error {
	p, err := processOf(served)
	if err != nil {
		return err
	}
	if s == syscall.SIGKILL {
		return p.kill()
	}
	return p.signal(s)
}

func (b *backend) Kill(d storage.Driver) error     { return signalTo(d, syscall.SIGKILL) }
func (b *backend) Stop(d storage.Driver) error     { return signalTo(d, syscall.SIGSTOP) }
func (b *backend) Continue(d storage.Driver) error { return signalTo(d, syscall.SIGCONT) }
