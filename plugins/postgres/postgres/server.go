package postgres

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

const (
	// A statement that reads these knows which server answers it. The timeline is
	// that of the WAL that the server writes; one that recovers writes none.
	systemNow   = `(select system_identifier from pg_control_system())`
	timelineNow = `('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint`

	serverNow = `select pg_is_in_recovery(), ` + systemNow + `::text, case when pg_is_in_recovery() then 0 else ` + timelineNow + ` end,
		extract(epoch from pg_postmaster_start_time())::text`

	// askTime bounds a question to another host of the connection string, and
	// askEvery is how long the answers count.
	askTime  = time.Second
	askEvery = time.Second
)

// server is one PostgreSQL server as it was when it was asked.
type server struct {
	address    string
	recovering bool
	system     string // the cluster's identifier: its standbys have the same
	timeline   int64  // 0 while it recovers
	started    string // tells two servers of one cluster apart
}

func (s server) same(t server) bool { return s.system == t.system && s.started == t.started }

func (s server) String() string { return fmt.Sprintf("%s (timeline %d)", s.address, s.timeline) }

// inspectServer asks a connection that is not in use yet.
func inspectServer(ctx context.Context, c *pgconn.PgConn) (s server, err error) {
	r := c.ExecParams(ctx, serverNow, nil, nil, nil, nil).Read()
	switch {
	case stateOf(r.Err) == stateForbidden:
		return s, errServer("the user of PostgreSQL may not ask pg_control_system(), which tells one cluster from another: grant execute on function pg_control_system() to it")
	case r.Err != nil:
		return s, r.Err
	case len(r.Rows) != 1 || len(r.Rows[0]) != 4:
		return s, fmt.Errorf("%d rows from the server's description of itself", len(r.Rows))
	}
	row := r.Rows[0]
	s = server{address: remote(c), recovering: string(row[0]) == "t", system: string(row[1]), started: string(row[3])}
	s.timeline, err = strconv.ParseInt(string(row[2]), 10, 64)
	return s, err
}

func remote(c *pgconn.PgConn) string {
	if a := c.Conn().RemoteAddr(); a.Network() != "unix" {
		return a.String()
	}
	return "its socket"
}

// primary is the server that a driver works with: of one cluster the highest timeline
// that was seen. Connections are made to no other.
type primary struct {
	config *pgconn.Config   // of the connection string
	hosts  []*pgconn.Config // one for each host of it, which takes whatever answers there

	// now is the server, nil before the first; split says that another one takes
	// writes too, nil when none does.
	now   atomic.Pointer[server]
	split atomic.Pointer[storage.Error]

	mu    sync.Mutex
	conns map[*pgconn.PgConn]struct{} // open, all of now

	// asking is held while the hosts are asked, which one that is gone draws out, and
	// until the answer is made use of.
	asking sync.Mutex
	asked  time.Time
}

// newPrimary has the configuration's connections judged. A hostname with several
// addresses, or with and without TLS, is one host.
func newPrimary(config *pgconn.Config) *primary {
	p := &primary{config: config, conns: map[*pgconn.PgConn]struct{}{}}
	first := &pgconn.FallbackConfig{Host: config.Host, Port: config.Port, TLSConfig: config.TLSConfig}
	for _, f := range append([]*pgconn.FallbackConfig{first}, config.Fallbacks...) {
		i := slices.IndexFunc(p.hosts, func(h *pgconn.Config) bool { return h.Host == f.Host && h.Port == f.Port })
		if i >= 0 {
			p.hosts[i].Fallbacks = append(p.hosts[i].Fallbacks, f)
			continue
		}
		h := config.Copy()
		h.Host, h.Port, h.TLSConfig, h.Fallbacks, h.ValidateConnect = f.Host, f.Port, f.TLSConfig, nil, nil
		p.hosts = append(p.hosts, h)
	}
	config.ValidateConnect = p.admit
	return p
}

