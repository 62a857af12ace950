package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/host/api/dashboard"
	"github.com/authzhost/authz/host/api/hosted"
	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/host/internal/admission"
	"github.com/authzhost/authz/host/pluginhost"
	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/billing"
	"github.com/authzhost/authz/host/service/changes"
	"github.com/authzhost/authz/host/service/federation"
	"github.com/authzhost/authz/host/service/hostedroot"
	"github.com/authzhost/authz/host/service/keyring"
	"github.com/authzhost/authz/host/service/oidc"
	"github.com/authzhost/authz/host/service/orgroot"
	"github.com/authzhost/authz/host/service/registry"
	"github.com/authzhost/authz/host/service/relay"
	"github.com/authzhost/authz/host/service/retention"
	"github.com/authzhost/authz/host/service/secret"
	"github.com/authzhost/authz/host/store"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// hostedService is the hosted service of a host: its account data, what works on
// it, and what it does by itself.
type hostedService struct {
	log      hclog.Logger
	store    *store.Store
	accounts *account.Store
	keys     *secret.Keys
	relay    *relay.Relay
	entries  *applications.Entries
	roots    *hostedroot.Roots
	root     *orgroot.Root
	moves    *federation.Federation
	registry *registry.Registry
	retained *retention.Retention
	changes  *changes.Watcher
	at       string // where browsers reach the host
	core     *service.Service
	oidc     *oidc.Provider // nil: not configured
	handler  *hosted.API
	limiter  *admission.Limiter

	end  context.CancelFunc
	done sync.WaitGroup
}

// openService opens the account data, refuses keys that do not open it, and makes
// the hosted API. publicURL is where browsers reach the host.
func (h *Host) openService(ctx context.Context, cfg *config.Config, plugin *pluginhost.Plugin, publicURL string) (_ *hostedService, err error) {
	s := &hostedService{log: h.log.Named("service"), at: publicURL, limiter: admission.New(cfg.Limits.InFlight)}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("service: %w", err), s.close())
		}
	}()
	if err := s.openAccounts(ctx, h, cfg.Service, plugin); err != nil {
		return nil, err
	}
	if err := s.build(ctx, h, cfg, publicURL); err != nil {
		return nil, err
	}
	s.warn(cfg.Service)
	return s, nil
}

// start begins what the service does by itself.
func (s *hostedService) start() {
	var life context.Context
	life, s.end = context.WithCancel(context.Background())
	for _, d := range s.duties() {
		s.done.Go(func() { s.repeat(life, d) })
	}
}

func (s *hostedService) openAccounts(ctx context.Context, h *Host, cfg *config.Service, plugin *pluginhost.Plugin) error {
	driver, err := plugin.Storage()
	if err != nil {
		return err
	}
	s.store, err = store.Open(ctx, driver, account.Partition, store.Options{Logger: s.log,
		Incarnation: cfg.Storage.Incarnation, Observe: h.observation.storage(account.Partition)})
	if err != nil {
		return fmt.Errorf("open the account data: %w", err)
	}
	if !s.store.Info().Capabilities.Has(storage.CapRecords) {
		return fmt.Errorf("the driver of %s keeps no records, which account data is made of: name another in service.storage.driver", cfg.Storage.Driver)
	}
	plugin.OnRestart(func() {
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), reopenPatience)
			defer cancel()
			if err := errors.Join(s.store.Reopen(ctx), s.roots.Reopen(ctx)); err != nil {
				s.log.Warn("the account data could not be reopened yet", "error", err)
			}
		}()
	})
	s.accounts = account.New(s.store, h.clock())
	s.roots = hostedroot.New(hostedroot.Options{
		Open: func(ctx context.Context, partition string) (hostedroot.Store, error) {
			opened, err := store.Open(ctx, driver, partition, store.Options{Logger: s.log, Observe: h.observation.storage(account.Partition)})
			if err != nil {
				return nil, err // never a nil *store.Store in an interface
			}
			return opened, nil
		},
		Published: func(ctx context.Context, org, pattern string) (bool, error) {
			return s.registry.Knows(ctx, org, pattern)
		},
		Clock: h.clock(), IDs: h.options.IDs, Logger: s.log.Named("root"),
	})
	raw, err := cfg.Keys()
	if err != nil {
		return err
	}
	if s.keys, err = secret.NewKeys(raw); err != nil {
		return err
	}
	return keyring.Admit(ctx, s.accounts, s.keys)
}

