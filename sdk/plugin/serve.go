package plugin

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

const (
	// gcPercent lets the heap grow before it is collected: a plugin keeps little
	// and makes much, so that the default would collect every few calls.
	gcPercent = 400

	// streamWorkers keep the stacks that calls have grown. More calls than these
	// get a goroutine of their own.
	streamWorkers = 8
)

// Serve runs the plugin until its host is gone; it is all that a plugin's main
// does and it does not return before that. The standard logger of log/slog
// writes to the host's log meanwhile. Nothing may be printed on standard output.
func Serve(p Plugin) {
	if err := check(p); err != nil {
		fmt.Fprintln(os.Stderr, "authz plugin: "+err.Error())
		os.Exit(1)
	}
	if p.Version == "" {
		if info, ok := debug.ReadBuildInfo(); ok {
			p.Version = info.Main.Version
		}
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	log := hclog.New(&hclog.LoggerOptions{Name: p.Name, Output: os.Stderr, JSONFormat: true, Level: hclog.Debug})
	slog.SetDefault(slog.New(hostLog(os.Stderr)))
	l := newLife(func(reason string) {
		log.Info("plugin exits", "reason", reason)
		os.Exit(0)
	})
	go l.watchParent()
	spans := startTracing(p, log)
	set := goplugin.PluginSet{dispensed: &serverSide{plugin: p, life: l, log: log, spans: spans}}
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig:  Handshake,
		VersionedPlugins: map[int]goplugin.PluginSet{ProtocolVersion: set},
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(append(append(opts, serverOptions()...), spans.serverOptions()...), grpc.NumStreamWorkers(streamWorkers))...)
		},
		Logger: log,
	})
}

func check(p Plugin) error {
	if p.Name == "" {
		return fmt.Errorf("it has no name")
	}
	if len(p.kinds()) == 0 {
		return fmt.Errorf("plugin %q serves no kind", p.Name)
	}
	return checkSchema(p.ConfigSchema)
}

// serverSide is go-plugin's view of the plugin's half.
type serverSide struct {
	goplugin.NetRPCUnsupportedPlugin
	plugin Plugin
	life   *life
	log    hclog.Logger
	spans  *tracing // nil exports none
}

func (s *serverSide) GRPCServer(_ *goplugin.GRPCBroker, server *grpc.Server) error {
	register(server, s.plugin, s.life, s.log, s.spans)
	return nil
}

func (*serverSide) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, fmt.Errorf("a plugin is no host")
}

func register(server grpc.ServiceRegistrar, p Plugin, l *life, log hclog.Logger, spans *tracing) {
	control := &controlServer{plugin: p, storage: newStorageServer(log), sink: &sinkServer{log: log}, importer: &importerServer{log: log},
		life: l, spans: spans}
	pluginv1.RegisterPluginServer(server, control)
	pluginv1.RegisterStorageServer(server, control.storage)
	pluginv1.RegisterMetricsSinkServer(server, control.sink)
	pluginv1.RegisterDirectoryImporterServer(server, control.importer)
}

const (
	// parentPoll is how often a plugin looks whether its parent is still there:
	// the second line, for a host that dies before it holds the lifeline.
	parentPoll = time.Second

	// lifelineWait is how long a plugin waits for the lifeline.
	lifelineWait = time.Minute
)

// life ends the process when its host is gone.
type life struct {
	once     sync.Once
	exit     func(reason string)
	taken    chan struct{}
	takeOnce sync.Once
}

func newLife(exit func(reason string)) *life {
	return &life{exit: exit, taken: make(chan struct{})}
}

func (l *life) held() { l.takeOnce.Do(func() { close(l.taken) }) }

func (l *life) end(reason string) { l.once.Do(func() { l.exit(reason) }) }

func (l *life) watchParent() {
	parent := os.Getppid()
	go func() {
		select {
		case <-l.taken:
		case <-time.After(lifelineWait):
			l.end("no host took the lifeline")
		}
	}()
	for range time.Tick(parentPoll) {
		if os.Getppid() != parent {
			l.end("the host is gone")
		}
	}
}

// hostLog renders slog records the way the host reads a plugin's log.
func hostLog(out io.Writer) slog.Handler {
	return slog.NewJSONHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) > 0 {
			return a
		}
		switch a.Key {
		case slog.TimeKey:
			return slog.String("@timestamp", a.Value.Time().Format(hclog.TimeFormatJSON))
		case slog.LevelKey:
			return slog.String("@level", strings.ToLower(a.Value.String()))
		case slog.MessageKey:
			a.Key = "@message"
		}
		return a
	}})
}
