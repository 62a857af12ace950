package hosted

import (
	"context"
	"encoding/json"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/cloud"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// reviewed selects whom a report is about: one user, or everybody.
type reviewed struct {
	UserID *string `query:"userId,omitempty" min:"1" max:"512"`
	Paging
}

func (in reviewed) of(c *Call) provider.ReviewQuery {
	q := provider.ReviewQuery{Limit: c.Page.Limit, After: c.Page.After}
	if in.UserID != nil {
		q.UserIDs = &[]string{*in.UserID}
	}
	return q
}

type reviewOrg struct {
	inOrg
	reviewed
}

type reviewApp struct {
	appOf
	reviewed
}

type sodViolations struct {
	Users      []access.Violations `json:"users"`
	NextCursor *string             `json:"nextCursor"`
}

type entitlements struct {
	Users      []access.UserEntitlements `json:"users"`
	NextCursor *string                   `json:"nextCursor"`
}

type drifted struct {
	Since int64 `query:"since" min:"1"`
	Paging
}

type driftOrg struct {
	inOrg
	drifted
}

type driftApp struct {
	appOf
	drifted
}

type wildcardDrift struct {
	FromVersion int64 `json:"fromVersion"`
	ToVersion   int64 `json:"toVersion"`
	access.Drift

	Findings   []access.DriftFinding `json:"findings"`
	NextCursor *string               `json:"nextCursor"`
}

// verified names the entry that a check begins behind, the first of the log where it is
// left out.
type verified struct {
	At   *int64 `query:"at,omitempty"`
	ID   string `query:"id,omitempty" min:"1"`
	Hash string `query:"hash,omitempty" min:"1"`
	Paging
}

// Check wants all of an entry, or nothing; one from before the chain has no hash.
func (in verified) Check() error {
	if (in.At == nil) != (in.ID == "") || in.Hash != "" && in.ID == "" {
		return fault.Parameter("id", "at, id and hash name one entry: give them together")
	}
	return nil
}

// of begins behind what the cursor names, else behind the entry named.
func (in verified) of(c *Call) (q provider.AuditChainQuery, err error) {
	q.Limit = int(in.Limit) // as many as the application takes at once, where it is left out
	switch {
	case c.Page.After != "":
		q.After = &provider.AuditPlace{}
		if err := json.Unmarshal([]byte(c.Page.After), q.After); err != nil {
			return q, fault.Internal(err)
		}
	case in.At != nil:
		q.After = &provider.AuditPlace{AuditCursor: authz.AuditCursor{At: *in.At, ID: in.ID}, Hash: in.Hash}
	}
	return q, nil
}

type verifyOrg struct {
	inOrg
	verified
}

type verifyApp struct {
	appOf
	verified
}

// verifiedPart ends with Last, which a later check may begin behind.
type verifiedPart struct {
	OK         bool                  `json:"ok"`
	Hashed     int                   `json:"hashed"`
	Unhashed   int                   `json:"unhashed"`
	Reason     authz.HashChainReason `json:"reason,omitempty"`
	Broken     authz.AuditCursor     `json:"broken,omitzero"`
	Last       provider.AuditPlace   `json:"last,omitzero"`
	NextCursor *string               `json:"nextCursor"`
}

func (c *Call) sodViolations(ctx context.Context, application string, in reviewed) (out sodViolations, err error) {
	page, err := c.root().SodViolations(ctx, c.Access, application, in.of(c))
	if err != nil {
		return out, err
	}
	out.Users = page.Users
	out.NextCursor, err = c.next(page.Next)
	return out, err
}

func (c *Call) entitlements(ctx context.Context, application string, in reviewed) (out entitlements, err error) {
	page, err := c.root().Entitlements(ctx, c.Access, application, in.of(c))
	if err != nil {
		return out, err
	}
	out.Users = page.Users
	out.NextCursor, err = c.next(page.Next)
	return out, err
}

func (c *Call) wildcardDrift(ctx context.Context, application string, in drifted) (out wildcardDrift, err error) {
	page, err := c.root().WildcardDrift(ctx, c.Access, application, provider.DriftQuery{SinceVersion: in.Since, Limit: c.Page.Limit, After: c.Page.After})
	if err != nil {
		return out, err
	}
	out = wildcardDrift{FromVersion: page.FromVersion, ToVersion: page.ToVersion, Findings: append([]access.DriftFinding{}, page.Findings...),
		Drift: access.Drift{GainedKeys: append([]string{}, page.GainedKeys...), RemovedKeys: append([]string{}, page.RemovedKeys...)}}
	out.NextCursor, err = c.next(page.Next)
	return out, err
}

func (c *Call) verified(ctx context.Context, application string, in verified) (out verifiedPart, err error) {
	q, err := in.of(c)
	if err != nil {
		return out, err
	}
	part, err := c.root().AuditChain(ctx, c.Access, application, q)
	if err != nil {
		return out, err
	}
	out = verifiedPart{OK: part.OK, Hashed: part.Hashed, Unhashed: part.Unhashed, Reason: part.Reason, Broken: part.Broken, Last: part.Last}
	if !part.OK || !part.More {
		return out, nil
	}
	next, err := json.Marshal(part.Last)
	if err == nil {
		out.NextCursor, err = c.next(string(next))
	}
	return out, err
}

func reviewRows(t *table) {
	org := func(rest string) string { return "/orgs/{org}/org/" + rest }
	app := func(rest string) string { return "/orgs/{org}/applications/{app}/" + rest }
	endpointOf := func(path, summary string, gate service.Gate) endpoint {
		return endpoint{Method: "GET", Path: path, Summary: summary, Gate: gate, Own: append([]string{"validation", "not_found", "unsupported"}, rootCodes...), Relayed: true}
	}
	add(t, endpointOf(org("sod-violations"), "Who breaks the separation of duties", service.OrgKey(readAccess)),
		func(ctx context.Context, c *Call, in reviewOrg) (sodViolations, error) {
			return c.sodViolations(ctx, "", in.reviewed)
		})
	add(t, endpointOf(app("sod-violations"), "Who breaks the separation of duties at an application", readApp),
		func(ctx context.Context, c *Call, in reviewApp) (sodViolations, error) {
			return c.sodViolations(ctx, in.App, in.reviewed)
		})
	add(t, endpointOf(org("entitlements"), "What the rows of users confer, and by what", service.OrgKey(readAccess)),
		func(ctx context.Context, c *Call, in reviewOrg) (entitlements, error) {
			return c.entitlements(ctx, "", in.reviewed)
		})
	add(t, endpointOf(app("entitlements"), "What the rows of an application confer on users", readApp),
		func(ctx context.Context, c *Call, in reviewApp) (entitlements, error) {
			return c.entitlements(ctx, in.App, in.reviewed)
		})
	add(t, endpointOf(org("wildcard-drift"), "The wildcards in use that gained keys since a publication", service.Cloud(cloud.RegistryRead)),
		func(ctx context.Context, c *Call, in driftOrg) (wildcardDrift, error) {
			return c.wildcardDrift(ctx, "", in.drifted)
		})
	add(t, endpointOf(app("wildcard-drift"), "The wildcards in use at an application that gained keys", readApp),
		func(ctx context.Context, c *Call, in driftApp) (wildcardDrift, error) {
			return c.wildcardDrift(ctx, in.App, in.drifted)
		})
	add(t, endpointOf(org("audit/verify"), "Verify a part of the hash chain of the org root's log", service.OrgKey(readAudit)),
		func(ctx context.Context, c *Call, in verifyOrg) (verifiedPart, error) {
			return c.verified(ctx, "", in.verified)
		})
	add(t, endpointOf(app("audit/verify"), "Verify a part of the hash chain of an application's log", readApp),
		func(ctx context.Context, c *Call, in verifyApp) (verifiedPart, error) {
			return c.verified(ctx, in.App, in.verified)
		})
}
