package application

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/authzhost/authz/host/internal/cycle"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// CheckOrgSnapshot judges everything about an order to apply a snapshot that can
// be told without the store. Patterns need not be in this application's catalog: a
// read model may name the vocabulary of others.
func (a *Application) CheckOrgSnapshot(in provider.ApplyOrgSnapshotInput) error {
	return CheckOrgSnapshot(in)
}

// CheckOrgSnapshot is what every application judges alike.
func CheckOrgSnapshot(in provider.ApplyOrgSnapshotInput) error {
	_, err := checkOrg(in)
	return err
}

// checkOrg is CheckOrgSnapshot, answering the rows as they are to be stored.
func checkOrg(in provider.ApplyOrgSnapshotInput) (provider.OrgSnapshot, error) {
	s := in.Snapshot
	refused := func(err error) (provider.OrgSnapshot, error) { return provider.OrgSnapshot{}, err }
	if in.Source == "" {
		return refused(authz.Validation("an org snapshot must name its source"))
	}
	for _, list := range []struct {
		name   string
		absent bool
	}{
		{"groups", s.Groups == nil}, {"roles", s.Roles == nil}, {"globalGrants", s.GlobalGrants == nil}, {"globalRevokes", s.GlobalRevokes == nil},
		{"users", s.Users == nil}, {"pendingGlobalRequests", s.PendingGlobalRequests == nil},
	} {
		if list.absent {
			return refused(authz.Validation("snapshot.%s must be an array", list.name))
		}
	}
	for name, n := range map[string]*int64{"expectHead": in.ExpectHead, "position": in.Position} {
		if n != nil && (*n < 0 || !authz.ValidInstant(*n)) {
			return refused(authz.Validation("%s must be an integer of at least 0", name))
		}
	}
	var errs [6]error
	s.Groups, errs[0] = checkRows("groups", s.Groups, func(g authz.Group) string { return g.ID }, checkOrgGroup)
	s.Roles, errs[1] = checkRows("roles", s.Roles, func(r authz.Role) string { return r.ID }, checkOrgRole)
	s.GlobalGrants, errs[2] = checkRows("globalGrants", s.GlobalGrants, func(g authz.Grant) string { return g.ID }, checkOrgGrant)
	s.GlobalRevokes, errs[3] = checkRows("globalRevokes", s.GlobalRevokes, func(r authz.Revoke) string { return r.ID }, checkOrgRevoke)
	s.Users, errs[4] = checkRows("users", s.Users, func(u authz.User) string { return u.UserID }, checkOrgUser)
	s.PendingGlobalRequests, errs[5] = checkRows("pendingGlobalRequests", s.PendingGlobalRequests, func(r authz.Request) string { return r.ID }, checkOrgRequest)
	for _, err := range errs {
		if err != nil {
			return refused(err)
		}
	}
	parents := make(map[string][]string, len(s.Groups))
	for _, g := range s.Groups {
		parents[g.ID] = g.Parents
	}
	if path := cycle.Find(parents); path != nil {
		return refused(authz.Cycle(path))
	}
	if path := reportingCycle(s.Users); path != nil {
		return refused(authz.Cycle(path))
	}
	return s, nil
}

// reportingCycle looks for a cycle among managers; of two records of a user the
// later counts.
func reportingCycle(users []authz.User) []string {
	graph := make(map[string][]string, len(users))
	for _, u := range users {
		delete(graph, u.UserID)
		if u.ManagerUserID != "" {
			graph[u.UserID] = []string{u.ManagerUserID}
		}
	}
	return cycle.Find(graph)
}

// checkRows judges one list: its ids, then its rows.
func checkRows[Row any](name string, rows []Row, id func(Row) string, check func(s *shape, row Row) (Row, error)) ([]Row, error) {
	seen := make(map[string]bool, len(rows))
	checked := make([]Row, 0, len(rows))
	for i, row := range rows {
		var s shape
		s.id("id", id(row))
		kept, err := check(&s, row)
		if s.err != nil {
			err = s.err
		}
		if err == nil && seen[id(row)] {
			err = authz.Validation("the id %s is repeated", spell.Quote(id(row)))
		}
		if err != nil {
			return nil, located(fmt.Sprintf("snapshot.%s[%d]", name, i), err)
		}
		seen[id(row)] = true
		checked = append(checked, kept)
	}
	return checked, nil
}

// located says where in a snapshot a refusal belongs.
func located(where string, err error) error {
	var refused *authz.WriteRejectedError
	if errors.As(err, &refused) && refused.Code == authz.CodeValidation {
		return authz.Validation("%s: %s", where, refused.Message)
	}
	return err
}

