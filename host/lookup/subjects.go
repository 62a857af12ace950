package lookup

import (
	"cmp"
	"context"
	"slices"

	"github.com/authzhost/authz/internal/lists"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// Subjects lists who holds a key at a scope: "everyone" and orgs of nobody that is
// recorded, with the users who are excepted; the people whom groups, orgs and managers
// confer it on; services and users with rows of their own.
func (l *Lists) Subjects(ctx context.Context, in provider.SubjectsQuery) (page provider.SubjectsPage, err error) {
	in.Scope = cmp.Or(in.Scope, authz.Global)
	page.Subjects = []provider.Holder{}
	q, err := l.question(in.Key)
	if err != nil {
		return page, err
	}
	page.RequiresCondition = q.condition
	n, err := limit(in.Limit)
	if err != nil {
		return page, err
	}
	at, err := after(in.After, listOf("subjects", in.Key, in.Scope))
	if err != nil {
		return page, err
	}
	if err := l.able(); err != nil {
		return page, err
	}
	if in.Scope != authz.Global {
		if err := authz.ValidateScope(in.Scope); err != nil {
			return page, authz.Validation("%s", err.Error())
		}
	}
	q.extent = &extent{limit: n}
	s, err := q.subjects(ctx, in.Scope)
	if err != nil {
		return page, err
	}
	s.last = at
	err = s.all(at, func(h provider.Holder) { page.Subjects = append(page.Subjects, h) })
	if err == nil && s.extent.cut {
		page.Next, err = s.last.cursor()
	}
	return page, err
}

// The phases of a list of subjects, in their order.
const (
	phaseOpen     = iota // "everyone" and orgs of nobody that is recorded
	phaseRevoked         // users who are excepted by a revoke
	phaseInactive        // users who are excepted because they are inactive
	phaseShared          // people of groups, orgs and managers
	phaseOwn             // services and users with rows of their own
)

// subjectList are the subjects that hold a key at a scope.
type subjectList struct {
	*question
	*chains
	chain  access.Chain
	roles  map[string]authz.Role
	few    map[string][]authz.Grant // the grants at scopes that have few
	shared map[string][]authz.Grant // the conferring grants of subjects that are several
	below  map[string][]authz.Grant // those of single subjects below the scope, which imply the key
	groups map[string][]string      // the parents of every group
	orgs   []string                 // the orgs of shared of which nobody is recorded
	source sources
	phase  int
	last   place // the last candidate that was decided
	told   func(provider.Holder)

	managers map[string]string // of users that were read
}

func (q *question) subjects(ctx context.Context, scope string) (*subjectList, error) {
	s := &subjectList{question: q, chains: q.Lists.chains(ctx), roles: map[string]authz.Role{},
		shared: map[string][]authz.Grant{}, below: map[string][]authz.Grant{}, few: map[string][]authz.Grant{}, managers: map[string]string{}}
	var err error
	if s.chain, err = s.at(scope); err != nil {
		return nil, err
	}
	for _, at := range s.chain {
		if err := s.gather(at); err != nil {
			return nil, err
		}
	}
	if q.implied && scope != authz.Global {
		if err := s.gatherBelow(scope); err != nil {
			return nil, err
		}
	}
	if s.groups, err = q.Groups(ctx); err != nil {
		return nil, err
	}
	return s, s.findSources()
}

// single begins the subjects that are one each: services and users. All others sort
// before them.
const single = string(authz.SubjectService) + ":"

// gather reads the grants at a scope to subjects that are several, and keeps those to all
// where they are few.
func (s *subjectList) gather(scope string) error {
	page := storage.GrantsAtPage{Limit: 32} // most have few
	for {
		var read []authz.Grant
		for g, err := range s.Store.ListGrantsAt(s.ctx, []string{scope}, page) {
			if err != nil {
				return err
			}
			read = append(read, g)
		}
		if page.AfterScope == "" && len(read) < page.Limit {
			s.few[scope] = read
		}
		found, err := s.confer(read)
		if err != nil {
			return err
		}
		for _, g := range found {
			if g.Subject < single {
				s.shared[g.Subject] = append(s.shared[g.Subject], g)
			}
		}
		if len(read) < page.Limit || read[len(read)-1].Subject >= single {
			return nil
		}
		last := read[len(read)-1]
		page = storage.GrantsAtPage{AfterScope: scope, AfterSubject: last.Subject, AfterID: last.ID, Limit: chunk}
	}
}

// gatherBelow reads the grants below a scope, to whomever.
func (s *subjectList) gatherBelow(scope string) error {
	if s.Flat {
		return nil
	}
	if s.Recorded == nil {
		return authz.Rejected(authz.CodeUnsupported,
			"the key %q is implied on ancestors, and what lies below a scope is known only where the parents of scopes are recorded", s.key)
	}
	seen := map[string]bool{scope: true}
	for level := []string{scope}; len(level) > 0; {
		var next []string
		for of := range slices.Chunk(level, chunk) {
			for e, err := range s.Store.ListEdges(s.ctx, storage.EdgeParent, of, storage.EdgePage{}) {
				if err != nil {
					return err
				}
				if !seen[e.From] && e.From != authz.Global {
					seen[e.From] = true
					next = append(next, e.From)
				}
			}
		}
		apart := slices.DeleteFunc(slices.Clone(next), func(scope string) bool { return slices.Contains(s.chain, scope) }) // in a circle
		for at := range slices.Chunk(apart, chunk) {
			for some, err := range lists.Pieces(s.Store.ListGrantsAt(s.ctx, at, storage.GrantsAtPage{}), func() int { return chunk }) {
				if err != nil {
					return err
				}
				found, err := s.confer(some)
				if err != nil {
					return err
				}
				for _, g := range found {
					to := s.below
					if g.Subject < single {
						to = s.shared
					}
					g.Provenance = authz.Provenance{}
					to[g.Subject] = append(to[g.Subject], g)
				}
			}
		}
		level = next
	}
	return nil
}

// confer are those of some grants that confer the key.
func (s *subjectList) confer(grants []authz.Grant) ([]authz.Grant, error) {
	var missing []string
	for i := range grants {
		if id := grants[i].RoleID; id != "" {
			if _, known := s.roles[id]; !known {
				s.roles[id] = authz.Role{ID: id}
				missing = append(missing, id)
			}
		}
	}
	for some := range slices.Chunk(missing, chunk) {
		found, err := s.readRoles(some)
		if err != nil {
			return nil, err
		}
		for _, r := range found {
			s.roles[r.ID] = r
		}
	}
	named, seen := []authz.Role(nil), map[string]bool{}
	for i := range grants {
		if id := grants[i].RoleID; id != "" && !seen[id] {
			seen[id] = true
			named = append(named, s.roles[id])
		}
	}
	return s.conferring(grants, named), nil
}

func (s *subjectList) readRoles(ids []string) ([]authz.Role, error) {
	if s.Store.Info().Capabilities.Has(storage.CapBatchRoles) {
		return s.Store.GetRoles(s.ctx, ids)
	}
	var roles []authz.Role
	for _, id := range ids {
		r, found, err := s.Store.GetRole(s.ctx, id)
		if err != nil {
			return nil, err
		}
		if found {
			roles = append(roles, r)
		}
	}
	return roles, nil
}

// all tells every subject after a place, until the page is over.
func (s *subjectList) all(after place, told func(provider.Holder)) error {
	s.told = told
	phases := [...]func(place) error{phaseOpen: s.open, phaseRevoked: s.exceptRevoked, phaseInactive: s.exceptInactive, phaseShared: s.people, phaseOwn: s.own}
	for s.phase = after.Phase; s.phase < len(phases) && !s.extent.cut; s.phase++ {
		if err := phases[s.phase](after); err != nil {
			return err
		}
		after = place{}
	}
	return nil
}

// decided is the next candidate and, where it is told, its row. It says whether the page
// takes another one.
func (s *subjectList) decided(at place, told bool, h provider.Holder) (more bool) {
	if told && s.extent.wanted() == 0 {
		s.extent.cut = true
		return false
	}
	if told {
		s.told(h)
		s.extent.told++
	}
	s.last = place{List: s.last.List, Phase: s.phase, At: at.At, Path: slices.Clone(at.Path)}
	return true
}

// open tells "everyone", then the orgs of which nobody is recorded.
func (s *subjectList) open(after place) error {
	subjects := s.orgs
	if len(s.shared[authz.Everyone]) > 0 {
		subjects = append([]string{authz.Everyone}, subjects...)
	}
	for _, subject := range subjects {
		if subject <= after.At {
			continue
		}
		h := provider.Holder{Subject: subject}
		s.by(&h, s.shared[subject], nil)
		if !s.decided(place{At: subject}, true, h) {
			break
		}
	}
	return nil
}

// by tells the grants by which a subject holds the key: those on the chain or, where
// there are none, those that imply it.
func (s *subjectList) by(h *provider.Holder, grants []authz.Grant, through func(subject string) []string) {
	direct := slices.ContainsFunc(grants, s.onChain)
	h.Implied = !direct
	for _, g := range grants {
		if direct && !s.onChain(g) {
			continue
		}
		by := provider.HeldBy{GrantID: g.ID, Subject: g.Subject, RoleID: g.RoleID, Pattern: g.Pattern, Scope: g.Scope, ExpiresAt: g.ExpiresAt}
		if through != nil {
			by.Through = through(g.Subject)
		}
		h.By = append(h.By, by)
	}
}

func (s *subjectList) onChain(g authz.Grant) bool {
	return g.Scope == authz.Global || slices.Contains(s.chain, g.Scope)
}