func (s *hostedService) build(ctx context.Context, h *Host, cfg *config.Config, publicURL string) (err error) {
	clock, c := h.clock(), cfg.Service
	s.relay, err = relay.New(relay.Options{
		AllowLoopback: c.Relay.AllowLoopback, AllowedNetworks: config.Networks(c.Relay.AllowedNetworks), Orgs: s.accounts.CountOrgs,
		OwnListeners: h.listeners, Local: h.localFor(c.Local), Clock: clock, Logger: s.log,
	})
	if err != nil {
		return err
	}
	meters := billing.New(billing.Options{Store: s.accounts, Standing: map[string]billing.Count{
		billing.AdminSeats: s.accounts.CountSeats, billing.LinkedApplications: applications.Count(s.accounts, applications.Linked),
		billing.FederatedApplications: applications.Count(s.accounts, applications.Federated),
	}})
	s.entries = applications.New(applications.Options{Store: s.accounts, Keys: s.keys, Relay: s.relay, Meters: meters, Hosted: s.hostedRoot})
	s.registry = registry.New(registry.Options{Store: s.accounts, Applications: s.entries, Meters: meters})
	s.root = orgroot.New(s.entries, clock)
	o := service.Options{
		Accounts: s.accounts, Keys: s.keys, Clock: clock, Logger: s.log, OIDC: c.OIDC != nil,
		SessionLife: c.Session.Lifetime, SessionIdle: c.Session.Idle, OrgCreation: c.OrgCreation, StrictEscalation: c.StrictEscalation,
		Root: s.root, Applications: s.entries, Meters: meters,
	}
	if b := c.Bootstrap; b != nil {
		o.Bootstrap = service.Bootstrap{UserID: b.UserID, Secret: b.Secret.Reveal(), Keep: b.Keep}
	}
	if s.core, err = service.New(o); err != nil {
		return err
	}
	s.root.Bind(s.core)
	s.retained = retention.New(retention.Options{Store: s.accounts, Applications: s.entries, Meters: meters, Logger: s.log})
	s.moves = federation.New(federation.Options{Store: s.accounts, Applications: s.entries, Roots: s.roots, Meters: meters, Account: s.core, Logger: s.log})
	s.changes = changes.New(hosted.LookAt(s.core, s.root), 0)
	services := hosted.Services{Core: s.core, Applications: s.entries, Meters: meters, Root: s.root, Registry: s.registry,
		Retention: s.retained, Federation: s.moves, Changes: s.changes, Host: shown{h}}
	if p := c.OIDC; p != nil {
		s.oidc, err = oidc.New(oidc.Options{
			Issuer: p.Issuer, ClientID: p.ClientID, ClientSecret: p.ClientSecret.Reveal(), Scopes: p.Scopes, UserIDClaim: p.UserIDClaim,
			PublicURL: publicURL, Accounts: s.accounts, Keys: s.keys, Clock: clock,
		})
		if err != nil {
			return err
		}
		services.OIDC = s.oidc
	}
	face := hosted.Options{
		PublicURL: publicURL, TrustedProxies: config.Networks(cfg.TrustedProxies), Account: s.accounts, Keys: s.keys,
		Limiter: s.limiter, Services: services, Clock: clock, Logger: s.log,
	}
	if c.Dashboard {
		face.SignIn = dashboard.SignIn
	}
	s.handler, err = hosted.New(face)
	return err
}

// warn says what an operator should have in mind about how the service is set up.
func (s *hostedService) warn(c *config.Service) {
	if c.Bootstrap == nil && c.OIDC == nil {
		s.log.Warn("nobody can sign in: neither service.bootstrap nor service.oidc is configured")
	}
	if c.Relay.AllowLoopback {
		s.log.Warn("service.relay.allow_loopback is on: applications of this machine may be linked over plain http; for development only")
	}
}

