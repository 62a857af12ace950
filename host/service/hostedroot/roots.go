package hostedroot

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/service/cloud"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// Partition is where the org root of an org lives.
func Partition(org string) string { return "__org_" + org }

// Store is a partition that is open; *host/store.Store is one.
type Store interface {
	storage.Store
	Reopen(ctx context.Context) error
}

// Options of Roots.
type Options struct {
	// Open opens a partition of the service's storage. Required.
	Open func(ctx context.Context, partition string) (Store, error)

	// Published tells whether an application of the org has published what a pattern
	// names: the vocabulary of the root's rows. Required.
	Published func(ctx context.Context, org, pattern string) (bool, error)

	Clock  func() int64 // epoch milliseconds; nil is the wall clock
	IDs    func() string
	Logger hclog.Logger // nil is silent
}

// Roots are the hosted org roots that this host has asked for. It is safe for
// concurrent use.
type Roots struct {
	o Options

	mu     sync.Mutex
	open   map[string]*Root // by org
	closed bool
}

// New makes Roots; nothing is opened yet.
func New(o Options) *Roots {
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	return &Roots{o: o, open: map[string]*Root{}}
}

// Root is the org root of one org.
type Root struct {
	*application.Application
	store Store
	link  *Link
}

// Of is the org root of an org, which it opens when nobody has asked before. Whether
// the org has its home there is the caller's to know.
func (r *Roots) Of(ctx context.Context, org string) (*Root, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if root := r.open[org]; root != nil {
		return root, nil
	}
	if r.closed {
		return nil, fault.Storage(errors.New("the host is stopping"))
	}
	s, err := r.o.Open(ctx, Partition(org))
	if err != nil {
		return nil, fault.Storage(fmt.Errorf("open the org root of %s: %w", org, err))
	}
	if caps := s.Info().Capabilities; !caps.Has(storage.CapRecords) || !caps.Has(storage.CapEvents) {
		return nil, errors.Join(fault.Rejected(authz.CodeUnsupported,
			"the storage of the hosted service keeps no records or no event log, which an org root needs"), s.Close())
	}
	no := false
	app, err := application.New(ctx, application.Options{
		Name: Partition(org), Catalog: cloud.Root(), Store: s, OrgRoot: &no, HashChain: true,
		Elsewhere: func(ctx context.Context, pattern string) (bool, error) { return r.o.Published(ctx, org, pattern) },
		// Other hosts write here as well and nobody polls: what is kept would be stale.
		GroupTopologyTTL: -1,
		Clock:            r.o.Clock, IDs: r.o.IDs, Logger: r.o.Logger.Named(org),
	})
	if err != nil {
		return nil, errors.Join(failed(err), s.Close())
	}
	root := &Root{Application: app, store: s}
	root.link = &Link{root: root}
	root.link.Calls = provider.Calls{Invoker: root.link}
	r.open[org] = root
	return root, nil
}

// Link is the way to the org root of an org.
func (r *Roots) Link(ctx context.Context, org string) (*Link, error) {
	root, err := r.Of(ctx, org)
	if err != nil {
		return nil, err
	}
	return root.link, nil
}

// Reopen hurries the stores after their plugin came back.
func (r *Roots) Reopen(ctx context.Context) error {
	r.mu.Lock()
	roots := make([]*Root, 0, len(r.open))
	for _, root := range r.open {
		roots = append(roots, root)
	}
	r.mu.Unlock()
	var errs []error
	for _, root := range roots {
		errs = append(errs, root.store.Reopen(ctx))
	}
	return errors.Join(errs...)
}

// Close closes all of them. Nothing may be asked afterwards.
func (r *Roots) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	var errs []error
	for org, root := range r.open {
		errs = append(errs, root.Application.Close(), root.store.Close())
		delete(r.open, org)
	}
	return errors.Join(errs...)
}

// Decided tells whether the root has a request of that id which is pending no more.
func (r *Root) Decided(ctx context.Context, id string) (bool, error) {
	row, found, err := r.store.GetRequest(ctx, id)
	return found && row.State != authz.RequestPending, failed(err)
}

// Source names the move by which the root's organization came.
func (r *Root) Source(ctx context.Context) (string, error) {
	held, err := application.ReadAuthority(ctx, r.store)
	if err != nil || held == nil {
		return "", failed(err)
	}
	return held.Source, nil
}

// Head is the head of the root's log.
func (r *Root) Head(ctx context.Context) (authz.Position, error) {
	head, err := r.store.Head(ctx)
	return head, failed(err)
}
