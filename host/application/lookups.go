package application

import (
	"context"

	"github.com/authzhost/authz/host/lookup"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// lender is a store of which another partition's rows decide some keys as well, rows
// that its lists do not have.
type lender interface {
	LentBy(ctx context.Context, key string) (partition string, err error)
}

// ListSubjects implements provider.Lookups.
func (a *Application) ListSubjects(ctx context.Context, q provider.SubjectsQuery) (provider.SubjectsPage, error) {
	const op = "listSubjects"
	var s shape
	s.text("key", q.Key, maxID)
	s.text("scope", q.Scope, maxID)
	if s.err != nil {
		return provider.SubjectsPage{}, s.err
	}
	if l, ok := a.store.(lender); ok {
		owner, err := l.LentBy(ctx, q.Key)
		if err != nil {
			return provider.SubjectsPage{}, a.readFailed(op, err)
		}
		if owner != "" {
			return provider.SubjectsPage{}, authz.Rejected(authz.CodeUnsupported,
				"the key %s is imported from the member %s, whose groups decide it: ask there who holds it", spell.Quote(q.Key), spell.Quote(owner))
		}
	}
	page, err := a.lists().Subjects(ctx, q)
	if err != nil {
		return provider.SubjectsPage{}, a.readFailed(op, err)
	}
	return page, nil
}

// ListScopes implements provider.Lookups.
func (a *Application) ListScopes(ctx context.Context, q provider.ScopesQuery) (provider.ScopesPage, error) {
	s := principalShape(q.Principal)
	s.text("key", q.Key, maxID)
	if s.err != nil {
		return provider.ScopesPage{}, s.err
	}
	page, err := a.lists().Scopes(ctx, q)
	if err != nil {
		return provider.ScopesPage{}, a.readFailed("listScopes", err)
	}
	return page, nil
}

// ListKeys implements provider.Lookups.
func (a *Application) ListKeys(ctx context.Context, q provider.KeysQuery) (provider.KeysPage, error) {
	s := principalShape(q.Principal)
	s.text("scope", q.Scope, maxID)
	if s.err != nil {
		return provider.KeysPage{}, s.err
	}
	page, err := a.lists().Keys(ctx, q)
	if err != nil {
		return provider.KeysPage{}, a.readFailed("listKeys", err)
	}
	return page, nil
}

// principalShape judges whom an operation asks about.
func principalShape(p authz.Principal) (s shape) {
	if err := p.Validate(); err != nil {
		s.err = authz.Validation("%s", err.Error())
	}
	s.text("userId", p.UserID, maxID)
	s.text("serviceId", p.ServiceID, maxID)
	return s
}

func (a *Application) lists() *lookup.Lists {
	l := &lookup.Lists{Vocabulary: a.vocabulary, Store: a.store, Clock: a.clock, Flat: a.flat,
		Access: a.GetSubjectAccess, Ancestors: a.ResolveAncestors, Groups: a.groupParents}
	if stored, ok := a.ancestry.(*recorded); ok && stored.store == storage.Ancestry(a.store) {
		l.Recorded = func(scope string, parentsOf func(level []string) (map[string][]string, error)) ([]string, error) {
			chain, err := stored.chain(scope, parentsOf)
			return a.judgedChain(scope, chain, err)
		}
	}
	return l
}

// groupParents are the parents of every group as they are now.
func (a *Application) groupParents(ctx context.Context) (map[string][]string, error) {
	if a.mesh != nil || !a.persist {
		return a.readTopology(ctx) // groups of another partition move no head of this one
	}
	head, err := a.store.Head(ctx)
	if err != nil {
		return nil, err
	}
	return a.topology.at(ctx, head)
}
