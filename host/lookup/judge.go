package lookup

import (
	"maps"
	"slices"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// verdict is what becomes of one user.
type verdict struct {
	holder  provider.Holder
	ok      bool           // the user holds the key
	first   source         // what the user is told under; none is the user's own rows
	revokes []authz.Revoke // those of the user that match the key, by id
}

// judge decides users, at most a chunk of them. own are the grants to them that confer
// the key, by their subjects; nil is to be read.
func (s *subjectList) judge(users []string, own map[string][]authz.Grant) (map[string]verdict, error) {
	q := storage.PeopleQuery{UserIDs: users, Scopes: s.chain, WithoutGrants: own != nil}
	if s.implied {
		q.Scopes = nil // revokes below the scope take what is implied there
	}
	people, err := s.Store.ReadPeople(s.ctx, q)
	if err != nil {
		return nil, err
	}
	records := make(map[string]*authz.User, len(people.Users))
	for i := range people.Users {
		records[people.Users[i].UserID] = &people.Users[i]
	}
	read := own == nil
	if read {
		if own, err = s.grantsOf(people.Grants); err != nil {
			return nil, err
		}
	}
	revokes := make(map[string][]authz.Revoke)
	for _, r := range people.Revokes {
		if s.suppresses(&r) {
			revokes[r.UserID] = append(revokes[r.UserID], r)
		}
	}
	if err := s.readManagers(people.Users); err != nil {
		return nil, err
	}
	verdicts := make(map[string]verdict, len(users))
	for _, id := range users {
		subject := authz.UserPrincipal(id).Subject()
		grants := own[subject]
		if read {
			grants = append(grants, s.below[subject]...)
		}
		v, err := s.verdict(id, subject, records[id], grants, revokes[id])
		if err != nil {
			return nil, err
		}
		verdicts[id] = v
	}
	return verdicts, nil
}

// grantsOf are those of the grants to users that confer the key on the chain, by their
// subjects.
func (s *subjectList) grantsOf(grants []authz.Grant) (map[string][]authz.Grant, error) {
	conferring, err := s.confer(slices.DeleteFunc(grants, func(g authz.Grant) bool { return !s.onChain(g) }))
	if err != nil {
		return nil, err
	}
	own := map[string][]authz.Grant{}
	for _, g := range conferring {
		own[g.Subject] = append(own[g.Subject], g)
	}
	return own, nil
}

func (s *subjectList) verdict(id, subject string, record *authz.User, grants []authz.Grant, revokes []authz.Revoke) (verdict, error) {
	v := verdict{holder: provider.Holder{Subject: subject}, revokes: revokes}
	if record != nil && !record.Active {
		v.holder.Except = provider.ExceptInactive
		return v, nil
	}
	for _, r := range revokes {
		if r.Scope == authz.Global || slices.Contains(s.chain, r.Scope) {
			v.holder.Except = provider.ExceptRevoked
			return v, nil
		}
	}
	var managers []string
	if record != nil {
		managers = s.managersOf(record)
	}
	v.first = s.source.of(record, managers)
	for _, of := range storage.Closure(id, record, managers, func(group string) []string { return s.groups[group] }) {
		grants = append(grants, s.shared[of]...)
	}
	if !slices.ContainsFunc(grants, s.onChain) {
		var err error
		if grants, err = s.implying(grants, revokes); err != nil {
			return v, err
		}
	}
	if v.ok = len(grants) > 0; !v.ok {
		v.holder.Except = provider.ExceptRevoked // where everybody holds the key
		return v, nil
	}
	s.by(&v.holder, grants, func(subject string) []string { return s.through(record, subject) })
	return v, nil
}

// implying are the grants on whose own chain no revoke stands.
func (s *subjectList) implying(grants []authz.Grant, revokes []authz.Revoke) (left []authz.Grant, err error) {
	if len(revokes) == 0 {
		return grants, nil
	}
	for _, g := range grants {
		chain, err := s.of(g.Scope)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(revokes, func(r authz.Revoke) bool { return slices.Contains(chain, r.Scope) }) {
			left = append(left, g)
		}
	}
	return left, nil
}

func (s *subjectList) through(record *authz.User, subject string) []string {
	if record == nil {
		return nil
	}
	return Through(s.groups, record.GroupIDs, subject)
}

// Through are the groups from one that a user is a direct member of to the group that a
// grant names, the shortest way; none for another subject. parents are those of every
// group.
func Through(parents map[string][]string, direct []string, subject string) []string {
	kind, id, _ := authz.ParseSubject(subject)
	if kind != authz.SubjectGroup {
		return nil
	}
	from := map[string]string{}
	for _, g := range direct {
		from[g] = ""
	}
	for level := direct; len(level) > 0; {
		if _, there := from[id]; there {
			break
		}
		var next []string
		for _, g := range level {
			for _, parent := range parents[g] {
				if _, seen := from[parent]; !seen {
					from[parent] = g
					next = append(next, parent)
				}
			}
		}
		level = next
	}
	if _, there := from[id]; !there {
		return nil
	}
	var way []string
	for g := id; g != ""; g = from[g] {
		way = append(way, authz.SubjectOf(authz.SubjectGroup, g))
	}
	slices.Reverse(way)
	return way
}

// readManagers reads the managers above some users, where managers confer anything.
func (s *subjectList) readManagers(users []authz.User) error {
	if len(s.source.directs)+len(s.source.orgsOf) == 0 {
		return nil
	}
	if len(s.managers) > maxParents {
		clear(s.managers)
	}
	for level := users; len(level) > 0; {
		above := map[string]bool{}
		for _, u := range level {
			s.managers[u.UserID] = u.ManagerUserID
			if _, read := s.managers[u.ManagerUserID]; u.ManagerUserID != "" && !read {
				above[u.ManagerUserID] = true
			}
		}
		level = nil
		for some := range slices.Chunk(slices.Collect(maps.Keys(above)), storage.MaxPeople) {
			read, err := s.Store.ReadPeople(s.ctx, storage.PeopleQuery{UserIDs: some, Scopes: []string{}})
			if err != nil {
				return err
			}
			for _, id := range some {
				s.managers[id] = "" // it may have no record
			}
			level = append(level, read.Users...)
		}
	}
	return nil
}

func (s *subjectList) managersOf(u *authz.User) []string {
	if len(s.source.directs)+len(s.source.orgsOf) == 0 {
		return nil
	}
	chain, _ := storage.ManagerChain(u.UserID, u.ManagerUserID, func(id string) (string, error) { return s.managers[id], nil }) // it never fails
	return chain
}
