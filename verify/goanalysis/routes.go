package goanalysis

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/verify"
	"github.com/authzhost/authz/verify/goanalysis/internal/routes"
	"github.com/authzhost/authz/verify/goanalysis/internal/typed"
)

// followed is a package whose routes were read.
type followed struct {
	c       *Checker
	p       Package
	sources []*source
	facts   *Facts
	world   *routes.World
	makers  map[*types.Func]*types.Func // by the handler that each makes
}

// follow reads the routes of a package.
func (c *Checker) follow(p Package, sources []*source, passed map[any]bool) *followed {
	f := &followed{c: c, p: p, sources: sources}
	held, decides := map[ast.Node]bool{}, map[ast.Node]bool{}
	in := routes.Input{
		Fset: p.Fset, Info: p.Info, Pkg: p.Types, Routers: c.routes.Routers,
		Place: func(pos token.Pos) routes.Place {
			if s := f.source(pos); s != nil {
				at, _ := s.position(pos)
				return routes.Place{File: s.shown, Line: at.Line, Column: at.Column}
			}
			return routes.Place{}
		},
		IsGate:       c.isGate,
		Holds:        func(n ast.Node) bool { return held[n] },
		Decides:      func(n ast.Node) bool { return decides[n] },
		Pardoned:     func(pos token.Pos) bool { s := f.source(pos); return s != nil && s.pardoned(pos) },
		KnownPackage: func(path string) bool { return p.Below[path] != nil },
	}
	for _, s := range sources {
		if s.report.Skipped != nil || s.test || s.file == nil || !slices.Contains(p.Files, s.file) {
			continue
		}
		in.Files = append(in.Files, s.file)
		for _, fn := range s.fns {
			decides[fn.node] = fn.decides
			held[fn.node] = fn.gated || fn.parent != nil && !fn.orphan()
		}
	}
	for _, below := range p.Below {
		in.Known = append(in.Known, below)
	}
	f.findMakers(in.Files)
	f.facts = routes.Collect(in)
	f.world = routes.Resolve(c.public, append(slices.Clip(in.Known), f.facts)...)
	for _, s := range sources {
		if s.generated || s.report.Skipped != nil {
			continue
		}
		for _, fn := range s.fns {
			if fn.handler && !fn.delegates && !f.helps(fn) && ungatedBy(fn, passed) && !f.facts.Placed(literalOf(fn), fn.fullName()) {
				pos, _ := fn.extent()
				if name, open := f.owner(fn); name != "" && (open || s.pardoned(pos)) && !f.facts.Placed(nil, name) {
					f.facts.Handlers = append(f.facts.Handlers, routes.Handler{Place: in.Place(pos), Key: name, Name: fn.name, Exempt: s.pardoned(pos)})
				}
			}
		}
	}
	return f
}

// orphan holds of a literal that no gate around it guards.
func (fn *function) orphan() bool {
	for f := fn.parent; f != nil; f = f.parent {
		if f.guards {
			return false
		}
	}
	return true
}

func ungatedBy(fn *function, passed map[any]bool) bool {
	fn.passed = passed[fn.key()]
	return fn.ungated()
}

func literalOf(fn *function) *ast.FuncLit {
	lit, _ := fn.node.(*ast.FuncLit)
	return lit
}

func (fn *function) fullName() string {
	if obj, ok := fn.object.(*types.Func); ok {
		return typed.FullName(obj)
	}
	return ""
}

// owner is the declared function that a handler is, or that makes it, and whether
// other packages can name it.
func (f *followed) owner(fn *function) (name string, open bool) {
	for fn.parent != nil {
		fn = fn.parent
	}
	obj, ok := fn.object.(*types.Func)
	if !ok {
		return "", false
	}
	if maker := f.makers[obj]; maker != nil && !f.facts.Placed(nil, typed.FullName(obj)) {
		obj = maker
	}
	return typed.FullName(obj), obj.Exported()
}

// findMakers finds the functions whose result is a handler of the package, by its name.
func (f *followed) findMakers(files []*ast.File) {
	f.makers = map[*types.Func]*types.Func{}
	for _, file := range files {
		for _, d := range file.Decls {
			decl, ok := d.(*ast.FuncDecl)
			if !ok || decl.Body == nil {
				continue
			}
			maker, ok := f.p.Info.Defs[decl.Name].(*types.Func)
			if !ok {
				continue
			}
			ast.Inspect(decl.Body, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncLit:
					return false
				case *ast.ReturnStmt:
					if len(n.Results) == 0 {
						break
					}
					s := source{info: f.p.Info}
					if fn, ok := s.functionValue(n.Results[0]).(*types.Func); ok && typed.IsHandler(fn.Signature()) {
						f.makers[fn] = maker
					}
				}
				return true
			})
		}
	}
}

