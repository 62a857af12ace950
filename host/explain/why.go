package explain

import (
	"context"
	"slices"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// denials are the reasons of a denial, in the order in which they are told.
var denials = []provider.Reason{provider.ReasonInactive, provider.ReasonRevoked, provider.ReasonCondition, provider.ReasonExpired,
	provider.ReasonElsewhere, provider.ReasonNotGrantable, provider.ReasonNoGrant}

// Why says in a word why a check was answered as it was.
func (c Checks) Why(ctx context.Context, p authz.Principal, keys []string, scope string, allowed bool) (provider.Reason, error) {
	worst := len(denials)
	for _, key := range keys {
		why, err := c.whyOf(ctx, p, key, scope)
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

func (c Checks) whyOf(ctx context.Context, p authz.Principal, key, scope string) (provider.Reason, error) {
	e, _, err := c.rows(ctx, p, key, scope)
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
	elsewhere, err := c.Client.GrantedScopes(ctx, p, key)
	switch {
	case err != nil:
		return "", err
	case len(elsewhere.Granted) > 0:
		return provider.ReasonElsewhere, nil
	case !c.Application.Catalog().AppliesAt(key, scope):
		return provider.ReasonNotGrantable, nil
	}
	return provider.ReasonNoGrant, nil
}
