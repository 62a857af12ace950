package lookup

import (
	"context"
	"iter"
	"maps"
	"slices"

	"github.com/authzhost/authz/internal/lists"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// Scopes lists the scopes at which a principal holds a key.
func (l *Lists) Scopes(ctx context.Context, in provider.ScopesQuery) (page provider.ScopesPage, err error) {
	page.Scopes = []provider.HeldScope{}
	q, err := l.question(in.Key)
	if err != nil {
		return page, err
	}
	page.RequiresCondition, page.Expanded = q.condition, l.Recorded != nil || l.Flat
	n, err := limit(in.Limit)
	if err != nil {
		return page, err
	}
	at, err := after(in.After, listOf("scopes", in.Principal.Subject(), in.Key))
	if err != nil {
		return page, err
	}
	if l.Recorded != nil {
		if err := l.able(); err != nil {
			return page, err
		}
	}
	rows, err := l.Access(ctx, in.Principal)
	if err != nil || !rows.Active {
		return page, err
	}
	q.extent = &extent{limit: n}
	s, err := q.scopes(ctx, &rows)
	if err != nil {
		return page, err
	}
	if err := s.load(at.Path); err != nil {
		return page, err
	}
	last := at
	for row, err := range s.all(at) {
		if err != nil {
			return page, err
		}
		switch {
		case len(row.held.By) == 0:
			q.extent.examined++
		case q.extent.wanted() == 0:
			q.extent.cut = true
		default:
			page.Scopes = append(page.Scopes, row.held)
			q.extent.told++
		}
		if q.extent.cut {
			break
		}
		last = place{List: at.List, At: row.at, Path: slices.Clone(row.path)}
	}
	if q.extent.cut {
		page.Next, err = last.cursor()
	}
	return page, err
}

// heldAt is a candidate with its place: the scope, or the path to it. One that is not
// held, or told at another place, is by nothing.
type heldAt struct {
	held provider.HeldScope
	at   string
	path []string
}

// scopeList are the scopes at which the rows of one principal answer a key.
type scopeList struct {
	*question
	*chains
	granted map[string][]string // ids of the grants that confer the key, by scope
	implied map[string][]string // ids of those that imply it, by the scopes above them
	revoked map[string]bool     // the scopes of the revokes that match it
	roots   []string            // where the walk begins: granted, and implied where nothing above is granted
}

func (q *question) scopes(ctx context.Context, rows *authz.SubjectAccess) (*scopeList, error) {
	s := &scopeList{question: q, chains: q.Lists.chains(ctx), granted: map[string][]string{}, implied: map[string][]string{}, revoked: map[string]bool{}}
	for _, g := range access.Conferring(q.Vocabulary.Catalog(), rows, q.key, q.now) {
		s.granted[g.Scope] = append(s.granted[g.Scope], g.ID)
	}
	for i := range rows.Revokes {
		if r := &rows.Revokes[i]; rows.UserID != nil && r.UserID == *rows.UserID && q.suppresses(r) {
			s.revoked[r.Scope] = true
		}
	}
	s.roots = slices.DeleteFunc(slices.Sorted(maps.Keys(s.granted)), func(scope string) bool { return scope == authz.Global })
	if !q.implied {
		return s, nil
	}
	if err := s.imply(); err != nil {
		return nil, err
	}
	return s, nil
}

// imply finds what lies above the granted scopes.
func (s *scopeList) imply() error {
	if err := s.load(s.roots); err != nil {
		return err
	}
	for _, below := range s.roots {
		chain, err := s.of(below)
		if err != nil {
			return err
		}
		if s.takes(chain) {
			continue
		}
		for _, above := range chain[1 : len(chain)-1] {
			s.implied[above] = append(s.implied[above], s.granted[below]...)
		}
	}
	above := slices.Sorted(maps.Keys(s.implied))
	if err := s.load(above); err != nil {
		return err
	}
	for _, scope := range above {
		chain, err := s.of(scope)
		if err != nil {
			return err
		}
		if len(s.grants(chain)) == 0 {
			s.roots = append(s.roots, scope)
		}
	}
	slices.Sort(s.roots)
	return nil
}

// takes reports whether a revoke stands on a chain.
func (s *scopeList) takes(chain access.Chain) bool {
	return len(s.revoked) > 0 && slices.ContainsFunc(chain, func(scope string) bool { return s.revoked[scope] })
}

// grants are the ids of the grants on a chain.
func (s *scopeList) grants(chain access.Chain) (ids []string) {
	for _, scope := range chain {
		ids = append(ids, s.granted[scope]...)
	}
	return ids
}

// held decides a scope by its chain. What is not held is by nothing.
func (s *scopeList) held(scope string, chain access.Chain) provider.HeldScope {
	row := provider.HeldScope{Scope: scope}
	if s.takes(chain) {
		return row
	}
	if row.By = s.grants(chain); len(row.By) == 0 {
		row.By, row.Implied = s.implied[scope], true
	}
	return row
}

func (s *scopeList) all(after place) iter.Seq2[heldAt, error] {
	switch {
	case s.revoked[authz.Global]:
		return func(func(heldAt, error) bool) {}
	case len(s.granted[authz.Global]) > 0:
		return s.everywhere(after)
	}
	return s.walked(after)
}

// everywhere tells "*", and every scope that is known in the order of their ids.
func (s *scopeList) everywhere(after place) iter.Seq2[heldAt, error] {
	return func(yield func(heldAt, error) bool) {
		if after.At == "" {
			row := s.held(authz.Global, access.Chain{authz.Global})
			row.Except = slices.Sorted(maps.Keys(s.revoked))
			if !yield(heldAt{held: row, at: authz.Global}, nil) {
				return
			}
			after.At = authz.Global
		}
		for some, err := range lists.Pieces(s.scopesAfter(after.At), s.extent.batch) {
			if err == nil {
				err = s.load(some)
			}
			if err != nil {
				yield(heldAt{}, err)
				return
			}
			for _, scope := range some {
				chain, err := s.of(scope)
				if err != nil {
					yield(heldAt{}, err)
					return
				}
				if !yield(heldAt{held: s.held(scope, chain), at: scope}, nil) {
					return
				}
			}
		}
	}
}

// scopesAfter merges the recorded scopes with those that rows name.
func (s *scopeList) scopesAfter(after string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		from, found := slices.BinarySearch(s.roots, after)
		if found {
			from++
		}
		named := s.roots[from:]
		if s.Recorded != nil {
			for scope, err := range s.recordedAfter(after) {
				if err != nil {
					yield("", err)
					return
				}
				for len(named) > 0 && named[0] <= scope {
					if named[0] < scope && !yield(named[0], nil) {
						return
					}
					named = named[1:]
				}
				if !yield(scope, nil) {
					return
				}
			}
		}
		if s.extent.cut { // recorded ones are left that come before the rest
			return
		}
		for _, scope := range named {
			if !yield(scope, nil) {
				return
			}
		}
	}
}

