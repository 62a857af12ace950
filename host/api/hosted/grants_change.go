package hosted

import (
	"context"
	"fmt"
	"strings"

	"github.com/authzhost/authz/host/service/orgroot"
	"github.com/authzhost/authz/sdk/provider"
)

// grantExpiry gives a grant another expiry; null takes it away, and must be said.
type grantExpiry struct {
	GrantID   string          `json:"grantId" min:"1" max:"512"`
	ExpiresAt Nullable[int64] `json:"expiresAt"`
}

// changeGrants names by Application the home of instance rows that it names by id.
type changeGrants struct {
	inOrg
	Application string        `json:"application,omitempty" min:"1"`
	Delete      []string      `json:"delete,omitempty"`
	Expire      []grantExpiry `json:"expire,omitempty"`
	Create      []grantInput  `json:"create,omitempty"`
}

// Check tells what no home accepts.
func (in changeGrants) Check() error {
	switch n := len(in.Delete) + len(in.Expire) + len(in.Create); {
	case n == 0:
		return invalid("", "needs delete, expire or create")
	case n > provider.MaxGrantsChange:
		return invalid("", fmt.Sprintf("names %d grants, at most %d", n, provider.MaxGrantsChange))
	}
	named := map[string]bool{}
	name := func(path, id string) error {
		switch {
		case id == "" || len(id) > 512 || strings.ContainsFunc(id, control):
			return invalid(path, "is not the id of a grant")
		case named[id]:
			return invalid(path, "stands twice in the change")
		}
		named[id] = true
		return nil
	}
	for i, id := range in.Delete {
		if err := name(index("delete", i), id); err != nil {
			return err
		}
	}
	for i, e := range in.Expire {
		if err := name(index("expire", i)+".grantId", e.GrantID); err != nil {
			return err
		}
		if err := required(index("expire", i)+".expiresAt", e.ExpiresAt.Set); err != nil {
			return err
		}
	}
	for i, g := range in.Create {
		if err := checkGrant(index("create", i), g); err != nil {
			return err
		}
	}
	return nil
}

func (in changeGrants) of() orgroot.GrantsChange {
	change := orgroot.GrantsChange{Application: in.Application, GrantsChange: provider.GrantsChange{Delete: in.Delete, Create: createGrants{Grants: in.Create}.of()}}
	for _, e := range in.Expire {
		change.Expire = append(change.Expire, provider.GrantExpiry{GrantID: e.GrantID, ExpiresAt: e.ExpiresAt.Value})
	}
	return change
}

func (in changeGrants) judge(ctx context.Context, c *Call) error {
	return c.root().MayChangeGrants(ctx, c.Access, in.of())
}

func (in changeGrants) sentTo(ctx context.Context, c *Call) (*string, error) {
	return c.root().ChangeSentTo(ctx, c.Access, in.of())
}

func changeRow(t *table) {
	add(t, endpoint{Method: "POST", Path: "/orgs/{org}/org/grants/change", Summary: "Delete grants, give others another expiry and create some, of one home, all or nothing", Gate: byHome,
		GateText: manageGrants + accountRowGate, Relayed: true,
		Own: codes("mixed_homes", "escalation_refused", "application_not_found"), Audit: []string{"R/O: grant.change"}},
		func(ctx context.Context, c *Call, in changeGrants) (out homedGrants, err error) {
			out.Grants, out.Home, err = c.root().ChangeGrants(ctx, c.Access, in.of())
			if err == nil {
				out.Warnings = c.warnings(ctx, out.Home, out.Grants...)
			}
			return out, err
		})
}
