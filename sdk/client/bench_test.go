package client_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/provider"
)

// benchSource answers prepared rows at once: what is measured is the client.
type benchSource struct {
	rows      map[string]authz.SubjectAccess
	ancestors map[string][]string
}

func (s *benchSource) GetSubjectAccess(_ context.Context, p authz.Principal) (authz.SubjectAccess, error) {
	return s.rows[p.UserID], nil
}

func (s *benchSource) ResolveAncestors(_ context.Context, scope string) ([]string, error) {
	return s.ancestors[scope], nil
}

func (s *benchSource) OnInvalidate(func(authz.Event)) func() { return func() {} }
func (s *benchSource) Epoch() provider.Epoch                 { return nil }

// question is one check; its strings share no memory with the catalog's.
type question struct {
	principal  authz.Principal
	who        int
	key, scope string
}

const benchQuestions = 1 << 12

// benchWorld holds principals with rows of roles and wildcards mixed, and
// questions half of which are denied, rotating over principals, keys and targets.
type benchWorld struct {
	client    *client.Client
	questions []question
	users     []string
}

func benchCatalog(tb testing.TB, keys int) *catalog.Catalog {
	var b strings.Builder
	b.WriteString(`{"namespaces":["docs"],"includeAuthzInternal":false,
		"scopeTypes":{"docs.folder":{"parent":"docs.folder"},"docs.doc":{"parent":"docs.folder"}},
		"groups":{"docs":{"scopes":["docs.folder","docs.doc"]}},"permissions":{`)
	for k := range keys {
		if k > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"docs.area%d.read_thing%d":true`, k/10, k%10)
	}
	b.WriteString("}}")
	in, err := catalog.ParseJSON([]byte(b.String()))
	if err != nil {
		tb.Fatal(err)
	}
	c, err := catalog.Build(in)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// benchTargets makes 1,024 documents, each below depth-1 folders of which the
// outer ones are shared.
func benchTargets(depth int) (targets []string, ancestors map[string][]string) {
	ancestors = map[string][]string{}
	for t := range 1024 {
		target := fmt.Sprintf("docs.doc:d%d-%d", depth, t)
		var chain []string
		for level := depth - 1; level > 0; level-- {
			chain = append(chain, fmt.Sprintf("docs.folder:l%d-%d", level, t%(8*level)))
		}
		targets = append(targets, target)
		ancestors[target] = append(chain, authz.Global)
	}
	return targets, ancestors
}

func newBenchWorld(tb testing.TB, scope string, rows, keys int) *benchWorld {
	rng := rand.New(rand.NewPCG(1, uint64(rows)<<20|uint64(keys)))
	users := max(8, min(1000, 1_000_000/rows))
	depth := map[string]int{"global": 0, "depth5": 5, "depth20": 20}[scope]
	targets, ancestors := []string{authz.Global}, map[string][]string{}
	scopes := []string{}
	if depth > 0 {
		targets, ancestors = benchTargets(depth)
	}
	// Rows stand at folders of every level, at documents, and at "*"; areas with
	// an even number are granted, the others only here and there.
	for level := 1; level < 20; level++ {
		for n := range 8 * level {
			scopes = append(scopes, fmt.Sprintf("docs.folder:l%d-%d", level, n))
		}
	}
	areas := keys / 10
	pattern := func() string {
		area := rng.IntN(areas) &^ 1
		if rng.IntN(3) == 0 {
			return fmt.Sprintf("docs.area%d.*", area)
		}
		return fmt.Sprintf("docs.area%d.read_thing%d", area, rng.IntN(10))
	}
	var roles []authz.Role
	for r := range 50 {
		role := authz.Role{ID: fmt.Sprintf("role%d", r)}
		for range 10 {
			role.Patterns = append(role.Patterns, pattern())
		}
		roles = append(roles, role)
	}
	source := &benchSource{rows: map[string]authz.SubjectAccess{}, ancestors: ancestors}
	w := &benchWorld{}
	for u := range users {
		id := fmt.Sprintf("user-%d", u)
		w.users = append(w.users, id)
		data := authz.SubjectAccess{UserID: &id, Active: true, Roles: roles,
			Closure: []string{"user:" + id, "group:staff", "group:eng", authz.Everyone}}
		for g := range rows {
			grant := authz.Grant{ID: fmt.Sprintf("g%d", g), Subject: data.Closure[rng.IntN(4)], Scope: authz.Global}
			switch where := rng.IntN(20); {
			case where < 2 && g < 1000:
			case where < 4:
				grant.Scope = fmt.Sprintf("docs.doc:d%d-%d", max(depth, 5), rng.IntN(1024))
			default:
				grant.Scope = scopes[rng.IntN(len(scopes))]
			}
			if rng.IntN(3) == 0 {
				grant.RoleID = roles[rng.IntN(len(roles))].ID
			} else {
				grant.Pattern = pattern()
			}
			data.Grants = append(data.Grants, grant)
		}
		for r := range max(1, min(rows/20, 50)) {
			data.Revokes = append(data.Revokes, authz.Revoke{ID: fmt.Sprintf("r%d", r), UserID: id,
				Pattern: pattern(), Scope: scopes[rng.IntN(len(scopes))]})
		}
		source.rows[id] = data
	}
	c, err := client.New(client.Options{Provider: source, Catalog: benchCatalog(tb, keys)})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Close)
	w.client = c
	ctx := context.Background()
	for wanted, tries := [2]int{benchQuestions / 2, benchQuestions / 2}, 0; len(w.questions) < benchQuestions; tries++ {
		who := (len(w.questions)*7 + tries) % users
		q := question{who: who, principal: authz.UserPrincipal(strings.Clone(w.users[who])),
			key: fmt.Sprintf("docs.area%d.read_thing%d", rng.IntN(areas), rng.IntN(10)), scope: strings.Clone(targets[rng.IntN(len(targets))])}
		if tries%2 == 0 { // rows are thin: ask about what one of them names
			g := source.rows[w.users[who]].Grants[rng.IntN(rows)]
			if area, ok := strings.CutSuffix(g.Pattern, ".*"); ok {
				q.key = fmt.Sprintf("%s.read_thing%d", area, rng.IntN(10))
			} else if g.Pattern != "" {
				q.key = strings.Clone(g.Pattern)
			}
		}
		allowed, err := c.Can(ctx, q.principal, q.key, q.scope)
		if err != nil {
			tb.Fatal(err)
		}
		side := 0
		if allowed {
			side = 1
		}
		if wanted[side] > 0 || tries > 200*benchQuestions {
			wanted[side]--
			w.questions = append(w.questions, q)
		}
	}
	rng.Shuffle(len(w.questions), func(i, j int) { w.questions[i], w.questions[j] = w.questions[j], w.questions[i] })
	return w
}

func benchWorlds(b *testing.B, run func(*testing.B, *benchWorld)) {
	for _, scope := range []string{"global", "depth5", "depth20"} {
		for _, rows := range []int{10, 100, 1000, 100_000} {
			for _, keys := range []int{300, 10_000} {
				b.Run(fmt.Sprintf("scope=%s/rows=%d/keys=%d", scope, rows, keys), func(b *testing.B) {
					run(b, newBenchWorld(b, scope, rows, keys))
				})
			}
		}
	}
}

func BenchmarkClientCan(b *testing.B) {
	benchWorlds(b, func(b *testing.B, w *benchWorld) {
		ctx := context.Background()
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			q := &w.questions[i&(benchQuestions-1)]
			i++
			if _, err := w.client.Can(ctx, q.principal, q.key, q.scope); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkClientCanParallel(b *testing.B) {
	benchWorlds(b, func(b *testing.B, w *benchWorld) {
		ctx := context.Background()
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for i := rand.IntN(benchQuestions); pb.Next(); i++ {
				q := &w.questions[i&(benchQuestions-1)]
				if _, err := w.client.Can(ctx, q.principal, q.key, q.scope); err != nil {
					b.Error(err)
					return
				}
			}
		})
	})
}

func BenchmarkSnapshotCan(b *testing.B) {
	benchWorlds(b, func(b *testing.B, w *benchWorld) {
		ctx := context.Background()
		snapshots := make([]*client.Snapshot, len(w.users))
		for _, q := range w.questions {
			if snapshots[q.who] == nil {
				s, err := w.client.Snapshot(ctx, q.principal, client.SnapshotOptions{})
				if err != nil {
					b.Fatal(err)
				}
				snapshots[q.who] = s
			}
			if err := snapshots[q.who].Resolve(ctx, q.scope); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			q := &w.questions[i&(benchQuestions-1)]
			i++
			if _, err := snapshots[q.who].Can(q.key, q.scope); err != nil {
				b.Fatal(err)
			}
		}
	})
}