// admit judges the server of a new connection, before anything is done with it. It is
// called for one host after another until it finds none at fault.
func (p *primary) admit(ctx context.Context, c *pgconn.PgConn) error {
	// A standby answers from the past, whatever the connection string prefers.
	if err := pgconn.ValidateConnectTargetSessionAttrsReadWrite(ctx, c); err != nil {
		return err
	}
	s, err := inspectServer(ctx, c)
	if err != nil {
		return err
	}
	p.asking.Lock()
	defer p.asking.Unlock()
	p.ask(ctx, s, true)
	if split := p.split.Load(); split != nil {
		return split
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now.Load()
	switch {
	case s.recovering:
		return errServer("PostgreSQL at %s is a standby", s.address)
	case now != nil && s.system == now.system && s.timeline < now.timeline:
		return errServer("PostgreSQL at %s is on timeline %d, and this host has worked on timeline %d: an old primary came back. Shut it down, and make it a standby of the new one",
			s.address, s.timeline, now.timeline)
	case now == nil || !s.same(*now):
		p.breakOff()
		p.now.Store(&s)
	}
	p.conns[c] = struct{}{}
	return nil
}

// breakOff ends every connection: nothing may be committed over one to an old server
// once there is a new one. The caller holds mu.
func (p *primary) breakOff() {
	for c := range p.conns {
		_ = c.Conn().Close()
	}
	clear(p.conns)
}

// forget lets go of a connection that ends.
func (p *primary) forget(c *pgconn.PgConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

// watch asks the other hosts until the context ends: connections that are open say
// nothing of a second primary.
func (p *primary) watch(ctx context.Context) {
	if len(p.hosts) < 2 {
		return
	}
	ticks := time.NewTicker(askEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return
		}
		p.askAgain(ctx)
	}
}

func (p *primary) askAgain(ctx context.Context) {
	p.asking.Lock()
	defer p.asking.Unlock()
	if now := p.now.Load(); now != nil {
		p.ask(ctx, *now, false)
	}
}

// ask asks every host of the connection string, about s and whether it has just answered
// itself. Two that take writes are a split, in which nobody knows whose writes count. What
// they said of the server that the driver works with counts for askEvery. The caller holds
// asking.
func (p *primary) ask(ctx context.Context, s server, answered bool) {
	if len(p.hosts) < 2 {
		return
	}
	if now := p.now.Load(); now != nil && s.same(*now) && time.Since(p.asked) < askEvery {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	answers := make(chan *server, len(p.hosts))
	for _, host := range p.hosts {
		go func() { answers <- answerOf(ctx, host) }()
	}
	var writers []server
	if answered {
		writers = append(writers, s)
	}
	for range p.hosts {
		if other := <-answers; other != nil && !other.recovering && !slices.ContainsFunc(writers, other.same) {
			writers = append(writers, *other)
		}
	}
	var split *storage.Error
	p.asked = time.Now()
	switch {
	case len(writers) > 1:
		split = errServer("PostgreSQL at %s and PostgreSQL at %s both take writes: a failover left the old primary running, or it came back. Shut one of them down; until then nothing is read or written",
			writers[0], writers[1])
	case len(writers) == 1 && !writers[0].same(s):
		// s is gone and another one writes. Whether that may take its place is judged
		// as a connection is made to it, which nothing here keeps from being made.
		p.mu.Lock()
		p.breakOff()
		p.mu.Unlock()
		p.asked = time.Time{}
	}
	p.split.Store(split)
}

// answerOf returns nil for a host that does not answer.
func answerOf(ctx context.Context, host *pgconn.Config) *server {
	c, err := pgconn.ConnectConfig(ctx, host)
	if err != nil {
		return nil
	}
	defer func() { _ = c.Close(ctx) }() // it has answered
	s, err := inspectServer(ctx, c)
	if err != nil {
		return nil
	}
	s.address = net.JoinHostPort(host.Host, strconv.Itoa(int(host.Port)))
	return &s
}

// guard is the condition of a statement that the server is the one that the driver
// works with, whose system and timeline are its two arguments.
func guard(system, timeline string) string {
	return `(not pg_is_in_recovery() and ` + systemNow + `::text = ` + system + ` and ` + timelineNow + ` = ` + timeline + `)`
}

// arguments are those of guard.
func (p *primary) arguments() []any {
	s := p.now.Load()
	return []any{s.system, s.timeline}
}

// errMoved refuses a commit whose connection leads to another server than the driver
// works with.
func (d *driver) errMoved(context.Context) error {
	d.pool.Reset()
	return errServer("PostgreSQL is not the primary any more that it was when the connection was made")
}

// named is an incarnation as hosts see it. A copy of the rows in another cluster is
// another life of them.
func (s *server) named(incarnation string) string {
	n, err := strconv.ParseUint(s.system, 10, 64)
	if err != nil {
		return incarnation + "." + s.system
	}
	return incarnation + "." + strconv.FormatUint(n, 36)
}

func errServer(format string, args ...any) *storage.Error {
	return storage.Unavailable(authz.OutcomeNotApplied, nil, format, args...)
}
