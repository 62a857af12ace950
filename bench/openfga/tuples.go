package openfga

import (
	openfgav1 "github.com/openfga/api/proto/openfga/v1"

	"github.com/authzhost/authz/bench/workload"
)

// object is a scope as a tuple names it. Grants for everything stand at a folder
// that holds the outermost ones.
func object(s workload.ScopeID) string {
	switch s.Kind {
	case workload.Folder:
		return "folder:" + s.ID
	case workload.Document:
		return "document:" + s.ID
	}
	return "folder:everything"
}

// tuples writes the rows of a world, one tuple each.
func tuples(w *workload.World) []*openfgav1.TupleKey {
	var all []*openfgav1.TupleKey
	add := func(object, relation, user string) {
		all = append(all, &openfgav1.TupleKey{Object: object, Relation: relation, User: user})
	}
	for _, g := range w.Groups {
		for _, parent := range g.Parents {
			add("group:"+parent, "member", "group:"+g.ID+"#member")
		}
	}
	for _, u := range w.Users {
		for _, group := range u.Groups {
			add("group:"+group, "member", "user:"+u.ID)
		}
	}
	for _, s := range w.Scopes {
		add(object(s.ScopeID), "parent", object(s.Parent))
	}
	for _, g := range w.Grants {
		subject := "user:" + g.Subject.ID
		if g.Subject.Group {
			subject = "group:" + g.Subject.ID + "#member"
		}
		add(object(g.Scope), relation(g.Role+g.Pattern), subject)
	}
	for _, r := range w.Revokes {
		add(object(r.Scope), "no_"+relation(r.Pattern), "user:"+r.User)
	}
	return all
}
