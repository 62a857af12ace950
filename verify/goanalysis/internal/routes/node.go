package routes

import (
	"go/types"
	"slices"
	"strconv"
	"strings"
)

// node is a router. Derived ones, as groups, have the slot of their root.
type node struct {
	root   *node
	slot   string
	kind   kind
	prefix string
	fresh  bool // its slot is a local one
}

func (n *node) top() *node {
	if n.root != nil {
		return n.root.top()
	}
	return n
}

// key is what guards are kept by: routers of one slot have one guard, a group its own.
func (n *node) key() *node {
	if n.slot != "" {
		return n.top()
	}
	return n
}

// parameters gives each router that a function takes a slot.
func (c *collector) parameters(sig *types.Signature, name string, open bool) {
	for i := range sig.Params().Len() {
		p := sig.Params().At(i)
		k := c.kindOf(p.Type())
		if k == none && !ServesHTTP(p.Type()) {
			continue
		}
		// A handler that is given is like a router: what the caller gives hangs below it.
		c.state.env[p] = value{routers: []*node{c.slot(name+":"+strconv.Itoa(i), k, open)}}
	}
}

// slot is the router behind a name; open ones can be bound by other packages.
func (c *collector) slot(name string, k kind, open bool) *node {
	if open {
		name = exported + name
	}
	n := c.nodes[name]
	if n == nil {
		n = &node{slot: name, kind: k}
		c.nodes[name] = n
	}
	return n
}

// local is a router that was made here.
func (c *collector) local(k kind) *node {
	c.count++
	return &node{slot: "local:" + c.in.Pkg.Path() + ":" + strconv.Itoa(c.count), kind: k, fresh: true}
}

func (c *collector) derive(from *node, prefix string, gated bool) *node {
	n := &node{root: from.top(), kind: from.kind, prefix: Join(from.prefix, prefix)}
	g := c.guard(from)
	g.via = slices.Clone(g.via)
	c.guardBy(n, g.with(gated))
	return n
}

func isParam(r *node) bool {
	return strings.HasPrefix(strings.TrimPrefix(r.top().slot, exported), "param:")
}
