package application

import (
	"context"
	"slices"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

const (
	nounProvisioning  = "user provisioning"
	nounReportingEdge = "a reporting edge"
)

// SetUserActive switches a user on or off, creating the record when absent, so
// that deactivating somebody never stored sticks.
func (a *Application) SetUserActive(ctx context.Context, userID string, active bool, prov authz.Provenance) error {
	var s shape
	s.id("userId", userID)
	return a.propose(ctx, s, write{op: "setUserActive", prov: prov, rootOnly: nounProvisioning, plan: func(ctx context.Context, d *draft) error {
		if err := d.newUsers(ctx, "userId", userID); err != nil {
			return err
		}
		d.change(storage.PatchUser{UserID: userID, Active: &active})
		d.audit("user.set_active", userID, struct {
			Active bool `json:"active"`
		}{active})
		d.emit(authz.UserEvent(userID))
		return nil
	}})
}

// SetReportingEdge sets the user's manager, "" clears it. Records that are
// missing are created.
func (a *Application) SetReportingEdge(ctx context.Context, userID, managerUserID string, prov authz.Provenance) error {
	var s shape
	s.id("userId", userID)
	s.text("managerUserId", managerUserID, maxID)
	plan := func(ctx context.Context, d *draft) error {
		if err := d.newUsers(ctx, "userId", userID); err != nil {
			return err
		}
		if err := d.newUsers(ctx, "managerUserId", managerUserID); err != nil {
			return err
		}
		user, _, err := a.store.GetUser(ctx, userID)
		if err != nil {
			return err
		}
		user.UserID = userID
		before, err := managerChain(ctx, a.store, user)
		if err != nil {
			return err
		}
		d.change(storage.PatchUser{UserID: userID, ManagerUserID: &managerUserID})
		detail := struct {
			ManagerUserID *string `json:"managerUserId"`
		}{}
		var after []string
		if managerUserID != "" {
			detail.ManagerUserID = &managerUserID
			if after, err = a.chainAbove(ctx, userID, managerUserID); err != nil {
				return err
			}
			d.change(storage.PatchUser{UserID: managerUserID})
		}
		d.audit("user.set_manager", userID, detail)
		d.emit(authz.UserEvent(userID))
		for _, m := range distinct(slices.Concat([]string{userID}, before, after)) {
			d.emit(authz.SubjectEvent(authz.SubjectOf(authz.SubjectDirects, m)),
				authz.SubjectEvent(authz.SubjectOf(authz.SubjectOrgOf, m)))
		}
		return nil
	}
	return a.propose(ctx, s, write{op: "setReportingEdge", prov: prov, rootOnly: nounReportingEdge, sections: []string{sectionReporting}, plan: plan})
}

// chainAbove is the manager chain that the user gets with a new manager; one that
// leads back to the user is refused.
func (a *Application) chainAbove(ctx context.Context, userID, managerUserID string) ([]string, error) {
	if managerUserID == userID {
		return nil, authz.Cycle([]string{userID, userID})
	}
	manager, _, err := a.store.GetUser(ctx, managerUserID)
	if err != nil {
		return nil, err
	}
	manager.UserID = managerUserID
	above, err := managerChain(ctx, a.store, manager)
	if err != nil {
		return nil, err
	}
	chain := slices.Concat([]string{managerUserID}, above)
	if i := slices.Index(chain, userID); i >= 0 {
		return nil, authz.Cycle(slices.Concat([]string{userID}, chain[:i+1]))
	}
	return chain, nil
}

// GetUser is the record of a user, nil where none is stored.
func (a *Application) GetUser(ctx context.Context, userID string) (*authz.User, error) {
	var s shape
	s.id("userId", userID)
	if s.err != nil {
		return nil, s.err
	}
	user, found, err := a.store.GetUser(ctx, userID)
	if err != nil {
		return nil, a.readFailed("getUser", err)
	}
	if !found {
		return nil, nil
	}
	return &user, nil
}

// GetReportingEdges maps user ids to manager ids for every stored edge.
func (a *Application) GetReportingEdges(ctx context.Context) (map[string]string, error) {
	edges, err := a.reportingEdges(ctx)
	if err != nil {
		return nil, a.readFailed("getReportingEdges", err)
	}
	return edges, nil
}

func (a *Application) reportingEdges(ctx context.Context) (map[string]string, error) {
	has, edges := true, map[string]string{}
	for u, err := range a.store.ListUsers(ctx, storage.UserFilter{HasManager: &has}, storage.Page{}) {
		if err != nil {
			return nil, err
		}
		edges[u.UserID] = u.ManagerUserID
	}
	return edges, nil
}
