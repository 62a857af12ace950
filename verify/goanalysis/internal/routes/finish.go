package routes

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/types/typeutil"

	"github.com/authzhost/authz/verify/goanalysis/internal/typed"
)

type pendingRoute struct {
	Route
	node, unless *node
	via          []*node
	lit          *ast.FuncLit
	suffix       string
}

type pendingBind struct {
	Bind
	node, dep *node
	via       []*node
	stream    bool
}

type pendingUse struct {
	node          *node
	fn            string
	all           bool
	unary, stream bool
}

// finish writes down what was found under names.
func (c *collector) finish() *Facts {
	f := c.facts
	for slot := range c.carriers {
		f.Carriers = append(f.Carriers, slot)
	}
	for _, p := range c.binds {
		b := p.Bind
		b.Slot = p.node.top().slot
		if p.dep != nil {
			b.Dep = p.dep.top().slot
			f.Carriers = append(f.Carriers, b.Dep)
		}
		b.Via = slots(p.via, "")
		f.Binds = append(f.Binds, b)
		if p.node.kind == grpc || p.dep != nil && p.dep.kind == grpc {
			for suffix, gated := range map[string]bool{unarySuffix: p.Gated, streamSuffix: p.stream} {
				one := b
				one.Slot, one.Gated = b.Slot+suffix, gated
				if b.Dep != "" {
					one.Dep = b.Dep + suffix
				}
				f.Binds = append(f.Binds, one)
			}
		}
	}
	bound := map[string]bool{}
	for _, b := range f.Binds {
		bound[b.Slot] = true
	}
	for _, p := range c.routes {
		r := p.Route
		r.Slot = p.node.top().slot + p.suffix
		r.Via = slots(p.via, p.suffix)
		if p.unless != nil {
			r.Unless = p.unless.top().slot
		}
		if r.Passed && !bound[r.Slot] && len(c.world.binds[r.Slot]) == 0 {
			continue // the function that it is given to does something else with it
		}
		if p.lit != nil {
			f.literals[p.lit] = true
		}
		if r.Method == "" {
			r.Method, r.Path = split(r.Path)
		}
		f.Routes = append(f.Routes, r)
		f.Carriers = append(f.Carriers, p.node.top().slot)
	}
	for _, u := range c.uses {
		slot := u.node.top().slot
		if u.unary {
			f.Uses = append(f.Uses, Use{Slot: slot + unarySuffix, All: true})
		}
		if u.stream {
			f.Uses = append(f.Uses, Use{Slot: slot + streamSuffix, All: true})
		}
		if !u.unary && !u.stream {
			f.Uses = append(f.Uses, Use{slot, u.fn, u.all})
		}
	}
	for fn, gated := range c.gated {
		if gated {
			f.Gates = append(f.Gates, fullName(fn))
		}
	}
	for fn, decl := range c.decls {
		if c.in.Pardoned(decl.Type.Func) {
			f.Exempt = append(f.Exempt, fullName(fn))
		}
	}
	f.tables = c.tables
	for _, list := range []*[]string{&f.Carriers, &f.Gates, &f.Exempt, &f.Opened, &f.Called, &f.Valued} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return f
}

// A grpc server asks before unary calls and before streams apart.
const (
	unarySuffix  = "#unary"
	streamSuffix = "#stream"
)

func slots(list []*node, suffix string) []string {
	var names []string
	for _, n := range list {
		names = append(names, n.top().slot+suffix)
	}
	return names
}

// split takes the method from a pattern of http.ServeMux.
func split(pattern string) (method, path string) {
	if method, path, ok := strings.Cut(pattern, " "); ok {
		if path = strings.TrimLeft(path, " \t"); slices.Contains(verbs, method) {
			return method, path
		}
	}
	return "", pattern
}

// text is a constant string; what is computed shows as "…".
func (c *collector) text(e ast.Expr) string {
	if v := c.in.Info.Types[e].Value; v != nil && v.Kind() == constant.String {
		return constant.StringVal(v)
	}
	if b, ok := ast.Unparen(e).(*ast.BinaryExpr); ok && b.Op == token.ADD {
		return c.text(b.X) + c.text(b.Y)
	}
	return unknownText
}

const unknownText = "…"

func (c *collector) callee(call *ast.CallExpr) *types.Func {
	fn, _ := typeutil.Callee(c.in.Info, call).(*types.Func)
	if fn == nil {
		return nil
	}
	return fn.Origin()
}

// fullName names a function for all packages.
func fullName(fn *types.Func) string {
	if fn.Pkg() == nil {
		return fn.Name()
	}
	if name := typed.FullName(fn); name != "" {
		return name
	}
	return "(" + fn.Pkg().Path() + ")." + fn.Name()
}