// forOrgs calls do for every org there is; one that fails keeps no other from its
// turn. The error is the first one's.
func (s *hostedService) forOrgs(ctx context.Context, do func(ctx context.Context, org string) error) error {
	var first error
	for row, err := range account.OrgIDs.All(ctx, s.accounts, "") {
		if err != nil {
			return cmp.Or(first, err)
		}
		if err := do(ctx, row.ID); err != nil && first == nil {
			first = fmt.Errorf("org %s: %w", row.ID, err)
		}
	}
	return first
}

// duty is what the service does by itself. Every host looks every so often; what is
// due then is the duty's to know, and done twice it does no harm.
type duty struct {
	what  string
	every time.Duration
	do    func(ctx context.Context) error
}

const dutyTime = 5 * time.Minute

func (s *hostedService) duties() []duty {
	return []duty{
		{"bring members of federated orgs up to date", 2 * time.Second, s.inFederated(s.moves.SyncDue)},
		{"go on with moves of authority", 5 * time.Second, s.inFederated(s.moves.CarryDue)},
		{"probe the linked applications", 15 * time.Second, s.inOrgs(s.entries.ProbeDue)},
		{"retain audit logs", 15 * time.Second, s.inOrgs(s.retained.IngestDue)},
		{"look after the host keys", time.Minute, s.readmit},
		{"sweep what has ended", 10 * time.Minute, s.sweep},
	}
}

func (s *hostedService) inOrgs(do func(ctx context.Context, org string) error) func(context.Context) error {
	return func(ctx context.Context) error { return s.forOrgs(ctx, do) }
}

// inFederated is inOrgs for those that are federated or about to be, which are few.
func (s *hostedService) inFederated(do func(ctx context.Context, org string) error) func(context.Context) error {
	return func(ctx context.Context) error {
		orgs, err := s.moves.Orgs(ctx)
		for _, org := range orgs {
			err = errors.Join(err, do(ctx, org))
		}
		return err
	}
}

// readmit reads the ring of host keys again. A key that this host lacks leaves what
// is sealed with it shut, which the log must tell.
func (s *hostedService) readmit(ctx context.Context) error {
	return keyring.Readmit(ctx, s.accounts, s.keys)
}

// sweep deletes sessions, keys and kept answers that are over.
func (s *hostedService) sweep(ctx context.Context) error {
	return errors.Join(s.core.SweepSessions(ctx), s.forOrgs(ctx, s.core.SweepKeys), s.handler.SweepAnswers(ctx, ""),
		s.forOrgs(ctx, s.handler.SweepAnswers))
}

// repeat does a duty until the service ends. Each duty has a loop of its own: logs
// that take long must not keep probes waiting.
func (s *hostedService) repeat(ctx context.Context, d duty) {
	tick := time.NewTicker(d.every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		one, cancel := context.WithTimeout(ctx, dutyTime)
		err := d.do(one)
		cancel()
		if err != nil && ctx.Err() == nil {
			s.log.Warn("a task of the service failed; the next round tries again", "task", d.what, "error", err)
		}
	}
}

// reload takes over the secrets that may change while the host runs; the answer is
// the configuration in force.
func (s *hostedService) reload(current, next *config.Service) *config.Service {
	c := *current
	if current.TakesOver(next, "bootstrap") {
		b := *current.Bootstrap
		b.Secret = next.Bootstrap.Secret
		c.Bootstrap = &b
		s.core.SetBootstrapSecret(b.Secret.Reveal())
	}
	if current.TakesOver(next, "oidc") {
		o := *current.OIDC
		o.ClientSecret = next.OIDC.ClientSecret
		c.OIDC = &o
		s.oidc.SetClientSecret(o.ClientSecret.Reveal())
	}
	return &c
}

