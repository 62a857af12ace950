package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/plugin"
	"github.com/authzhost/authz/sdk/storage"
)

// Storage returns a driver that always speaks to the current process. A store
// opened through an earlier process answers CodeUnavailable for ever, not
// applied; Open works again after the restart. Closing the driver closes the
// stores that it opened; the process belongs to the Host.
func (p *Plugin) Storage() (storage.Driver, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current == nil {
		return nil, p.unavailable()
	}
	if p.current.serves.Storage == nil {
		return nil, p.servesNo(p.description, plugin.KindStorage)
	}
	return &driver{plugin: p, info: p.current.serves.Storage.Info(), open: map[*store]struct{}{}}, nil
}

func (p *Plugin) unavailable() error {
	return storage.Unavailable(authz.OutcomeNotApplied, nil, "plugin %q is %s", p.spec.Name, p.state)
}

// servesNo is a plugin that is configured for a part that it does not play.
func (p *Plugin) servesNo(d plugin.Description, kind string) error {
	var serves []string
	for _, k := range d.Kinds {
		serves = append(serves, k.Name)
	}
	return fmt.Errorf("plugin %q serves no %s: it serves %s", p.spec.Name, kind, strings.Join(serves, ", "))
}

// driverNow is the current process's driver.
func (p *Plugin) driverNow() (storage.Driver, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current == nil || p.current.serves.Storage == nil {
		return nil, p.unavailable()
	}
	return p.current.serves.Storage, nil
}

type driver struct {
	plugin *Plugin

	mu     sync.Mutex
	info   storage.DriverInfo // last seen
	closed bool
	open   map[*store]struct{}
}

func (d *driver) Info() storage.DriverInfo {
	now, err := d.plugin.driverNow()
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil {
		d.info = now.Info()
	}
	return d.info
}

func (d *driver) Open(ctx context.Context, partition string) (storage.Store, error) {
	now, err := d.plugin.driverNow()
	if err != nil {
		return nil, err
	}
	opened, err := now.Open(ctx, partition)
	if err != nil {
		return nil, err
	}
	s := &store{Store: opened, driver: d}
	d.mu.Lock()
	closed := d.closed
	if !closed {
		d.open[s] = struct{}{}
	}
	d.mu.Unlock()
	if closed {
		_ = opened.Close() // refused all the same
		return nil, storage.Unavailable(authz.OutcomeNotApplied, nil, "the driver is closed")
	}
	return s, nil
}

func (d *driver) Close() error {
	d.mu.Lock()
	d.closed = true
	open := make([]*store, 0, len(d.open))
	for s := range d.open {
		open = append(open, s)
	}
	d.mu.Unlock()
	var err error
	for _, s := range open {
		err = errors.Join(err, s.Close())
	}
	return err
}

// store is a store that its driver can close.
type store struct {
	storage.Store
	driver *driver
}

func (s *store) Close() error {
	s.driver.mu.Lock()
	delete(s.driver.open, s)
	s.driver.mu.Unlock()
	return s.Store.Close()
}
