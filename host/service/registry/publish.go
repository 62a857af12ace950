package registry

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/billing"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/pieces"
	"github.com/authzhost/authz/internal/spell"
)

// Input is what a publish is asked for. Document is kept byte for byte. Expected
// is the version that its primary namespace must have, 0 for none published; nil
// does not ask.
type Input struct {
	Document json.RawMessage
	Expected *int64

	// Still refuses, and has the commit fail, when the credential ended while the
	// publish was on its way; nil does not ask.
	Still func(ctx context.Context, tx *account.Tx) error
}

// Result answers a publish, 200 when Unchanged, else 201. Namespace and Version
// are those of the primary namespace; the keys are those of every namespace.
type Result struct {
	Namespace      string   `json:"namespace"`
	Version        int64    `json:"version"`
	Unchanged      bool     `json:"unchanged"`
	AddedKeys      []string `json:"addedKeys"`
	TombstonedKeys []string `json:"tombstonedKeys"`
	RevivedKeys    []string `json:"revivedKeys"`
	PublishedAt    int64    `json:"publishedAt"`
}

// PublishNamespace publishes with a publisher key: the document is about exactly
// its namespace. The errors are RegistryError, and RateLimitedError over the cap.
func (r *Registry) PublishNamespace(ctx context.Context, actor, org, namespace string, in Input) (Result, error) {
	d, err := read(in.Document)
	if err != nil {
		return Result{}, err
	}
	if len(d.namespaces) != 1 || d.namespaces[0] != namespace {
		return Result{}, notOwned("the key publishes the namespace %s and no other", namespace)
	}
	return r.publish(ctx, actor, org, d, in, "")
}

// PublishApplication publishes from an application: the document is about
// namespaces of its own. The errors are as above, and application_not_found.
func (r *Registry) PublishApplication(ctx context.Context, actor, org, application string, in Input) (Result, error) {
	if _, err := r.applications.NamespacesOf(ctx, org, application); err != nil {
		return Result{}, err
	}
	d, err := read(in.Document)
	if err != nil {
		return Result{}, err
	}
	return r.publish(ctx, actor, org, d, in, application)
}

func notOwned(format string, args ...any) *fault.Error {
	return fault.Registry("namespace_not_owned", format, args...)
}

// publish runs in the sections of every namespace, taken in ascending order so
// that no two publishes wait for each other; again when an application it publishes
// for was linked, say, by its commit.
func (r *Registry) publish(ctx context.Context, actor, org string, d document, in Input, application string) (result Result, err error) {
	p := publication{Registry: r, id: account.NewID(ctx), actor: actor, org: org, document: d, expected: in.Expected, still: in.Still, application: application}
	inside := func(ctx context.Context) error {
		return account.Retry(func() (err error) {
			result, err = p.run(ctx)
			return err
		})
	}
	for _, ns := range slices.Backward(d.namespaces) {
		next := inside
		inside = func(ctx context.Context) error {
			return r.store.Exclusive(ctx, "publish:"+org+":"+ns, next)
		}
	}
	return result, inside(ctx)
}

// publication is one publish while its sections are held.
type publication struct {
	*Registry
	id, actor, org string
	document       document
	expected       *int64
	application    string // whose namespaces they must be; "" is anybody's
	still          func(context.Context, *account.Tx) error

	tx    *account.Tx
	heads map[string]account.Row[head]
}

func (p *publication) run(ctx context.Context) (Result, error) {
	p.tx = p.store.Begin(ctx)
	if err := p.owned(ctx); err != nil {
		return Result{}, err
	}
	p.heads = map[string]account.Row[head]{}
	for _, ns := range p.document.namespaces {
		row, _, err := heads.Get(ctx, p.store, p.org, ns)
		if err != nil {
			return Result{}, err
		}
		p.heads[ns] = row
	}
	current := p.heads[p.document.primary].Value
	if current.Publication == p.id { // the same work, begun by a host that died
		return p.repeated(ctx, current)
	}
	if p.expected != nil && *p.expected != current.Version {
		return Result{}, fault.Registry("version_conflict", "the namespace %s is at version %d, not %d",
			p.document.primary, current.Version, *p.expected).With("expectedVersion", *p.expected).With("currentVersion", current.Version)
	}
	if p.unchanged() {
		return Result{Namespace: p.document.primary, Version: current.Version, Unchanged: true, PublishedAt: current.PublishedAt,
			AddedKeys: []string{}, TombstonedKeys: []string{}, RevivedKeys: []string{}}, nil
	}
	if p.expected == nil { // naming the head states the intent to restore
		if err := p.inOrder(ctx); err != nil {
			return Result{}, err
		}
	}
	if err := p.slowed(ctx); err != nil {
		return Result{}, err
	}
	return p.commit(ctx)
}