// rekey seals everything with the newest host key.
func (s *hostedService) rekey(ctx context.Context) (keyring.Result, error) {
	return keyring.Rekey(ctx, s.accounts, s.keys,
		func(ctx context.Context) (int, error) { return oidc.Rekey(ctx, s.accounts, s.keys) },
		func(ctx context.Context) (total int, err error) {
			err = s.forOrgs(ctx, func(ctx context.Context, org string) error {
				n, err := s.entries.Rekey(ctx, org)
				total += n
				return err
			})
			return total, err
		})
}

// endStreams ends what would otherwise wait until it is cut off.
func (s *hostedService) endStreams() {
	if s.changes != nil {
		s.changes.Close()
	}
}

func (s *hostedService) close() error {
	s.endStreams()
	if s.end != nil {
		s.end()
		s.done.Wait()
	}
	if s.moves != nil {
		s.moves.Close()
	}
	if s.core != nil {
		s.core.Close()
	}
	if s.root != nil {
		s.root.Close()
	}
	if s.relay != nil {
		s.relay.Close()
	}
	var errs []error
	if s.roots != nil {
		errs = append(errs, s.roots.Close())
	}
	if s.store != nil {
		errs = append(errs, s.store.Close())
	}
	return errors.Join(errs...)
}

// hostedRoot is the way to the org root of an org whose home the service is.
func (s *hostedService) hostedRoot(ctx context.Context, org string) (relay.Linked, error) {
	link, err := s.roots.Link(ctx, org)
	if err != nil {
		return nil, err
	}
	return link, nil
}

// clock is the host's time in epoch milliseconds.
func (h *Host) clock() func() int64 {
	if h.options.Clock != nil {
		return h.options.Clock
	}
	return func() int64 { return time.Now().UnixMilli() }
}

// publicURL is what browsers reach the host by: as configured, else where it
// listens, which is loopback then.
func publicURL(cfg *config.Config, listening net.Addr) string {
	if cfg.Service.PublicURL != "" {
		return cfg.Service.PublicURL
	}
	if cfg.TLS.Cert != "" {
		return "https://" + listening.String()
	}
	return "http://" + listening.String()
}

// listeners are the addresses that this host answers at.
func (h *Host) listeners() []netip.AddrPort {
	var out []netip.AddrPort
	for _, l := range h.servers {
		if a, ok := l.net.Addr().(*net.TCPAddr); ok {
			out = append(out, a.AddrPort())
		}
	}
	return out
}

// localFor finds the applications of this host that an org may link.
func (h *Host) localFor(allowed map[string][]string) func(org, name string) (relay.Backend, bool) {
	return func(org, name string) (relay.Backend, bool) {
		for _, one := range allowed[org] {
			if app, ok := h.apps[one]; ok && one == name {
				return hostedHere{app.current.Load(), name, h.config.Load().Applications[name].Provider.AuditOptIn}, true
			}
		}
		return nil, false
	}
}

// hostedHere is an application of this host as the relay asks it: the wire's own
// operations, without the wire.
type hostedHere struct {
	*Application
	name       string
	auditOptIn bool
}

// Ping answers what the provider API would.
func (a hostedHere) Ping(ctx context.Context) (provider.Ping, error) {
	orgRoot, err := a.StoredOrgRoot(ctx)
	return provider.Ping{API: provider.APIVersion, Application: a.name, OrgRoot: orgRoot, HasEventLog: a.HasEventLog(), AuditOptIn: a.auditOptIn}, err
}

// Explain serves the operation explain.
func (a hostedHere) Explain(ctx context.Context, in provider.Explain) (access.Explained, error) {
	return a.Application.Explain(ctx, &in)
}

// ApplyOrgSnapshot does what the provider API does: the host serves an application of the
// new authority from then on.
func (a hostedHere) ApplyOrgSnapshot(ctx context.Context, in provider.ApplyOrgSnapshotInput) error {
	if err := a.Application.ApplyOrgSnapshot(ctx, in); err != nil || in.Authority == nil {
		return err
	}
	return a.AuthorityChanged(ctx, *in.Authority)
}
