package openfga

import (
	"maps"
	"slices"

	openfgav1 "github.com/openfga/api/proto/openfga/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/authzhost/authz/bench/workload"
)

// object is a scope as a tuple names it. Grants for everything stand at a node
// that holds the outermost folders.
func object(s workload.ScopeID) string {
	if s.Kind == workload.Global {
		return "node:everything"
	}
	return "node:" + s.ID
}

func subject(s workload.Subject) string {
	if s.Group {
		return "group:" + s.ID + "#member"
	}
	return "user:" + s.ID
}

// structure writes who is in what group and what lies where.
func structure(w *workload.World) []*openfgav1.TupleKey {
	var all []*openfgav1.TupleKey
	for _, g := range w.Groups {
		for _, parent := range g.Parents {
			all = append(all, &openfgav1.TupleKey{Object: "group:" + parent, Relation: "member", User: "group:" + g.ID + "#member"})
		}
	}
	for _, u := range w.Users {
		for _, group := range u.Groups {
			all = append(all, &openfgav1.TupleKey{Object: "group:" + group, Relation: "member", User: "user:" + u.ID})
		}
	}
	for _, s := range w.Scopes {
		all = append(all, &openfgav1.TupleKey{Object: object(s.ScopeID), Relation: "parent", User: object(s.Parent)})
	}
	return all
}

// relationTuples writes the rows for the model of relations, a tuple each.
func relationTuples(w *workload.World) []*openfgav1.TupleKey {
	all := structure(w)
	for _, g := range w.Grants {
		all = append(all, &openfgav1.TupleKey{Object: object(g.Scope), Relation: relation(g.Role + g.Pattern), User: subject(g.Subject)})
	}
	for _, r := range w.Revokes {
		all = append(all, &openfgav1.TupleKey{Object: object(r.Scope), Relation: "no_" + relation(r.Pattern), User: "user:" + r.User})
	}
	return all
}

// conditionTuples writes the rows for the model of conditions. There is one tuple
// for a subject at a scope, so rows of both share it; roles and areas are written
// out as their keys.
func conditionTuples(w *workload.World) ([]*openfgav1.TupleKey, error) {
	type place struct{ object, relation, user string }
	keys := map[place]map[string]bool{}
	add := func(p place, patterns ...string) {
		if keys[p] == nil {
			keys[p] = map[string]bool{}
		}
		for _, pattern := range patterns {
			for _, key := range w.Covered(pattern) {
				keys[p][key] = true
			}
		}
	}
	roles := map[string][]string{}
	for _, r := range w.Roles {
		roles[r.ID] = r.Patterns
	}
	var places []place // in the order of the rows
	for _, g := range w.Grants {
		p := place{object(g.Scope), "granted", subject(g.Subject)}
		if keys[p] == nil {
			places = append(places, p)
		}
		if g.Role != "" {
			add(p, roles[g.Role]...)
		} else {
			add(p, g.Pattern)
		}
	}
	for _, r := range w.Revokes {
		p := place{object(r.Scope), "revoked", "user:" + r.User}
		if keys[p] == nil {
			places = append(places, p)
		}
		add(p, r.Pattern)
	}
	all := structure(w)
	for _, p := range places {
		var list []any
		for _, key := range slices.Sorted(maps.Keys(keys[p])) {
			list = append(list, key)
		}
		params, err := structpb.NewStruct(map[string]any{"keys": list})
		if err != nil {
			return nil, err
		}
		all = append(all, &openfgav1.TupleKey{Object: p.object, Relation: p.relation, User: p.user,
			Condition: &openfgav1.RelationshipCondition{Name: "covers", Context: params}})
	}
	return all, nil
}
