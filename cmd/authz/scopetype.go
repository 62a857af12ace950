package main

import (
	"context"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

// typed refuses a scope whose type the published catalog does not declare. Over the network
// a host may be configured to answer it for the sake of programs; people are told.
func typed(ctx context.Context, a asked, scope string) error {
	if authz.ScopeType(scope) == "" {
		return nil
	}
	head, err := published(ctx, &application{asked: a})
	if err != nil || head == nil {
		return err
	}
	declared, err := catalog.FromDocument(head.Document, catalog.DocumentOptions{})
	if err != nil {
		return err
	}
	if declared.LacksTypeOf(scope) {
		return declared.UnknownScopeType(scope)
	}
	return nil
}
