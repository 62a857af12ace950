package cycle

import (
	"maps"
	"slices"
)

// Find looks for a cycle in a graph of edges from child to parent, first
// through the nodes named, then anywhere, in ascending order. The path begins and
// ends with the same node; nil means that there is none.
func Find(edges map[string][]string, first ...string) []string {
	for _, node := range first {
		if path := Through(edges, node); path != nil {
			return path
		}
	}
	done := map[string]bool{}
	for _, node := range slices.Sorted(maps.Keys(edges)) {
		if path := walk(edges, node, done, nil); path != nil {
			return path
		}
	}
	return nil
}

// Through finds the way from a node back to itself, depth first in list
// order.
func Through(edges map[string][]string, node string) []string {
	return walk(edges, node, map[string]bool{}, &node)
}

// walk goes depth first from start with a stack of its own, as deep as the graph
// is. It ends at the target, or without one at any node of its own path. Nodes in
// done have nothing to offer and are not entered.
func walk(edges map[string][]string, start string, done map[string]bool, target *string) []string {
	if done[start] {
		return nil
	}
	type step struct {
		node string
		next int
	}
	stack := []step{{node: start}}
	onPath := map[string]bool{start: true}
	done[start] = true
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if top.next == len(edges[top.node]) {
			delete(onPath, top.node)
			stack = stack[:len(stack)-1]
			continue
		}
		parent := edges[top.node][top.next]
		top.next++
		if target != nil && parent == *target || target == nil && onPath[parent] {
			var path []string
			for _, s := range stack {
				if s.node == parent || len(path) > 0 {
					path = append(path, s.node)
				}
			}
			return append(path, parent)
		}
		if !done[parent] {
			done[parent] = true
			onPath[parent] = true
			stack = append(stack, step{node: parent})
		}
	}
	return nil
}
