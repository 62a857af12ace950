package routes

import (
	"go/ast"
	"go/types"
	"slices"
	"strconv"
)

// given binds routers and handlers to the parameters of the function that gets them.
func (c *collector) given(e *ast.CallExpr, fn *types.Func, args []value, through bool) {
	sig := fn.Signature()
	ours := fn.Pkg() == c.in.Pkg || c.knows(fn.Pkg())
	for i, a := range args {
		if sig.Params().Len() == 0 {
			return
		}
		at := min(i, sig.Params().Len()-1)
		if len(a.routers) == 0 && len(a.targets) == 0 {
			continue
		}
		t := elem(sig, at)
		k := c.kindOf(t)
		if k == none && through || k == none && !ServesHTTP(t) {
			continue
		}
		if sig.Recv() != nil && types.IsInterface(sig.Recv().Type()) {
			all := c.implementers(fn)
			for _, one := range all {
				c.hand(e.Args[i], c.slot("param:"+fullName(one)+":"+strconv.Itoa(at), k, bindable(one)), a, k)
			}
			if len(all) > 0 {
				continue
			}
			ours = false
		}
		if !ours {
			c.handedOut(e, i, fn, a, k)
			continue
		}
		n := c.slot("param:"+fullName(fn)+":"+strconv.Itoa(at), k, bindable(fn))
		c.hand(e.Args[i], n, a, k)
	}
}

// implementers are the methods behind one of an interface, of types of this package and
// of those below it that are the project's.
func (c *collector) implementers(fn *types.Func) []*types.Func {
	iface, ok := fn.Signature().Recv().Type().Underlying().(*types.Interface)
	if !ok {
		return nil
	}
	var found []*types.Func
	seen := map[*types.Package]bool{}
	var visit func(p *types.Package)
	visit = func(p *types.Package) {
		if seen[p] || p != c.in.Pkg && !c.knows(p) {
			return
		}
		seen[p] = true
		for _, name := range p.Scope().Names() {
			tn, ok := p.Scope().Lookup(name).(*types.TypeName)
			if !ok || tn.IsAlias() || types.IsInterface(tn.Type()) || len(found) >= maxAlternatives {
				continue
			}
			if named, ok := tn.Type().(*types.Named); !ok || named.TypeParams().Len() > 0 {
				continue
			}
			if t := types.NewPointer(tn.Type()); types.Implements(t, iface) {
				if obj, _, _ := types.LookupFieldOrMethod(t, true, fn.Pkg(), fn.Name()); obj != nil {
					if m, ok := obj.(*types.Func); ok {
						found = append(found, m.Origin())
					}
				}
			}
		}
		for _, below := range p.Imports() {
			visit(below)
		}
	}
	visit(c.in.Pkg)
	return found
}

func (c *collector) givenLiteral(e *ast.CallExpr, lit *ast.FuncLit, args []value, through bool) {
	sig, ok := c.in.Info.TypeOf(lit).(*types.Signature)
	if !ok {
		return
	}
	for i, a := range args {
		if i >= sig.Params().Len() {
			return
		}
		t := elem(sig, i)
		k := c.kindOf(t)
		if k == none && (through || !ServesHTTP(t)) {
			continue
		}
		c.hand(e.Args[i], c.slot(c.literalSlot(lit)+":"+strconv.Itoa(i), k, false), a, k)
	}
}

// hand gives a value to a parameter.
func (c *collector) hand(at ast.Expr, n *node, a value, k kind) {
	for _, r := range a.routers {
		c.give(r, n, a.gated, at.Pos())
		if k != none {
			g := c.guard(r)
			c.bindBelow(n, r, g, a.gated, at.Pos()) // what is registered on it there
			g.via = append(slices.Clone(g.via), n)
			c.guardBy(r, g)
		}
	}
	if k != none {
		return
	}
	for _, t := range a.targets {
		if t.unless != nil && slices.Contains(a.routers, t.unless) && t.unfollowed > 0 {
			continue
		}
		c.route(n, guard{gated: a.gated}, t, "", "", true, "")
	}
}

// handedOut is a router in the hands of a function that cannot be read.
func (c *collector) handedOut(e *ast.CallExpr, i int, fn *types.Func, a value, k kind) {
	if k == none || k == grpc {
		if k == none {
			c.served(a, e.Args[i].Pos())
		}
		return
	}
	for _, r := range a.routers { // it registers there what it likes
		c.route(r, c.guard(r), target{name: fn.Name(), unfollowed: 1, pos: e.Pos(), end: e.End()}, "", r.prefix, false, "")
	}
}
