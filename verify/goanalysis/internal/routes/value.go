package routes

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// value is what an expression may be.
type value struct {
	routers []*node
	targets []target
	gated   bool // a gate stands before whatever it serves
	gate    bool // it is a middleware or an interceptor that asks

	elements []value // of a list
	fields   map[string]value
	count    int  // of entries that are not told apart
	table    bool // came out of one

	unary, stream bool // options of a grpc server
	lit           *ast.FuncLit
	concrete      types.Type
}

// target is a function that serves.
type target struct {
	name, key  string
	gated      bool
	exempt     bool
	unless     *node // a carrier instead
	unfollowed int
	lit        *ast.FuncLit
	pos, end   token.Pos
}

func (v value) none() bool {
	return len(v.routers) == 0 && len(v.targets) == 0 && !v.gated && !v.gate && v.elements == nil && v.fields == nil &&
		v.count == 0 && v.lit == nil && !v.unary && !v.stream && v.concrete == nil
}

const maxAlternatives = 256 // values that one variable is followed to

func (v value) or(w value) value {
	if v.none() {
		w.gated, w.gate, w.unary, w.stream = false, false, false, false
		return w
	}
	out := v
	out.gated, out.gate = v.gated && w.gated, v.gate && w.gate
	out.unary, out.stream = v.unary && w.unary, v.stream && w.stream
	out.count = max(v.count, w.count)
	out.table = v.table || w.table
	out.routers = slices.Clone(v.routers)
	for _, n := range w.routers {
		if !slices.Contains(out.routers, n) && len(out.routers) < maxAlternatives {
			out.routers = append(out.routers, n)
		}
	}
	out.targets = slices.Clone(v.targets)
	for _, t := range w.targets {
		if !slices.Contains(out.targets, t) && len(out.targets) < maxAlternatives {
			out.targets = append(out.targets, t)
		}
	}
	if len(v.targets) > 0 && len(w.targets) > 0 && v.gated != w.gated { // a gate before one of them only
		for i := range out.targets {
			out.targets[i].gated = out.targets[i].gated || v.gated && slices.Contains(v.targets, out.targets[i])
		}
	}
	if len(v.elements) > len(w.elements) {
		out.elements = w.elements // what is in both
	}
	if v.lit != w.lit {
		out.lit = nil
	}
	if v.concrete != nil && w.concrete != nil && !types.Identical(v.concrete, w.concrete) {
		out.concrete = nil
	}
	return out
}

// any is what an element of a list may be.
func (v value) any() value {
	if len(v.elements) == 0 {
		return value{table: true, count: max(v.count, 1)}
	}
	out := v.elements[0]
	for _, e := range v.elements[1:] {
		out = out.or(e)
	}
	out.table, out.count = true, len(v.elements)
	fields := map[string]value{}
	for name, field := range out.fields {
		field.table, field.count = true, len(v.elements)
		fields[name] = field
	}
	out.fields = fields
	return out.bounded()
}

// at moves what a variable holds to where it is named.
func (v value) at(n ast.Node) value {
	v.targets = slices.Clone(v.targets)
	for i := range v.targets {
		v.targets[i].pos, v.targets[i].end = n.Pos(), n.End()
	}
	return v
}

func (v value) beside(w value) value {
	v.routers, v.targets = append(v.routers, w.routers...), append(v.targets, w.targets...)
	return v
}

// bounded keeps what one value may be small: source that doubles a list again and again
// is short. What is left out is not followed, which is said.
func (v value) bounded() value {
	if len(v.elements) > maxElements {
		return value{table: true, count: maxElements}
	}
	v.routers = uniq(v.routers)
	v.targets = uniq(v.targets)
	if len(v.targets) > maxAlternatives {
		v.targets = append(slices.Clone(v.targets[:maxAlternatives]), target{name: v.targets[0].name, unfollowed: len(v.targets) - maxAlternatives,
			pos: v.targets[0].pos, end: v.targets[0].end})
	}
	return v
}

const maxElements = 4096

func uniq[T comparable](list []T) []T {
	if len(list) < 2 {
		return list
	}
	seen := map[T]bool{}
	var out []T
	for _, one := range list {
		if !seen[one] {
			seen[one] = true
			out = append(out, one)
		}
	}
	return out
}

// asksAny reports whether a middleware argument asks, or one of a list that is spread.
func (v value) asksAny(spread bool) bool {
	return v.gate || spread && slices.ContainsFunc(v.elements, func(e value) bool { return e.gate })
}
