package host

import (
	"context"
	"slices"

	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// Why serves the parameter reason of the operation check: in a word, why the check was
// answered as it was.
func (a *Application) Why(ctx context.Context, p authz.Principal, keys []string, scope string, allowed bool) (provider.Reason, error) {
	worst := len(denials)
	for _, key := range keys {
		why, err := a.whyOf(ctx, p, key, scope)
		switch at := slices.Index(denials, why); {
		case err != nil:
			return "", err
		case at < 0 && allowed:
			return why, nil
		case at < 0: // the rows allow, and Check did not: the key's condition
			worst = min(worst, slices.Index(denials, provider.ReasonCondition))
		default:
			worst = min(worst, at)
		}
	}
	switch {
	case allowed: // what allowed it is gone since
		return provider.ReasonGranted, nil
	case worst == len(denials):
		return provider.ReasonNoGrant, nil
	}
	return denials[worst], nil
}

// Explain serves the operation explain.
func (a *Application) Explain(ctx context.Context, q *provider.Explain) (access.Explained, error) {
	return a.around(ctx, a.client, q)
}

// denials are the reasons of a denial, in the order in which they are told.
var denials = []provider.Reason{provider.ReasonInactive, provider.ReasonRevoked, provider.ReasonCondition, provider.ReasonExpired,
	provider.ReasonElsewhere, provider.ReasonNotGrantable, provider.ReasonNoGrant}

func (a *Application) whyOf(ctx context.Context, p authz.Principal, key, scope string) (provider.Reason, error) {
	e, _, err := a.explained(ctx, a.client, p, key, scope)
	switch {
	case err != nil:
		return "", err
	case e.Allowed && e.Implied:
		return provider.ReasonImplied, nil
	case e.Allowed:
		return provider.ReasonGranted, nil
	case !e.Active:
		return provider.ReasonInactive, nil
	case len(e.MatchedRevokes) > 0:
		return provider.ReasonRevoked, nil
	case len(e.Expired) > 0:
		return provider.ReasonExpired, nil
	}
	elsewhere, err := a.client.GrantedScopes(ctx, p, key)
	switch {
	case err != nil:
		return "", err
	case len(elsewhere.Granted) > 0:
		return provider.ReasonElsewhere, nil
	case !a.options.Catalog.AppliesAt(key, scope):
		return provider.ReasonNotGrantable, nil
	}
	return provider.ReasonNoGrant, nil
}
