package kv

import (
	"context"
	"iter"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// FindGrants goes through the entries of the order, or by id through those of one index.
func (s *store) FindGrants(ctx context.Context, q authz.GrantSearch, pg storage.FoundPage) iter.Seq2[authz.Grant, error] {
	if err := storage.CheckGrantOrder(q.Order); err != nil {
		return failing[authz.Grant](err)
	}
	spelled := func(at authz.GrantPlace) string { return at.ID }
	keys := grantKeys(storage.GrantFilter{Subject: q.Subject, Scope: q.Scope, RoleID: q.RoleID})
	switch q.Order {
	case authz.GrantsNewest:
		spelled = func(at authz.GrantPlace) string { return backwards(place(at.At, at.ID)) + end }
		made := ".made/"
		if q.Instances {
			made = ".madeIn/"
		}
		keys = func(p *partition, after string) iter.Seq[string] {
			return idsIn(p.following(grants.entity+made, after), func(entry string) string { return forwards(entry)[len(place(0, "")):] })
		}
	case authz.GrantsExpiring:
		spelled = func(at authz.GrantPlace) string { return place(at.At, at.ID) }
		keys = func(p *partition, after string) iter.Seq[string] {
			return idsIn(p.following(grants.entity+".ends/", after), func(entry string) string { return entry[len(place(0, "")):] })
		}
	}
	after := ""
	if pg.After.ID != "" {
		after = spelled(pg.After)
	}
	return list(ctx, s, grants, keys, q.Selects, func(g *authz.Grant) string { return spelled(q.Order.Place(g)) }, after, pg.Limit, q, pg)
}

func idsIn(entries iter.Seq[string], id func(entry string) string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for entry := range entries {
			if !yield(id(entry)) {
				return
			}
		}
	}
}
