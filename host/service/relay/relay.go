package relay

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/sdk/provider"
)

// Target says where an application is. Secret is "" for local ones. Link tells one
// link from the next, also where URL and secret are the same.
type Target struct {
	Org, Application, URL string
	Secret                string
	Link                  string
}

// Backend is an application that is asked, of this host or far away. Errors of its methods are
// *fault.Error with the codes of a relay (spec: hosted-api §9). Nothing arrives
// at OnInvalidate unless events are ingested or the application is local.
type Backend interface {
	provider.Provider
	Ping(ctx context.Context) (provider.Ping, error)
}

// Linked is an application over its link. No call but Ping reaches whoever answers
// there before a ping of the last minute has named the application.
type Linked interface {
	Backend

	OrgSnapshots

	// Confirm is what every call does first: application_mismatch where another
	// application answers. It asks nothing while the link is confirmed.
	Confirm(ctx context.Context) error
}

// OrgSnapshots is an application whose organization can be read and replaced as a whole.
type OrgSnapshots interface {
	ExportOrgSnapshot(ctx context.Context) (provider.OrgSnapshot, error)
	ApplyOrgSnapshot(ctx context.Context, in provider.ApplyOrgSnapshotInput) error
}

// Options says what may be asked, and how long is waited.
type Options struct {
	// AllowLoopback admits plain http to loopback, and loopback addresses. It is
	// for development; Orgs, which counts the orgs of the host, is then required,
	// because more than one end the permission.
	AllowLoopback bool
	Orgs          func(ctx context.Context) (int, error)

	// AllowedNetworks are admitted although they are not global. A link-local or
	// metadata address is only when it is listed by itself.
	AllowedNetworks []netip.Prefix

	// OwnListeners are the addresses of this host, asked at every connect; they
	// are never connected to. nil is none.
	OwnListeners func() []netip.AddrPort

	// Local answers an application of this host that the org may use; nil knows
	// none. It is asked at every call.
	Local func(org, name string) (Backend, bool)

	// RootCAs vouch for the certificates of applications; nil: those of the system.
	RootCAs *x509.CertPool

	// Lookup resolves names; nil is the system's resolver.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)

	// Times bound the waiting; members at zero take the defaults
	// (spec: hosted-api §9).
	Times Times

	Clock  func() int64 // epoch milliseconds; nil is the wall clock
	Logger hclog.Logger // nil is silent
}

// Times bound calls: from the lookup of the name to the end of the TLS handshake,
// and from there to the last byte of the answer.
type Times struct {
	Connect  time.Duration // 3 s
	Call     time.Duration // 15 s
	Probe    time.Duration // 5 s, of ping
	Snapshot time.Duration // 60 s, of the operations on org snapshots
}

func (t Times) filledIn() Times {
	or := func(d, def time.Duration) time.Duration {
		if d == 0 {
			return def
		}
		return d
	}
	return Times{or(t.Connect, 3*time.Second), or(t.Call, 15*time.Second), or(t.Probe, 5*time.Second), or(t.Snapshot, time.Minute)}
}

// Relay asks applications. It is safe for concurrent use.
type Relay struct {
	loopback  bool
	orgs      func(context.Context) (int, error)
	networks  []netip.Prefix
	listeners func() []netip.AddrPort
	local     func(org, name string) (Backend, bool)
	lookup    func(context.Context, string) ([]netip.Addr, error)
	times     Times
	clock     func() int64
	log       hclog.Logger
	transport *transport

	mu   sync.Mutex
	apps map[appKey]*application
}

type appKey struct{ org, application string }

// New makes a relay.
func New(o Options) (*Relay, error) {
	if o.AllowLoopback && o.Orgs == nil {
		return nil, errors.New("relay: AllowLoopback needs Orgs")
	}
	r := &Relay{loopback: o.AllowLoopback, orgs: o.Orgs, networks: o.AllowedNetworks, listeners: o.OwnListeners, local: o.Local,
		lookup: o.Lookup, times: o.Times.filledIn(), clock: o.Clock, log: o.Logger, apps: map[appKey]*application{}}
	if r.lookup == nil {
		r.lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	if r.clock == nil {
		r.clock = func() int64 { return time.Now().UnixMilli() }
	}
	if r.log == nil {
		r.log = hclog.NewNullLogger()
	}
	r.transport = r.newTransport(o)
	return r, nil
}

// Close drops idle connections.
func (r *Relay) Close() { r.transport.base.CloseIdleConnections() }

// For answers the application of a target; the same one, its circuit, confirmation
// and listeners, as long as the target stays as it is and no other application
// answers there. Asked for another URL, secret or link it begins anew.
func (r *Relay) For(t Target) Linked {
	key := appKey{t.Org, t.Application}
	r.mu.Lock()
	defer r.mu.Unlock()
	if a := r.apps[key]; a != nil && a.target == t {
		return a
	}
	a := &application{relay: r, target: t}
	a.Calls = provider.Calls{Invoker: a}
	if !IsLocal(t.URL) {
		a.hosted, a.broken = r.hosted(t)
	}
	r.apps[key] = a
	return a
}

// Forget drops what is kept of an application that is no longer linked.
func (r *Relay) Forget(org, application string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.apps, appKey{org, application})
}

// leave is Forget of one that another may have replaced already.
func (r *Relay) leave(a *application) {
	key := appKey{a.target.Org, a.target.Application}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.apps[key] == a {
		delete(r.apps, key)
	}
}

func (r *Relay) hosted(t Target) (*provider.Hosted, error) {
	if _, err := parse(t.URL); err != nil {
		return nil, errAddress
	}
	// The timeouts are those of the calls here, which are never longer than this.
	longest := max(r.times.Call, r.times.Probe, r.times.Snapshot)
	return provider.NewHosted(provider.HostedOptions{URL: t.URL, Secret: t.Secret, Timeout: longest, Transport: r.transport})
}

func (r *Relay) localApplication(org, name string) (Backend, bool) {
	if r.local == nil {
		return nil, false
	}
	return r.local(org, name)
}
