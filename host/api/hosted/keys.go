package hosted

import (
	"context"
	"net/http"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/cloud"
)

type listKeys struct {
	inOrg
	Kind    string `query:"kind,omitempty" enum:"admin,principal,publisher"`
	Revoked *bool  `query:"revoked,omitempty"`
	Paging
}

type apiKeys struct {
	APIKeys    []account.APIKey `json:"apiKeys"`
	NextCursor *string          `json:"nextCursor"`
}

type apiKey struct {
	APIKey account.APIKey `json:"apiKey"`
}

// issuedKey tells a secret once.
type issuedKey struct {
	APIKey         account.APIKey `json:"apiKey"`
	Secret         *string        `json:"secret" once:"true"`
	SecretWithheld bool           `json:"secretWithheld,omitempty"`
}

func issued(key service.IssuedKey, err error) (issuedKey, error) {
	if err != nil {
		return issuedKey{}, err
	}
	if key.Secret == "" { // told to nobody: an earlier run of this request made it, and ended
		return issuedKey{APIKey: key.APIKey, SecretWithheld: true}, nil
	}
	return issuedKey{APIKey: key.APIKey, Secret: &key.Secret}, nil
}

type createKey struct {
	Org string `path:"org"`
	service.KeyInput
}

type keyOf struct {
	inOrg
	ID string `path:"id"`
}

func (in createKey) judge(ctx context.Context, c *Call) error {
	return c.core().MayCreateKey(ctx, c.Access, in.KeyInput)
}

type rotateKey struct {
	keyOf
	service.RotateInput
}

func (in rotateKey) judge(ctx context.Context, c *Call) error {
	return c.core().MayRotateKey(ctx, c.Access, in.ID)
}

// keyGate: which key of cloud.* is asked for, and where, follows from whose the API
// key is; the core judges it before it tells whether there is one.
const keyGate = cloud.ManageCredentials + "@*; publisher: @app of the namespace's owner"

func keyRows(t *table) {
	add(t, endpoint{Method: "GET", Path: "/orgs/{org}/api-keys", Summary: "API keys, without secrets", Gate: service.Cloud(cloud.ManageCredentials).Recoverable()},
		func(ctx context.Context, c *Call, in listKeys) (out apiKeys, err error) {
			list, err := c.core().APIKeys(ctx, c.Access, service.KeyQuery{Kind: in.Kind, Revoked: in.Revoked}, c.Page)
			if err != nil {
				return out, err
			}
			out.APIKeys = list.Rows
			out.NextCursor, err = c.next(list.Next)
			return out, err
		})
	add(t, endpoint{Method: "POST", Path: "/orgs/{org}/api-keys", Summary: "Create an API key; its secret is told once", Gate: service.Me.Recoverable(), GateText: keyGate, Proof: proofInGate,
		Status: http.StatusCreated, Own: append([]string{"namespace_not_found", "limit_reached", "escalation_refused", "forbidden", "credential_not_allowed"}, relayCodes...),
		Audit: []string{"A: api_key.create"}},
		func(ctx context.Context, c *Call, in createKey) (issuedKey, error) {
			out, err := issued(c.core().CreateKey(ctx, c.Access, in.KeyInput))
			if err == nil {
				c.located("orgs", in.Org, "api-keys", out.APIKey.ID)
			}
			return out, err
		})
	add(t, endpoint{Method: "GET", Path: "/orgs/{org}/api-keys/{id}", Summary: "An API key, without its secret", Gate: service.Cloud(cloud.ManageCredentials).Recoverable(),
		Own: []string{"api_key_not_found"}},
		func(ctx context.Context, c *Call, in keyOf) (out apiKey, err error) {
			out.APIKey, err = c.core().OneKey(ctx, c.Access, in.ID)
			return out, err
		})
	add(t, endpoint{Method: "POST", Path: "/orgs/{org}/api-keys/{id}/rotate", Summary: "Give a key another secret", Gate: service.Me.Recoverable(), GateText: keyGate, Proof: proofInGate,
		Own: append([]string{"api_key_not_found", "namespace_not_found", "invalid_transition", "escalation_refused", "forbidden"}, relayCodes...), Audit: []string{"A: api_key.rotate"}},
		func(ctx context.Context, c *Call, in rotateKey) (issuedKey, error) {
			return issued(c.core().RotateKey(ctx, c.Access, in.ID, in.RotateInput))
		})
	add(t, endpoint{Method: "DELETE", Path: "/orgs/{org}/api-keys/{id}", Summary: "Revoke a key at once", Gate: service.Me.Recoverable(), GateText: keyGate, Proof: proofInGate, Conditional: true,
		Own: []string{"api_key_not_found", "forbidden", "owner_required"}, Audit: []string{"A: api_key.revoke"}},
		func(ctx context.Context, c *Call, in keyOf) (None, error) {
			return None{}, c.core().RevokeKey(ctx, c.Access, in.ID, c.match())
		})
}
