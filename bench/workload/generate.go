package workload

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// The fixed measures of every world.
const (
	areas           = 30
	keysPerArea     = 10
	roles           = 50
	patternsPerRole = 10
	folders         = 304 // over all levels
	documents       = 1000
)

// Generate makes the world of the params.
func Generate(p Params) (*World, error) {
	if p.Users == 0 {
		p.Users = 1000
	}
	if p.Depth == 0 {
		p.Depth = 5
	}
	if p.Questions == 0 {
		p.Questions = 10_000
	}
	if p.Seed == 0 {
		p.Seed = 1
	}
	if p.Users < 10 || p.Depth < 2 || p.Depth > 100 || p.Questions < 1 {
		return nil, fmt.Errorf("workload: a world needs at least 10 users, a depth of 2 to 100 and one question: %+v", p)
	}
	g := generator{World: &World{Params: p}, rng: rand.New(rand.NewPCG(p.Seed, uint64(p.Users)<<8|uint64(p.Depth)))}
	g.vocabulary()
	g.people()
	g.tree()
	g.grants()
	g.plain = newDefinition(g.World)
	g.revokes()
	if err := g.questions(); err != nil {
		return nil, err
	}
	return g.World, nil
}

type generator struct {
	*World
	rng    *rand.Rand
	levels [][]ScopeID // folders by level, outermost first
	docs   []ScopeID
	below  map[ScopeID][]ScopeID // the documents below a scope
	plain  *definition
}

func pick[T any](g *generator, list []T) T { return list[g.rng.IntN(len(list))] }

func (g *generator) vocabulary() {
	for a := range areas {
		for k := range keysPerArea {
			g.Keys = append(g.Keys, fmt.Sprintf("docs.area%d.thing%d", a, k))
		}
	}
	for r := range roles {
		role := Role{ID: fmt.Sprintf("r%d", r)}
		for len(role.Patterns) < patternsPerRole {
			if p := g.pattern(); !slices.Contains(role.Patterns, p) {
				role.Patterns = append(role.Patterns, p)
			}
		}
		g.Roles = append(g.Roles, role)
	}
}

// pattern is a wildcard over an area, one time in three, or a key.
func (g *generator) pattern() string {
	key := pick(g, g.Keys)
	if g.rng.IntN(3) == 0 {
		return Area(key)
	}
	return key
}

// people makes a company of divisions of departments of teams, ten users a team;
// users are in two teams, and one department in four belongs to two divisions.
func (g *generator) people() {
	layer := func(prefix string, n int, parents []string, twice int) []string {
		var ids []string
		for i := range n {
			group := Group{ID: fmt.Sprintf("%s%d", prefix, i)}
			if len(parents) > 0 {
				group.Parents = append(group.Parents, parents[i%len(parents)])
				if other := pick(g, parents); twice > 0 && i%twice == 0 && other != group.Parents[0] {
					group.Parents = append(group.Parents, other)
				}
			}
			g.Groups = append(g.Groups, group)
			ids = append(ids, group.ID)
		}
		return ids
	}
	company := layer("company", 1, nil, 0)
	divisions := layer("division", max(2, g.Params.Users/200), company, 0)
	departments := layer("department", max(2, g.Params.Users/50), divisions, 4)
	teams := layer("team", max(2, g.Params.Users/10), departments, 0)
	for u := range g.Params.Users {
		user := User{ID: fmt.Sprintf("u%d", u), Groups: []string{teams[u%len(teams)]}}
		if other := pick(g, teams); other != user.Groups[0] {
			user.Groups = append(user.Groups, other)
		}
		g.Users = append(g.Users, user)
	}
}

// tree makes folders on Depth-1 levels, the outer ones wide in proportion to their
// level, and documents in the innermost.
func (g *generator) tree() {
	levels := g.Params.Depth - 1
	sum := levels * (levels + 1) / 2
	g.below = map[ScopeID][]ScopeID{}
	parents := []ScopeID{{Kind: Global}}
	parentOf := map[ScopeID]ScopeID{}
	add := func(s ScopeID, n, of int) {
		parent := parents[n*len(parents)/of]
		parentOf[s] = parent
		g.Scopes = append(g.Scopes, Scope{ScopeID: s, Parent: parent})
	}
	for level := range levels {
		width := max(1, folders*(level+1)/sum)
		var row []ScopeID
		for n := range width {
			s := ScopeID{Folder, fmt.Sprintf("l%df%d", level+1, n)}
			add(s, n, width)
			row = append(row, s)
		}
		g.levels = append(g.levels, row)
		parents = row
	}
	for n := range documents {
		s := ScopeID{Document, fmt.Sprintf("d%d", n)}
		add(s, n, documents)
		g.docs = append(g.docs, s)
		for at, more := s, true; more; at, more = parentOf[at] {
			g.below[at] = append(g.below[at], s)
		}
	}
}

