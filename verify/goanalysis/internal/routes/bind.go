package routes

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/authzhost/authz/verify/goanalysis/internal/typed"
)

// ownerOf names a field by the type that it was selected from.
func (c *collector) ownerOf(e *ast.SelectorExpr, v *types.Var) string {
	if named := typed.NamedOf(orVoid(c.in.Info.TypeOf(e.X))); named != nil && named.Obj().Pkg() != nil {
		return named.Obj().Pkg().Path() + "." + named.Obj().Name() + "." + v.Name()
	}
	if v.Pkg() != nil {
		return v.Pkg().Path() + "." + v.Name()
	}
	return v.Name()
}

// store keeps a router in a field or a variable of the package, that every function
// sees.
func (c *collector) store(v *types.Var, name string, val value, at ast.Node) {
	k := c.kindOf(v.Type())
	if len(val.routers) == 0 && len(val.targets) == 0 && !val.gate {
		return
	}
	n := c.slot("var:"+name, k, v.Exported())
	for _, r := range val.routers {
		c.alias(n, r, val.gated, at.Pos())
	}
}

// alias has a router be known by a slot: a new one by it alone, another one is bound
// below it.
func (c *collector) alias(slot, r *node, gated bool, pos token.Pos) {
	top := r.top()
	if slot == top {
		return
	}
	c.carrier(slot)
	g := c.guard(r)
	if top.fresh && !gated && r.root == nil {
		top.root, top.fresh = slot, false
		if slot.kind == none {
			slot.kind = top.kind
		}
		if g.gated || g.stream {
			c.guardBy(slot, g)
			if top.kind == grpc && c.depth == 0 { // its interceptors are there from the start
				c.uses = append(c.uses, pendingUse{node: slot, stream: g.stream, unary: g.gated})
			}
		}
		return
	}
	c.give(r, slot, gated, pos)
	if slot.kind != none { // routes of the slot are routes of this one
		c.bindBelow(slot, r, g, gated, pos)
	}
}

// bindBelow has the routes of a slot hang on a router as it is at this point.
func (c *collector) bindBelow(slot, r *node, g guard, gated bool, pos token.Pos) {
	b := &pendingBind{node: slot, dep: r, via: slices.Clone(g.via), stream: g.stream || gated}
	b.Bind = Bind{Gated: g.gated || gated, Fn: c.fn, Prefix: r.prefix, pos: pos, Below: true}
	c.binds = append(c.binds, b)
}

// give puts a router into the hands of a slot. A handler's slot is a way to reach it.
func (c *collector) give(r, slot *node, gated bool, pos token.Pos) {
	c.bind(r, slot, guard{gated: gated}, "", pos)
	if n := len(c.binds); n > 0 && c.binds[n-1].dep == slot {
		c.binds[n-1].Given = slot.kind != none
	}
}

func (c *collector) carrier(n *node) { c.carriers[n.top().slot] = true }

func (c *collector) bind(r, dep *node, g guard, prefix string, pos token.Pos) {
	if dep != nil && r.top() == dep.top() {
		return
	}
	b := &pendingBind{node: r, dep: dep, via: g.via, stream: g.gated}
	b.Bind = Bind{Gated: g.gated, Fn: c.fn, Prefix: prefix, pos: pos}
	c.binds = append(c.binds, b)
}

// served notes that a value is reached from outside as it is.
func (c *collector) served(v value, pos token.Pos) {
	for _, r := range v.routers {
		c.bind(r, nil, guard{gated: v.gated}, "", pos)
	}
}

// returned hands what a function answers to its callers.
func (c *collector) returned(v value, at ast.Expr) {
	if c.decl == nil {
		return
	}
	pos := c.decl.Pos()
	if at != nil {
		pos = at.Pos()
	}
	if v.concrete != nil && at != nil {
		c.concreteResult(v.concrete)
	} else if at != nil {
		if t := c.in.Info.TypeOf(at); t != nil && !types.IsInterface(t) {
			c.concreteResult(t)
		}
	}
	if len(v.routers) == 0 {
		return
	}
	k := c.kindOf(orVoid(resultType(c.decl)))
	result := c.slot("result:"+c.fn, k, bindable(c.decl) && k != own) // nothing around one of one's own is seen
	for _, r := range v.routers {
		if r.kind == none && isParam(r) {
			continue // a handler that was given and goes back to the caller
		}
		c.alias(result, r, v.gated, pos)
	}
}

func resultType(fn *types.Func) types.Type {
	if fn.Signature().Results().Len() == 0 {
		return nil
	}
	return fn.Signature().Results().At(0).Type()
}

func (c *collector) concreteResult(t types.Type) {
	named := typed.NamedOf(t)
	if named == nil || named.Obj().Pkg() == nil {
		return
	}
	name := named.Obj().Pkg().Path() + "." + named.Obj().Name()
	if before, ok := c.facts.Concrete[c.fn]; ok && before != name {
		name = ""
	}
	c.facts.Concrete[c.fn] = name
}
