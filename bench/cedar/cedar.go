// Package cedar holds the world in cedar-go: people, scopes and keys as entities
// with parents, roles and areas as groups of actions, one policy a grant or revoke
// with its scope filled in (Cedar's pattern for discretionary permissions).
package cedar

import (
	"context"
	"fmt"

	"github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/ast"

	"github.com/authzhost/authz/bench/engine"
	"github.com/authzhost/authz/bench/workload"
)

const module = "github.com/cedar-policy/cedar-go"

// Policies asks over the whole policy set.
func Policies() engine.Peer {
	return engine.Peer{Name: "cedar-go", Module: module,
		Model: "a policy a grant or revoke, entities with parents, roles as action groups",
		Load: func(_ context.Context, w *workload.World) (engine.Engine, error) {
			h, err := load(w)
			if err != nil {
				return nil, err
			}
			set := cedar.NewPolicySet()
			for _, p := range h.policies {
				set.Add(p.id, p.policy)
			}
			h.policies = nil
			h.relevant = func(cedar.EntityUID) cedar.PolicyIterator { return set }
			return h, nil
		}}
}

// Sliced asks over the policies that name the principal or a group of it.
func Sliced() engine.Peer {
	return engine.Peer{Name: "cedar-go sliced", Module: module,
		Model: "the same, each check over the policies of its principal and the principal's groups alone; the index is this bench's, cedar-go has none",
		Load: func(_ context.Context, w *workload.World) (engine.Engine, error) {
			h, err := load(w)
			if err != nil {
				return nil, err
			}
			index := map[cedar.EntityUID][]identified{}
			for _, p := range h.policies {
				index[p.principal] = append(index[p.principal], p)
			}
			h.policies = nil
			h.relevant = func(principal cedar.EntityUID) cedar.PolicyIterator {
				return slice{index, h.entities, principal}
			}
			return h, nil
		}}
}

type held struct {
	entities cedar.EntityMap
	policies []identified
	relevant func(principal cedar.EntityUID) cedar.PolicyIterator
}

// identified is a policy with the principal that its scope names.
type identified struct {
	id        cedar.PolicyID
	policy    *cedar.Policy
	principal cedar.EntityUID
}

func user(id string) cedar.EntityUID  { return cedar.NewEntityUID("User", cedar.String(id)) }
func group(id string) cedar.EntityUID { return cedar.NewEntityUID("Group", cedar.String(id)) }
func action(id string) cedar.EntityUID {
	return cedar.NewEntityUID("Action", cedar.String(id))
}

func resource(s workload.ScopeID) cedar.EntityUID {
	switch s.Kind {
	case workload.Folder:
		return cedar.NewEntityUID("Folder", cedar.String(s.ID))
	case workload.Document:
		return cedar.NewEntityUID("Document", cedar.String(s.ID))
	}
	return cedar.NewEntityUID("System", "global")
}

func load(w *workload.World) (*held, error) {
	h := &held{entities: entities(w)}
	add := func(p *ast.Policy, principal cedar.EntityUID, pattern string, scope workload.ScopeID) {
		if len(w.Covered(pattern)) == 1 {
			p.ActionEq(action(pattern))
		} else {
			p.ActionIn(action(pattern))
		}
		p.ResourceIn(resource(scope))
		id := cedar.PolicyID(fmt.Sprintf("policy%d", len(h.policies)))
		h.policies = append(h.policies, identified{id, cedar.NewPolicyFromAST(p), principal})
	}
	for _, g := range w.Grants {
		p, principal := ast.Permit(), user(g.Subject.ID)
		if g.Subject.Group {
			principal = group(g.Subject.ID)
			p.PrincipalIn(principal)
		} else {
			p.PrincipalEq(principal)
		}
		add(p, principal, g.Role+g.Pattern, g.Scope)
	}
	for _, r := range w.Revokes {
		add(ast.Forbid().PrincipalEq(user(r.User)), user(r.User), r.Pattern, r.Scope)
	}
	return h, nil
}

func entities(w *workload.World) cedar.EntityMap {
	parents := map[cedar.EntityUID][]cedar.EntityUID{}
	for _, g := range w.Groups {
		parents[group(g.ID)] = uids(group, g.Parents)
	}
	for _, u := range w.Users {
		parents[user(u.ID)] = uids(group, u.Groups)
	}
	parents[resource(workload.ScopeID{})] = nil
	for _, s := range w.Scopes {
		parents[resource(s.ScopeID)] = []cedar.EntityUID{resource(s.Parent)}
	}
	for _, key := range w.Keys {
		parents[action(key)] = []cedar.EntityUID{action(workload.Area(key))}
		parents[action(workload.Area(key))] = nil
	}
	for _, r := range w.Roles {
		parents[action(r.ID)] = nil
		for _, pattern := range r.Patterns {
			parents[action(pattern)] = append(parents[action(pattern)], action(r.ID))
		}
	}
	all := make(cedar.EntityMap, len(parents))
	for uid, above := range parents {
		all[uid] = cedar.Entity{UID: uid, Parents: cedar.NewEntityUIDSet(above...)}
	}
	return all
}

func uids(of func(string) cedar.EntityUID, ids []string) []cedar.EntityUID {
	all := make([]cedar.EntityUID, len(ids))
	for i, id := range ids {
		all[i] = of(id)
	}
	return all
}

// Ask readies the entity ids.
func (h *held) Ask(_ context.Context, questions []workload.Question) (engine.Check, error) {
	type request struct{ principal, action, resource cedar.EntityUID }
	asked := make([]request, len(questions))
	for i, q := range questions {
		asked[i] = request{user(q.User), action(q.Key), resource(q.Scope)}
	}
	return func(i int) (bool, error) {
		q := &asked[i]
		decision, diagnostic := cedar.Authorize(h.relevant(q.principal), h.entities,
			cedar.Request{Principal: q.principal, Action: q.action, Resource: q.resource})
		if len(diagnostic.Errors) > 0 {
			return false, fmt.Errorf("cedar: %v", diagnostic.Errors[0])
		}
		return bool(decision), nil
	}, nil
}

// Close has nothing to end.
func (h *held) Close() {}
