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

// GrantsEverywhere lists the grants of a subject in all homes by id: those of the root and
// of account data, and the instance rows of every linked application. Who could not be
// asked is named: its rows are missing.
func (r *Root) GrantsEverywhere(ctx context.Context, a *service.Access, q provider.GrantQuery, p Page) (List[HomedGrant], []Unavailable, error) {
	q.Scope, q.Paging = nil, provider.Paging{}
	list := func(ctx context.Context, to applications.Asked) ([]authz.Grant, error) {
		return grantsAt(ctx, to, q, p)
	}
	return everywhere(ctx, r, a.Org.ID, p, list, r.account.AccountGrants(ctx, a.Org.ID, q),
		func(g authz.Grant) (id, scope string) { return g.ID, g.Scope }, func(g authz.Grant, h Home) HomedGrant { return HomedGrant{g, h} })
}

// RevokesEverywhere lists the revokes of a user in all homes, as GrantsEverywhere does.
func (r *Root) RevokesEverywhere(ctx context.Context, a *service.Access, q provider.RevokeQuery, p Page) (List[HomedRevoke], []Unavailable, error) {
	q.Scope, q.Paging = nil, provider.Paging{}
	list := func(ctx context.Context, to applications.Asked) ([]authz.Revoke, error) {
		return revokesAt(ctx, to, q, p)
	}
	return everywhere(ctx, r, a.Org.ID, p, list, r.account.AccountRevokes(ctx, a.Org.ID, q),
		func(v authz.Revoke) (id, scope string) { return v.ID, v.Scope }, func(v authz.Revoke, h Home) HomedRevoke { return HomedRevoke{v, h} })
}

// placed is a row of some home.
type placed[H any] struct {
	id   string
	home Home
	row  H
}

// everywhere is a page of the rows of all homes by id. Rows with one id, of several homes,
// stand on one page, which may be longer for it.
func everywhere[T, H any](ctx context.Context, r *Root, org string, p Page, list func(context.Context, applications.Asked) ([]T, error),
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
	found, unavailable, err := askAll(ctx, sources, list)
	if err != nil {
		return none, nil, err
	}
	var all []placed[H]
	end := "" // how far all sources have told, where one has more
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
				all = append(all, placed[H]{id, atTheRoot, with(row, atTheRoot)})
			case !global && !sources[i].Hosted():
				h := Home{Kind: "application", Application: sources[i].ID}
				all = append(all, placed[H]{id, h, with(row, h)})
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
		all = append(all, placed[H]{id, inAccount, with(row, inAccount)})
		n++
		if told(id, n); n > p.Limit {
			break
		}
	}
	return pageUpTo(all, end, p.Limit), unavailable, nil
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

// pageUpTo is a page of rows by id and home, up to an id beyond which not all are known;
// "" is none.
func pageUpTo[H any](all []placed[H], end string, limit int) List[H] {
	slices.SortFunc(all, func(a, b placed[H]) int {
		return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.home.Kind, b.home.Kind), cmp.Compare(a.home.Application, b.home.Application))
	})
	page := List[H]{Rows: []H{}, Next: end}
	for i, row := range all {
		if end != "" && row.id > end {
			break
		}
		if i >= limit && row.id != all[i-1].id {
			page.Next = all[i-1].id
			break
		}
		page.Rows = append(page.Rows, row.row)
	}
	return page
}
