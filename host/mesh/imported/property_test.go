package imported_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/authzhost/authz/host/mesh/imported"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

// world is an application that imports of two owners and of a namespace that nobody in
// the mesh owns, and what each of the three partitions has of one principal. What is
// expected of it is said by allowed, which knows nothing of reduction.
type world struct {
	catalog *catalog.Catalog
	entries []string // of all imports
	owners  []*owner
	own     authz.SubjectAccess
	parents map[string][]string
}

type owner struct {
	imported.Owner
	keys   []string // that it publishes
	supply authz.SubjectAccess
}

// allowed is the definition: rows of the application decide as without the mesh. For
// an imported key the owner's rows at "*" count beside them, and no other owner's.
func (w *world) allowed(t *rapid.T, key string, chain access.Chain, now int64) bool {
	alone, err := access.Decide(w.catalog, &w.own, key, chain, now, w.chain)
	if err != nil {
		t.Fatal(err)
	}
	o := w.ownerOf(key)
	if o == nil || !o.supply.Active || !w.own.Active {
		return alone
	}
	if revoked(o.supply, key, func(scope string) bool { return scope == "*" }) {
		return false
	}
	return alone || !revoked(w.own, key, func(scope string) bool { return scope == "*" || slices.Contains(chain, scope) }) && confers(o.supply, key, now)
}

// ownerOf is the member that has the key's namespace, if some entry covers the key.
func (w *world) ownerOf(key string) *owner {
	ns, _, _ := strings.Cut(key, ".")
	if slices.ContainsFunc(w.entries, func(e string) bool { return matches(e, key) }) {
		for _, o := range w.owners {
			if slices.Contains(o.Namespaces, ns) {
				return o
			}
		}
	}
	return nil
}

func revoked(rows authz.SubjectAccess, key string, at func(scope string) bool) bool {
	return rows.UserID != nil && slices.ContainsFunc(rows.Revokes, func(r authz.Revoke) bool {
		return r.UserID == *rows.UserID && at(r.Scope) && matches(r.Pattern, key)
	})
}

func confers(rows authz.SubjectAccess, key string, now int64) bool {
	for _, g := range rows.Grants {
		if g.Scope != "*" || !slices.Contains(rows.Closure, g.Subject) || g.ExpiresAt.Expired(now) {
			continue
		}
		patterns := []string{g.Pattern}
		if g.Pattern == "" {
			patterns = nil
			for _, r := range rows.Roles {
				if r.ID == g.RoleID {
					patterns = r.Patterns
				}
			}
		}
		if slices.ContainsFunc(patterns, func(p string) bool { return matches(p, key) }) {
			return true
		}
	}
	return false
}

func matches(pattern, key string) bool {
	group, wildcard := strings.CutSuffix(pattern, "*")
	return pattern == key || wildcard && strings.HasPrefix(key, group)
}

func (w *world) chain(scope string) (access.Chain, error) {
	return access.NewChain(scope, w.parents[scope]), nil
}

var (
	ownKeys     = []string{"docs.files.read", "docs.files.list", "docs.files.edit_x"}
	billingKeys = []string{"billing.invoices.read", "billing.invoices.void", "billing.invoices.lines.read", "billing.audit.read", "invoicing.runs.start"}
	hrKeys      = []string{"hr.people.read", "hr.people.edit_x"}
	otherKeys   = []string{"billing.invoices.gone", "billing.gone.x", "hr.gone.x", "zoom.rooms.join", "zoom.gone.x", "crm.deals.read", "authz_internal.access.read"}
	subtrees    = []string{"*", "billing.*", "billing.invoices.*", "billing.invoices.lines.*", "billing.audit.*", "invoicing.*", "invoicing.runs.*", "hr.*", "hr.people.*",
		"zoom.*", "docs.*", "docs.files.*", "authz_internal.*", "crm.*"}
	wide       = []string{"*", "billing.*", "billing.invoices.*", "hr.*"}
	asked      = slices.Concat(ownKeys, billingKeys, hrKeys, otherKeys)
	scopes     = []string{"*", "docs.folder:1", "docs.folder:2", "billing.account:7", "untyped"}
	partitions = []string{"billing", "hr"}
)

