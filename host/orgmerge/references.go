package orgmerge

import (
	"slices"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// references goes through the ids of roles and groups that rows name. The functions
// may change them in place.
type references struct{ role, group func(id *string) }

func (r references) snapshot(s *provider.OrgSnapshot) {
	for i := range s.Groups {
		r.groups(s.Groups[i].Parents)
	}
	for i := range s.Roles {
		if policy := s.Roles[i].Requestable; policy != nil {
			r.stages(policy.Stages)
		}
	}
	for i := range s.GlobalGrants {
		r.grant(&s.GlobalGrants[i])
	}
	for i := range s.Users {
		r.groups(s.Users[i].GroupIDs)
	}
	for i := range s.PendingGlobalRequests {
		r.request(&s.PendingGlobalRequests[i])
	}
}

func (r references) grant(g *authz.Grant) {
	r.subject(&g.Subject)
	if g.RoleID != "" {
		r.role(&g.RoleID)
	}
}

func (r references) request(q *authz.Request) {
	if q.RoleID != "" {
		r.role(&q.RoleID)
	}
	r.stages(q.Stages)
}

func (r references) stages(stages []authz.Stage) {
	for i := range stages {
		if stages[i].RoleID != "" {
			r.role(&stages[i].RoleID)
		}
		if p := stages[i].Predicate; p != nil {
			if p.GroupID != "" {
				r.group(&p.GroupID)
			}
			r.subject(&p.Subject)
		}
	}
}

func (r references) groups(ids []string) {
	for i := range ids {
		r.group(&ids[i])
	}
}

func (r references) subject(subject *string) {
	kind, id, ok := authz.ParseSubject(*subject)
	if !ok || kind != authz.SubjectGroup {
		return
	}
	before := id
	if r.group(&id); id != before {
		*subject = authz.SubjectOf(kind, id)
	}
}

// renames are the new ids of one side.
type renames struct{ roles, groups map[string]string }

func renamed(id *string, to map[string]string) {
	if next, ok := to[*id]; ok {
		*id = next
	}
}

// apply renames in a snapshot that is not shared.
func (r renames) apply(s *provider.OrgSnapshot) {
	if len(r.roles)+len(r.groups) == 0 {
		return
	}
	for i := range s.Roles {
		renamed(&s.Roles[i].ID, r.roles)
	}
	for i := range s.Groups {
		renamed(&s.Groups[i].ID, r.groups)
	}
	references{
		role:  func(id *string) { renamed(id, r.roles) },
		group: func(id *string) { renamed(id, r.groups) },
	}.snapshot(s)
}

// cloned shares nothing with s that a merge changes.
func cloned(s provider.OrgSnapshot) provider.OrgSnapshot {
	s.Groups, s.Roles, s.Users = slices.Clone(s.Groups), slices.Clone(s.Roles), slices.Clone(s.Users)
	s.GlobalGrants, s.GlobalRevokes = slices.Clone(s.GlobalGrants), slices.Clone(s.GlobalRevokes)
	s.PendingGlobalRequests = slices.Clone(s.PendingGlobalRequests)
	for i := range s.Groups {
		s.Groups[i].Parents = slices.Clone(s.Groups[i].Parents)
	}
	for i := range s.Roles {
		if policy := s.Roles[i].Requestable; policy != nil {
			own := *policy
			own.Stages = clonedStages(own.Stages)
			s.Roles[i].Requestable = &own
		}
	}
	for i := range s.Users {
		s.Users[i].GroupIDs = slices.Clone(s.Users[i].GroupIDs)
	}
	for i := range s.PendingGlobalRequests {
		s.PendingGlobalRequests[i].Stages = clonedStages(s.PendingGlobalRequests[i].Stages)
	}
	return s
}

func clonedStages(stages []authz.Stage) []authz.Stage {
	stages = slices.Clone(stages)
	for i := range stages {
		if p := stages[i].Predicate; p != nil {
			own := *p
			stages[i].Predicate = &own
		}
	}
	return stages
}