// owned judges who has the namespaces where nobody else publishes for them, and has
// the commit fail if that changes before it.
func (p *publication) owned(ctx context.Context) error {
	for _, ns := range p.document.namespaces {
		owner, found, err := p.applications.Claim(ctx, p.tx, p.org, ns)
		switch {
		case err != nil:
			return err
		case p.application == "" && !found:
			return fault.Registry("namespace_unregistered", "no application of the org has the namespace %s", ns)
		case p.application != "" && owner != p.application:
			return notOwned("the application does not have the namespace %s", spell.Quote(ns))
		}
	}
	if p.still == nil {
		return nil
	}
	return p.still(ctx, p.tx)
}

func (p *publication) unchanged() bool {
	for _, row := range p.heads {
		if row.Value.Sum != p.document.sum {
			return false
		}
	}
	return true
}

// inOrder refuses a document that a newer one has replaced.
func (p *publication) inOrder(ctx context.Context) error {
	for _, ns := range p.document.namespaces {
		current := p.heads[ns].Value
		if current.Sum == p.document.sum {
			continue
		}
		var matches int64
		for row, err := range versions.Under(ctx, p.store, p.org, sumKey(ns, p.document.sum)) {
			if err != nil {
				return err
			}
			matches = max(matches, row.Value.Version)
		}
		if matches > 0 {
			return fault.Registry("out_of_order", "the document is version %d of %s, which is at %d; name that as expectedVersion to restore it",
				matches, ns, current.Version).With("currentVersion", current.Version).With("matchesVersion", matches)
		}
	}
	return nil
}

// slowedTo is the pace of a namespace over the cap, in milliseconds.
const slowedTo = 60_000

func (p *publication) slowed(ctx context.Context) error {
	d, err := p.meters.Read(ctx, p.org, billing.CatalogPublishes)
	if err != nil || d.State == billing.Under {
		return err
	}
	now := p.store.Now(ctx)
	for _, row := range p.heads {
		if wait := row.Value.PublishedAt + slowedTo - now; row.Version > 0 && wait > 0 {
			return fault.Limited(billing.CatalogPublishes, wait)
		}
	}
	return nil
}

func (p *publication) commit(ctx context.Context) (Result, error) {
	now := p.store.Now(ctx)
	result := Result{Namespace: p.document.primary, PublishedAt: now}
	tx := p.tx
	ref := pieces.Put(tx, p.org, p.id, p.document.raw)
	published, room := map[string]int64{}, maxStanding
	for _, ns := range p.document.namespaces {
		row := p.heads[ns]
		h, err := p.standing(ctx, p.org, ns, row.Value.Version)
		if err != nil {
			return Result{}, err
		}
		keys := p.document.keys[ns]
		c := h.next(keys)
		v := version{Namespace: ns, Version: row.Value.Version + 1, PublishedAt: now, Publisher: p.actor, Sum: p.document.sum, Document: ref}
		if err := v.keep(tx, p.org, p.id+"/"+ns, c); err != nil {
			return Result{}, err
		}
		h.apply(v, c)
		if err := v.keepStanding(tx, p.org, p.id+"/"+ns+"/standing", h, &room); err != nil {
			return Result{}, err
		}
		versions.Put(tx, p.org, versionID(ns, v.Version), v, 0)
		heads.Put(tx, p.org, ns, head{Version: v.Version, PublishedAt: now, Sum: v.Sum, Publication: p.id,
			Keys: len(keys), Tombstones: len(h.tombstones)}, row.Version)
		if err := p.meters.Add(ctx, tx, p.org, billing.CatalogPublishes, ns, 1); err != nil {
			return Result{}, err
		}
		published[ns] = v.Version
		result.add(c)
	}
	result.Version = published[p.document.primary]
	tx.Audit(p.org, p.actor, "registry.publish", p.document.primary, map[string]any{"versions": published, "sha256": p.document.sum})
	if err := tx.Commit(); err != nil {
		return Result{}, err
	}
	return result.sorted(), nil
}

// repeated answers a publish that is done as it was answered then.
func (p *publication) repeated(ctx context.Context, current head) (Result, error) {
	result := Result{Namespace: p.document.primary, Version: current.Version, PublishedAt: current.PublishedAt}
	for _, ns := range p.document.namespaces {
		row, found, err := versions.Get(ctx, p.store, p.org, versionID(ns, p.heads[ns].Value.Version))
		if err != nil || !found {
			return Result{}, err
		}
		c, err := row.Value.changed(ctx, p.store, p.org)
		if err != nil {
			return Result{}, err
		}
		result.add(c)
	}
	return result.sorted(), nil
}

func (r *Result) add(c change) {
	r.AddedKeys = append(r.AddedKeys, c.Added...)
	r.TombstonedKeys = append(r.TombstonedKeys, c.Tombstoned...)
	r.RevivedKeys = append(r.RevivedKeys, c.Revived...)
}

func (r Result) sorted() Result {
	r.AddedKeys, r.TombstonedKeys, r.RevivedKeys = list(r.AddedKeys), list(r.TombstonedKeys), list(r.RevivedKeys)
	slices.Sort(r.AddedKeys)
	slices.Sort(r.TombstonedKeys)
	slices.Sort(r.RevivedKeys)
	return r
}
