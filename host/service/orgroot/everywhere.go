package orgroot

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// GrantsEverywhere lists the grants of a subject in all homes by id: those of the root and
// of account data, and the instance rows of every linked application. Who could not be
// asked is named: its rows are missing.
func (r *Root) GrantsEverywhere(ctx context.Context, a *service.Access, q provider.GrantQuery, p Page) (List[HomedGrant], []Unavailable, error) {
	q.Scope, q.Paging = nil, provider.Paging{}
	list := func(ctx context.Context, to applications.Asked, paging provider.Paging) ([]authz.Grant, error) {
		q := q
		q.Paging = paging
		rows, err := ordered(to.Relay.ListGrants(ctx, q), to.ID, Page{After: p.After, Limit: p.Limit}, func(g authz.Grant) string { return g.ID })
		return matching(rows, err, to.ID, func(g authz.Grant) bool { return grantMatches(g, q) })
	}
	return everywhere(ctx, r, a.Org.ID, p, list, r.account.AccountGrants(ctx, a.Org.ID, q),
		func(g authz.Grant) (id, scope string) { return g.ID, g.Scope }, func(g authz.Grant, h Home) HomedGrant { return HomedGrant{g, h} })
}

// RevokesEverywhere lists the revokes of a user in all homes, as GrantsEverywhere does.
func (r *Root) RevokesEverywhere(ctx context.Context, a *service.Access, q provider.RevokeQuery, p Page) (List[HomedRevoke], []Unavailable, error) {
	q.Scope, q.Paging = nil, provider.Paging{}
	list := func(ctx context.Context, to applications.Asked, paging provider.Paging) ([]authz.Revoke, error) {
		q := q
		q.Paging = paging
		rows, err := ordered(to.Relay.ListRevokes(ctx, q), to.ID, Page{After: p.After, Limit: p.Limit}, func(v authz.Revoke) string { return v.ID })
		return matching(rows, err, to.ID, func(v authz.Revoke) bool { return revokeMatches(v, q) })
	}
	return everywhere(ctx, r, a.Org.ID, p, list, r.account.AccountRevokes(ctx, a.Org.ID, q),
		func(v authz.Revoke) (id, scope string) { return v.ID, v.Scope }, func(v authz.Revoke, h Home) HomedRevoke { return HomedRevoke{v, h} })
}

// everywhere is a page of the rows of all homes by id. Rows with one id, of several homes,
// stand on one page, which may be longer for it.
func everywhere[T, H any](ctx context.Context, r *Root, org string, p Page, list func(context.Context, applications.Asked, provider.Paging) ([]T, error),
	account iter.Seq2[T, error], of func(T) (id, scope string), with func(T, Home) H) (List[H], []Unavailable, error) {
	none := List[H]{Rows: []H{}}
	root, err := r.apps.Root(ctx, org)
	if err != nil {
		return none, nil, err
	}
	sources, err := r.apps.AllLinked(ctx, org)
	if err != nil {
		return none, nil, err
	}
	if root.Hosted() {
		sources = append([]applications.Asked{root}, sources...)
	}
	found, missing := make([][]T, len(sources)), make([]*Unavailable, len(sources))
	if err := eightAtATime(ctx, len(sources), func(ctx context.Context, i int) (err error) {
		ctx, cancel := context.WithTimeout(ctx, sourceTime)
		defer cancel()
		found[i], err = list(ctx, sources[i], provider.Paging{After: p.After, Limit: p.Limit + 1})
		if e := new(fault.Error); errors.As(err, &e) && e.Name == fault.TransportName {
			found[i], missing[i] = nil, &Unavailable{sources[i].ID, e.Code}
			return nil
		}
		return failed(err)
	}); err != nil {
		return none, nil, err
	}
	type placed struct {
		id   string
		home Home
		row  H
	}
	var all []placed
	end := "" // how far all sources have told, where one has more
	add := func(row T, h Home) {
		id, _ := of(row)
		all = append(all, placed{id, h, with(row, h)})
	}
	told := func(id string, n int) {
		if n > p.Limit && (end == "" || id < end) {
			end = id
		}
	}
	for i, rows := range found {
		for n, row := range rows {
			id, scope := of(row)
			told(id, n+1)
			switch global := scope == authz.Global; {
			case global && sources[i].ID == root.ID:
				add(row, atTheRoot)
			case !global && !sources[i].Hosted():
				add(row, Home{Kind: "application", Application: sources[i].ID})
			}
		}
	}
	n := 0
	for row, err := range account {
		if err != nil {
			return none, nil, err
		}
		id, _ := of(row)
		if id <= p.After {
			continue
		}
		add(row, inAccount)
		if n++; n > p.Limit {
			told(id, n)
			break
		}
	}
	slices.SortFunc(all, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.home.Kind, b.home.Kind), cmp.Compare(a.home.Application, b.home.Application))
	})
	page := none
	page.Next = end
	for i, row := range all {
		if end != "" && row.id > end {
			break
		}
		if i >= p.Limit && row.id != all[i-1].id {
			page.Next = all[i-1].id
			break
		}
		page.Rows = append(page.Rows, row.row)
	}
	unavailable := []Unavailable{}
	for _, m := range missing {
		if m != nil {
			unavailable = append(unavailable, *m)
		}
	}
	return page, unavailable, nil
}
