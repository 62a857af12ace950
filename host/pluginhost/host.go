package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
)

const (
	// DefaultStartTimeout is how long each step of a plugin's start may take.
	DefaultStartTimeout = 15 * time.Second

	// DefaultHangTimeout is how long a plugin may give no sign of life.
	DefaultHangTimeout = 15 * time.Second
)

// Options configures a Host.
type Options struct {
	// Dirs are searched, in order, for plugins given by name.
	Dirs []string

	// Embedded are the plugins that the host's own binary carries, by name. One
	// of them runs when no directory has a plugin of its name.
	Embedded map[string]Command

	// RunDir is where the host keeps its sockets, in a directory of their own
	// that no other host may share. It must be short: a socket's address holds
	// about 100 bytes. Required.
	RunDir string

	// RequireChecksum refuses every plugin whose Spec has no SHA256.
	RequireChecksum bool

	// InsecurePermissions runs plugins that other users may write or replace, each
	// with a warning in the log, and leaves out the directories above RunDir. That
	// one itself must belong to this user either way, and nobody else may write it.
	InsecurePermissions bool

	// Logger also carries what plugins log, under their instance's name. nil
	// discards it all.
	Logger hclog.Logger

	// StartTimeout bounds each of handshake, Describe and Configure, unless the
	// Spec says otherwise. Zero is DefaultStartTimeout.
	StartTimeout time.Duration
}

// Command starts a plugin that a binary carries beside other things.
type Command struct {
	Path string // of the binary, shown to people and executed

	// File is what is hashed and executed in Path's place when an upgrade may
	// have put another binary there: /proc/self/exe, which cannot change while it
	// runs. "" is Path.
	File string

	Args []string // that make it the plugin
}

func (c Command) file() string {
	if c.File != "" {
		return c.File
	}
	return c.Path
}

// Spec is one plugin of a configuration.
type Spec struct {
	Name   string            // of this instance; unique in a host
	Plugin string            // the <name> of authz-plugin-<name>, or a path (with a slash)
	SHA256 string            // hexadecimal digest that pins the binary, "" for none
	Env    map[string]string // all that the process sees beside the handshake
	Dir    string            // its working directory, "" is the host's
	Config map[string]any    // its settings, as from JSON

	// Switches are set over Config, each only where the plugin declares a
	// boolean setting of that name.
	Switches map[string]bool

	StartTimeout time.Duration // zero is the Options'

	// HangTimeout is how long the process may leave the host's question whether
	// it is alive unanswered before it is killed and started again. Zero is
	// DefaultHangTimeout, negative never asks.
	HangTimeout time.Duration
}

// Host owns plugin processes. Methods may be called concurrently.
type Host struct {
	opts    Options
	log     hclog.Logger
	sockets *sockets
	ctx     context.Context // ends when Close begins
	cancel  context.CancelFunc
	copies  atomic.Uint64 // of pinned plugins, counted

	mu      sync.Mutex
	closed  bool
	names   map[string]bool // started or starting
	plugins []*Plugin
	pending sync.WaitGroup // starts under way
}

// New prepares the socket directory, removing what killed hosts left there. It
// fails when another living host uses the same run directory.
func New(opts Options) (*Host, error) {
	if opts.StartTimeout < 0 {
		return nil, fmt.Errorf("the start timeout of plugins must not be negative: %v", opts.StartTimeout)
	}
	if opts.StartTimeout == 0 {
		opts.StartTimeout = DefaultStartTimeout
	}
	if opts.Logger == nil {
		opts.Logger = hclog.NewNullLogger()
	}
	dirs := make([]string, len(opts.Dirs))
	for i, dir := range opts.Dirs {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return nil, fmt.Errorf("pluginhost: plugin directory: %w", err)
		}
		dirs[i] = abs
	}
	opts.Dirs = dirs
	s, err := openSockets(opts.RunDir, opts.InsecurePermissions)
	if err != nil {
		return nil, err
	}
	h := &Host{opts: opts, log: opts.Logger, sockets: s, names: map[string]bool{}}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h, nil
}

var errClosed = errors.New("the host is stopping")

// Start finds, verifies, launches, describes and configures a plugin, and then
// keeps it running until Close. Its failures are *StartError.
func (h *Host) Start(ctx context.Context, spec Spec) (*Plugin, error) {
	if spec.StartTimeout < 0 {
		return nil, &StartError{Plugin: spec.Name, Reason: fmt.Sprintf("the start timeout must not be negative: %v", spec.StartTimeout)}
	}
	p := newPlugin(h, spec.filled(h.opts))
	ctx, done, err := p.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := p.start(ctx); err != nil {
		h.free(spec.Name)
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.plugins = append(h.plugins, p)
	return p, nil
}

func (s Spec) filled(o Options) Spec {
	if s.StartTimeout == 0 {
		s.StartTimeout = o.StartTimeout
	}
	if s.HangTimeout == 0 {
		s.HangTimeout = DefaultHangTimeout
	}
	return s
}

// begin takes the plugin's name; the start then ends with ctx or with the host.
func (p *Plugin) begin(ctx context.Context) (_ context.Context, done func(), err error) {
	h := p.host
	if err := h.reserve(p.spec.Name); err != nil {
		return nil, nil, p.startError(err.Error(), nil, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	apart := context.AfterFunc(h.ctx, cancel)
	return ctx, func() { apart(); cancel(); h.pending.Done() }, nil
}

func (h *Host) free(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.names, name)
}

func (h *Host) reserve(name string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return errClosed
	case name == "":
		return errors.New("it has no name")
	case h.names[name]:
		return errors.New("another plugin has the same name")
	}
	h.names[name] = true
	h.pending.Add(1)
	return nil
}

// Plugins lists the plugins in the order in which they were ready.
func (h *Host) Plugins() []*Plugin {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.plugins)
}

// Close stops every plugin and removes the sockets. A plugin gets a few seconds
// to close its driver and exit, less when ctx ends, and is then killed: when
// Close returns no process is left.
func (h *Host) Close(ctx context.Context) error {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil
	}
	h.closed = true
	h.mu.Unlock()
	h.cancel()
	h.pending.Wait()
	var stopping sync.WaitGroup
	for _, p := range h.Plugins() {
		stopping.Go(func() { p.stop(ctx) })
	}
	stopping.Wait()
	return h.sockets.close()
}