// helps holds of a handler that serves for another one: something calls it and nothing
// hands it on; or it stands in a middleware, and passes the handler on that this is
// given.
func (f *followed) helps(fn *function) bool {
	if name := fn.fullName(); name != "" {
		return slices.Contains(f.facts.Called, name) && !slices.Contains(f.facts.Valued, name)
	}
	given := map[types.Object]bool{}
	for around := fn.parent; around != nil; around = around.parent {
		var sig *types.Signature
		switch node := around.node.(type) {
		case *ast.FuncLit:
			sig, _ = f.p.Info.TypeOf(node).(*types.Signature)
		case *ast.FuncDecl:
			if obj, ok := around.object.(*types.Func); ok {
				sig = obj.Signature()
			}
		}
		for i := 0; sig != nil && i < sig.Params().Len(); i++ {
			if p := sig.Params().At(i); routes.ServesHTTP(p.Type()) {
				given[p] = true
			}
		}
	}
	found := false
	ast.Inspect(fn.node, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && given[f.p.Info.Uses[id]] {
			found = true
		}
		return !found
	})
	return found
}

// elsewhere reports whether a handler is judged by its routes: those of its package,
// or of packages that will import it.
func (f *followed) elsewhere(fn *function) bool {
	pos, _ := fn.extent()
	if s := f.source(pos); s != nil && s.pardoned(pos) {
		return false
	}
	if f.helps(fn) || f.facts.Placed(literalOf(fn), fn.fullName()) {
		return true
	}
	name, open := f.owner(fn)
	if name == "" {
		return false
	}
	return open || f.facts.Placed(nil, name) || !fn.ungated() ||
		f.facts.InTable(name) && slices.ContainsFunc(f.facts.Routes, func(r routes.Route) bool { return r.Count > 0 })
}

func (f *followed) source(pos token.Pos) *source {
	file := f.p.Fset.File(pos)
	if file == nil {
		return nil
	}
	for _, s := range f.sources {
		if s.file != nil && f.p.Fset.File(s.file.FileStart) == file {
			return s
		}
	}
	return nil
}

// isGate reports whether the configuration, or the client, has a gate of that name.
func (c *Checker) isGate(name string, obj types.Object) bool {
	full, client := "", false
	if fn, ok := obj.(*types.Func); ok && fn.Pkg() != nil {
		full, client = typed.FullName(fn), c.client(fn.Pkg().Path())
		if ownMiddleware[full] {
			return true
		}
		if full == ownDeclaration {
			return false
		}
	} else if obj != nil && obj.Pkg() != nil {
		full = obj.Pkg().Path() + "." + obj.Name()
	}
	return client && slices.Contains(defaultGates, name) || slices.ContainsFunc(c.gates, func(entry string) bool {
		return entry == name || full != "" && strings.Replace(entry, "(*", "(", 1) == full
	})
}

// public reports whether the configuration exempts a route.
func (c *Checker) public(method, path string) bool {
	return slices.ContainsFunc(c.routes.Public, func(entry string) bool {
		wanted, at, ok := strings.Cut(entry, " ")
		if !ok {
			wanted, at = "", entry
		}
		if wanted != "" && wanted != method {
			return false
		}
		if below, ok := strings.CutSuffix(at, "/*"); ok {
			return path == below || strings.HasPrefix(path, below+"/")
		}
		return trimmed(path) == trimmed(at)
	})
}

// trimmed is a path as routers compare it.
func trimmed(path string) string {
	path = strings.TrimSuffix(path, "{$}")
	if path != "/" {
		path = strings.TrimSuffix(path, "/")
	}
	return "/" + strings.TrimPrefix(path, "/")
}

// report tells of the routes of the package that nothing asks before, and of those of
// packages below that it lays open.
func (f *followed) report() {
	for i := range f.facts.Routes {
		r := &f.facts.Routes[i]
		status := f.world.Status(r)
		if status == routes.Exempt {
			status = f.bare(r)
		}
		if s := f.source(r.Pos()); s != nil && !s.generated {
			switch status {
			case routes.Ungated:
				s.add(authz.SeverityError, verify.RuleUngatedAction, r.Pos(), r.End(), ungatedRoute(r))
				r.Tell()
			case routes.NotFollowed:
				s.add(authz.SeverityError, verify.RuleUngatedAction, r.Pos(), r.End(), notFollowed(r))
				r.Tell()
			}
		}
	}
	f.silenced()
	if !f.p.Alone {
		return
	}
	before := make([]*Facts, 0, len(f.p.Below))
	for _, below := range f.p.Below {
		before = append(before, below)
	}
	past := routes.Resolve(f.c.public, before...)
	told := map[*routes.Route]bool{}
	foreign := f.foreign()
	for i := range f.facts.Binds {
		b := &f.facts.Binds[i]
		s := f.source(b.Pos())
		if s == nil || s.generated || !f.world.Exposes(b) {
			continue
		}
		for _, r := range foreign {
			if told[r] || past.Status(r) != routes.Open {
				continue
			}
			if now := f.world.Status(r); (now == routes.Ungated || now == routes.NotFollowed) && f.world.Reaches(r, b.Slot) {
				told[r] = true
				s.add(authz.SeverityError, verify.RuleUngatedAction, b.Pos(), b.Pos(), exposed(r))
			}
		}
	}
	f.leftover(foreign)
}

