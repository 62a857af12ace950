package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/host/pluginhost"
	"github.com/authzhost/authz/internal/freeport"
	"github.com/authzhost/authz/internal/stopped"
	"github.com/authzhost/authz/sdk/plugin"
)

// launcher starts processes of one plugin.
type launcher struct {
	path     string
	settings settings
	env      map[string]string
	tee      io.Writer // also gets what plugins log, from several goroutines; nil is nobody
	start    time.Duration
	root     string // of temporary directories; short, for sockets lie below it
	run      string // tells the names of this run from those of others
	target   string // the far side of relays, "" is none
	counts   counts
	change   string // a command that changes the directory, "" is none
	number   atomic.Int64

	// inProcess says that rows live in the process: connections share one.
	inProcess bool

	// lease says that the plugin has a setting for it.
	lease bool

	declared []plugin.Setting
}

// newRootDir is short: the address of a socket holds about 100 bytes.
func newRootDir() (string, error) {
	dir := os.TempDir()
	if len(dir) > 30 {
		dir = "/tmp"
	}
	return os.MkdirTemp(dir, "authzc")
}

// ground is what the backend of every case stands on, whatever its kind: a directory, a
// configuration, and the processes that were started with it.
type ground struct {
	*launcher
	dir    string
	config map[string]any
	fill   func(string) string // the case's placeholders
	relay  *relay              // nil when the configuration holds no {target}
	said   said

	mu      sync.Mutex
	closed  bool
	count   int
	started []*process
}

func (l *launcher) ground() (*ground, error) {
	n := l.number.Add(1)
	g := &ground{launcher: l, dir: filepath.Join(l.root, fmt.Sprint(n)), said: said{tee: l.tee}}
	data := filepath.Join(g.dir, "d")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, err
	}
	values := []string{placeDir, data, placeCase, fmt.Sprintf("c%s%d", l.run, n)}
	if l.settings.holds(placePort) {
		port, err := freeport.Port()
		if err != nil {
			return nil, err
		}
		values = append(values, placePort, strconv.Itoa(port))
	}
	if l.target != "" {
		r, err := newRelay(l.target)
		if err != nil {
			return nil, err
		}
		g.relay, values = r, append(values, placeTarget, r.near)
	}
	g.fill = strings.NewReplacer(values...).Replace
	g.config = replaced(l.settings.values, g.fill).(map[string]any)
	return g, nil
}

// process is one process of the plugin, in a host of its own.
type process struct {
	host   *pluginhost.Host
	plugin *pluginhost.Plugin
	pid    int

	mu    sync.Mutex
	ended bool
}

// launch starts a process; nothing of a failed start is left.
func (g *ground) launch(ctx context.Context, config map[string]any) (*process, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, errors.New("the backend is closed")
	}
	g.count++
	log := hclog.New(&hclog.LoggerOptions{Name: "log", Output: &g.said, Level: hclog.Debug})
	h, err := pluginhost.New(pluginhost.Options{RunDir: filepath.Join(g.dir, fmt.Sprint(g.count)), Logger: log, StartTimeout: g.start,
		InsecurePermissions: true}) // it is the caller's own build, wherever that lies
	if err != nil {
		return nil, err
	}
	// A case stops processes for as long as it likes: nobody may take that for a
	// process that hangs.
	started, err := h.Start(ctx, pluginhost.Spec{Name: "plugin", Plugin: g.path, Env: g.env, Config: config, HangTimeout: -1})
	if err != nil {
		_ = h.Close(ctx)
		return nil, err
	}
	p := &process{host: h, plugin: started, pid: started.Status().PID}
	g.started = append(g.started, p)
	return p, nil
}

// signal reaches the process and whatever it started.
func (p *process) signal(s syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return errors.New("the process has ended")
	}
	if err := syscall.Kill(-p.pid, s); err != nil || s != syscall.SIGSTOP {
		return err
	}
	return stopped.Await(p.pid)
}

// kill ends the process as a crash does; its host would start it again.
func (p *process) kill() error {
	err := p.signal(syscall.SIGKILL)
	if err == nil {
		p.end()
	}
	return err
}

// end stops the process and waits until it is gone.
func (p *process) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	p.ended = true
	_ = syscall.Kill(-p.pid, syscall.SIGCONT) // it may be stopped
	ctx, done := context.WithTimeout(context.Background(), 5*time.Second)
	defer done()
	_ = p.host.Close(ctx) // the process is gone whatever it says
}

func (p *process) hasEnded() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended
}

// endAll ends every process that was started.
func (g *ground) endAll() {
	g.mu.Lock()
	started := g.started
	g.started = nil
	g.mu.Unlock()
	for _, p := range started {
		p.end()
	}
}

// Close ends what is left of the case.
func (g *ground) Close() error {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.endAll()
	if g.relay != nil {
		g.relay.close()
	}
	return os.RemoveAll(g.dir)
}

// Settings, Config and Output are of a case's Configurer.
func (g *ground) Settings() []plugin.Setting { return g.declared }
func (g *ground) Config() map[string]any     { return g.config }
func (g *ground) Output() string             { return g.said.String() }

// saidMost bounds what is kept of a case's output.
const saidMost = 8 << 20

// said keeps what processes said.
type said struct {
	tee  io.Writer
	mu   sync.Mutex
	text strings.Builder
}

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(b[:min(len(b), saidMost-s.text.Len())])
	if s.tee != nil {
		_, _ = s.tee.Write(b)
	}
	return len(b), nil
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}
