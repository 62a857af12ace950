package application

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/authzhost/authz/host/internal/cycle"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// supposed reads the rows of principals as they would be after a change that nobody
// makes.
type supposed struct {
	a       *Application
	now     int64
	grants  []authz.Grant
	revokes []authz.Revoke
	roles   map[string]authz.Role // that the change names
	members map[string][]string   // by user
	parents map[string][]string   // of every group
	gone    map[string]bool       // ids of grants and revokes

	changed     []string // roles with other patterns
	goneGrants  []authz.Grant
	goneRevokes []authz.Revoke
	were        map[string][]string // parents as they are stored
}

// ExplainSupposed explains a check of a principal as it would be after a change that
// nobody makes (spec: lookups §7), by explain on the rows of then.
func (a *Application) ExplainSupposed(ctx context.Context, p authz.Principal, key string, in provider.Supposing,
	explain func(*authz.SubjectAccess) (access.Explanation, error)) (access.Explained, error) {
	const op = "explain"
	none := access.Explained{}
	if s := principalShape(p); s.err != nil {
		return none, s.err
	}
	s, err := a.suppose(ctx, in)
	if err != nil {
		return none, a.readFailed(op, err)
	}
	rows, err := s.access(ctx, p)
	if err != nil {
		return none, a.readFailed(op, err)
	}
	e, err := explain(&rows)
	if err != nil {
		return none, err
	}
	told, err := a.around(ctx, p, &rows, key, e, s)
	told.Notes = s.strangers(p, &rows)
	return told, err
}

