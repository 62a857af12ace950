package orgroot

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// GrantsEverywhere finds the grants of all homes in an order: those of the root and of
// account data, and the instance rows of every linked application. Who could not be asked
// is named: its rows are missing.
func (r *Root) GrantsEverywhere(ctx context.Context, a *service.Access, q authz.GrantSearch, p Page) (List[HomedGrant], []Unavailable, error) {
	if err := r.bareActor(ctx, a.Org.ID, q); err != nil {
		return List[HomedGrant]{}, nil, err
	}
	q.Scope = nil
	list := func(ctx context.Context, to applications.Asked, isRoot bool) ([]authz.Grant, error) {
		if !isRoot {
			if rows, found, err := instancesAt(ctx, to, q, p); found {
				return rows, err
			}
		}
		return grantsAt(ctx, to, q, p)
	}
	return everywhere(ctx, r, a.Org.ID, p, list, r.account.AccountGrants(ctx, a.Org.ID, q), grantOrder(q.Order),
		func(g authz.Grant) string { return g.Scope }, func(g authz.Grant, h Home) HomedGrant { return HomedGrant{g, h} })
}

// RevokesEverywhere lists the revokes of a user in all homes, as GrantsEverywhere does.
func (r *Root) RevokesEverywhere(ctx context.Context, a *service.Access, q provider.RevokeQuery, p Page) (List[HomedRevoke], []Unavailable, error) {
	q.Scope, q.Paging = nil, provider.Paging{}
	list := func(ctx context.Context, to applications.Asked, _ bool) ([]authz.Revoke, error) {
		return revokesAt(ctx, to, q, p)
	}
	return everywhere(ctx, r, a.Org.ID, p, list, r.account.AccountRevokes(ctx, a.Org.ID, q),
		byID(func(v authz.Revoke) string { return v.ID }), func(v authz.Revoke) string { return v.Scope }, func(v authz.Revoke, h Home) HomedRevoke { return HomedRevoke{v, h} })
}

// placed is a row of some home.
type placed[H any] struct {
	at   string
	home Home
	row  H
}

// everywhere is a page of the rows of all homes in an order. Rows of several homes that
// stand at one place stand on one page, which may be longer for it.
func everywhere[T, H any](ctx context.Context, r *Root, org string, p Page, list func(ctx context.Context, to applications.Asked, isRoot bool) ([]T, error),
	account iter.Seq2[T, error], by order[T], scopeOf func(T) string, with func(T, Home) H) (List[H], []Unavailable, error) {
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
	found, unavailable, err := askAll(ctx, sources, func(ctx context.Context, to applications.Asked) ([]T, error) { return list(ctx, to, to.ID == root.ID) })
	if err != nil {
		return none, nil, err
	}
	var all []placed[H]
	end := "" // how far all sources have told, where one has more
	told := func(at string, n int) {
		if n > p.Limit && (end == "" || by.compare(at, end) < 0) {
			end = at
		}
	}
	for i, rows := range found {
		for n, row := range rows {
			at := by.place(row)
			told(at, n+1)
			switch global := scopeOf(row) == authz.Global; {
			case global && sources[i].ID == root.ID:
				all = append(all, placed[H]{at, atTheRoot, with(row, atTheRoot)})
			case !global && !sources[i].Hosted():
				h := Home{Kind: "application", Application: sources[i].ID}
				all = append(all, placed[H]{at, h, with(row, h)})
			}
		}
	}
	n := 0
	for row, err := range account {
		if err != nil {
			return none, nil, err
		}
		at := by.place(row)
		if p.After != "" && by.compare(at, p.After) <= 0 {
			continue
		}
		all = append(all, placed[H]{at, inAccount, with(row, inAccount)})
		n++
		if told(at, n); n > p.Limit {
			break
		}
	}
	return pageUpTo(all, end, p.Limit, by.compare), unavailable, nil
}

// askAll asks every source for a page at the same time, each as long as it may take.
func askAll[T any](ctx context.Context, sources []applications.Asked, list func(context.Context, applications.Asked) ([]T, error)) ([][]T, []Unavailable, error) {
	found, missing := make([][]T, len(sources)), make([]*Unavailable, len(sources))
	if err := eightAtATime(ctx, len(sources), func(ctx context.Context, i int) (err error) {
		ctx, cancel := context.WithTimeout(ctx, sourceTime)
		defer cancel()
		if found[i], err = list(ctx, sources[i]); err != nil {
			found[i] = nil // what came of it is not the whole
			missing[i], err = unanswered(sources[i], err)
		}
		return err
	}); err != nil {
		return nil, nil, err
	}
	unavailable := []Unavailable{}
	for _, m := range missing {
		if m != nil {
			unavailable = append(unavailable, *m)
		}
	}
	return found, unavailable, nil
}

// pageUpTo is a page of rows by place and home, up to a place beyond which not all are
// known; "" is none.
func pageUpTo[H any](all []placed[H], end string, limit int, compare func(a, b string) int) List[H] {
	slices.SortFunc(all, func(a, b placed[H]) int {
		return cmp.Or(compare(a.at, b.at), cmp.Compare(a.home.Kind, b.home.Kind), cmp.Compare(a.home.Application, b.home.Application))
	})
	page := List[H]{Rows: []H{}, Next: end}
	for i, row := range all {
		if end != "" && compare(row.at, end) > 0 {
			break
		}
		if i >= limit && row.at != all[i-1].at {
			page.Next = all[i-1].at
			break
		}
		page.Rows = append(page.Rows, row.row)
	}
	return page
}
