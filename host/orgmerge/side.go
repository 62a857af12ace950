package orgmerge

import (
	"slices"
	"strings"

	"github.com/authzhost/authz/host/internal/cycle"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// Side is one of the organizations that are merged (spec: merge §1).
type Side struct {
	// Name is the partition or application, for messages and ids of conflicts. Names of
	// incoming sides are distinct, not empty and without "/".
	Name string

	// Namespaces are those that the side's applications own. A pattern outside them
	// reaches beyond the side.
	Namespaces []string

	// Whole says that the rows speak for the whole organization already: a bare "*",
	// "authz_internal.*" and the namespaces of others stand there on purpose, and mean
	// whatever application joins. That holds for a designated org partition, and for a
	// hosted root once it serves more than the application that it came from. It never
	// holds for an application's own organization, whose "*" meant that application.
	Whole bool

	// Snapshot is one that applyOrgSnapshot takes. It is not changed; its catalog is
	// not read.
	Snapshot provider.OrgSnapshot

	// Named says what no merge rewrites, application by application.
	Named []Named

	// Taken are ids that rows beside the snapshot have where the merged set is stored. It
	// is read of the current side alone.
	Taken Taken
}

// Taken are ids of instance rows, and of requests that are no pending ones at "*".
type Taken struct{ Grants, Revokes, Requests map[string]bool }

// Named counts what names roles and groups in an application outside its
// organization's data. Such an id is not renamed: what names it would come to mean
// something else.
type Named struct {
	Application   string
	Roles, Groups map[string]Count
}

// Count is how many instance rows, pending instance requests and approval stages of
// scope types name an id.
type Count struct{ Rows, Requests, Stages int }

// Grant counts an instance grant.
func (n *Named) Grant(g authz.Grant) {
	n.count(func(r references) { r.grant(&g) }, func(c *Count) { c.Rows++ })
}

// Request counts a pending instance request.
func (n *Named) Request(q authz.Request) {
	n.count(func(r references) { r.request(&q) }, func(c *Count) { c.Requests++ })
}

// Policy counts the approval stages that the application's catalog declares for a
// scope type.
func (n *Named) Policy(stages []authz.Stage) {
	n.count(func(r references) { r.stages(stages) }, func(c *Count) { c.Stages++ })
}

// count adds what is visited once to each id that it names.
func (n *Named) count(visit func(references), add func(*Count)) {
	roles, groups := map[string]bool{}, map[string]bool{}
	visit(references{role: func(id *string) { roles[*id] = true }, group: func(id *string) { groups[*id] = true }})
	if n.Roles == nil {
		n.Roles, n.Groups = map[string]Count{}, map[string]Count{}
	}
	for _, named := range []struct {
		ids    map[string]bool
		counts map[string]Count
	}{{roles, n.Roles}, {groups, n.Groups}} {
		for id := range named.ids {
			c := named.counts[id]
			add(&c)
			named.counts[id] = c
		}
	}
}

// check refuses a side that could not be merged whatever was decided.
func (s *Side) check() error {
	for _, ns := range s.Namespaces {
		if !authz.IsSegment(ns) || ns == cloudNamespace || ns == authz.InternalNamespace {
			return authz.Validation("%s cannot own the namespace %s", spell.Quote(s.Name), spell.Quote(ns))
		}
	}
	if err := s.checkIDs(); err != nil {
		return err
	}
	parents := make(map[string][]string, len(s.Snapshot.Groups))
	for _, g := range s.Snapshot.Groups {
		parents[g.ID] = g.Parents
	}
	if path := cycle.Find(parents); path != nil {
		return authz.Cycle(path)
	}
	return nil
}

// checkManagers refuses a cycle of managers on the current side. On an incoming one it is
// a conflict.
func (s *Side) checkManagers() error {
	if found := reportingCycles(managersOf(s.Snapshot.Users)); len(found) > 0 {
		return authz.Cycle(found[0])
	}
	return nil
}

func (s *Side) checkIDs() error {
	o := &s.Snapshot
	for _, err := range []error{
		distinct(s.Name, "groups", o.Groups, groupID),
		distinct(s.Name, "roles", o.Roles, roleID),
		distinct(s.Name, "globalGrants", o.GlobalGrants, grantID),
		distinct(s.Name, "globalRevokes", o.GlobalRevokes, revokeID),
		distinct(s.Name, "users", o.Users, userID),
		distinct(s.Name, "pendingGlobalRequests", o.PendingGlobalRequests, requestID),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

func groupID(g *authz.Group) *string     { return &g.ID }
func roleID(r *authz.Role) *string       { return &r.ID }
func userID(u *authz.User) *string       { return &u.UserID }
func grantID(g *authz.Grant) *string     { return &g.ID }
func revokeID(r *authz.Revoke) *string   { return &r.ID }
func requestID(q *authz.Request) *string { return &q.ID }

func distinct[Row any](side, list string, rows []Row, id func(*Row) *string) error {
	seen := make(map[string]bool, len(rows))
	for i := range rows {
		switch own := *id(&rows[i]); {
		case own == "":
			return authz.Validation("%s: snapshot.%s[%d] has no id", spell.Quote(side), list, i)
		case seen[own]:
			return authz.Validation("%s: snapshot.%s[%d]: the id %s is repeated", spell.Quote(side), list, i, spell.Quote(own))
		default:
			seen[own] = true
		}
	}
	return nil
}

// cloudNamespace is the vocabulary of account data. Roles of a hosted root may hold it
// beside other patterns; no application exports it.
const cloudNamespace = "cloud"

// checkCloud refuses an incoming side with patterns of account data in any row.
func (s *Side) checkCloud() error {
	refuse := func(list, id string, patterns ...string) error {
		for _, p := range patterns {
			if authz.NamespaceOf(p) == cloudNamespace {
				return authz.Validation("%s exports %s %s with the pattern %s, which is the hosted service's own", spell.Quote(s.Name), list, spell.Quote(id), spell.Quote(p))
			}
		}
		return nil
	}
	for _, r := range s.Snapshot.Roles {
		if err := refuse("role", r.ID, slices.Concat(r.Patterns, heldPatterns(stagesOf(&r)))...); err != nil {
			return err
		}
	}
	for _, g := range s.Snapshot.GlobalGrants {
		if err := refuse("grant", g.ID, g.Pattern); err != nil {
			return err
		}
	}
	for _, r := range s.Snapshot.GlobalRevokes {
		if err := refuse("revoke", r.ID, r.Pattern); err != nil {
			return err
		}
	}
	for _, q := range s.Snapshot.PendingGlobalRequests {
		if err := refuse("request", q.ID, append(heldPatterns(q.Stages), q.Pattern)...); err != nil {
			return err
		}
	}
	return nil
}

func stagesOf(r *authz.Role) []authz.Stage {
	if r.Requestable == nil {
		return nil
	}
	return r.Requestable.Stages
}

// heldPatterns are those that the requester must hold for a stage to pass.
func heldPatterns(stages []authz.Stage) []string {
	var patterns []string
	for _, stage := range stages {
		if stage.Predicate != nil && stage.Predicate.Pattern != "" {
			patterns = append(patterns, stage.Predicate.Pattern)
		}
	}
	return patterns
}

func checkNames(incoming []Side) error {
	seen := map[string]bool{}
	for _, s := range incoming {
		if s.Name == "" || strings.Contains(s.Name, "/") || seen[s.Name] {
			return authz.Validation("an incoming side needs a name of its own without \"/\", not %s", spell.Quote(s.Name))
		}
		seen[s.Name] = true
	}
	return nil
}
