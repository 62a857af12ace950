package main

import (
	"context"
	"errors"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/provider"
)

// mistyped says that a scope has a type which no catalog declares, "" when there is
// nothing to say. The hosted API judges scopes itself.
func mistyped(ctx context.Context, app *application, scope string) (string, error) {
	switch {
	case app.hosted != nil || authz.ScopeType(scope) == "":
		return "", nil
	case app.remote:
		err := typed(ctx, app.inner(), scope)
		var unknown *authz.UnknownScopeTypeError
		if errors.As(err, &unknown) {
			return unknown.Message, nil
		}
		return "", err
	}
	var answer struct{ Reason string }
	err := app.call(ctx, "validateScopeType", fields{"scope": scope}, &answer)
	return answer.Reason, err
}

// needsType refuses a scope of a type that no catalog declares.
func needsType(ctx context.Context, app *application, scope string) error {
	reason, err := mistyped(ctx, app, scope)
	if err == nil && reason != "" {
		err = usageError{errors.New(reason)}
	}
	return err
}

// scope looks at a scope that rows are sought at.
func (d *doubts) scope(ctx context.Context, scope string) error {
	reason, err := mistyped(ctx, d.app, scope)
	if err == nil && reason != "" {
		d.say("%s", reason)
	}
	return err
}

// typed refuses a scope whose type the published catalog does not declare. Over the network
// a host may be configured to answer it for the sake of programs; people are told.
func typed(ctx context.Context, a asked, scope string) error {
	if authz.ScopeType(scope) == "" {
		return nil
	}
	head, err := published(ctx, &application{asked: a})
	if refused := new(provider.APIError); errors.As(err, &refused) && refused.Code == provider.Forbidden {
		return nil // a secret that may only check reads no catalog to judge the scope by
	}
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