func checkOrgGroup(s *shape, g authz.Group) (authz.Group, error) {
	s.text("name", g.Name, maxName)
	s.text("description", g.Description, maxText)
	s.ids("parent", g.Parents)
	g.Parents = distinct(g.Parents)
	return g, nil
}

func checkOrgRole(s *shape, r authz.Role) (authz.Role, error) {
	s.role(r.Name, r.Description, r.Patterns, r.Requestable)
	for _, p := range r.Patterns {
		if err := checkGrammar(p); err != nil {
			return r, err
		}
	}
	r.Patterns = slices.Clone(r.Patterns)
	var err error
	r.Requestable, err = checkPolicy(r.Requestable, anyHierarchy)
	return r, err
}

// anyHierarchy lets stages of management pass: whether anybody has a manager is
// told by the snapshot's users.
func anyHierarchy() (bool, error) { return true, nil }

func checkOrgGrant(s *shape, g authz.Grant) (authz.Grant, error) {
	s.text("subject", g.Subject, maxID)
	s.text("roleId", g.RoleID, maxID)
	s.instant("createdAt", &g.CreatedAt)
	if err := checkExpiryShape("expiresAt", g.ExpiresAt); err != nil {
		return g, err
	}
	if _, _, ok := authz.ParseSubject(g.Subject); !ok {
		return g, authz.Validation("%s is not a valid subject id", spell.Quote(g.Subject))
	}
	if (g.RoleID == "") == (g.Pattern == "") {
		return g, authz.Validation("a grant carries exactly one of roleId / pattern")
	}
	if g.Pattern != "" {
		s.pattern(g.Pattern)
	}
	s.global(g.Scope)
	var err error
	g.Provenance, err = provenance(g.Provenance)
	return g, err
}

func checkOrgRevoke(s *shape, r authz.Revoke) (authz.Revoke, error) {
	s.id("userId", r.UserID)
	s.pattern(r.Pattern)
	s.instant("createdAt", &r.CreatedAt)
	s.global(r.Scope)
	var err error
	r.Provenance, err = provenance(r.Provenance)
	return r, err
}

func checkOrgUser(s *shape, u authz.User) (authz.User, error) {
	s.ids("group id", u.GroupIDs)
	s.ids("org id", u.OrgIDs)
	s.text("managerUserId", u.ManagerUserID, maxID)
	u.GroupIDs, u.OrgIDs = distinct(u.GroupIDs), distinct(u.OrgIDs)
	return u, nil
}

func checkOrgRequest(s *shape, r authz.Request) (authz.Request, error) {
	s.id("requesterUserId", r.RequesterUserID)
	s.text("roleId", r.RoleID, maxID)
	s.instant("createdAt", &r.CreatedAt)
	s.instant("decidedAt", r.DecidedAt)
	s.global(r.Scope)
	for _, prompt := range slices.Sorted(maps.Keys(r.Justification)) {
		s.text("justification", prompt, maxID)
		s.text("justification", r.Justification[prompt], maxText)
	}
	for _, d := range r.Decisions {
		s.text("decidedBy", d.DecidedBy, maxID)
		s.text("decision", d.Decision, maxID)
		s.text("note", d.Note, maxText)
		s.instant("at", &d.At)
		s.instant("stageIndex", &d.StageIndex)
	}
	if err := checkExpiryShape("proposedExpiresAt", r.ProposedExpiresAt); err != nil {
		return r, err
	}
	switch {
	case r.State != authz.RequestPending:
		return r, authz.Validation("a request of a snapshot must be pending, not %s", spell.Quote(string(r.State)))
	case (r.RoleID == "") == (r.Pattern == ""):
		return r, authz.Validation("a request proposes exactly one of roleId / pattern")
	case r.StageIndex < 0 || r.StageIndex >= int64(len(r.Stages)):
		return r, authz.Validation("stageIndex is that of no stage")
	}
	if r.Pattern != "" {
		s.pattern(r.Pattern)
	}
	policy := &authz.Requestable{Stages: r.Stages}
	s.role("", "", nil, policy)
	policy, err := checkPolicy(policy, anyHierarchy)
	if err == nil {
		r.Stages = policy.Stages
	}
	return r, err
}

// pattern wants a well-formed pattern, known or not.
func (s *shape) pattern(p string) {
	s.text("pattern", p, maxID)
	if s.err == nil {
		s.err = checkGrammar(p)
	}
}

func (s *shape) global(scope string) {
	if s.err == nil && scope != authz.Global {
		s.err = authz.Validation("its scope must be \"*\", not %s", spell.Quote(scope))
	}
}

func checkGrammar(pattern string) error {
	if err := authz.ValidatePattern(pattern); err != nil {
		return authz.Validation("%s", err.Reason)
	}
	return nil
}
