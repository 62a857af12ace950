package hosted

import (
	"context"
	"time"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/cloud"
	"github.com/authzhost/authz/host/service/federation"
	"github.com/authzhost/authz/sdk/authz"
)

// resolution is authz.Resolution as a body has it.
type resolution struct {
	Action        string           `json:"action" min:"1"`
	NewID         string           `json:"newId,omitempty" min:"1" max:"256"`
	UserID        string           `json:"userId,omitempty" min:"1"`
	ManagerUserID Nullable[string] `json:"managerUserId" min:"1"`
}

func (r resolution) resolved() authz.Resolution {
	out := authz.Resolution{Action: authz.ConflictAction(r.Action), NewID: r.NewID, UserID: r.UserID}
	if r.ManagerUserID.Set {
		out.ManagerUserID = authz.ChooseManager(deref(r.ManagerUserID.Value))
	}
	return out
}

type federate struct {
	appOf
	Resolutions map[string]resolution `json:"resolutions,omitempty"`
	Fingerprint string                `json:"fingerprint,omitempty" min:"1" max:"256"`
	DryRun      bool                  `json:"dryRun,omitempty"`
}

type demote struct {
	appOf
	DryRun bool `json:"dryRun,omitempty"`
}

type syncMembers struct {
	inOrg
	Application string `json:"application,omitempty" min:"1"`
}

type synced struct {
	Results []federation.Synced `json:"results"`
}

// moveAnswer is how long the answer of a move may take: what it waits for, and some more
// for the answer itself.
const moveAnswer = 150 * time.Second

// maxResolutions bounds the body of federate, in bytes.
const maxResolutions = 8 << 20

var moveCodes = append([]string{"invalid_transition", "operation_in_progress", "probe_failed", "provider_version_mismatch", "application_mismatch",
	"snapshot_unsupported", "no_org_administrator", "org_changed", "authority_refused", "authority_unknown", "not_linked", "unsupported", "validation"}, relayCodes...)

func federationRows(t *table) {
	add(t, endpoint{Method: "POST", Path: "/orgs/{org}/applications/{app}/federate", Summary: "Move an application's organization to the hosted service, or merge it into the one there",
		Gate: service.CloudAtApp(cloud.FederateApplication), Proof: proofAlways, BodyLimit: maxResolutions, Within: moveAnswer,
		Own: append([]string{"catalog_not_published", "cap_reached", "unresolved_conflicts", "invalid_resolution", "stale_resolutions", "escalation_refused",
			"org_root_moving", "no_org_root", "graph_cycle", "inactive"}, moveCodes...),
		Audit: []string{"A: application.federate", "R: org.authority_received", "O: org.sync_applied"},
		Meter: []string{"federated_applications", "linked_applications", "read_model_syncs"}},
		func(ctx context.Context, c *Call, in federate) (*federation.Federated, error) {
			to := federation.Input{Fingerprint: in.Fingerprint, DryRun: in.DryRun}
			if in.Resolutions != nil {
				to.Resolutions = make(map[string]authz.Resolution, len(in.Resolutions))
				for id, r := range in.Resolutions {
					to.Resolutions[id] = r.resolved()
				}
			}
			return c.api.o.Services.Federation.Federate(ctx, c.Access, in.App, to)
		})
	add(t, endpoint{Method: "POST", Path: "/orgs/{org}/applications/{app}/demote", Summary: "Give the organization back to its last member",
		Gate: service.CloudAtApp(cloud.DemoteApplication), Proof: proofAlways, Within: moveAnswer,
		Own:   append([]string{"not_last_member"}, moveCodes...),
		Audit: []string{"A: application.demote", "O: org.authority_received"},
		Meter: []string{"federated_applications", "linked_applications", "read_model_syncs"}},
		func(ctx context.Context, c *Call, in demote) (*federation.Demoted, error) {
			return c.api.o.Services.Federation.Demote(ctx, c.Access, in.App, in.DryRun)
		})
	add(t, endpoint{Method: "POST", Path: "/orgs/{org}/sync", Summary: "Push the org's dataset to the members of a federated org",
		Gate: service.Cloud(cloud.LinkApplication), Within: moveAnswer, Own: []string{"invalid_transition", "application_not_found", "org_root_moving"},
		Audit: []string{"A: org.sync"}, Meter: []string{"read_model_syncs"}},
		func(ctx context.Context, c *Call, in syncMembers) (synced, error) {
			results, err := c.api.o.Services.Federation.Sync(ctx, c.Access, in.Application)
			return synced{results}, err
		})
}