func drawWorld(t *rapid.T) *world {
	w := &world{parents: map[string][]string{}}
	if rapid.Bool().Draw(t, "folder 2 lies in folder 1") {
		w.parents["docs.folder:2"] = []string{"docs.folder:1"}
	}
	publishes := func(keys []string) []string {
		return rapid.SliceOfNDistinct(rapid.SampledFrom(keys), 1, len(keys), rapid.ID[string]).Draw(t, "published")
	}
	w.owners = []*owner{
		{Owner: imported.Owner{Partition: "billing", Namespaces: []string{"billing", "invoicing"}}, keys: publishes(billingKeys)},
		{Owner: imported.Owner{Partition: "hr", Namespaces: []string{"hr"}}, keys: publishes(hrKeys)},
	}
	var imports []catalog.Import
	for _, o := range w.owners {
		document := documentOf(t, o)
		for _, ns := range o.Namespaces {
			imports = append(imports, w.drawImport(t, ns, o.keys, document))
		}
	}
	imports = append(imports, w.drawImport(t, "zoom", nil, nil))
	c, err := catalog.Build(catalog.Input{Namespaces: []string{"docs"}, Permissions: leaves(ownKeys, "docs.folder"), Imports: imports,
		ScopeTypes: []catalog.ScopeType{{Type: "docs.folder", Parent: "docs.folder"}}})
	if err != nil {
		t.Fatal(err)
	}
	w.catalog = c
	for _, o := range w.owners { // an owner that registers what is the application's
		if rapid.Bool().Draw(t, "claims") {
			o.Namespaces = append(o.Namespaces, "docs", "authz_internal", "crm")
		}
	}

	service := rapid.IntRange(0, 4).Draw(t, "service") == 0
	w.own = drawSupply(t, service, "r0", "mesh:billing:r0", "mesh:billing:r0'", "mesh:hr:r0")
	for _, o := range w.owners {
		o.supply = drawSupply(t, service, "r0", "r0'")
	}
	return w
}

func leaves(keys []string, scopes ...string) []catalog.PermissionSet {
	var set catalog.PermissionSet
	for _, key := range keys {
		set.Leaves = append(set.Leaves, catalog.Permission{Key: key, Scopes: scopes, ImpliedOnAncestors: strings.HasSuffix(key, ".list")})
	}
	return []catalog.PermissionSet{set}
}

// documentOf is what the owner publishes: a catalog of the keys drawn for it.
func documentOf(t *rapid.T, o *owner) []byte {
	c, err := catalog.Build(catalog.Input{Namespaces: o.Namespaces, Permissions: leaves(o.keys)})
	if err != nil {
		t.Fatal(err)
	}
	document, err := c.Document()
	if err != nil {
		t.Fatal(err)
	}
	return document
}

// drawImport imports some keys and subtrees of a namespace, enumerated by the owner's
// document or open.
func (w *world) drawImport(t *rapid.T, ns string, published []string, document []byte) catalog.Import {
	in := catalog.Import{Namespace: ns, Strict: rapid.Bool().Draw(t, "strict")}
	if document != nil && rapid.Bool().Draw(t, "enumerated") {
		in.Document = json.RawMessage(document)
	}
	for _, p := range slices.Concat(subtrees, asked) {
		there := slices.ContainsFunc(published, func(key string) bool { return matches(p, key) })
		if !strings.HasPrefix(p, ns+".") || in.Document != nil && !there || rapid.IntRange(0, 2).Draw(t, "imports "+p) > 0 {
			continue
		}
		permission := catalog.Permission{Key: p, ImpliedOnAncestors: rapid.Bool().Draw(t, "implied")}
		if rapid.Bool().Draw(t, "wired") {
			permission.Scopes = []string{"docs.folder"}
		}
		in.Permissions = append(in.Permissions, permission)
		w.entries = append(w.entries, p)
	}
	return in
}

