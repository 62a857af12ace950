package catalog

import (
	"slices"

	"github.com/authzhost/authz/sdk/authz"
)

func cloneNavigation(items []NavItem) []NavItem {
	cloned := make([]NavItem, len(items))
	for i, item := range items {
		item.AnyOf = slices.Clone(item.AnyOf)
		item.Children = cloneNavigation(item.Children)
		cloned[i] = item
	}
	return cloned
}

func cloneConstraints(list []SoDConstraint) []SoDConstraint {
	cloned := make([]SoDConstraint, len(list))
	for i, c := range list {
		sets := make([][]string, len(c.Sets))
		for j, set := range c.Sets {
			sets[j] = slices.Clone(set)
		}
		c.Sets = sets
		cloned[i] = c
	}
	return cloned
}

// clone keeps, of each stage and predicate, the fields of its kind only.
func (r *Requestable) clone() *Requestable {
	if r == nil {
		return nil
	}
	cloned := *r
	cloned.Prompts = slices.Clone(r.Prompts)
	for i := range cloned.Prompts {
		p := &cloned.Prompts[i]
		p.Options = slices.Clone(p.Options)
		p.Required = clonePointer(p.Required)
	}
	cloned.Patterns = slices.Clone(r.Patterns)
	cloned.Stages = make([]authz.Stage, len(r.Stages))
	for i, s := range r.Stages {
		cloned.Stages[i] = cloneStage(s)
	}
	return &cloned
}

func cloneStage(s authz.Stage) authz.Stage {
	cloned := authz.Stage{Kind: s.Kind}
	switch s.Kind {
	case authz.StageAuto:
		cloned.Predicate = clonePredicate(*s.Predicate)
	case authz.StageNamedApprovers:
		cloned.RoleID = s.RoleID
	case authz.StageManagement:
		cloned.Layers = clonePointer(s.Layers)
	}
	return cloned
}

func clonePredicate(p authz.Predicate) *authz.Predicate {
	cloned := authz.Predicate{Type: p.Type}
	switch p.Type {
	case authz.PredicateInGroup:
		cloned.GroupID = p.GroupID
	case authz.PredicateInOrg:
		cloned.OrgID = p.OrgID
	case authz.PredicateMemberOf:
		cloned.Subject = p.Subject
	case authz.PredicateHoldsPattern:
		cloned.Pattern = p.Pattern
	}
	return &cloned
}

func clonePointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
