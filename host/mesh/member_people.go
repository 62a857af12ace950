package mesh

import (
	"context"
	"iter"

	"github.com/authzhost/authz/internal/lists"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// maxNamed bounds the ids whose rows are looked at together.
const maxNamed = 256

// ListUserIDs yields whom rows of this application name: the organization's people and
// what they have everywhere, and the own partition's other rows. Both partitions have rows
// that name others, those of another application and inert ones, so each id is looked up.
func (m *Member) ListUserIDs(ctx context.Context, prefix string, p storage.Page) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		org, err := m.org(ctx)
		switch {
		case err != nil:
			yield("", err)
		case org == nil:
			m.Store.ListUserIDs(ctx, prefix, p)(yield)
		case p.Limit < 0:
			yield("", storage.Errorf(storage.CodeValidation, "a page's limit must not be negative"))
		default:
			lists.Limited(m.namedBy(ctx, org, prefix, p), p.Limit)(yield)
		}
	}
}

// namedBy are those of both partitions whom rows of this application name.
func (m *Member) namedBy(ctx context.Context, org storage.Store, prefix string, p storage.Page) iter.Seq2[string, error] {
	after := storage.Page{After: p.After} // not limited: who is named elsewhere counts for nothing
	ids := once(merged(org.ListUserIDs(ctx, prefix, after), m.Store.ListUserIDs(ctx, prefix, after), func(a, b string) bool { return a <= b }))
	size := maxNamed
	if p.Limit > 0 {
		size = min(size, p.Limit)
	}
	return func(yield func(string, error) bool) {
		for some, err := range lists.Pieces(ids, func() int { return size }) {
			if err != nil {
				yield("", err)
				return
			}
			named, err := m.named(ctx, org, some)
			if err != nil {
				yield("", err)
				return
			}
			for _, id := range some {
				if named[id] && !yield(id, nil) {
					return
				}
			}
		}
	}
}

// named are those of some users whom rows of this application name.
func (m *Member) named(ctx context.Context, org storage.Store, ids []string) (map[string]bool, error) {
	named := map[string]bool{}
	note := func(people storage.People, of func(scope string) bool) {
		for _, g := range people.Grants {
			if _, id, _ := authz.ParseSubject(g.Subject); of(g.Scope) {
				named[id] = true
			}
		}
		for _, r := range people.Revokes {
			if of(r.Scope) {
				named[r.UserID] = true
			}
		}
	}
	people, err := org.ReadPeople(ctx, storage.PeopleQuery{UserIDs: ids, Scopes: []string{authz.Global}})
	if err != nil {
		return nil, err
	}
	for _, u := range people.Users {
		named[u.UserID] = true
	}
	note(people, func(string) bool { return true })
	if people, err = m.Store.ReadPeople(ctx, storage.PeopleQuery{UserIDs: ids}); err != nil {
		return nil, err
	}
	note(people, func(scope string) bool { return scope != authz.Global })
	for _, id := range ids {
		if named[id] {
			continue
		}
		if named[id], err = m.managesOrAsked(ctx, org, id); err != nil {
			return nil, err
		}
	}
	return named, nil
}

// managesOrAsked tells whether somebody reports to a user, or whether the user filed a
// request here.
func (m *Member) managesOrAsked(ctx context.Context, org storage.Store, id string) (bool, error) {
	for _, err := range org.ListEdges(ctx, storage.EdgeManager, []string{id}, storage.EdgePage{Limit: 1}) {
		return err == nil, err
	}
	for _, err := range m.ListRequests(ctx, storage.RequestFilter{RequesterUserID: &id}, storage.RequestPage{Limit: 1}) {
		return err == nil, err
	}
	return false, nil
}

// once leaves out what equals the row before it.
func once(rows iter.Seq2[string, error]) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		last, any := "", false
		for row, err := range rows {
			if err == nil && any && row == last {
				continue
			}
			if last, any = row, true; !yield(row, err) {
				return
			}
		}
	}
}
