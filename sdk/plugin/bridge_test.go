package plugin_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/test/bufconn"

	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/plugin"
	"github.com/authzhost/authz/sdk/storage"
)

// bridge is one plugin served in this process: on a unix socket, or inside a bubble of
// synctest on a pipe.
type bridge struct {
	address string
	options []grpc.DialOption
	log     hclog.Logger
	largest atomic.Int64 // message seen, either way
	exited  chan string
}

func serve(t *testing.T, p plugin.Plugin, log hclog.Logger) *bridge {
	t.Helper()
	listener, err := net.Listen("unix", t.TempDir()+"/s")
	if err != nil {
		t.Fatal(err)
	}
	return serveOn(t, &bridge{address: "unix:" + listener.Addr().String(), log: log}, listener, p)
}

// serveInBubble serves p where only the clock of a bubble passes: a socket of the
// machine would hold it.
func serveInBubble(t *testing.T, p plugin.Plugin) *bridge {
	t.Helper()
	pipe := bufconn.Listen(1 << 20)
	dial := grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return pipe.DialContext(ctx) })
	return serveOn(t, &bridge{address: "passthrough:pipe", options: []grpc.DialOption{dial}}, pipe, p)
}

func serveOn(t *testing.T, b *bridge, listener net.Listener, p plugin.Plugin) *bridge {
	t.Helper()
	b.exited = make(chan string, 8)
	log := b.log
	if log == nil {
		log = hclog.NewNullLogger()
	}
	server := grpc.NewServer(append(plugin.ServerOptions(), grpc.StatsHandler(sizes{b}))...)
	plugin.Register(server, p, log, func(reason string) { b.exited <- reason })
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener) // ends with Stop
	}()
	t.Cleanup(func() {
		server.Stop()
		<-done
		if n := b.largest.Load(); n > plugin.MaxMessage {
			t.Errorf("a message of %d bytes crossed", n)
		}
	})
	return b
}

func (b *bridge) dial(t *testing.T) (*plugin.Client, *grpc.ClientConn) {
	t.Helper()
	options := append(plugin.DialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	conn, err := grpc.NewClient(b.address, append(options, b.options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return plugin.NewClient(conn), conn
}

// sizes measures what crosses.
type sizes struct{ b *bridge }

func (s sizes) HandleRPC(_ context.Context, r stats.RPCStats) {
	size := 0
	switch r := r.(type) {
	case *stats.InPayload:
		size = r.Length
	case *stats.OutPayload:
		size = r.Length
	}
	for {
		seen := s.b.largest.Load()
		if int64(size) <= seen || s.b.largest.CompareAndSwap(seen, int64(size)) {
			return
		}
	}
}

func (sizes) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (sizes) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (sizes) HandleConn(context.Context, stats.ConnStats)                       {}

func serving(d storage.Driver) plugin.Plugin {
	return plugin.Plugin{Name: "test", Version: "1", Storage: plugin.StorageKind{
		Capabilities: storage.AllCapabilities,
		Configure:    func(context.Context, map[string]any) (storage.Driver, error) { return d, nil },
	}}
}

// bridged returns a driver that is d, seen across the wire.
func bridged(t *testing.T, d storage.Driver) storage.Driver {
	t.Helper()
	client, _ := serve(t, serving(d), nil).dial(t)
	return configured(t, client)
}

// storeInBubble is a store of d across the wire, in a bubble of synctest.
func storeInBubble(t *testing.T, d storage.Driver) storage.Store {
	t.Helper()
	client, _ := serveInBubble(t, serving(d)).dial(t)
	return openStore(t, configured(t, client), "docs")
}

func configured(t *testing.T, client *plugin.Client) storage.Driver {
	t.Helper()
	c, err := client.Configure(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return c.Storage
}

func openStore(t *testing.T, d storage.Driver, partition string) storage.Store {
	t.Helper()
	s, err := d.Open(t.Context(), partition)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// memoryStore is a memory driver's store across the wire, with a short lease.
func memoryStore(t *testing.T) storage.Store {
	t.Helper()
	return openStore(t, bridged(t, memory.New(memory.Options{Lease: testLease})), "docs")
}

const testLease = 500 * time.Millisecond

// faultyDriver decorates a driver's stores.
type faultyDriver struct {
	storage.Driver
	decorate func(storage.Store) storage.Store
}

func (d *faultyDriver) Open(ctx context.Context, partition string) (storage.Store, error) {
	s, err := d.Driver.Open(ctx, partition)
	if err != nil {
		return nil, err
	}
	return d.decorate(s), nil
}

// faultyStore injects an error, or anything else, before a call reaches the
// store.
type faultyStore struct {
	storage.Store
	before func(ctx context.Context) error
}

// faulty is a store across the wire whose plugin runs before first.
func faulty(t *testing.T, before func(ctx context.Context) error) storage.Store {
	t.Helper()
	return openStore(t, bridged(t, failing(before)), "docs")
}

func failing(before func(ctx context.Context) error) storage.Driver {
	return &faultyDriver{Driver: memory.New(memory.Options{}), decorate: func(s storage.Store) storage.Store {
		return &faultyStore{Store: s, before: before}
	}}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatal("never: " + what)
}
