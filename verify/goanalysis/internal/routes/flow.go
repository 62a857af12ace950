package routes

import (
	"go/types"
	"maps"
	"slices"
)

// guard is what stands before a router's next route. A grpc server has two.
type guard struct {
	gated, stream bool
	via           []*node
}

func (g guard) with(gated bool) guard { g.gated = g.gated || gated; return g }

type flow struct {
	env    map[types.Object]value
	guards map[*node]guard
}

func (f flow) clone() flow { return flow{maps.Clone(f.env), maps.Clone(f.guards)} }

// meet keeps what holds on both ways.
func meet(a, b flow) flow {
	out := flow{map[types.Object]value{}, map[*node]guard{}}
	for obj, v := range a.env {
		if w, ok := b.env[obj]; ok {
			out.env[obj] = v.or(w)
		} else {
			out.env[obj] = v
		}
	}
	for obj, v := range b.env {
		if _, ok := a.env[obj]; !ok {
			out.env[obj] = v
		}
	}
	for n, g := range a.guards {
		h, ok := b.guards[n]
		if !ok {
			out.guards[n] = g
			continue
		}
		out.guards[n] = guard{g.gated && h.gated, g.stream && h.stream,
			slices.DeleteFunc(slices.Clone(g.via), func(v *node) bool { return !slices.Contains(h.via, v) })}
	}
	for n, h := range b.guards {
		if _, ok := a.guards[n]; !ok {
			out.guards[n] = h
		}
	}
	return out
}

func (c *collector) guard(n *node) guard { return c.state.guards[n.key()] }

func (c *collector) guardBy(n *node, g guard) { c.state.guards[n.key()] = g }

// branch walks what may not happen, and keeps what holds either way.
func (c *collector) branch(walk func()) flow {
	before := c.state
	c.state = before.clone()
	c.depth++
	walk()
	c.depth--
	after := c.state
	c.state = before
	return after
}
