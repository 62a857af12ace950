package acme

import (
	"slices"
	"strconv"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// expiresInMs is how long the grants live that are to be expired once the world
// is loaded: long enough for the call that creates them.
const expiresInMs = 2000

// grants makes the rows by kind of subject; the expiring ones stand last.
func (g *generator) grants() {
	d := newGrantDraw(g)
	for _, pinned := range []provider.GrantInput{
		{Subject: "user:u_1", RoleID: "r_owner", Scope: authz.Global},
		{Subject: quickstartUser, RoleID: "r_editor", Scope: g.parentOf(quickstartDoc)},
	} {
		d.keep(Grant{GrantInput: pinned})
	}
	for _, part := range []struct {
		kind     authz.SubjectKind
		upTo     int // rows so far, the part included
		expiring bool
	}{
		{authz.SubjectUser, 5300, false},
		{authz.SubjectGroup, 6600, false},
		{authz.SubjectOrg, 6800, false},
		{authz.SubjectEveryone, 6840, false},
		{authz.SubjectService, 7080, false},
		{authz.SubjectDirects, 7500, false},
		{authz.SubjectOrgOf, 7920, false},
		{authz.SubjectUser, 7970, true},
		{authz.SubjectGroup, 7985, true},
		{authz.SubjectService, GrantCount, true},
	} {
		for len(g.world.Grants) < part.upTo {
			d.draw(part.kind, part.expiring)
		}
	}
}

// The quickstart asks its first question about these two.
const (
	quickstartUser = "user:u_17"
	quickstartDoc  = typeDoc + ":d_1"
)

func (g *generator) parentOf(scope string) string {
	i := slices.IndexFunc(g.world.Scopes, func(s Scope) bool { return s.ID == scope })
	return g.world.Scopes[i].Parents[0]
}

// grantDraw knows what is grantable where.
type grantDraw struct {
	*generator
	scopes   map[string][]string // by type
	roles    map[string][]string // role ids grantable at a type
	keys     map[string][]string
	subtrees map[string][]string
	reads    []string // keys that only look; what wide subjects get globally
	seen     map[string]bool
}

func newGrantDraw(g *generator) *grantDraw {
	d := &grantDraw{generator: g, scopes: scopesByType(&g.world), roles: map[string][]string{},
		keys: map[string][]string{}, subtrees: map[string][]string{}, seen: map[string]bool{}}
	add := func(into map[string][]string, scopeType, value string) {
		if !slices.Contains(into[scopeType], value) {
			into[scopeType] = append(into[scopeType], value)
		}
	}
	for _, p := range g.permissions {
		for _, t := range append(slices.Clone(p.scopes), authz.Global) {
			add(d.keys, t, p.key)
			add(d.subtrees, t, p.block+".*")
			add(d.subtrees, t, strings.SplitN(p.key, ".", 2)[0]+".*")
			for _, r := range g.world.Roles {
				if r.ID != "r_owner" && slices.ContainsFunc(r.Patterns, func(pattern string) bool { return matches(pattern, p.key) }) {
					add(d.roles, t, r.ID)
				}
			}
		}
		if p.isRead() {
			d.reads = append(d.reads, p.key)
		}
	}
	return d
}

// isRead reports whether the permission only looks.
func (p permission) isRead() bool {
	return strings.HasPrefix(p.key[strings.LastIndexByte(p.key, '.')+1:], "read")
}

// draw makes one row and keeps it unless there is one like it already.
func (d *grantDraw) draw(kind authz.SubjectKind, expiring bool) {
	row := Grant{GrantInput: provider.GrantInput{Subject: d.subject(kind)}}
	scopeType := d.scopeType(kind)
	wide := kind != authz.SubjectUser && kind != authz.SubjectService
	switch n := d.rng.IntN(100); {
	case kind == authz.SubjectEveryone || wide && scopeType == authz.Global:
		row.Pattern = pick(d.rng, d.reads)
		if p := d.permission(row.Pattern); scopeType != authz.Global && !slices.Contains(p.scopes, scopeType) {
			return
		}
	case n < 45:
		row.RoleID = pick(d.rng, d.roles[scopeType])
	case n < 86:
		row.Pattern = pick(d.rng, d.keys[scopeType])
	default:
		row.Pattern = pick(d.rng, d.subtrees[scopeType])
	}
	row.Scope = authz.Global
	if scopeType != authz.Global {
		row.Scope = pick(d.rng, d.scopes[scopeType])
	}
	switch {
	case expiring:
		row.ExpiresInMs = expiresInMs
	case chance(d.rng, 12):
		const day = 24 * 60 * 60 * 1000
		row.ExpiresAt = authz.ExpiresAt(FarFuture + int64(d.rng.IntN(365))*day)
	}
	d.keep(row)
}

func (d *grantDraw) keep(row Grant) {
	if t := row.tuple(); !d.seen[t] {
		d.seen[t] = true
		d.world.Grants = append(d.world.Grants, row)
	}
}

func (d *grantDraw) permission(key string) permission {
	return d.permissions[slices.IndexFunc(d.permissions, func(p permission) bool { return p.key == key })]
}

func (d *grantDraw) subject(kind authz.SubjectKind) string {
	switch kind {
	case authz.SubjectGroup:
		return authz.SubjectOf(kind, pick(d.rng, d.world.Groups).ID)
	case authz.SubjectOrg:
		return authz.SubjectOf(kind, pick(d.rng, orgs))
	case authz.SubjectService:
		return authz.SubjectOf(kind, pick(d.rng, d.world.Services))
	case authz.SubjectDirects, authz.SubjectOrgOf:
		return authz.SubjectOf(kind, userID(1+d.rng.IntN(leadCount)))
	}
	return authz.SubjectOf(kind, userID(1+d.rng.IntN(UserCount)))
}

// scopeType draws where a row sits; "*" is rare but for services and everyone.
func (d *grantDraw) scopeType(kind authz.SubjectKind) string {
	global := map[authz.SubjectKind]int{authz.SubjectUser: 2, authz.SubjectGroup: 3, authz.SubjectOrg: 5,
		authz.SubjectEveryone: 15, authz.SubjectService: 12, authz.SubjectDirects: 2, authz.SubjectOrgOf: 1}[kind]
	switch n := d.rng.IntN(100); {
	case chance(d.rng, global):
		return authz.Global
	case n < 38:
		return typeFolder
	case n < 70:
		return typeDoc
	case n < 88:
		return typeAccount
	}
	return typeInvoice
}

// revokes takes from people what they hold: at the scope of a row they hold it
// by, above it, below it, or everywhere. A few lose everything.
func (g *generator) revokes() {
	s := newSampler(g.rng, &g.world, g.permissions)
	seen := map[string]bool{}
	for len(g.world.Revokes) < RevokeCount {
		n := len(g.world.Revokes)
		filter := anyKey
		if n%10 == 0 {
			filter = impliedKey
		}
		user := ask{userID: pick(g.rng, g.world.Users).UserID}
		grant := pick(g.rng, s.grantsOf(user))
		key := s.keyOf(grant, filter)
		if key == "" {
			continue
		}
		r := provider.RevokeInput{UserID: user.userID, Pattern: key, Scope: g.revokeScope(s, n, grant, key)}
		switch {
		case n%40 == 5:
			r.Pattern, r.Scope = authz.Global, authz.Global
		case chance(g.rng, 35):
			r.Pattern = key[:strings.LastIndexByte(key, '.')] + ".*"
		case chance(g.rng, 8):
			r.Pattern = key[:strings.IndexByte(key, '.')] + ".*"
		}
		if id := strings.Join([]string{r.UserID, r.Pattern, r.Scope}, " "); r.Scope != "" && !seen[id] {
			seen[id] = true
			g.world.Revokes = append(g.world.Revokes, r)
		}
	}
}

// revokeScope spreads the revokes over the places a revoke can sit at; "" asks
// for another draw. Every tenth, drawn for an implied key, sits at the grant.
func (g *generator) revokeScope(s *sampler, n, grant int, key string) string {
	at := g.world.Grants[grant].Scope
	if at == authz.Global {
		at = s.at(key)
	}
	switch {
	case n%10 == 0 || n%10 == 4:
		return at
	case n%10 < 4:
		return authz.Global
	case n%10 < 8:
		return s.above(at)
	}
	return s.below(at)
}

// tuple tells rows apart: no two grants of a world share it.
func (g Grant) tuple() string { return grantTuple(g.Subject, g.RoleID, g.Pattern, g.Scope) }

func grantTuple(subject, roleID, pattern, scope string) string {
	var b []byte
	for _, part := range []string{subject, roleID, pattern, scope} {
		b = append(strconv.AppendQuote(b, part), ' ')
	}
	return string(b)
}
