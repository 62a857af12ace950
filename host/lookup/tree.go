package lookup

import (
	"context"
	"iter"
	"slices"

	"github.com/authzhost/authz/sdk/storage"
)

// chunk is how many nodes of a level are read and judged at once.
const chunk = storage.MaxScopes

// tree is walked down from its roots, depth first, siblings in their order. It keeps a
// batch of each level in memory, read for many parents at once. The walk ends before a
// batch that its page does not take.
type tree struct {
	ctx    context.Context
	store  storage.Lookups
	extent *extent
	kind   storage.EdgeKind

	// siblings is how many of one parent are read at first: what lies below them may fill
	// the page.
	siblings int

	// enter marks which of some nodes are out; depth counts from 0, the roots. Nil is none.
	enter func(depth int, nodes []step) error

	// under says whether what lies below a node is walked; nil is everything.
	under func(depth int, node string) bool
}

// step is a node under the one that it was reached from. Nothing below one that is out is
// walked.
type step struct {
	node, from string
	sole, out  bool // sole: nothing but from leads to it
}

// visit is a node by the path to it, which is the walk's own until the next one.
type visit struct {
	path []string
	out  bool
}

// walk yields every node, roots included, strictly after a path in the walk's order. It
// ends with the first error.
func (t *tree) walk(roots, after []string) iter.Seq2[visit, error] {
	return func(yield func(visit, error) bool) {
		w := walker{tree: t, yield: yield}
		if len(after) > 0 {
			at, found := slices.BinarySearch(roots, after[0])
			if roots = roots[at:]; found {
				roots = roots[1:]
				if !w.again(0, step{node: after[0]}, after[1:]) {
					return
				}
			}
		}
		for some := range slices.Chunk(roots, chunk) {
			if w.extent.over() {
				return
			}
			steps := make([]step, len(some))
			for i, root := range some {
				steps[i] = step{node: root}
			}
			if !w.all(0, steps) {
				return
			}
		}
	}
}

type walker struct {
	*tree
	yield func(visit, error) bool
	path  []string
}

func (w *walker) fail(err error) bool {
	w.yield(visit{}, err)
	return false
}

// again goes on below a node that was told before, after a path that begins below it.
func (w *walker) again(depth int, s step, after []string) bool {
	l, err := w.level(depth, []step{s})
	switch {
	case err != nil:
		return w.fail(err)
	case !w.opens(depth, l.nodes[0]):
		return true
	}
	w.path = append(w.path, s.node)
	defer w.leave()
	page := storage.EdgePage{}
	if len(after) > 0 {
		if !slices.Contains(w.path, after[0]) && !w.again(depth+1, step{node: after[0], from: s.node}, after[1:]) {
			return false
		}
		page = storage.EdgePage{AfterOf: s.node, AfterFrom: after[0]}
	}
	return w.pages(depth, s.node, page)
}

func (w *walker) leave() { w.path = w.path[:len(w.path)-1] }

func (w *walker) opens(depth int, s step) bool {
	return !s.out && (w.under == nil || w.under(depth, s.node))
}

// pages walks the children of one node after some of them, however many there are.
func (w *walker) pages(depth int, node string, page storage.EdgePage) bool {
	for size := w.siblings; ; size *= 4 {
		if w.extent.over() {
			return false
		}
		page.Limit = min(size, w.reads())
		edges, err := w.edges([]string{node}, page)
		if err != nil {
			return w.fail(err)
		}
		if !w.all(depth+1, stepsOf(edges)) {
			return false
		}
		if len(edges) < page.Limit {
			return true
		}
		page.AfterOf, page.AfterFrom = node, edges[len(edges)-1].From
	}
}

// all walks some nodes of a level, one after the other.
func (w *walker) all(depth int, steps []step) bool {
	l, err := w.level(depth, steps)
	if err != nil {
		return w.fail(err)
	}
	return w.some(l, 0, len(l.nodes))
}

// level is a chunk of one level: its nodes, in the order of the walk, and what lies below
// a stretch of them.
type level struct {
	depth  int
	nodes  []step
	lo, hi int    // the nodes whose children were read
	below  *level // these children
	ends   []int  // where those of each node end in it
	rest   string // the last child that was read of a single node that has more, or ""
}