// folder is one of any level, each level alike.
func (g *generator) folder() ScopeID { return pick(g, pick(g, g.levels)) }

func (g *generator) grants() {
	give := func(s Subject, n int) {
		for range n {
			grant := Grant{Subject: s}
			switch where := g.rng.IntN(10); {
			case where == 0 && s.Group:
				grant.Scope = ScopeID{Kind: Global}
			case where < 3:
				grant.Scope = pick(g, g.docs)
			default:
				grant.Scope = g.folder()
			}
			if g.rng.IntN(3) == 0 {
				grant.Role = pick(g, g.Roles).ID
			} else {
				grant.Pattern = g.pattern()
			}
			if !slices.Contains(g.Grants[max(0, len(g.Grants)-n):], grant) {
				g.Grants = append(g.Grants, grant)
			}
		}
	}
	each := map[string]int{"c": 3, "di": 6, "de": 4, "t": 4}
	for _, group := range g.Groups {
		n := each[group.ID[:1]]
		if n == 0 {
			n = each[group.ID[:2]]
		}
		give(Subject{Group: true, ID: group.ID}, n)
	}
	for _, user := range g.Users {
		give(Subject{ID: user.ID}, 1)
	}
}

// revokes takes from every other user part of what one of its rows grants.
func (g *generator) revokes() {
	for u := 0; u < len(g.Users); u += 2 {
		grant := pick(g, g.plain.held(g.Users[u].ID))
		pattern := g.granted(grant)
		if g.rng.IntN(3) == 0 {
			pattern = Area(pattern)
		}
		r := Revoke{User: g.Users[u].ID, Pattern: pattern, Scope: grant.Scope}
		if g.rng.IntN(2) == 0 {
			r.Scope = g.reached(grant.Scope)
		}
		g.Revokes = append(g.Revokes, r)
	}
	g.plain.revoke(g.Revokes)
}

// granted is a key that a grant covers.
func (g *generator) granted(grant Grant) string {
	if grant.Role != "" {
		return g.covered(pick(g, g.plain.roles[grant.Role]))
	}
	return g.covered(grant.Pattern)
}

// covered is a key that a pattern covers.
func (g *generator) covered(pattern string) string {
	if strings.HasSuffix(pattern, "*") {
		return pick(g, g.Covered(pattern))
	}
	return pattern
}

// reached is a scope or a document below it.
func (g *generator) reached(s ScopeID) ScopeID {
	if g.rng.IntN(4) == 0 {
		return s
	}
	return pick(g, g.below[s])
}

// questions alternates allowed and denied ones, users taking turns; one denied
// question in four is denied by a revoke alone.
func (g *generator) questions() error {
	const tries, patience = 10_000, 100
	for n := range g.Params.Questions {
		want, revoked, found := n%2 == 0, n%8 == 1, false
		for try := 0; try < tries && !found; try++ {
			// A user that may hold nothing, or has no such revoke, is passed over.
			q := Question{User: g.Users[(n/2+try/patience)%len(g.Users)].ID, Allowed: want}
			rows := g.plain.revokes[q.User]
			switch {
			case revoked && len(rows) == 0:
				continue
			case revoked:
				row := pick(g, rows)
				q.Key, q.Scope = g.covered(row.Pattern), g.reached(row.Scope)
				found = g.plain.granted(q) && g.plain.revoked(q)
			case want:
				grant := pick(g, g.plain.held(q.User))
				q.Key, q.Scope = g.granted(grant), g.reached(grant.Scope)
				found = g.plain.allowed(q)
			default:
				q.Key, q.Scope = pick(g, g.Keys), pick(g, g.docs)
				switch g.rng.IntN(10) {
				case 0:
					q.Scope = ScopeID{Kind: Global}
				case 1:
					q.Scope = g.folder()
				}
				found = !g.plain.granted(q)
			}
			if found {
				g.Questions = append(g.Questions, q)
			}
		}
		if !found {
			return fmt.Errorf("workload: no question of %d with the answer %v was found in %d tries", n, want, tries)
		}
	}
	return nil
}
