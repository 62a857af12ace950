package application

import (
	"context"
	"iter"

	"github.com/authzhost/authz/internal/compiled"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// DecideKey, held at "*", lets its holder decide any stage of any request of
// others: the administrative override. A catalog without the built-in permissions
// has none, whatever wildcards are held.
const DecideKey = authz.InternalNamespace + ".requests.decide_request"

// approver is what entitles one user to decide, of one instant.
type approver struct {
	app      *Application
	id       string
	active   bool
	override bool
	roles    map[string]bool   // granted to the closure at any scope, unexpired
	managers map[string]string // of the users asked about so far
}

func (a *Application) approver(ctx context.Context, from storage.Store, userID string, now int64) (*approver, error) {
	data, err := a.rowsOf(ctx, from, authz.UserPrincipal(userID), now)
	if err != nil {
		return nil, err
	}
	p := &approver{app: a, id: userID, active: data.Active, roles: map[string]bool{}, managers: map[string]string{}}
	for i := range data.Grants {
		if g := &data.Grants[i]; g.RoleID != "" && g.Pattern == "" { // beside a pattern a role confers nothing
			p.roles[g.RoleID] = true
		}
	}
	if key, declared := a.vocabulary.Lookup(DecideKey); declared {
		p.override, _ = compiled.Compile(a.vocabulary, &data, now).Decide(key, compiled.GlobalChain)
	}
	return p, nil
}

// mayDecide judges the current stage of a pending request. Nobody decides a
// request of their own, by no route.
func (p *approver) mayDecide(ctx context.Context, row authz.Request) (bool, error) {
	if p.id == row.RequesterUserID || !p.active {
		return false, nil
	}
	if p.override {
		return true, nil
	}
	switch stage := currentStage(row); stage.Kind {
	case authz.StageNamedApprovers:
		return p.roles[stage.RoleID], nil
	case authz.StageManagement:
		return p.manages(ctx, row.RequesterUserID, stage.Layers)
	}
	return false, nil
}

// manages reports whether the approver stands that many layers above the user, or
// at the top of a shorter chain.
func (p *approver) manages(ctx context.Context, userID string, layers *int64) (bool, error) {
	manager, err := p.managerOf(ctx, userID)
	if err != nil {
		return false, err
	}
	chain, err := storage.ManagerChain(userID, manager, func(id string) (string, error) { return p.managerOf(ctx, id) })
	if err != nil || len(chain) == 0 {
		return false, err
	}
	level := int64(1)
	if layers != nil {
		level = max(*layers, 1)
	}
	return chain[min(level, int64(len(chain)))-1] == p.id, nil
}

// managerOf reads each user once: the requests of a queue share their managers.
func (p *approver) managerOf(ctx context.Context, userID string) (string, error) {
	if manager, known := p.managers[userID]; known {
		return manager, nil
	}
	user, _, err := p.app.store.GetUser(ctx, userID)
	if err == nil {
		p.managers[userID] = user.ManagerUserID
	}
	return user.ManagerUserID, err
}

// ListApproverQueue lists the pending requests that the user may decide now.
func (a *Application) ListApproverQueue(ctx context.Context, approverUserID string) iter.Seq2[authz.Request, error] {
	var s shape
	s.id("approverUserId", approverUserID)
	return listed(a, "listApproverQueue", s.err, func() iter.Seq2[authz.Request, error] {
		return func(yield func(authz.Request, error) bool) {
			approver, err := a.approver(ctx, a.store, approverUserID, a.clock())
			if err != nil {
				yield(authz.Request{}, err)
				return
			}
			if !approver.active {
				return
			}
			pending := authz.RequestPending
			for row, err := range a.store.ListRequests(ctx, storage.RequestFilter{State: &pending}, storage.RequestPage{}) {
				entitled := false
				if err == nil {
					entitled, err = approver.mayDecide(ctx, row)
				}
				if (entitled || err != nil) && !yield(row, err) || err != nil {
					return
				}
			}
		}
	})
}
