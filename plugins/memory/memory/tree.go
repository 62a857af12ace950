package memory

import (
	"iter"
	"slices"
)

// maxItems bounds a node. A commit of one row copies one node a level.
const maxItems = 32

// tree is an ordered set of rows: a B+ tree with copy-on-write nodes. Copying
// the struct takes a snapshot. Equal rows (cmp is 0) replace each other. The zero
// root is the empty tree.
type tree[T any] struct {
	cmp  func(a, b T) int
	root *node[T]
	len  int
}

// node is a leaf when children is nil. items of a branch hold the least row that
// each child ever began with since it was last changed.
type node[T any] struct {
	owner    *edit
	items    []T
	children []*node[T]
}

// edit identifies one draft of a state. A draft changes nodes that it made
// itself in place and copies all others. It must not have size zero, or two
// edits could have one address.
type edit struct{ _ byte }

func ordered[T any](cmp func(a, b T) int) tree[T] { return tree[T]{cmp: cmp} }

func (t *tree[T]) get(probe T) (row T, found bool) {
	n := t.root
	for n != nil {
		i, exact := slices.BinarySearchFunc(n.items, probe, t.cmp)
		if n.children == nil {
			if exact {
				return n.items[i], true
			}
			return row, false
		}
		if n = n.below(i, exact); n == nil {
			return row, false
		}
	}
	return row, false
}

// below is the child that can hold a row whose search ended at i.
func (n *node[T]) below(i int, exact bool) *node[T] {
	switch {
	case exact:
		return n.children[i]
	case i == 0:
		return nil
	}
	return n.children[i-1]
}

// set inserts the row or replaces its equal.
func (t *tree[T]) set(e *edit, row T) {
	if t.root == nil {
		t.root = &node[T]{owner: e}
	}
	t.root = t.root.own(e)
	added, right := t.root.set(e, t.cmp, row)
	if right != nil {
		t.root = &node[T]{owner: e, items: []T{t.root.items[0], right.items[0]}, children: []*node[T]{t.root, right}}
	}
	if added {
		t.len++
	}
}

func (n *node[T]) set(e *edit, cmp func(a, b T) int, row T) (added bool, right *node[T]) {
	i, exact := slices.BinarySearchFunc(n.items, row, cmp)
	if n.children == nil {
		if exact {
			n.items[i] = row
			return false, nil
		}
		n.items = slices.Insert(n.items, i, row)
		return true, n.split(e)
	}
	if !exact && i > 0 {
		i--
	}
	child := n.children[i].own(e)
	n.children[i] = child
	added, split := child.set(e, cmp, row)
	n.items[i] = child.items[0]
	if split != nil {
		n.items = slices.Insert(n.items, i+1, split.items[0])
		n.children = slices.Insert(n.children, i+1, split)
	}
	return added, n.split(e)
}

// split moves the upper half of a node that is too full to a new right neighbour.
func (n *node[T]) split(e *edit) *node[T] {
	if len(n.items) <= maxItems {
		return nil
	}
	half := len(n.items) / 2
	right := &node[T]{owner: e, items: slices.Clone(n.items[half:])}
	n.items = slices.Delete(n.items, half, len(n.items))
	if n.children != nil {
		right.children = slices.Clone(n.children[half:])
		n.children = slices.Delete(n.children, half, len(n.children))
	}
	return right
}

// remove takes out the row equal to the probe.
func (t *tree[T]) remove(e *edit, probe T) {
	if _, found := t.get(probe); !found {
		return
	}
	t.root = t.root.own(e)
	t.root.remove(e, t.cmp, probe)
	t.len--
	for t.root != nil && len(t.root.items) <= 1 {
		switch {
		case len(t.root.items) == 0:
			t.root = nil
		case t.root.children == nil:
			return
		default:
			t.root = t.root.children[0]
		}
	}
}

// remove expects the row to be there.
func (n *node[T]) remove(e *edit, cmp func(a, b T) int, probe T) {
	i, exact := slices.BinarySearchFunc(n.items, probe, cmp)
	if n.children == nil {
		n.items = slices.Delete(n.items, i, i+1)
		return
	}
	if !exact {
		i--
	}
	child := n.children[i].own(e)
	n.children[i] = child
	child.remove(e, cmp, probe)
	if len(child.items) == 0 {
		n.drop(i)
		return
	}
	n.items[i] = child.items[0]
	if !n.merge(e, i-1) {
		n.merge(e, i)
	}
}

// merge joins a child and its right neighbour when together they leave half a
// node free.
func (n *node[T]) merge(e *edit, i int) bool {
	if i < 0 || i+1 >= len(n.children) || len(n.children[i].items)+len(n.children[i+1].items) > maxItems/2 {
		return false
	}
	left, right := n.children[i].own(e), n.children[i+1]
	left.items = append(left.items, right.items...)
	left.children = append(left.children, right.children...)
	n.children[i] = left
	n.drop(i + 1)
	return true
}

func (n *node[T]) drop(i int) {
	n.items = slices.Delete(n.items, i, i+1)
	n.children = slices.Delete(n.children, i, i+1)
}

func (n *node[T]) own(e *edit) *node[T] {
	if n.owner == e {
		return n
	}
	return &node[T]{owner: e, items: slices.Clone(n.items), children: slices.Clone(n.children)}
}

// after yields the rows above the probe, ascending.
func (t *tree[T]) after(probe T) iter.Seq[T] {
	root, cmp := t.root, t.cmp
	return func(yield func(T) bool) {
		if root != nil {
			root.after(cmp, &probe, yield)
		}
	}
}

// all yields every row, ascending.
func (t *tree[T]) all() iter.Seq[T] {
	root := t.root
	return func(yield func(T) bool) {
		if root != nil {
			root.after(nil, nil, yield)
		}
	}
}

// after without a probe walks everything below n.
func (n *node[T]) after(cmp func(a, b T) int, probe *T, yield func(T) bool) bool {
	first := 0
	if probe != nil {
		i, exact := slices.BinarySearchFunc(n.items, *probe, cmp)
		switch leaf := n.children == nil; {
		case exact && leaf:
			i++
		case !exact && !leaf && i > 0:
			i--
		}
		first = i
	}
	if n.children == nil {
		for _, row := range n.items[first:] {
			if !yield(row) {
				return false
			}
		}
		return true
	}
	for _, child := range n.children[first:] {
		if !child.after(cmp, probe, yield) {
			return false
		}
		probe = nil
	}
	return true
}

// before yields the rows below the probe, descending.
func (t *tree[T]) before(probe T) iter.Seq[T] {
	root, cmp := t.root, t.cmp
	return func(yield func(T) bool) {
		if root != nil {
			root.before(cmp, &probe, yield)
		}
	}
}

func (n *node[T]) before(cmp func(a, b T) int, probe *T, yield func(T) bool) bool {
	end := len(n.items)
	if probe != nil {
		end, _ = slices.BinarySearchFunc(n.items, *probe, cmp)
	}
	for i := end - 1; i >= 0; i-- {
		if n.children == nil {
			if !yield(n.items[i]) {
				return false
			}
			continue
		}
		if !n.children[i].before(cmp, probe, yield) {
			return false
		}
		probe = nil
	}
	return true
}