// recordedAfter are the recorded scopes, until the page is over.
func (s *scopeList) recordedAfter(after string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for n, limit := 0, 0; n == limit && !s.extent.over(); {
			n, limit = 0, s.extent.batch()
			for scope, err := range s.Store.ListScopes(s.ctx, storage.Page{After: after, Limit: limit}) {
				if !yield(scope, err) || err != nil {
					return
				}
				n++
				after = scope
			}
		}
	}
}

// walked tells what lies at and below the roots, depth first.
func (s *scopeList) walked(after place) iter.Seq2[heldAt, error] {
	return func(yield func(heldAt, error) bool) {
		t := tree{ctx: s.ctx, store: s.Store, extent: s.extent, siblings: max(64, s.extent.limit/8), kind: storage.EdgeParent, enter: s.enter, under: func(depth int, node string) bool {
			return s.Recorded != nil && (depth > 0 || len(s.granted[node]) > 0)
		}}
		for v, err := range t.walk(s.roots, after.Path) {
			if err != nil {
				yield(heldAt{}, err)
				return
			}
			if v.out {
				if !yield(heldAt{path: v.path}, nil) {
					return
				}
				continue
			}
			scope := v.path[len(v.path)-1]
			chain, err := s.of(scope)
			if err != nil {
				yield(heldAt{}, err)
				return
			}
			if !yield(heldAt{held: s.held(scope, chain), path: v.path}, nil) {
				return
			}
		}
	}
}

// enter leaves out what a revoke takes with all that is below it, and what the walk
// reaches at another place: under itself as a root, or under the first of its parents
// that a granted scope is above.
func (s *scopeList) enter(depth int, nodes []step) error {
	scopes := make([]string, len(nodes))
	for i, n := range nodes {
		if scopes[i] = n.node; n.sole {
			s.only(n.node, n.from)
		}
	}
	if err := s.load(scopes); err != nil {
		return err
	}
	for i := range nodes {
		n := &nodes[i]
		chain, err := s.of(n.node)
		if err != nil {
			return err
		}
		if n.out = s.takes(chain); n.out || depth == 0 {
			continue
		}
		if _, n.out = slices.BinarySearch(s.roots, n.node); n.out {
			continue
		}
		first, err := s.firstParent(n.node)
		if err != nil {
			return err
		}
		n.out = first != n.from
	}
	return nil
}

// firstParent is the first parent of a scope that lies at or below a granted one.
func (s *scopeList) firstParent(scope string) (first string, err error) {
	parents := s.parents[scope]
	if len(parents) == 1 {
		return parents[0], nil
	}
	for _, parent := range parents {
		if first != "" && parent >= first {
			continue
		}
		chain, err := s.of(parent)
		if err != nil {
			return "", err
		}
		if len(s.grants(chain)) > 0 {
			first = parent
		}
	}
	return first, nil
}