func (w *walker) level(depth int, steps []step) (*level, error) {
	l := &level{depth: depth, nodes: steps}
	if len(steps) == 0 || w.enter == nil {
		return l, nil
	}
	return l, w.enter(depth, steps)
}

// some walks a stretch of a level.
func (w *walker) some(l *level, from, to int) bool {
	for i := from; i < to; i++ {
		if !w.one(l, i) {
			return false
		}
	}
	return true
}

func (w *walker) one(l *level, i int) bool {
	s := l.nodes[i]
	node := s.node
	if slices.Contains(w.path, node) { // a cycle ends where it began
		return true
	}
	w.path = append(w.path, node)
	defer w.leave()
	if !w.yield(visit{w.path, s.out}, nil) {
		return false
	}
	if !w.opens(l.depth, s) {
		return true
	}
	if i >= l.hi {
		if w.extent.over() {
			return false
		}
		if err := w.read(l, i); err != nil {
			return w.fail(err)
		}
	}
	start := 0
	if i > l.lo {
		start = l.ends[i-l.lo-1]
	}
	if !w.some(l.below, start, l.ends[i-l.lo]) {
		return false
	}
	if rest := l.rest; rest != "" { // of this node alone, and many
		l.below = nil
		return w.pages(l.depth, node, storage.EdgePage{AfterOf: node, AfterFrom: rest})
	}
	return true
}

// read reads the children of nodes from the i-th on: of as many as have less than a
// batch of them together, or the first ones of one that has more by itself.
func (w *walker) read(l *level, i int) error {
	stretch := l.nodes[i:min(i+chunk, len(l.nodes))]
	l.rest = ""
	for {
		var of []string
		for _, s := range stretch {
			if w.opens(l.depth, s) {
				of = append(of, s.node)
			}
		}
		page := storage.EdgePage{Limit: w.reads()}
		if len(of) == 1 {
			page.Limit = min(page.Limit, w.siblings)
		}
		edges, err := w.edges(of, page)
		switch {
		case err != nil:
			return err
		case len(edges) < page.Limit:
			return w.group(l, i, stretch, edges)
		}
		// All is read of the nodes before the last one that edges lead to.
		last := edges[len(edges)-1].Of
		if stretch[0].node == last {
			l.rest = edges[len(edges)-1].From
			return w.group(l, i, stretch[:1], edges)
		}
		whole := slices.IndexFunc(stretch, func(s step) bool { return s.node >= last })
		if whole > 0 {
			edges = slices.DeleteFunc(edges, func(e storage.Edge) bool { return e.Of == last })
			return w.group(l, i, stretch[:whole], edges)
		}
		stretch = stretch[:max(1, len(stretch)/8)]
	}
}

// reads is how many edges are read at once.
func (w *walker) reads() int { return max(256, w.extent.batch()) }

// group puts children, which come in the order of their parents' ids, in the order of
// the walk.
func (w *walker) group(l *level, i int, parents []step, edges []storage.Edge) error {
	of := make(map[string][]storage.Edge, len(parents))
	for start := 0; start < len(edges); {
		end := start + 1
		for end < len(edges) && edges[end].Of == edges[start].Of {
			end++
		}
		of[edges[start].Of] = edges[start:end]
		start = end
	}
	var steps []step
	ends := make([]int, len(parents))
	for n, p := range parents {
		if w.opens(l.depth, p) { // else it may be another place of one that does
			steps = append(steps, stepsOf(of[p.node])...)
		}
		ends[n] = len(steps)
	}
	below, err := w.level(l.depth+1, steps)
	if err != nil {
		return err
	}
	l.lo, l.hi, l.below, l.ends = i, i+len(parents), below, ends
	return nil
}

func stepsOf(edges []storage.Edge) []step {
	steps := make([]step, len(edges))
	for i, e := range edges {
		steps[i] = step{node: e.From, from: e.Of, sole: e.Sole}
	}
	return steps
}

func (w *walker) edges(of []string, page storage.EdgePage) (edges []storage.Edge, err error) {
	if len(of) == 0 {
		return nil, nil
	}
	for e, err := range w.store.ListEdges(w.ctx, w.kind, of, page) {
		if err != nil {
			return nil, err
		}
		edges = append(edges, e)
	}
	return edges, nil
}
