package host

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/condition"
	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/host/internal/admission"
	"github.com/authzhost/authz/host/pluginhost"
	"github.com/authzhost/authz/host/store"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// Application is one application of the host, the org root or not: the local
// provider, the store below it, and the client that checks in this process. When
// authority moves, another takes its place (Host.Application answers it); this one
// still works, by the record that both read.
type Application struct {
	*application.Application
	*served
	handler  http.Handler // its provider API; nil without one
	client   *client.Client
	byPeople *client.Client // the same, to which a mistyped scope is a mistake
}

// ask has the application be asked by a client over its catalog.
func (a *Application) ask(c *client.Client) {
	a.client, a.byPeople = c, c.WithUnknownScopeTypes(client.ScopeTypeError)
}

// served is what an application of the host keeps when authority moves.
type served struct {
	current atomic.Pointer[Application] // nil until it is open
	options application.Options

	clientOptions client.Options // of whoever asks the application next
	past          pastClients

	store    *store.Store
	poller   *provider.Poller   // nil without a log of events
	counts   *counting          // nil when nobody wants them
	limiter  *admission.Limiter // of its provider API, and of the socket
	supplied ApplicationOptions

	conditions *condition.Set // nil: none is configured
	log        hclog.Logger
	secrets    atomic.Pointer[secrets]
	moves      *moves
	mesh       *neighbours // nil: it is in no mesh
}

func (h *Host) openApplication(ctx context.Context, name string, cfg config.Application, vocabulary *catalog.Catalog, conditions *condition.Set, plugin *pluginhost.Plugin) (*served, error) {
	driver, err := plugin.Storage()
	if err != nil {
		return nil, err
	}
	log := h.log.Named(name)
	a := &served{log: log, supplied: h.options.Applications[name].own(), conditions: conditions, limiter: admission.New(h.config.Load().Limits.InFlight)}
	if err := a.supplied.configure(name, a.conditions); err != nil {
		return nil, err
	}
	a.setSecrets(cfg.Provider)
	a.store, err = store.Open(ctx, driver, cfg.Storage.Partition, store.Options{Logger: log, Application: name,
		Incarnation: cfg.Storage.Incarnation, OnLost: a.forget, Observe: h.observation.storage(name)})
	if err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	// Not in the supervisor's own time: were this process to die before the store
	// is open, nobody else would start the next one.
	plugin.OnRestart(func() { go a.reopen(log) })
	a.options = application.Options{
		Name: name, Catalog: vocabulary, Store: a.store, Ancestry: a.ancestry(cfg.Ancestry), OrgRoot: &cfg.OrgRoot,
		PersistEvents: cfg.Events.Persist, HashChain: cfg.Audit.HashChain, Metrics: usageOptions(cfg.Metrics),
		EventRetention:   application.EventRetention(cfg.Events.Retention),
		GroupTopologyTTL: topologyTTL(cfg.GroupTopologyTTL), SoD: application.SoD{Enforce: application.SoDEnforce(cfg.SoD.Enforce)},
		Clock: h.options.Clock, IDs: h.options.IDs, Logger: log,
	}
	if a.mesh, err = h.connect(name, cfg, vocabulary, driver, a); err != nil {
		return nil, errors.Join(err, a.store.Close())
	}
	a.mesh.join(&a.options)
	first, err := application.New(ctx, a.options)
	if err != nil {
		return nil, errors.Join(err, a.mesh.close(), a.store.Close())
	}
	if err = a.mesh.enter(ctx, first, a.options); err != nil {
		return nil, errors.Join(err, first.Close(), a.mesh.close(), a.store.Close())
	}
	a.current.Store(&Application{Application: first, served: a})
	if a.counts, err = openCounting(a, name, h.config.Load(), h.sinks, log); err != nil {
		return nil, errors.Join(err, first.Close(), a.mesh.close(), a.store.Close())
	}
	// The client stays with the first application until the catalog is another, and the
	// poller for good: they read, and hear of events, which successors share. What needs
	// an application that is not closed, such as the sink, asks for the current one.
	a.clientOptions = client.Options{
		Provider: first, Catalog: vocabulary, Clock: h.options.Clock,
		SubjectCacheTTL:        &cfg.Client.SubjectCacheTTL,
		ObjectCacheTTL:         &cfg.Client.ObjectCacheTTL,
		MaxSubjectCacheEntries: &cfg.Client.MaxSubjectCacheEntries,
		MaxObjectCacheEntries:  &cfg.Client.MaxObjectCacheEntries,
		Metrics:                h.observation.checks(name, h.config.Load(), a.counts, a.supplied.Observers),
		Statistics:             h.observation.metrics != nil,
		External:               client.ExternalPolicy(cfg.Client.ExternalPermissions),
		OnExternal: func(p client.ExternalPermission) {
			log.Warn("a check named a permission of a namespace that the catalog neither owns nor imports; declare it under imports",
				"permission", spell.Quote(p.Permission), "namespace", spell.Quote(p.Namespace), "shape", p.Shape)
		},
		UnknownScopeTypes: client.ScopeTypePolicy(cfg.Client.UnknownScopeTypes),
		OnUnknownScopeType: func(u client.UnknownScopeType) {
			log.Warn("a check named a scope of a type that the catalog does not declare, and only rows at * could answer it; correct the caller, or declare the type",
				"scope_type", spell.Quote(u.ScopeType), "scope", spell.Quote(u.Scope), "did_you_mean", spell.QuoteList(u.DidYouMean), "shape", u.Shape)
		},
	}
	asks, err := client.New(a.clientOptions)
	if err != nil {
		a.counts.stop(ctx)
		return nil, errors.Join(err, first.Close(), a.mesh.close(), a.store.Close())
	}
	opened := &Application{Application: first, served: a}
	opened.ask(asks)
	a.current.Store(opened)
	a.moves = watchAuthority(a, log)
	if err := a.follow(ctx, log); err != nil {
		return nil, errors.Join(err, a.close(ctx))
	}
	h.warnOfOtherCatalog(ctx, name, first)
	return a, nil
}