// silenced gives the pragma at a handler of gin or echo what it silences: its finding
// would be at its routes.
func (f *followed) silenced() {
	for _, s := range f.sources {
		for _, fn := range s.fns {
			obj, ok := fn.object.(*types.Func)
			if pos, end := fn.extent(); ok && !fn.server && !s.generated && s.pardoned(pos) && routes.ServesHTTP(obj.Type()) {
				s.add(authz.SeverityError, verify.RuleUngatedAction, pos, end, "server function "+strconv.Quote(fn.name)+" contains no gate")
			}
		}
	}
}

// bare is the status of an exempt route as if its line had no pragma, so that the
// pragma finds what it silences.
func (f *followed) bare(r *routes.Route) routes.Status {
	if s := f.source(r.Pos()); s == nil || !s.pardoned(r.Pos()) {
		return routes.Exempt
	}
	one := *r
	one.Public = false
	return f.world.Status(&one)
}

// foreign are the routes of the packages below, in a fixed order.
func (f *followed) foreign() []*routes.Route {
	var all []*routes.Route
	for _, path := range slices.Sorted(maps.Keys(f.p.Below)) {
		for i := range f.p.Below[path].Routes {
			all = append(all, &f.p.Below[path].Routes[i])
		}
	}
	return all
}

// leftover tells once what nobody above can settle any more.
func (f *followed) leftover(foreign []*routes.Route) {
	if len(f.p.Files) == 0 || f.p.Types.Name() != "main" {
		return
	}
	var open []string
	all := slices.Clone(foreign)
	for i := range f.facts.Routes {
		all = append(all, &f.facts.Routes[i])
	}
	for _, r := range all {
		if f.world.Status(r) == routes.Open {
			open = append(open, r.Name+" ("+r.Place.String()+")")
		}
	}
	known := []*Facts{f.facts}
	for _, path := range slices.Sorted(maps.Keys(f.p.Below)) {
		known = append(known, f.p.Below[path])
	}
	for _, below := range known {
		for _, h := range below.Handlers {
			if !h.Exempt && !helper(h.Key, known) && !slices.ContainsFunc(all, func(r *routes.Route) bool { return r.Key == h.Key }) {
				open = append(open, h.Name+" ("+h.Place.String()+")")
			}
		}
	}
	if len(open) == 0 {
		return
	}
	s := f.source(f.p.Files[0].Package)
	if s == nil {
		return
	}
	shown := strings.Join(open[:min(3, len(open))], ", ")
	if len(open) > 3 {
		shown += ", …"
	}
	s.add(authz.SeverityError, verify.RuleUngatedAction, f.p.Files[0].Package, f.p.Files[0].Name.End(),
		strconv.Itoa(len(open))+" server functions of this program are behind no router that can be followed: "+shown+
			" — register them where a gate stands before them, gate them, or "+sayPublic)
}

// helper holds of a function that is called and never handed on, in whatever package.
func helper(name string, known []*Facts) bool {
	called := false
	for _, f := range known {
		if slices.Contains(f.Valued, name) {
			return false
		}
		called = called || slices.Contains(f.Called, name)
	}
	return called
}

func ungatedRoute(r *routes.Route) string {
	return "server function " + strconv.Quote(r.Name) + at(r) + " contains no gate and is registered below none — " +
		"put a gate before the route or ask in the function, name the middleware in go.routes.gates, or " + sayPublic
}

func exposed(r *routes.Route) string {
	return "server function " + strconv.Quote(r.Name) + at(r) + ", registered in " + r.Place.String() + ", contains no gate and none stands before it here — " +
		"put a gate before this router, name the middleware in go.routes.gates, or " + sayPublic
}

func notFollowed(r *routes.Route) string {
	what := fmt.Sprintf("%d server functions", r.Count)
	if r.Count == 1 {
		what = "1 server function"
	}
	return what + at(r) + " cannot be followed: " + strconv.Quote(r.Name) + " comes out of a table or from outside — " +
		"register each function by its name, put a gate before all of them, or " + sayPublic
}

func unserved(r *routes.Route) string {
	return "server function " + strconv.Quote(r.Name) + at(r) + " is registered on a router that nothing here serves, so it cannot be followed — " +
		"judge the package that serves it along, ask in the function, or " + sayPublic
}

func unregistered(name string) string {
	return "server function " + strconv.Quote(name) + " contains no gate and is registered nowhere that can be followed — " +
		"ask in the function, name the type of your router in go.routes.routers, or " + sayPublic
}

func at(r *routes.Route) string {
	if at := r.At(); at != "" {
		return " (" + at + ")"
	}
	return ""
}