// drawSupply is one partition's rows of the principal: few ids, so that those of
// several partitions collide, groups of the same names, and patterns of anything.
func drawSupply(t *rapid.T, service bool, roles ...string) authz.SubjectAccess {
	s := authz.SubjectAccess{Active: rapid.IntRange(0, 7).Draw(t, "active") > 0, Closure: []string{"service:u", authz.Everyone}}
	if !service {
		groups := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"group:ops", "group:admins"}), rapid.ID[string]).Draw(t, "groups")
		s.UserID, s.Closure = new("u"), slices.Concat([]string{"user:u"}, groups, []string{authz.Everyone})
	}
	pattern := rapid.SampledFrom(slices.Concat(subtrees, wide, wide, wide, asked))
	scope := rapid.SampledFrom(append([]string{"*", "*", "*"}, scopes...))
	for _, id := range rapid.SliceOfDistinct(rapid.SampledFrom(roles), rapid.ID[string]).Draw(t, "roles") {
		s.Roles = append(s.Roles, authz.Role{ID: id, Name: id, Patterns: rapid.SliceOfN(pattern, 0, 4).Draw(t, "patterns")})
	}
	for range rapid.IntRange(0, 7).Draw(t, "grants") {
		g := authz.Grant{ID: rapid.SampledFrom([]string{"g0", "g1", "mesh:hr:g0"}).Draw(t, "id"), Scope: scope.Draw(t, "at"),
			Subject: rapid.SampledFrom([]string{"user:u", "service:u", "group:ops", "group:admins", "everyone", "user:v"}).Draw(t, "to")}
		switch rapid.IntRange(0, 4).Draw(t, "by") {
		case 0, 1:
			g.Pattern = pattern.Draw(t, "pattern")
		case 2:
			g.Pattern, g.RoleID = pattern.Draw(t, "pattern"), rapid.SampledFrom(roles).Draw(t, "role")
		default:
			g.RoleID = rapid.SampledFrom(roles).Draw(t, "role")
		}
		if rapid.IntRange(0, 3).Draw(t, "expires") == 0 {
			g.ExpiresAt = authz.ExpiresAt(rapid.Int64Range(-1, 4).Draw(t, "expiry"))
		}
		s.Grants = append(s.Grants, g)
	}
	for range rapid.IntRange(0, 2).Draw(t, "revokes") {
		s.Revokes = append(s.Revokes, authz.Revoke{ID: "v", Pattern: pattern.Draw(t, "pattern"), Scope: scope.Draw(t, "at"),
			UserID: rapid.SampledFrom([]string{"u", "u", "u", "v"}).Draw(t, "of")})
	}
	return s
}

func TestMergedSupplyDecidesAsTheTableSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		before := fmt.Sprintf("%+v", w.own)
		merged := w.own
		for _, o := range rapid.Permutation(w.owners).Draw(t, "order") {
			var err error
			if merged, err = imported.New(o.Owner, w.catalog).Add(merged, o.supply); err != nil {
				t.Fatal(err)
			}
		}
		if after := fmt.Sprintf("%+v", w.own); after != before {
			t.Fatalf("the application's rows were\n%s\nand are\n%s", before, after)
		}
		w.judgeRows(t, merged)
		for _, now := range []int64{0, 2} {
			for _, scope := range scopes {
				chain, _ := w.chain(scope)
				for _, key := range asked {
					got, err := access.Decide(w.catalog, &merged, key, chain, now, w.chain)
					if err != nil {
						t.Fatal(err)
					}
					if want := w.allowed(t, key, chain, now); got != want {
						t.Fatalf("%s at %s, instant %d: %v, the table says %v\nimports %q\nmerged %+v", key, scope, now, got, want, w.entries, merged)
					}
				}
			}
		}
	})
}

// judgeRows: the application's rows come first and are as they were; the others name
// their partition, the principal and a role that is there. No id names two roles.
func (w *world) judgeRows(t *rapid.T, merged authz.SubjectAccess) {
	expiry := cmp.AllowUnexported(authz.Expiry{})
	var front authz.SubjectAccess = merged
	front.Grants, front.Roles, front.Revokes = merged.Grants[:len(w.own.Grants):len(w.own.Grants)], merged.Roles[:len(w.own.Roles)], merged.Revokes[:len(w.own.Revokes)]
	if want, got := fmt.Sprintf("%+v", w.own), fmt.Sprintf("%+v", front); want != got {
		t.Fatalf("the application's rows in front\n%s", cmp.Diff(w.own, front, expiry))
	}
	named := func(id string) bool {
		return slices.ContainsFunc(partitions, func(p string) bool { return strings.HasPrefix(id, "mesh:"+p+":") })
	}
	roles := map[string]bool{}
	for i, r := range merged.Roles {
		if roles[r.ID] || i >= len(w.own.Roles) && (!named(r.ID) || len(r.Patterns) == 0) {
			t.Fatalf("role %+v", r)
		}
		roles[r.ID] = true
	}
	for _, g := range merged.Grants[len(w.own.Grants):] {
		if !named(g.ID) || g.Subject != merged.Closure[0] || g.Scope != "*" || (g.Pattern == "") == (g.RoleID == "") || g.RoleID != "" && !roles[g.RoleID] {
			t.Fatalf("grant %+v", g)
		}
	}
	for _, r := range merged.Revokes[len(w.own.Revokes):] {
		if !named(r.ID) || r.UserID != *merged.UserID || r.Scope != "*" {
			t.Fatalf("revoke %+v", r)
		}
	}
}
