package mesh

import (
	"context"
	"iter"

	"github.com/authzhost/authz/internal/lists"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// Global grants and revokes are the organization's, all others the own partition's.

func (m *Member) GetGrant(ctx context.Context, id string) (authz.Grant, bool, error) {
	return homed(ctx, m, func(s storage.Store) (authz.Grant, bool, error) { return s.GetGrant(ctx, id) }, scopeOfGrant)
}

func (m *Member) GetRevoke(ctx context.Context, id string) (authz.Revoke, bool, error) {
	return homed(ctx, m, func(s storage.Store) (authz.Revoke, bool, error) { return s.GetRevoke(ctx, id) }, scopeOfRevoke)
}

func (m *Member) ListGrants(ctx context.Context, f storage.GrantFilter, p storage.Page) iter.Seq2[authz.Grant, error] {
	return joined(ctx, m, f.Scope, p, func(s storage.Store, scope *string, p storage.Page) iter.Seq2[authz.Grant, error] {
		f := f
		f.Scope = scope
		return s.ListGrants(ctx, f, p)
	}, scopeOfGrant, func(g authz.Grant) string { return g.ID })
}

func (m *Member) ListRevokes(ctx context.Context, f storage.RevokeFilter, p storage.Page) iter.Seq2[authz.Revoke, error] {
	return joined(ctx, m, f.Scope, p, func(s storage.Store, scope *string, p storage.Page) iter.Seq2[authz.Revoke, error] {
		f := f
		f.Scope = scope
		return s.ListRevokes(ctx, f, p)
	}, scopeOfRevoke, func(r authz.Revoke) string { return r.ID })
}

func (m *Member) CountGrants(ctx context.Context, f storage.GrantFilter) (int64, error) {
	org, err := m.org(ctx)
	if err != nil {
		return 0, err
	}
	if org == nil {
		return m.Store.CountGrants(ctx, f)
	}
	global := f
	global.Scope = &globalScope
	switch {
	case f.Scope == nil:
		counts, err := counted(ctx, counting{m.Store, f}, counting{m.Store, global}, counting{org, global})
		if err != nil {
			return 0, err
		}
		return counts[0] - counts[1] + counts[2], nil
	case *f.Scope == authz.Global:
		return org.CountGrants(ctx, f)
	}
	return m.Store.CountGrants(ctx, f)
}

type counting struct {
	in storage.Store
	of storage.GrantFilter
}

func counted(ctx context.Context, all ...counting) ([]int64, error) {
	counts := make([]int64, len(all))
	for i, c := range all {
		n, err := c.in.CountGrants(ctx, c.of)
		if err != nil {
			return nil, err
		}
		counts[i] = n
	}
	return counts, nil
}

var globalScope = authz.Global

func scopeOfGrant(g authz.Grant) string   { return g.Scope }
func scopeOfRevoke(r authz.Revoke) string { return r.Scope }

// homed finds a row where rows of its scope live.
func homed[Row any](ctx context.Context, m *Member, get func(storage.Store) (Row, bool, error), scope func(Row) string) (Row, bool, error) {
	org, err := m.org(ctx)
	if err != nil {
		return *new(Row), false, err
	}
	row, found, err := get(m.Store)
	if org == nil || err != nil || found && scope(row) != authz.Global {
		return row, found, err
	}
	row, found, err = get(org)
	if found && scope(row) == authz.Global {
		return row, true, err
	}
	return *new(Row), false, err
}

// joined lists the organization's global rows and the own partition's others, by id.
func joined[Row any](ctx context.Context, m *Member, scope *string, p storage.Page, list func(s storage.Store, scope *string, p storage.Page) iter.Seq2[Row, error],
	scopeOf func(Row) string, id func(Row) string) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		org, err := m.org(ctx)
		switch {
		case err != nil:
			yield(*new(Row), err)
		case org == nil || scope != nil && *scope != authz.Global:
			list(m.Store, scope, p)(yield)
		case scope != nil:
			list(org, scope, p)(yield)
		default:
			// Neither is limited: inert rows count for nothing, and nobody reads further
			// than is wanted.
			all := storage.Page{After: p.After}
			instances := without(list(m.Store, nil, all), func(row Row) bool { return scopeOf(row) == authz.Global })
			lists.Limited(merged(list(org, &globalScope, all), instances, func(a, b Row) bool { return id(a) <= id(b) }), p.Limit)(yield)
		}
	}
}

func without[Row any](rows iter.Seq2[Row, error], gone func(Row) bool) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for row, err := range rows {
			if err == nil && gone(row) {
				continue
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

// merged yields two sequences that are in order as one that is. It ends with the first
// error.
func merged[Row any](a, b iter.Seq2[Row, error], ordered func(a, b Row) bool) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		nextA, stopA := iter.Pull2(a)
		defer stopA()
		nextB, stopB := iter.Pull2(b)
		defer stopB()
		x, errX, okX := nextA()
		y, errY, okY := nextB()
		for okX || okY {
			switch {
			case okX && errX != nil:
				yield(x, errX)
				return
			case okY && errY != nil:
				yield(y, errY)
				return
			case okX && (!okY || ordered(x, y)):
				if !yield(x, nil) {
					return
				}
				x, errX, okX = nextA()
			default:
				if !yield(y, nil) {
					return
				}
				y, errY, okY = nextB()
			}
		}
	}
}
