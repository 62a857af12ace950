package client_test

import (
	"context"
	"fmt"
	"iter"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/authzhost/authz/internal/compiled"
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
func (s *benchSource) ListRoles(context.Context, provider.Paging) iter.Seq2[authz.Role, error] {
	return func(func(authz.Role, error) bool) {}
}
func (s *benchSource) EventLog() provider.EventLog { return nil }

// question is one check, of strings in the world's pools.
type question struct{ who, key, target uint16 }

// benchQuestions is how many there are at least: a power of two.
const benchQuestions = 1 << 15

// page is how many targets a principal is asked about in one turn of many questions.
const page = 32

// benchWorld holds principals with rows of roles and wildcards mixed, and
// questions of which half are denied, at random, rotating over principals, keys
// and targets.
type benchWorld struct {
	source    *benchSource
	client    *client.Client
	catalog   *catalog.Catalog
	questions []question

	// Strings of the pools share no memory with those of catalog and rows.
	principals []authz.Principal
	keys       []string
	targets    []string
}

func (w *benchWorld) at(i int) (p authz.Principal, key, scope string) {
	q := w.questions[i&(len(w.questions)-1)]
	return w.principals[q.who], w.keys[q.key], w.targets[q.target]
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

// newBenchWorld asks each principal turn questions before the next has its turn; when
// they are many, about the targets of a page of its own.
func newBenchWorld(tb testing.TB, scope string, rows, keys, turn int) *benchWorld {
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
	w := &benchWorld{source: source}
	number := map[string]uint16{}
	for k := range keys {
		w.keys = append(w.keys, fmt.Sprintf("docs.area%d.read_thing%d", k/10, k%10))
		number[w.keys[k]] = uint16(k)
	}
	for _, target := range targets {
		w.targets = append(w.targets, strings.Clone(target))
	}
	for u := range users {
		id := fmt.Sprintf("user-%d", u)
		w.principals = append(w.principals, authz.UserPrincipal(strings.Clone(id)))
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
		named := map[string]bool{}
		for _, g := range data.Grants {
			named[g.RoleID] = true
		}
		data.Roles = slices.DeleteFunc(slices.Clone(data.Roles), func(r authz.Role) bool { return !named[r.ID] })
		source.rows[id] = data
	}
	w.catalog = benchCatalog(tb, keys)
	c, err := client.New(client.Options{Provider: source, Catalog: w.catalog})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Close)
	w.client = c
	ctx, tired := context.Background(), 500
	if turn > page {
		tired = 50
	}
	for n := range max(benchQuestions, turn<<bits.Len(uint(users-1))) {
		who, want := n/turn%users, rng.IntN(2) == 0
		grants := source.rows[w.principals[who].UserID].Grants
		for tries := 0; ; tries++ {
			q := question{who: uint16(who), key: uint16(rng.IntN(keys)), target: uint16(rng.IntN(len(targets)))}
			if turn > page {
				q.target = uint16((n/turn*page + rng.IntN(page)) % len(targets))
			}
			if tries%2 == 0 { // rows are thin: ask about what one of them names
				if g := grants[rng.IntN(rows)]; strings.HasSuffix(g.Pattern, ".*") {
					q.key = number[strings.Replace(g.Pattern, "*", fmt.Sprint("read_thing", rng.IntN(10)), 1)]
				} else if g.Pattern != "" {
					q.key = number[g.Pattern]
				}
			}
			allowed, err := c.Can(ctx, w.principals[who], w.keys[q.key], w.targets[q.target])
			if err != nil {
				tb.Fatal(err)
			}
			if allowed == want || tries == tired { // some principal may hold nothing there
				w.questions = append(w.questions, q)
				break
			}
		}
	}
	return w
}

func benchWorlds(b *testing.B, turn int, measure func(*testing.B, *benchWorld)) {
	for _, scope := range []string{"global", "depth5", "depth20"} {
		for _, rows := range []int{10, 100, 1000, 100_000} {
			for _, keys := range []int{300, 10_000} {
				b.Run(fmt.Sprintf("scope=%s/rows=%d/keys=%d", scope, rows, keys), func(b *testing.B) {
					w := newBenchWorld(b, scope, rows, keys, turn)
					runtime.GC() // what made the world is not measured
					measure(b, w)
				})
			}
		}
	}
}

func BenchmarkClientCan(b *testing.B) {
	benchWorlds(b, 1, func(b *testing.B, w *benchWorld) {
		ctx := context.Background()
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			p, key, scope := w.at(i)
			i++
			if _, err := w.client.Can(ctx, p, key, scope); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkClientCanParallel(b *testing.B) {
	benchWorlds(b, 1, func(b *testing.B, w *benchWorld) {
		ctx := context.Background()
		b.ReportAllocs()
		b.ResetTimer()
		b.RunParallel(func(pb *testing.PB) {
			for i := rand.IntN(len(w.questions)); pb.Next(); i++ {
				p, key, scope := w.at(i)
				if _, err := w.client.Can(ctx, p, key, scope); err != nil {
					b.Error(err)
					return
				}
			}
		})
	})
}

// BenchmarkSnapshotCan asks each snapshot what a page wants to know: 1,024 questions
// about 32 targets; then the next principal's has its turn.
func BenchmarkSnapshotCan(b *testing.B) { benchWorlds(b, 1024, benchSnapshotCan) }

// BenchmarkSnapshotCanScattered asks each snapshot 32 questions about as many
// targets, so that nearly every one meets a scope which its snapshot was not asked
// about since all others had their turn: memory that no cache holds.
func BenchmarkSnapshotCanScattered(b *testing.B) { benchWorlds(b, 32, benchSnapshotCan) }

func benchSnapshotCan(b *testing.B, w *benchWorld) {
	ctx := context.Background()
	snapshots := make([]*client.Snapshot, len(w.principals))
	for i, q := range w.questions {
		p, key, scope := w.at(i)
		if snapshots[q.who] == nil {
			s, err := w.client.Snapshot(ctx, p, client.SnapshotOptions{})
			if err != nil {
				b.Fatal(err)
			}
			snapshots[q.who] = s
		}
		if _, err := snapshots[q.who].Can(key, scope); err == nil { // makes what it makes at first use
			continue
		}
		if err := snapshots[q.who].Resolve(ctx, scope); err != nil {
			b.Fatal(err)
		}
		if _, err := snapshots[q.who].Can(key, scope); err != nil {
			b.Fatal(err)
		}
	}
	runtime.GC()
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		who := w.questions[i&(len(w.questions)-1)].who
		_, key, scope := w.at(i)
		i++
		if _, err := snapshots[who].Can(key, scope); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSnapshot takes a snapshot of a cached principal whose chains are known.
func BenchmarkSnapshot(b *testing.B) {
	for _, rows := range []int{100, 1000} {
		b.Run(fmt.Sprintf("rows=%d/keys=300", rows), func(b *testing.B) {
			w := newBenchWorld(b, "depth5", rows, 300, 1)
			ctx := context.Background()
			take := func(i int) {
				p := w.principals[i%len(w.principals)]
				if _, err := w.client.Snapshot(ctx, p, client.SnapshotOptions{}); err != nil {
					b.Fatal(err)
				}
			}
			for i := range w.principals {
				take(i)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				take(i)
			}
		})
	}
}

// BenchmarkHeldKeys lists the keys of a compiled principal for the first time, and of a
// cached one again.
func BenchmarkHeldKeys(b *testing.B) {
	for _, rows := range []int{10, 100, 1000} {
		w := newBenchWorld(b, "depth5", rows, 300, 1)
		b.Run(fmt.Sprintf("rows=%d/keys=300/first", rows), func(b *testing.B) {
			v, forms := compiled.NewVocabulary(w.catalog), make([]*compiled.Access, len(w.principals))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i%len(forms) == 0 {
					b.StopTimer()
					for n, p := range w.principals {
						data := w.source.rows[p.UserID]
						forms[n] = compiled.Compile(v, &data, 0)
					}
					b.StartTimer()
				}
				forms[i%len(forms)].HeldKeys()
			}
		})
		b.Run(fmt.Sprintf("rows=%d/keys=300/again", rows), func(b *testing.B) {
			ctx := context.Background()
			for _, p := range w.principals { // what the world cached may have expired
				if _, err := w.client.HeldKeys(ctx, p); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := w.client.HeldKeys(ctx, w.principals[i%len(w.principals)]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCompile compiles the rows of one principal; B/op is the compiled form,
// since its scratch is pooled. The default rows lie at about 70 scopes in 100,
// those of scopes=N at N, revokes counted among the rows.
func BenchmarkCompile(b *testing.B) {
	for _, c := range []struct{ rows, scopes int }{{10, 0}, {100, 0}, {100, 36}, {100, 100}, {1000, 0}, {100_000, 0}} {
		b.Run(fmt.Sprintf("rows=%d/scopes=%d/keys=300", c.rows, c.scopes), func(b *testing.B) {
			source, v := newBenchWorld(b, "depth5", c.rows, 300, 1).source, compiled.NewVocabulary(benchCatalog(b, 300))
			data := source.rows["user-0"]
			if c.scopes > 0 {
				data.Revokes = slices.Clone(data.Revokes)
				data.Grants = slices.Clone(data.Grants[:c.rows-len(data.Revokes)])
				for i := range data.Grants {
					data.Grants[i].Scope = fmt.Sprintf("docs.folder:n%d", i%c.scopes)
				}
				for i := range data.Revokes {
					data.Revokes[i].Scope = fmt.Sprintf("docs.folder:n%d", (len(data.Grants)+i)%c.scopes)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				compiled.Compile(v, &data, 0)
			}
		})
	}
}
