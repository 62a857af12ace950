// Package casbin holds the world in a casbin enforcer: RBAC with resource roles,
// three role managers for people, scopes and keys, one policy rule a grant or
// revoke, deny-override as the policy effect.
package casbin

import (
	"context"
	"fmt"

	"github.com/casbin/casbin/v3"
	"github.com/casbin/casbin/v3/model"
	rolemanager "github.com/casbin/casbin/v3/rbac/default-role-manager"

	"github.com/authzhost/authz/bench/engine"
	"github.com/authzhost/authz/bench/workload"
)

// The matcher asks the key first: that refuses most rules at once, and keeps the
// results that casbin remembers of its role managers, without bound, to the few
// pairs that a rule for the key can meet.
const conf = `
[request_definition]
r = sub, obj, act

[policy_definition]
p = sub, obj, act, eft

[role_definition]
g = _, _
g2 = _, _
g3 = _, _

[policy_effect]
e = some(where (p.eft == allow)) && !some(where (p.eft == deny))

[matchers]
m = g3(r.act, p.act) && g2(r.obj, p.obj) && g(r.sub, p.sub)
`

// maxHierarchy is above the default of 10, which a tree 20 deep would pass
// unnoticed.
const maxHierarchy = 128

const module = "github.com/casbin/casbin/v3"

// Enforcer asks through SyncedEnforcer.Enforce.
func Enforcer() engine.Peer {
	return engine.Peer{Name: "casbin", Module: module,
		Model: "a rule a grant or revoke, role managers for people, scopes and keys, deny-override",
		Load: func(_ context.Context, w *workload.World) (engine.Engine, error) {
			m, err := model.NewModelFromString(conf)
			if err != nil {
				return nil, err
			}
			e, err := casbin.NewSyncedEnforcer(m)
			if err != nil {
				return nil, err
			}
			return load(e, e.Enforce, w)
		}}
}

// CachedEnforcer asks through SyncedCachedEnforcer.Enforce, which remembers
// answers.
func CachedEnforcer() engine.Peer {
	return engine.Peer{Name: "casbin cached", Module: module,
		Model: "the same behind casbin's decision cache: a repeated question is a map lookup, and old answers outlive new rules",
		Load: func(_ context.Context, w *workload.World) (engine.Engine, error) {
			m, err := model.NewModelFromString(conf)
			if err != nil {
				return nil, err
			}
			e, err := casbin.NewSyncedCachedEnforcer(m)
			if err != nil {
				return nil, err
			}
			return load(e.SyncedEnforcer, e.Enforce, w)
		}}
}

type held struct {
	enforcer *casbin.SyncedEnforcer
	enforce  func(...any) (bool, error)
}

func load(e *casbin.SyncedEnforcer, enforce func(...any) (bool, error), w *workload.World) (*held, error) {
	for _, name := range []string{"g", "g2", "g3"} {
		e.SetNamedRoleManager(name, rolemanager.NewRoleManager(maxHierarchy))
	}
	for name, links := range map[string][][]string{"g": people(w), "g2": scopes(w), "g3": keys(w)} {
		if ok, err := e.AddNamedGroupingPolicies(name, links); err != nil || !ok {
			return nil, fmt.Errorf("casbin: adding %s: %v, %w", name, ok, err)
		}
	}
	var rules [][]string
	for _, g := range w.Grants {
		act := g.Pattern
		if g.Role != "" {
			act = g.Role
		}
		rules = append(rules, []string{g.Subject.ID, scopeID(g.Scope), act, "allow"})
	}
	for _, r := range w.Revokes {
		rules = append(rules, []string{r.User, scopeID(r.Scope), r.Pattern, "deny"})
	}
	if ok, err := e.AddPolicies(rules); err != nil || !ok {
		return nil, fmt.Errorf("casbin: adding rules: %v, %w", ok, err)
	}
	return &held{e, enforce}, nil
}

// scopeID is distinct for all scopes without a kind.
func scopeID(s workload.ScopeID) string {
	if s.Kind == workload.Global {
		return "*"
	}
	return s.ID
}

func people(w *workload.World) (links [][]string) {
	for _, g := range w.Groups {
		for _, parent := range g.Parents {
			links = append(links, []string{g.ID, parent})
		}
	}
	for _, u := range w.Users {
		for _, group := range u.Groups {
			links = append(links, []string{u.ID, group})
		}
	}
	return links
}

func scopes(w *workload.World) (links [][]string) {
	for _, s := range w.Scopes {
		links = append(links, []string{s.ID, scopeID(s.Parent)})
	}
	return links
}

// keys makes a key a member of its area, and keys and areas members of the roles
// that name them.
func keys(w *workload.World) (links [][]string) {
	for _, key := range w.Keys {
		links = append(links, []string{key, workload.Area(key)})
	}
	for _, r := range w.Roles {
		for _, p := range r.Patterns {
			links = append(links, []string{p, r.ID})
		}
	}
	return links
}

// Ask readies the requests.
func (h *held) Ask(_ context.Context, questions []workload.Question) (engine.Check, error) {
	type request struct{ sub, obj, act string }
	asked := make([]request, len(questions))
	for i, q := range questions {
		asked[i] = request{q.User, scopeID(q.Scope), q.Key}
	}
	return func(i int) (bool, error) {
		q := &asked[i]
		return h.enforce(q.sub, q.obj, q.act)
	}, nil
}

// Close has nothing to end.
func (h *held) Close() {}
