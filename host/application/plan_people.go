package application

import (
	"iter"
	"maps"
	"slices"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// maxPlanRows bounds the grants of one role, and the revokes, that are followed to people.
const maxPlanRows = 5000

// findPeople collects whom the change concerns.
func (c *comparison) findPeople() error {
	subjects := map[string]bool{}
	for _, g := range slices.Concat(c.grants, c.goneGrants) {
		subjects[g.Subject] = true
	}
	for _, r := range slices.Concat(c.revokes, c.goneRevokes) {
		subjects[authz.SubjectOf(authz.SubjectUser, r.UserID)] = true
	}
	for user := range c.members {
		subjects[authz.SubjectOf(authz.SubjectUser, user)] = true
	}
	for group, parents := range c.parents {
		if !slices.Equal(parents, c.were[group]) {
			subjects[groupSubject(group)] = true
		}
	}
	for _, id := range c.changed {
		read := 0
		for g, err := range c.a.store.ListGrants(c.ctx, storage.GrantFilter{RoleID: &id}, storage.Page{Limit: maxPlanRows + 1}) {
			if err != nil {
				return err
			}
			if read++; read > maxPlanRows {
				c.impact.More = true
				break
			}
			subjects[g.Subject] = true
		}
	}
	for _, subject := range slices.Sorted(maps.Keys(subjects)) {
		if err := c.expand(subject); err != nil {
			return err
		}
	}
	return nil
}

// add notes a principal, by its subject.
func (c *comparison) add(subject string) error {
	if !c.people[subject] && len(c.people) == provider.MaxPlanPrincipals {
		return errBound
	}
	c.people[subject] = true
	return nil
}

// expand adds the principals of a subject.
func (c *comparison) expand(subject string) error {
	kind, id, _ := authz.ParseSubject(subject)
	switch kind {
	case authz.SubjectUser, authz.SubjectService:
		return c.add(subject)
	case authz.SubjectEveryone:
		return c.everyone()
	case authz.SubjectGroup:
		return c.inGroup(id)
	}
	if !c.a.caps.Has(storage.CapLookups) {
		c.impact.Unknown = append(c.impact.Unknown, subject)
		return nil
	}
	switch kind {
	case authz.SubjectOrg:
		found, err := c.addAll(c.a.store.ListEdges(c.ctx, storage.EdgeOrg, []string{id}, storage.EdgePage{}))
		if err == nil && !found {
			c.impact.Unknown = append(c.impact.Unknown, subject) // perhaps of people who are not recorded
		}
		return err
	case authz.SubjectDirects:
		_, err := c.addAll(c.a.store.ListEdges(c.ctx, storage.EdgeManager, []string{id}, storage.EdgePage{}))
		return err
	default:
		return c.below(id)
	}
}

// everyone adds somebody of whom nothing is known, and those whom revokes make differ.
func (c *comparison) everyone() error {
	if err := c.add(authz.Everyone); err != nil {
		return err
	}
	read := 0
	for r, err := range c.a.store.ListRevokes(c.ctx, storage.RevokeFilter{}, storage.Page{Limit: maxPlanRows + 1}) {
		if err != nil {
			return err
		}
		if read++; read > maxPlanRows {
			return errBound
		}
		if err := c.add(authz.SubjectOf(authz.SubjectUser, r.UserID)); err != nil {
			return err
		}
	}
	return nil
}

func (c *comparison) addAll(edges iter.Seq2[storage.Edge, error]) (found bool, err error) {
	for e, err := range edges {
		if err == nil {
			found, err = true, c.add(authz.SubjectOf(authz.SubjectUser, e.From))
		}
		if err != nil {
			return found, err
		}
	}
	return found, nil
}

// below adds everybody below a manager.
func (c *comparison) below(manager string) error {
	seen := map[string]bool{manager: true}
	for level := []string{manager}; len(level) > 0; {
		var next []string
		for some := range slices.Chunk(level, storage.MaxScopes) {
			for e, err := range c.a.store.ListEdges(c.ctx, storage.EdgeManager, some, storage.EdgePage{}) {
				if err == nil {
					err = c.add(authz.SubjectOf(authz.SubjectUser, e.From))
				}
				if err != nil {
					return err
				}
				if !seen[e.From] {
					seen[e.From] = true
					next = append(next, e.From)
				}
			}
		}
		level = next
	}
	return nil
}

// inGroup adds the members of a group and of all below it, as they are and as they would
// be.
func (c *comparison) inGroup(group string) error {
	children := map[string][]string{}
	for _, graph := range []map[string][]string{c.were, c.parents} {
		for child, parents := range graph {
			for _, p := range parents {
				children[p] = append(children[p], child)
			}
		}
	}
	seen := map[string]bool{group: true}
	for level := []string{group}; len(level) > 0; {
		g := level[0]
		level = level[1:]
		for id, err := range c.a.store.ListUsersInGroup(c.ctx, g, storage.Page{}) {
			if err == nil {
				err = c.add(authz.SubjectOf(authz.SubjectUser, id))
			}
			if err != nil {
				return err
			}
		}
		for _, child := range children[g] {
			if !seen[child] {
				seen[child] = true
				level = append(level, child)
			}
		}
	}
	return nil
}
