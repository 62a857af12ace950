package verify

import (
	"cmp"
	"slices"

	ts "github.com/microsoft/typescript-go/authzshim"
)

// routerIndex finds the routers of a file. Generated sources have thousands of them, so
// that no question looks at them all.
type routerIndex struct {
	byName     map[string][]scoped
	byChain    map[*ts.Node]*routerDecl // calls of the chains that initialise one
	byMaker    map[*ts.Node]*routerDecl // the chains themselves
	byFunction map[*ts.Node]*routerDecl // functions that are given one
	byStart    map[int][]*routerDecl    // variables by where the function around them begins
}

// scoped is a router within its part of the file. Those of one name are sorted by where
// that begins; parts nest, and around is the index of the next one outside, or -1.
type scoped struct {
	*routerDecl
	around int
}

func (r *reader) indexRouters() {
	x := routerIndex{byName: map[string][]scoped{}, byChain: map[*ts.Node]*routerDecl{}, byMaker: map[*ts.Node]*routerDecl{},
		byFunction: map[*ts.Node]*routerDecl{}, byStart: map[int][]*routerDecl{}}
	for i := range r.routerDecls {
		d := &r.routerDecls[i]
		x.byName[d.name] = append(x.byName[d.name], scoped{d, -1})
		if d.function != nil {
			first(x.byFunction, d.function, d)
		} else {
			x.byStart[d.from] = append(x.byStart[d.from], d)
		}
		if d.initialise != nil {
			first(x.byMaker, unwrap(d.initialise), d)
			chain(d.initialise, func(n *ts.Node) { first(x.byChain, n, d) })
		}
	}
	for _, list := range x.byName {
		slices.SortStableFunc(list, func(a, b scoped) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to)) })
		open := -1
		for i := range list {
			for open >= 0 && list[open].to < list[i].to {
				open = list[open].around
			}
			list[i].around, open = open, i
		}
	}
	r.routers = x
}

func first(m map[*ts.Node]*routerDecl, n *ts.Node, d *routerDecl) {
	if n != nil && m[n] == nil {
		m[n] = d
	}
}

// at is the innermost router of a name around a part of the file.
func (x *routerIndex) at(name string, from, to int) *routerDecl {
	list := x.byName[name]
	i, _ := slices.BinarySearchFunc(list, from, func(s scoped, at int) int {
		if s.from <= at {
			return -1
		}
		return 1
	})
	for i--; i >= 0; i = list[i].around {
		if to <= list[i].to {
			return list[i].routerDecl
		}
	}
	return nil
}

// chain visits the calls of a chain, the last one first.
func chain(n *ts.Node, visit func(*ts.Node)) {
	for steps := 0; n != nil && steps < maxLinks; steps++ {
		if n = unwrap(n); n == nil {
			return
		}
		visit(n)
		if n.Kind != ts.KindCallExpression {
			return
		}
		callee := unwrap(n.Expression())
		if callee == nil || callee.Kind != ts.KindPropertyAccess {
			return
		}
		n = callee.Expression()
	}
}