// follow keeps up with what other hosts write to the same log: as soon as the
// driver's watch tells, else at the poller's interval.
func (a *served) follow(ctx context.Context, log hclog.Logger) (err error) {
	first := a.current.Load()
	if first.EventLog() == nil {
		return nil
	}
	if a.mesh != nil {
		return a.mesh.follow(ctx, first, log)
	}
	o := provider.PollerOptions{OnError: func(err error) { log.Debug("the event log could not be read", "error", err) }}
	if a.store.Info().Capabilities.Has(storage.CapWatch) {
		o.Hints = a.store.Watch
	}
	a.poller, err = provider.StartEventPoller(first.Application, o)
	return err
}

// reopenPatience bounds how long a restart is followed. The store itself goes on
// trying until it is closed.
const reopenPatience = 10 * time.Second

func (a *served) reopen(log hclog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), reopenPatience)
	defer cancel()
	if err := errors.Join(a.store.Reopen(ctx), a.mesh.reopen(ctx)); err != nil {
		log.Warn("the store could not be reopened yet", "error", err)
	}
}

func (a *served) ancestry(cfg config.Ancestry) application.Ancestry {
	if cfg.Kind == config.AncestryStored {
		return application.Stored(a.store)
	}
	return a.supplied.Ancestry
}

// topologyTTL: the configuration's zero is off, the application's is its default.
func topologyTTL(ttl time.Duration) time.Duration {
	if ttl == 0 {
		return -1
	}
	return ttl
}

// warnOfOtherCatalog compares the catalog this host evaluates with the published
// one.
func (h *Host) warnOfOtherCatalog(ctx context.Context, name string, a *application.Application) {
	published, err := a.GetPublishedCatalog(ctx)
	if err != nil || published == nil {
		return
	}
	document, err := a.Catalog().Document()
	if err == nil && !sameJSON(document, published.Document) {
		h.log.Warn("the configured catalog differs from the published one; checks follow the configured one, publish it to bring them together",
			"application", name, "published", published.Version)
	}
}

// forget empties the caches: the store's content is not what it was. Before the
// application is open there are none.
func (a *served) forget() {
	if opened := a.current.Load(); opened != nil {
		opened.IngestEvents([]authz.Event{{Type: authz.EventAll}})
	}
}

// secrets open the provider API of an application.
type secrets struct {
	all     []string
	limited api.Limited
}

func (a *served) setSecrets(p config.Provider) {
	revealed := func(secrets []config.Secret) []string {
		texts := make([]string, len(secrets))
		for i, s := range secrets {
			texts[i] = s.Reveal()
		}
		return texts
	}
	a.secrets.Store(&secrets{revealed(p.Secrets), api.Limited{Read: revealed(p.ReadSecrets), Check: revealed(p.CheckSecrets), Lookups: p.CheckLookups}})
}

// Client is the application's own client, for programs that embed the host. It keeps to
// the catalog that the application has now: after a reload take the one of the application
// that Host.Application then answers.
func (a *Application) Client() *client.Client { return a.client }

// Limiter admits what callers ask of the application over its provider API and the
// socket; what a program asks in process passes none.
func (a *Application) Limiter() *admission.Limiter { return a.limiter }

// Check serves the operation check.
func (a *Application) Check(ctx context.Context, p authz.Principal, keys []string, scope string, fresh bool) (bool, error) {
	return a.answer(ctx, a.client, p, keys, scope, fresh)
}

// AwaitPosition serves the parameter at of the operation check.
func (a *Application) AwaitPosition(ctx context.Context, at authz.Position) error {
	return a.client.AwaitPosition(ctx, at)
}

// close ends the application; ctx bounds what its counts get.
func (a *served) close(ctx context.Context) error {
	if a.poller != nil {
		a.poller.Stop()
	}
	a.mesh.stopFollowing()
	a.moves.stop()
	a.current.Load().client.Close()
	a.counts.stop(ctx)
	a.counts.tellSinks(a.log)
	return errors.Join(a.current.Load().Application.Close(), a.mesh.close(), a.store.Close())
}
