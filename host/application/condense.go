package application

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/storage"
)

// planGroups merges the snapshot into the stored parent graph, condenses its cycles
// and plans the groups that are new, listed or changed.
func (im *importing) planGroups(ctx context.Context) error {
	stored := map[string]authz.Group{}
	graph := map[string][]string{}
	for g, err := range im.app.store.ListGroups(ctx, storage.Page{}) {
		if err != nil {
			return err
		}
		stored[g.ID] = g
		graph[g.ID] = g.Parents
	}
	listed := map[string]directory.Group{}
	for _, g := range im.snapshot.Groups {
		listed[g.ID] = g
		graph[g.ID] = distinct(g.Parents)
		im.managed[g.ID] = true
	}
	components := condense(graph)
	virtual := map[string]bool{}
	for _, c := range components {
		if len(c.ID) > maxID {
			return authz.Validation("a directory cycle of %d groups cannot be condensed: the id of its virtual group is longer than %d bytes",
				len(c.Members), maxID)
		}
		virtual[c.ID], im.managed[c.ID] = true, true
		im.result.Warnings = append(im.result.Warnings, condensedWarning(c.ID, c.Members))
	}
	im.result.VirtualParents = components

	for _, id := range slices.Sorted(maps.Keys(graph)) {
		before, known := stored[id]
		fresh, inSnapshot := listed[id]
		if known && !inSnapshot && !virtual[id] && slices.Equal(before.Parents, graph[id]) {
			continue
		}
		row := authz.Group{ID: id, Name: firstText(fresh.Name, before.Name, id),
			Description: firstText(fresh.Description, before.Description), Parents: graph[id],
			Virtual: before.Virtual || virtual[id]}
		if known && before.Name == row.Name && before.Description == row.Description &&
			before.Virtual == row.Virtual && slices.Equal(before.Parents, row.Parents) {
			continue // nobody else writes groups inside this section
		}
		im.countGroup(row, known)
		im.groups = append(im.groups, storage.UpsertGroup{Group: row})
	}
	im.allGroups = len(graph)
	return nil
}

func firstText(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// condense rewrites the parent graph so that it has no cycle: the groups of each
// get a virtual group as their only parent, which inherits their other parents,
// and edges into the cycle lead to it. What is returned is in ascending order of
// id. A virtual group that exists already keeps its stored parents too; those may
// close a cycle of their own, which the next round condenses.
func condense(graph map[string][]string) []directory.VirtualParent {
	all := []directory.VirtualParent{}
	for {
		var round []directory.VirtualParent
		home := map[string]string{}
		for _, members := range cyclicComponents(graph) {
			id := "virtual:" + strings.Join(members, "+")
			round = append(round, directory.VirtualParent{ID: id, Members: members})
			for _, m := range members {
				home[m] = id
			}
		}
		if len(round) == 0 {
			slices.SortFunc(all, func(a, b directory.VirtualParent) int { return strings.Compare(a.ID, b.ID) })
			return all
		}
		all = append(all, round...)
		redirect := func(parents []string) []string {
			var out []string
			for _, p := range parents {
				if to, condensed := home[p]; condensed {
					p = to
				}
				out = append(out, p)
			}
			return out
		}
		next := make(map[string][]string, len(graph)+len(round))
		for id, parents := range graph {
			if virtual, condensed := home[id]; condensed {
				next[id] = []string{virtual}
			} else {
				next[id] = distinct(redirect(parents))
			}
		}
		for _, c := range round {
			// A virtual group that is reused may be condensed itself in this round:
			// then what it inherits is inherited by the one above it.
			heir := c.ID
			if above, condensed := home[c.ID]; condensed {
				heir = above
			}
			parents := next[heir]
			for _, m := range c.Members {
				parents = append(parents, redirect(graph[m])...)
			}
			next[heir] = without(without(parents, c.ID), heir)
		}
		clear(graph)
		maps.Copy(graph, next)
	}
}

// cyclicComponents finds the strongly connected components of two or more nodes,
// and the nodes with an edge to themselves, members ascending. It is Tarjan's
// algorithm with a stack of its own: parent chains may be deep.
func cyclicComponents(graph map[string][]string) [][]string {
	type frame struct {
		node string
		next int
	}
	index := map[string]int{}
	low := map[string]int{}
	onStack := map[string]bool{}
	var stack []string
	var found [][]string
	for _, root := range slices.Sorted(maps.Keys(graph)) {
		if _, visited := index[root]; visited {
			continue
		}
		var path []frame
		enter := func(node string) {
			index[node] = len(index)
			low[node] = index[node]
			stack = append(stack, node)
			onStack[node] = true
			path = append(path, frame{node: node})
		}
		enter(root)
		for len(path) > 0 {
			top := &path[len(path)-1]
			node := top.node
			if top.next < len(graph[node]) {
				parent := graph[node][top.next]
				top.next++
				if _, visited := index[parent]; !visited {
					enter(parent)
				} else if onStack[parent] {
					low[node] = min(low[node], index[parent])
				}
				continue
			}
			path = path[:len(path)-1]
			if len(path) > 0 {
				below := path[len(path)-1].node
				low[below] = min(low[below], low[node])
			}
			if low[node] != index[node] {
				continue
			}
			start := len(stack) - 1 // from the end: the stack of a deep graph is long
			for stack[start] != node {
				start--
			}
			members := slices.Clone(stack[start:])
			stack = stack[:start]
			for _, m := range members {
				onStack[m] = false
			}
			if len(members) > 1 || slices.Contains(graph[node], node) {
				slices.Sort(members)
				found = append(found, members)
			}
		}
	}
	return found
}

// CondenseGroups takes the cycles out of groups as a directory import does: each becomes
// a virtual group above its members. The groups are not changed; warnings name what was
// condensed.
func CondenseGroups(groups []authz.Group) (condensed []authz.Group, virtual []directory.VirtualParent, warnings []string) {
	graph := make(map[string][]string, len(groups))
	for _, g := range groups {
		graph[g.ID] = distinct(g.Parents)
	}
	if virtual = condense(graph); len(virtual) == 0 {
		return groups, virtual, nil
	}
	known := make(map[string]bool, len(groups))
	condensed = make([]authz.Group, 0, len(groups)+len(virtual))
	for _, g := range groups {
		known[g.ID] = true
		g.Parents = graph[g.ID]
		condensed = append(condensed, g)
	}
	for _, v := range virtual {
		warnings = append(warnings, condensedWarning(v.ID, v.Members))
		if !known[v.ID] {
			condensed = append(condensed, authz.Group{ID: v.ID, Name: v.ID, Parents: graph[v.ID], Virtual: true})
		}
	}
	return condensed, virtual, warnings
}
