package mesh

import (
	"context"
	"sync"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// PeerOptions says on whose behalf a peer is opened, and for what.
type PeerOptions struct {
	// As is the user, or service:<id>, on whose behalf the peer is used. It is written
	// into the neighbour's audit log; it proves nothing. Required (spec: mesh §5.2, §9).
	As string

	// Mode is what the peer is for: authz.MeshRead over a write edge makes a peer that
	// cannot write. "" is what the edge permits.
	Mode authz.MeshMode
}

// Peer is a neighbour's application in this process: every operation runs the rules,
// the catalog and the log of the neighbour. It holds as long as the edge does. Its
// methods may be called concurrently (spec: mesh §5.1).
type Peer struct {
	provider.Calls
	conn    *Connection
	to, as  string
	mode    authz.MeshMode
	member  *Member // what the neighbour reads of the organization
	store   *guarded
	options application.Options

	mu      sync.Mutex
	closed  bool
	serving *serving
}

// serving is the application over one version of the neighbour's vocabulary.
type serving struct {
	*application.Application
	settings                       Settings
	life                           string // incarnation of the neighbour's content
	catalogVersion, importsVersion int64
	client                         *client.Client
}

var _ provider.Provider = (*Peer)(nil)

// OpenPeer opens the application of a member whose partition an edge leads to. It is a
// *authz.MeshError with the reason where it must not or cannot be opened
// (spec: mesh §5).
func (c *Connection) OpenPeer(ctx context.Context, member string, o PeerOptions) (*Peer, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	m, err := c.Registry(ctx)
	if err != nil {
		return nil, err
	}
	mode, err := c.enter(m, member, o.Mode)
	if err != nil {
		return nil, err
	}
	s, err := c.store(ctx, member)
	if err != nil {
		return nil, err
	}
	if mode == authz.MeshWrite {
		persists, err := persisted(ctx, s)
		if err != nil {
			return nil, failed("open "+member, err)
		}
		if missing := c.lacking(member, persists); len(missing) > 0 {
			return nil, missing[0]
		}
	}
	p := &Peer{conn: c, to: member, as: o.As, mode: mode}
	p.Calls = provider.Calls{Invoker: p}
	p.member = &Member{Store: s, conn: c, partition: member}
	p.store = &guarded{Store: p.member, admit: p.mayWrite}
	if err := p.construct(ctx); err != nil {
		return nil, failed("open "+member, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, p.gone()
	}
	c.peers[p] = struct{}{}
	return p, nil
}

func (o PeerOptions) validate() error {
	kind, id := authz.SubjectUser, o.As
	if k, rest, ok := authz.ParseSubject(o.As); ok {
		kind, id = k, rest
	}
	switch {
	case o.As == "":
		return authz.Validation("a peer is opened on somebody's behalf: PeerOptions.As names a user, or service:<id>")
	case kind != authz.SubjectUser && kind != authz.SubjectService || id == "":
		return authz.Validation("PeerOptions.As must be a user id or service:<id>, not %s", spell.Quote(o.As))
	case o.Mode != "" && o.Mode != authz.MeshRead && o.Mode != authz.MeshWrite:
		return authz.Validation("PeerOptions.Mode must be %q or %q, not %s", authz.MeshRead, authz.MeshWrite, spell.Quote(string(o.Mode)))
	}
	return nil
}

// enter judges whether the connection may reach a member, and in which mode.
func (c *Connection) enter(m *authz.Mesh, member string, asked authz.MeshMode) (authz.MeshMode, error) {
	if m == nil {
		return "", errNoRegistry()
	}
	if _, ok := m.Member(c.partition); !ok {
		return "", notAMember(c.partition)
	}
	if _, ok := m.Member(member); !ok || member == c.partition {
		message := spell.Quote(member) + " is no member of the mesh"
		if ok {
			message = spell.Quote(member) + " is the application's own partition, not a peer"
		}
		return "", &authz.MeshError{Code: authz.MeshNotAMember, Partition: member, Message: message}
	}
	mode := asked
	if mode == "" {
		if mode = m.Reach(c.partition, member); mode == "" {
			mode = authz.MeshRead
		}
	}
	return mode, permitted(m, c.partition, member, mode)
}

func notAMember(partition string) *authz.MeshError {
	return &authz.MeshError{Code: authz.MeshNotAMember, Partition: partition, Message: spell.Quote(partition) + " is no member of the mesh"}
}

// construct makes the application of what the neighbour has published and configured.
func (p *Peer) construct(ctx context.Context) error {
	newest, err := newestAudit(ctx, p.store.Store)
	if err != nil {
		return err
	}
	p.options = application.Options{
		Name: p.conn.partition + ":" + p.to, Store: p.store, Elsewhere: p.member.Elsewhere,
		HashChain: newest != nil && newest.Hash != "",
		Guest:     &application.Guest{From: p.conn.partition, As: p.as, Admit: p.admitWrite},
		Clock:     p.conn.clock, IDs: p.conn.ids, Logger: p.conn.log,
	}
	return p.renew(ctx)
}

// renew serves what the neighbour has published and configured now.
func (p *Peer) renew(ctx context.Context) error {
	settings, err := settingsOf(ctx, p.store.Store)
	if err != nil {
		return err
	}
	head, published, err := p.store.GetCatalog(ctx)
	if err != nil {
		return err
	}
	if !published {
		return notPublished(p.to)
	}
	var imports storage.ImportsHead
	if p.store.Info().Capabilities.Has(storage.CapImports) {
		if imports, _, err = p.store.GetImports(ctx); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return p.gone()
	}
	before := p.serving
	life := p.store.Info().Incarnation
	if before != nil && before.settings == settings && before.life == life &&
		before.catalogVersion >= head.Version && before.importsVersion >= imports.Version { // read later than this
		return nil
	}
	p.options.HashChain = p.options.HashChain || settings.HashChain
	p.options.SoD = application.SoD{Enforce: settings.SoDEnforce}
	vocabulary, err := catalog.FromDocument(head.Document, catalog.DocumentOptions{Imports: imports.Manifest})
	if err != nil {
		return catalogInvalid(p.to, err)
	}
	next, err := p.serve(ctx, vocabulary, before)
	if err != nil {
		return err
	}
	next.settings, next.life = settings, life
	next.catalogVersion, next.importsVersion = head.Version, imports.Version
	p.serving = next
	if before != nil {
		before.client.Close()
		return before.Close()
	}
	return nil
}

func (p *Peer) serve(ctx context.Context, vocabulary *catalog.Catalog, before *serving) (*serving, error) {
	o := p.options
	o.Catalog, o.Ancestry = vocabulary, p.flat(vocabulary)
	if before != nil {
		o.Succeeds = before.Application
	}
	app, err := application.New(ctx, o)
	if err != nil {
		return nil, err
	}
	asks, err := client.New(client.Options{Provider: app, Catalog: vocabulary, Clock: p.conn.clock, Strict: true})
	if err != nil {
		_ = app.Close()
		return nil, err
	}
	return &serving{Application: app, client: asks}, nil
}

// flat resolves scopes whose type stands alone: of any other the neighbour's resolver
// is elsewhere, and a chain that was cut short would pass by revokes.
func (p *Peer) flat(vocabulary *catalog.Catalog) application.Ancestry {
	return application.AncestryFunc(func(_ context.Context, scope string) ([]string, error) {
		t, declared := vocabulary.ScopeType(authz.ScopeType(scope))
		if declared && (t.Parent != "" || t.MultiParent) {
			return nil, &authz.MeshError{Code: authz.MeshUnsupported, To: p.to, DriverName: p.conn.driver.Name,
				Message: "scopes of type " + spell.Quote(t.Type) + " lie below others, and only " + spell.Quote(p.to) + " itself can resolve them"}
		}
		return nil, nil
	})
}

// current is the application over what the neighbour has published now.
func (p *Peer) current(ctx context.Context) (*serving, error) {
	if p.isClosed() {
		return nil, p.gone()
	}
	m, err := p.conn.recent(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := p.conn.enter(m, p.to, authz.MeshRead); err != nil {
		return nil, err
	}
	if err := p.renew(ctx); err != nil {
		return nil, failed("open "+p.to, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, p.gone()
	}
	return p.serving, nil
}

// Invoke implements provider.Invoker.
func (p *Peer) Invoke(ctx context.Context, op *provider.Operation, in, out any) error {
	app, err := p.current(ctx)
	if err != nil {
		return err
	}
	if op.Kind == provider.Write && p.mode != authz.MeshWrite {
		return p.readOnly(op.Op)
	}
	if op.Op == "getSubjectAccess" {
		if err := p.whole(app); err != nil {
			return err
		}
	}
	return op.Do(ctx, app, in, out)
}

// Rows implements provider.Invoker.
func (p *Peer) Rows(ctx context.Context, op *provider.Operation, in any, row func(any) error) error {
	app, err := p.current(ctx)
	if err != nil {
		return err
	}
	return op.Each(ctx, app, in, row)
}

// whole refuses to evaluate for a neighbour in whose checks rows of others take part: a
// peer has no edges to them, and without them an answer would be another one.
func (p *Peer) whole(app *serving) error {
	if !app.settings.Imports {
		return nil
	}
	return &authz.MeshError{Code: authz.MeshUnsupported, To: p.to, DriverName: p.conn.driver.Name,
		Message: "rows of other members take part in checks of " + spell.Quote(p.to) + ", and only " + spell.Quote(p.to) + " itself can read them"}
}

// Explain shows the working of one check on the neighbour's rows as they stand.
func (p *Peer) Explain(ctx context.Context, of authz.Principal, key, scope string) (access.Explanation, error) {
	app, err := p.current(ctx)
	if err != nil {
		return access.Explanation{}, err
	}
	if err := p.whole(app); err != nil {
		return access.Explanation{}, err
	}
	return app.client.Explain(ctx, of, key, scope)
}

// Catalog is the neighbour's vocabulary as it is published now.
func (p *Peer) Catalog(ctx context.Context) (*catalog.Catalog, error) {
	app, err := p.current(ctx)
	if err != nil {
		return nil, err
	}
	return app.Application.Catalog(), nil
}

// Partition is the neighbour's.
func (p *Peer) Partition() string { return p.to }

// Mode is what the peer was opened for.
func (p *Peer) Mode() authz.MeshMode { return p.mode }

// OnInvalidate calls the listener for what is written through this peer. What the
// neighbour and others write is in its log.
func (p *Peer) OnInvalidate(listener func(authz.Event)) (unsubscribe func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.serving.OnInvalidate(listener)
}

// IngestEvents passes events of other processes to the peer's listeners.
func (p *Peer) IngestEvents(events []authz.Event) {
	p.mu.Lock()
	now := p.serving
	p.mu.Unlock()
	now.IngestEvents(events)
}

// Close ends the peer; its operations are MeshPeerClosed from then on. The store stays
// the connection's.
func (p *Peer) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	p.closed = true
	p.conn.forget(p)
	p.serving.client.Close()
	return p.serving.Close()
}

func (p *Peer) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

func (p *Peer) gone() error {
	return &authz.MeshError{Code: authz.MeshPeerClosed, To: p.to, Message: "the peer " + spell.Quote(p.to) + " is closed"}
}

func (p *Peer) readOnly(op string) error {
	return &authz.MeshError{Code: authz.MeshReadOnlyPeer, To: p.to, Operation: op,
		Message: op + " would write into " + spell.Quote(p.to) + ", which this peer only reads"}
}