// suppose judges a change as the operations would that make it, but for rights and
// separation of duties.
func (a *Application) suppose(ctx context.Context, in provider.Supposing) (*supposed, error) {
	s := &supposed{a: a, now: a.clock(), roles: map[string]authz.Role{}, members: map[string][]string{}, gone: map[string]bool{}}
	if n := len(in.Without) + len(in.With.Grants) + len(in.With.Revokes) + len(in.With.Roles) + len(in.With.Groups) + len(in.With.Members); n > storage.MaxCommitChanges {
		return nil, authz.Validation("a plan holds at most %d rows, and this one has %d", storage.MaxCommitChanges, n)
	}
	stored, err := a.groupParents(ctx)
	if err != nil {
		return nil, err
	}
	s.were, s.parents = stored, maps.Clone(stored)
	if s.parents == nil {
		s.parents = map[string][]string{}
	}
	for _, step := range []func(context.Context, provider.Supposing) error{s.supposeRoles, s.supposeGroups, s.supposeGrants, s.supposeRevokes, s.supposeGone} {
		if err := step(ctx, in); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *supposed) supposeRoles(ctx context.Context, in provider.Supposing) error {
	for i, r := range in.With.Roles {
		var sh shape
		sh.id("roleId", r.RoleID)
		if sh.err != nil {
			return placed("roles", i, sh.err)
		}
		for _, p := range r.Patterns {
			if err := s.a.checkPatternAt(ctx, p, authz.Global); err != nil {
				return placed("roles", i, err)
			}
		}
		role, _, err := s.a.store.GetRole(ctx, r.RoleID)
		if err != nil {
			return err
		}
		role.ID, role.Patterns = r.RoleID, r.Patterns
		s.roles[r.RoleID], s.changed = role, append(s.changed, r.RoleID)
	}
	return nil
}

func (s *supposed) supposeGroups(ctx context.Context, in provider.Supposing) error {
	for i, g := range in.With.Groups {
		var sh shape
		sh.id("groupId", g.GroupID)
		sh.ids("parents", g.Parents)
		if sh.err != nil {
			return placed("groups", i, sh.err)
		}
		s.parents[g.GroupID] = g.Parents
	}
	known := func(kind string, i int, groups []string) error {
		for _, id := range groups {
			if _, found := s.parents[id]; !found {
				return placed(kind, i, authz.Rejected(authz.CodeNotFound, "group %s does not exist", spell.Quote(id)))
			}
		}
		return nil
	}
	for i, g := range in.With.Groups {
		if err := known("groups", i, g.Parents); err != nil {
			return err
		}
		if path := cycle.Through(s.parents, g.GroupID); path != nil {
			return authz.Cycle(path)
		}
	}
	for i, m := range in.With.Members {
		var sh shape
		sh.id("userId", m.UserID)
		if sh.err != nil {
			return placed("members", i, sh.err)
		}
		if err := known("members", i, m.GroupIDs); err != nil {
			return err
		}
		s.members[m.UserID] = distinct(m.GroupIDs)
	}
	return nil
}

func (s *supposed) supposeGrants(ctx context.Context, in provider.Supposing) error {
	for i, g := range in.With.Grants {
		if sh := shapeOfGrant(g); sh.err != nil {
			return placed("grants", i, sh.err)
		}
		if err := s.a.checkGrant(ctx, g, s.now); err != nil {
			return placed("grants", i, err)
		}
		row := authz.Grant{ID: fmt.Sprintf("with.grants[%d]", i), Subject: g.Subject, RoleID: g.RoleID, Pattern: g.Pattern, Scope: orGlobal(g.Scope), ExpiresAt: g.ExpiresAt, CreatedAt: s.now}
		if g.RoleID != "" {
			role, found := s.roles[g.RoleID]
			if !found {
				var err error
				if role, found, err = s.a.store.GetRole(ctx, g.RoleID); err != nil {
					return err
				}
			}
			switch {
			case !found:
				return placed("grants", i, authz.Rejected(authz.CodeNotFound, "role %s does not exist", spell.Quote(g.RoleID)))
			case !s.a.grantableAt(role, row.Scope):
				return placed("grants", i, authz.Validation("role %s has no pattern grantable at %s", spell.Quote(g.RoleID), spell.Echo(row.Scope)))
			}
			s.roles[g.RoleID] = role
		}
		s.grants = append(s.grants, row)
	}
	return nil
}

func (s *supposed) supposeRevokes(ctx context.Context, in provider.Supposing) error {
	for i, r := range in.With.Revokes {
		var sh shape
		sh.id("userId", r.UserID)
		sh.text("pattern", r.Pattern, maxID)
		sh.text("scope", r.Scope, maxID)
		if sh.err != nil {
			return placed("revokes", i, sh.err)
		}
		scope := orGlobal(r.Scope)
		if err := s.a.checkPatternAt(ctx, r.Pattern, scope); err != nil {
			return placed("revokes", i, err)
		}
		if err := checkScope(scope); err != nil {
			return placed("revokes", i, err)
		}
		s.revokes = append(s.revokes, authz.Revoke{ID: fmt.Sprintf("with.revokes[%d]", i), UserID: r.UserID, Pattern: r.Pattern, Scope: scope, CreatedAt: s.now})
	}
	return nil
}

func (s *supposed) supposeGone(ctx context.Context, in provider.Supposing) error {
	for i, id := range in.Without {
		var sh shape
		sh.id("without", id)
		if sh.err != nil {
			return sh.err
		}
		g, granted, err := s.a.store.GetGrant(ctx, id)
		if err != nil {
			return err
		}
		r, revoked, err := s.a.store.GetRevoke(ctx, id)
		switch {
		case err != nil:
			return err
		case granted:
			s.goneGrants = append(s.goneGrants, g)
		case revoked:
			s.goneRevokes = append(s.goneRevokes, r)
		default:
			return authz.Rejected(authz.CodeNotFound, "without[%d]: no grant and no revoke has the id %s", i, spell.Quote(id))
		}
		s.gone[id] = true
	}
	return nil
}

// placed names the member of a plan that is refused.
func placed(kind string, i int, err error) error {
	var told *authz.WriteRejectedError
	if !errors.As(err, &told) {
		return err
	}
	return authz.Rejected(told.Code, "with.%s[%d]: %s", kind, i, told.Message)
}

// access are the rows of a principal afterwards; of nobody those of everyone.
func (s *supposed) access(ctx context.Context, p authz.Principal) (authz.SubjectAccess, error) {
	q := storage.AccessQuery{UserID: p.UserID, Subjects: []string{p.Subject(), authz.Everyone}}
	var chain []string
	var user *authz.User
	switch {
	case p == authz.Principal{}: // somebody of whom nothing is known
		q.Subjects = q.Subjects[1:]
	case p.IsService():
		q.UserID = ""
	default:
		stored, found, err := s.a.store.GetUser(ctx, p.UserID)
		if err != nil {
			return authz.SubjectAccess{}, err
		}
		if found {
			user = &stored
		}
		if groups, supposed := s.members[p.UserID]; supposed {
			if user == nil {
				user = &authz.User{UserID: p.UserID, Active: true}
			}
			user.GroupIDs = groups
		}
		if user != nil {
			if chain, err = managerChain(ctx, s.a.store, *user); err != nil {
				return authz.SubjectAccess{}, err
			}
		}
		q.Subjects = storage.Closure(p.UserID, user, chain, func(group string) []string { return s.parents[group] })
	}
	read, err := s.a.store.ReadAccess(ctx, q)
	if err != nil {
		return authz.SubjectAccess{}, err
	}
	read.Closure, read.ManagerChain = q.Subjects, chain
	gone := func(id string) bool { return s.gone[id] }
	read.Grants = slices.DeleteFunc(slices.Clone(read.Grants), func(g authz.Grant) bool { return gone(g.ID) })
	read.Revokes = slices.DeleteFunc(slices.Clone(read.Revokes), func(r authz.Revoke) bool { return gone(r.ID) })
	for _, g := range s.grants {
		if slices.Contains(q.Subjects, g.Subject) {
			read.Grants = append(read.Grants, g)
		}
	}
	for _, r := range s.revokes {
		if r.UserID == p.UserID && !p.IsService() {
			read.Revokes = append(read.Revokes, r)
		}
	}
	roles := slices.DeleteFunc(slices.Clone(read.Roles), func(r authz.Role) bool { _, replaced := s.roles[r.ID]; return replaced })
	for _, id := range slices.Sorted(maps.Keys(s.roles)) {
		roles = append(roles, s.roles[id])
	}
	read.Roles = roles
	return supply(p, read, s.now), nil
}

// strangers are what of the change does not concern a principal.
func (s *supposed) strangers(p authz.Principal, rows *authz.SubjectAccess) (notes []string) {
	note := func(what, id string) {
		notes = append(notes, fmt.Sprintf("%s is about %s, and changes nothing for %s", what, spell.Echo(id), spell.Echo(p.Subject())))
	}
	for _, g := range s.grants {
		if !slices.Contains(rows.Closure, g.Subject) {
			note(g.ID, g.Subject)
		}
	}
	for _, g := range s.goneGrants {
		if !slices.Contains(rows.Closure, g.Subject) {
			note("the grant "+g.ID, g.Subject)
		}
	}
	for _, r := range slices.Concat(s.revokes, s.goneRevokes) {
		if r.UserID != p.UserID || p.IsService() {
			note("the revoke "+r.ID, authz.SubjectOf(authz.SubjectUser, r.UserID))
		}
	}
	for user := range s.members {
		if user != p.UserID {
			note("with.members", authz.SubjectOf(authz.SubjectUser, user))
		}
	}
	slices.Sort(notes)
	return notes
}
