package memory

import (
	"cmp"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A tree under random edits answers as a sorted map does, and no snapshot taken
// before an edit ever moves.
func TestTreeEqualsASortedMapAndItsSnapshotsStand(t *testing.T) {
	type row struct{ key, value int }
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.IntRange(0, 20*maxItems)
		key := func(label string) int { return keys.Draw(t, label) }
		rows, want := ordered(func(a, b row) int { return cmp.Compare(a.key, b.key) }), map[int]int{}
		for value := range rapid.IntRange(1, 12).Draw(t, "edits") {
			snapshot, before := rows, slices.Collect(rows.all())
			e := new(edit)
			from, n, removing := key("from"), rapid.IntRange(1, 8*maxItems).Draw(t, "rows"), rapid.Bool().Draw(t, "removing")
			stride := rapid.SampledFrom([]int{1, -1, 7, 101}).Draw(t, "stride")
			for i := range n {
				k := ((from+i*stride)%(20*maxItems) + 20*maxItems) % (20 * maxItems)
				if removing {
					rows.remove(e, row{key: k})
					delete(want, k)
				} else {
					rows.set(e, row{k, value})
					want[k] = value
				}
			}
			if !slices.Equal(before, slices.Collect(snapshot.all())) || snapshot.len != len(before) {
				t.Fatal("a snapshot moved with a later edit")
			}
			var sorted []row
			for _, k := range slices.Sorted(maps.Keys(want)) {
				sorted = append(sorted, row{k, want[k]})
			}
			if got := slices.Collect(rows.all()); !slices.Equal(got, sorted) || rows.len != len(sorted) {
				t.Fatalf("%d rows of %d, want %d", len(got), rows.len, len(sorted))
			}
			probe := key("probe")
			if got, found := rows.get(row{key: probe}); found != hasKey(want, probe) || found && got.value != want[probe] {
				t.Fatalf("get %d: %v, %v", probe, got, found)
			}
			above := slices.DeleteFunc(slices.Clone(sorted), func(r row) bool { return r.key <= probe })
			below := slices.DeleteFunc(slices.Clone(sorted), func(r row) bool { return r.key >= probe })
			slices.Reverse(below)
			if !slices.Equal(above, slices.Collect(rows.after(row{key: probe}))) {
				t.Fatalf("after %d", probe)
			}
			if !slices.Equal(below, slices.Collect(rows.before(row{key: probe}))) {
				t.Fatalf("before %d", probe)
			}
			if depth(rows.root) > 3 {
				t.Fatalf("depth %d for %d rows", depth(rows.root), rows.len)
			}
		}
	})
}

func TestATreeThatIsThinnedOutGivesItsNodesBack(t *testing.T) {
	rows, e := ordered(cmp.Compare[int]), new(edit)
	const full, left = 20_000, 200
	for k := range full {
		rows.set(e, k)
	}
	for k := range full {
		if k%(full/left) != 0 {
			rows.remove(e, k)
		}
	}
	if n := nodes(rows.root); rows.len != left || n > left/4 {
		t.Fatalf("%d nodes for %d rows", n, rows.len)
	}
	for k := range full {
		rows.remove(e, k)
	}
	if rows.root != nil || rows.len != 0 {
		t.Fatalf("an empty tree keeps %d nodes", nodes(rows.root))
	}
}

func nodes[T any](n *node[T]) int {
	if n == nil {
		return 0
	}
	count := 1
	for _, child := range n.children {
		count += nodes(child)
	}
	return count
}

func hasKey(m map[int]int, k int) bool {
	_, found := m[k]
	return found
}

func depth[T any](n *node[T]) int {
	if n == nil {
		return 0
	}
	deepest := 0
	for _, child := range n.children {
		deepest = max(deepest, depth(child))
	}
	return deepest + 1
}
