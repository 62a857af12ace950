package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/conformance"
	"github.com/authzhost/authz/host/pluginhost"
	"github.com/authzhost/authz/sdk/plugin"
	"github.com/authzhost/authz/sdk/storage"
)

// launcher starts processes of one plugin.
type launcher struct {
	path     string
	settings settings
	env      map[string]string
	log      hclog.Logger
	start    time.Duration
	root     string // of temporary directories; short, for sockets lie below it
	run      string // tells the names of this run from those of others
	number   atomic.Int64

	// inProcess says that rows live in the process: connections share one.
	inProcess bool

	// lease says that the plugin has a setting for it.
	lease bool
}

// newRootDir is short: the address of a socket holds about 100 bytes.
func newRootDir() (string, error) {
	dir := os.TempDir()
	if len(dir) > 30 {
		dir = "/tmp"
	}
	return os.MkdirTemp(dir, "authzc")
}

// backend makes the backend of a case.
func (l *launcher) backend(_ context.Context, o conformance.Options) (conformance.Backend, error) {
	n := l.number.Add(1)
	b := &backend{launcher: l, dir: filepath.Join(l.root, fmt.Sprint(n)), open: map[*connection]bool{}}
	data := filepath.Join(b.dir, "d")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, err
	}
	b.config = l.settings.of(data, fmt.Sprintf("c%s%d", l.run, n))
	if o.Lease > 0 && l.lease {
		b.config["lease"] = o.Lease.String()
	}
	return b, nil
}

// backend is the database of one case, reached through processes of the plugin.
type backend struct {
	*launcher
	dir    string
	config map[string]any

	mu     sync.Mutex
	closed bool
	count  int
	shared *process // of all connections, when rows live in the process
	open   map[*connection]bool
}

var (
	_ conformance.Crasher = (*backend)(nil)
	_ conformance.Freezer = (*backend)(nil)
)

// process is one process of the plugin, in a host of its own.
type process struct {
	host   *pluginhost.Host
	plugin *pluginhost.Plugin
	pid    int
	uses   int
	ended  bool
}

// connection is a driver over a process.
type connection struct {
	storage.Driver
	backend *backend
	process *process
}

func (b *backend) Connect(ctx context.Context) (storage.Driver, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, errors.New("the backend is closed")
	}
	p := b.shared
	if p == nil || p.ended {
		var err error
		if p, err = b.launch(ctx); err != nil {
			return nil, err
		}
		if b.inProcess {
			b.shared = p
		}
	}
	d, err := p.plugin.Storage()
	if err != nil {
		if p.uses == 0 {
			p.end()
		}
		return nil, err
	}
	p.uses++
	c := &connection{d, b, p}
	b.open[c] = true
	return c, nil
}

// launch starts a process; nothing of a failed start is left.
func (b *backend) launch(ctx context.Context) (*process, error) {
	b.count++
	h, err := pluginhost.New(pluginhost.Options{RunDir: filepath.Join(b.dir, fmt.Sprint(b.count)), Logger: b.log, StartTimeout: b.start})
	if err != nil {
		return nil, err
	}
	// A case stops processes for as long as it likes: nobody may take that for a
	// process that hangs.
	started, err := h.Start(ctx, pluginhost.Spec{Name: "plugin", Plugin: b.path, Env: b.env, Config: b.config, HangTimeout: -1})
	if err != nil {
		_ = h.Close(ctx)
		return nil, err
	}
	return &process{host: h, plugin: started, pid: started.Status().PID}, nil
}

// end stops the process and waits until it is gone.
func (p *process) end() {
	if p.ended {
		return
	}
	p.ended = true
	ctx, done := context.WithTimeout(context.Background(), 5*time.Second)
	defer done()
	_ = p.host.Close(ctx) // the process is gone whatever it says
}

// Close ends the process with its last connection.
func (c *connection) Close() error {
	b := c.backend
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.close(c)
}

func (b *backend) close(c *connection) error {
	if !b.open[c] {
		return nil
	}
	delete(b.open, c)
	var err error
	if !c.process.ended {
		err = c.Driver.Close()
	}
	if c.process.uses--; c.process.uses == 0 {
		c.process.end()
	}
	return err
}

// signal reaches the process and whatever it started.
func (b *backend) signal(d storage.Driver, s syscall.Signal) (*process, error) {
	c, ok := d.(*connection)
	if !ok || c.process.ended {
		return nil, errors.New("no process is behind this driver")
	}
	return c.process, syscall.Kill(-c.process.pid, s)
}

func (b *backend) Kill(d storage.Driver) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	p, err := b.signal(d, syscall.SIGKILL)
	if err == nil {
		p.end() // its host would start it again
	}
	return err
}

func (b *backend) Stop(d storage.Driver) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, err := b.signal(d, syscall.SIGSTOP)
	return err
}

func (b *backend) Continue(d storage.Driver) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, err := b.signal(d, syscall.SIGCONT)
	return err
}

// Close ends what is left of the case.
func (b *backend) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for c := range b.open {
		if !c.process.ended {
			_ = syscall.Kill(-c.process.pid, syscall.SIGCONT)
		}
		c.process.end()
	}
	return os.RemoveAll(b.dir)
}

// described is what the probe found out.
type described struct {
	plugin plugin.Description
	path   string
	driver storage.DriverInfo
	target conformance.Target
	notes  []string
}
