package client

import (
	"context"
	"iter"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// WhoCan lists who holds a key at a scope, whole and page by page (spec: lookups §2). It
// asks the provider past every cache. The list ends with the first error; unsupported
// where the provider has no lookups, or its storage cannot serve them.
func (c *Client) WhoCan(ctx context.Context, key, scope string) iter.Seq2[provider.Holder, error] {
	return looked(c, func(of provider.Lookups) iter.Seq2[provider.Holder, error] {
		return provider.EverySubject(ctx, of, provider.SubjectsQuery{Key: key, Scope: scope})
	})
}

// WhereCan lists the scopes at which a principal holds a key (spec: lookups §3), as WhoCan
// lists.
func (c *Client) WhereCan(ctx context.Context, p authz.Principal, key string) iter.Seq2[provider.HeldScope, error] {
	return looked(c, func(of provider.Lookups) iter.Seq2[provider.HeldScope, error] {
		return provider.EveryScope(ctx, of, provider.ScopesQuery{Principal: p, Key: key})
	})
}

// WhatCan lists the keys that a principal holds at a scope (spec: lookups §4), as WhoCan
// lists.
func (c *Client) WhatCan(ctx context.Context, p authz.Principal, scope string) iter.Seq2[provider.HeldKey, error] {
	return looked(c, func(of provider.Lookups) iter.Seq2[provider.HeldKey, error] {
		return provider.EveryKey(ctx, of, provider.KeysQuery{Principal: p, Scope: scope})
	})
}

func looked[Row any](c *Client, list func(provider.Lookups) iter.Seq2[Row, error]) iter.Seq2[Row, error] {
	if of, ok := c.source.(provider.Lookups); ok {
		return list(of)
	}
	return func(yield func(Row, error) bool) {
		yield(*new(Row), authz.Rejected(authz.CodeUnsupported, "the provider of this client has no lookups"))
	}
}
