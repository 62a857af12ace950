package meshcases

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/authzhost/authz/conformance"
	"github.com/authzhost/authz/conformance/runner"
	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/mesh"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/storage"
)

// admin is who writes where a case does not say otherwise.
var admin = authz.AdminProvenance("m.reyes")

// begin is when every case begins, in epoch milliseconds.
const begin = 1_767_225_600_000

// cached is longer than a connection takes the registry as it read it, and a client its
// caches, in milliseconds.
const cached = 5_001

// world is one database of a case, with one clock for whoever works on it.
type world struct {
	*runner.Record
	ctx     context.Context
	target  conformance.Target
	backend conformance.Backend
	prefix  string // of the partitions' real names
	now     *atomic.Int64
	first   *process
}

var worldNumber atomic.Int64

// runName tells the partitions of this run from those of others on one server.
var runName = fmt.Sprintf("%x", time.Now().UnixNano()&0xffffffffff)

func newWorld(ctx context.Context, r *runner.Record, t conformance.Target, o conformance.Options) *world {
	w := &world{Record: r, ctx: ctx, target: t, now: new(atomic.Int64)}
	w.now.Store(begin)
	if !t.Unpartitioned {
		w.prefix = fmt.Sprintf("%sm%s%d_", t.Prefix, runName, worldNumber.Add(1))
	}
	w.backend = runner.Fresh(ctx, r, func(ctx context.Context) (conformance.Backend, error) { return t.New(ctx, o) })
	w.first = &process{world: w, name: "process 1", driver: w.connectDriver()}
	return w
}

// apart is another mesh on the same database.
func (w *world) apart() *world {
	other := *w
	other.prefix = fmt.Sprintf("%sa%d_", w.prefix, worldNumber.Add(1))
	other.now = new(atomic.Int64)
	other.now.Store(begin)
	other.first = &process{world: &other, name: "process 1", driver: w.first.driver}
	return &other
}

func (w *world) connectDriver() storage.Driver {
	d, err := w.backend.Connect(w.ctx)
	if err != nil {
		w.Want("a connection", "%v", err)
	}
	w.Cleanup(func() { _ = d.Close() })
	return d
}

// pass lets time go by.
func (w *world) pass(ms int64) {
	w.Step("%d ms pass", ms)
	w.now.Add(ms)
}

// process is a process of the mesh, where the target has several; else it shares the
// only one. What it sends to storage can be watched and broken off.
type process struct {
	*world
	name   string
	driver storage.Driver
	hooks
}

// another is another process on the same database.
func (w *world) another(name string) *process {
	p := &process{world: w, name: name, driver: w.first.driver}
	if w.target.SeparateProcesses {
		p.driver = w.connectDriver()
	}
	return p
}

// open opens a partition in a process.
func (w *world) open(p *process, partition string) storage.Store {
	s, err := p.Open(w.ctx, partition)
	if err != nil {
		w.Want("partition "+partition+" opened", "%v", err)
	}
	w.Cleanup(func() { _ = s.Close() })
	return s
}

// raw is a store of the partition that nothing watches.
func (w *world) raw(partition string) storage.Store {
	return w.open(&process{world: w, driver: w.first.driver}, partition)
}

// connect makes the connection of a member to the mesh.
func (p *process) connect(partition string) *mesh.Connection {
	return p.connectAs(mesh.Options{Partition: partition, Driver: p.driver.Info(), Open: p.Open})
}

func (p *process) connectAs(o mesh.Options) *mesh.Connection {
	o.Clock = p.now.Load
	c, err := mesh.Connect(o)
	p.must(err, "a connection to the mesh")
	p.Cleanup(func() { _ = c.Close() })
	return c
}

// member is the application of a member, as its own process runs it.
type member struct {
	*application.Application
	w      *world
	name   string
	lends  *mesh.Member
	client *client.Client
}

// member opens the application of a member and publishes its catalog. Its client
// caches nothing unless a case wants that.
func (p *process) member(partition, declared string, o mesh.MemberOptions, options ...func(*client.Options)) *member {
	vocabulary := p.declare(declared)
	lends := p.connect(partition).Member(p.open(p, partition), vocabulary, o)
	app, err := application.New(p.ctx, application.Options{Name: partition, Catalog: vocabulary, Store: lends, Elsewhere: lends.Elsewhere,
		Log: lends.Log, Clock: p.now.Load})
	p.must(err, "the application of "+partition)
	p.Cleanup(func() { _ = app.Close() })
	asked := client.Options{Provider: app, Catalog: vocabulary, Clock: p.now.Load, Strict: true}
	for _, option := range options {
		option(&asked)
	}
	asks, err := client.New(asked)
	p.must(err, "the client of "+partition)
	p.Cleanup(asks.Close)
	m := &member{app, p.world, p.name + "/" + partition, lends, asks}
	m.publish(declared)
	return m
}

func (m *member) publish(declared string) {
	document, err := m.w.declare(declared).Document()
	m.w.must(err, "a catalog document")
	_, err = m.PublishCatalog(m.w.ctx, document, admin)
	m.w.Step("%s: publish %s → %v", m.name, strings.ReplaceAll(strings.TrimSpace(declared), "\n", "; "), err)
	m.w.must(err, "a published catalog")
}

// declare reads a catalog.
func (w *world) declare(text string) *catalog.Catalog {
	in, err := catalog.ParseYAML([]byte(text))
	w.must(err, "a catalog")
	c, err := catalog.Build(in)
	w.must(err, "a catalog")
	return c
}

// caching lets a client keep what it fetched for as long as its log vouches for it.
func caching(o *client.Options) { o.Strict = false }
