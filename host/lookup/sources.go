package lookup

import (
	"maps"
	"slices"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// sources are what people come through who hold the key by more than rows of their own,
// each kind sorted.
type sources struct {
	directs []string // managers whose direct reports do
	groups  []string // groups whose members do, by their own rows or those of groups above
	orgs    []string // orgs of somebody
	orgsOf  []string // managers of whom everybody below does
}

// source is one of them; the zero one is none.
type source struct {
	kind authz.SubjectKind
	id   string
}

// shares are the kinds of sources, in the order of the list.
var shares = []authz.SubjectKind{authz.SubjectDirects, authz.SubjectGroup, authz.SubjectOrg, authz.SubjectOrgOf}

func (s *sources) ids(kind authz.SubjectKind) []string {
	switch kind {
	case authz.SubjectDirects:
		return s.directs
	case authz.SubjectGroup:
		return s.groups
	case authz.SubjectOrg:
		return s.orgs
	default:
		return s.orgsOf
	}
}

// of is the first source that a user comes through.
func (s *sources) of(u *authz.User, managers []string) source {
	if u == nil {
		return source{}
	}
	direct := managers
	if len(direct) > 1 {
		direct = direct[:1]
	}
	for _, kind := range shares {
		theirs := map[authz.SubjectKind][]string{authz.SubjectDirects: direct, authz.SubjectGroup: u.GroupIDs, authz.SubjectOrg: u.OrgIDs, authz.SubjectOrgOf: managers}[kind]
		if first := firstOf(s.ids(kind), theirs); first != "" {
			return source{kind, first}
		}
	}
	return source{}
}

// firstOf is the least of some ids that is among sorted ones, "" for none.
func firstOf(sorted, ids []string) (first string) {
	if len(sorted) == 0 {
		return ""
	}
	for _, id := range ids {
		if _, among := slices.BinarySearch(sorted, id); among && (first == "" || id < first) {
			first = id
		}
	}
	return first
}

// findSources sorts the subjects that are several by what their people are found by.
func (s *subjectList) findSources() error {
	groups := map[string]bool{}
	for subject := range s.shared {
		switch kind, id, _ := authz.ParseSubject(subject); kind {
		case authz.SubjectDirects:
			s.source.directs = append(s.source.directs, id)
		case authz.SubjectOrgOf:
			s.source.orgsOf = append(s.source.orgsOf, id)
		case authz.SubjectGroup:
			groups[id] = true
		case authz.SubjectOrg:
			recorded, err := s.anybody(id)
			if err != nil {
				return err
			}
			if recorded {
				s.source.orgs = append(s.source.orgs, id)
			} else {
				s.orgs = append(s.orgs, subject)
			}
		}
	}
	s.source.groups = s.groupsBelow(groups)
	for _, list := range [][]string{s.source.directs, s.source.orgsOf, s.source.orgs, s.orgs} {
		slices.Sort(list)
	}
	return nil
}

// anybody reports whether somebody's record names the org.
func (s *subjectList) anybody(org string) (bool, error) {
	for _, err := range s.Store.ListEdges(s.ctx, storage.EdgeOrg, []string{org}, storage.EdgePage{Limit: 1}) {
		return err == nil, err
	}
	return false, nil
}

// groupsBelow are groups and all whose members are theirs too.
func (s *subjectList) groupsBelow(groups map[string]bool) []string {
	if len(groups) == 0 {
		return nil
	}
	children := map[string][]string{}
	for id, parents := range s.groups {
		for _, parent := range parents {
			children[parent] = append(children[parent], id)
		}
	}
	for open := slices.Collect(maps.Keys(groups)); len(open) > 0; {
		id := open[len(open)-1]
		open = open[:len(open)-1]
		for _, child := range children[id] {
			if !groups[child] {
				groups[child] = true
				open = append(open, child)
			}
		}
	}
	return slices.Sorted(maps.Keys(groups))
}

var edgesOf = map[authz.SubjectKind]storage.EdgeKind{authz.SubjectDirects: storage.EdgeManager, authz.SubjectGroup: storage.EdgeGroup,
	authz.SubjectOrg: storage.EdgeOrg, authz.SubjectOrgOf: storage.EdgeManager}

// people tells who comes through a source, each under the first of theirs.
func (s *subjectList) people(after place) error {
	from := max(0, slices.Index(shares, authz.SubjectKind(after.At)))
	for _, kind := range shares[from:] {
		if err := s.peopleOf(kind, after.Path); err != nil || s.extent.cut {
			return err
		}
		after = place{}
	}
	return nil
}

// peopleOf tells who comes through the sources of one kind.
func (s *subjectList) peopleOf(kind authz.SubjectKind, after []string) error {
	roots := s.source.ids(kind)
	if len(roots) == 0 {
		return nil
	}
	t := tree{ctx: s.ctx, store: s.Store, extent: s.extent, siblings: chunk, kind: edgesOf[kind],
		under: func(depth int, _ string) bool { return depth == 0 || kind == authz.SubjectOrgOf }}
	var paths [][]string
	flush := func() error {
		if len(paths) == 0 || s.extent.over() {
			return nil
		}
		s.extent.examined += len(paths)
		users := make([]string, len(paths))
		for i, path := range paths {
			users[i] = path[len(path)-1]
		}
		verdicts, err := s.judge(users, nil)
		if err != nil {
			return err
		}
		for _, path := range paths {
			v := verdicts[path[len(path)-1]]
			if !s.decided(place{At: string(kind), Path: path}, v.ok && v.first == (source{kind, path[0]}), v.holder) {
				break
			}
		}
		paths = paths[:0]
		return nil
	}
	for v, err := range t.walk(roots, after) {
		if err != nil {
			return err
		}
		if len(v.path) == 1 {
			continue // the source itself
		}
		if paths = append(paths, slices.Clone(v.path)); len(paths) >= s.extent.batch() {
			if err := flush(); err != nil || s.extent.cut {
				return err
			}
		}
	}
	return flush()
}
