package routes

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/types/typeutil"

	"github.com/authzhost/authz/verify/goanalysis/internal/typed"
)

// Input is one package, and what the configuration says.
type Input struct {
	Fset  *token.FileSet
	Files []*ast.File
	Info  *types.Info
	Pkg   *types.Package

	// Place tells where something is written.
	Place func(token.Pos) Place

	// IsGate reports whether a function or a variable of that name is a gate, obj may
	// be nil. Holds reports whether a declaration or a literal has a gate in it, Decides
	// whether that is one that decides there and then, as no middleware does, and
	// Pardoned whether a pragma for the rule is about the line.
	IsGate   func(name string, obj types.Object) bool
	Holds    func(ast.Node) bool
	Decides  func(ast.Node) bool
	Pardoned func(token.Pos) bool

	// Routers are types of the project's own, "path.Type".
	Routers []string

	// Known are the facts of the packages below, KnownPackage those that have some.
	Known        []*Facts
	KnownPackage func(path string) bool
}

// Collect reads a package. Handlers of the facts are left to the caller, who knows
// which functions serve.
func Collect(in Input) *Facts {
	c := &collector{
		in: in, facts: &Facts{Concrete: map[string]string{}, Seen: map[string]int{}, Routers: map[string]int{}, literals: map[*ast.FuncLit]bool{}}, nodes: map[string]*node{}, carriers: map[string]bool{},
		world: Resolve(nil, in.Known...), decls: map[*types.Func]*ast.FuncDecl{}, gated: map[*types.Func]bool{}, tables: map[string]bool{},
	}
	for _, file := range in.Files {
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				if obj, ok := in.Info.Defs[fn.Name].(*types.Func); ok {
					c.decls[obj] = fn
				}
			}
		}
	}
	for obj, fn := range c.decls {
		c.gated[obj] = c.holds(fn, fn.Body, obj.Signature())
	}
	c.mentions()
	c.refusals()
	for _, file := range in.Files {
		for _, d := range file.Decls {
			c.declaration(d)
		}
	}
	return c.finish()
}

// mentions notes which functions that serve by their type are called, and which are
// handed on.
func (c *collector) mentions() {
	for _, file := range c.in.Files {
		callees := map[*ast.Ident]bool{}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				switch fun := ast.Unparen(n.Fun).(type) {
				case *ast.Ident:
					callees[fun] = true
				case *ast.SelectorExpr:
					callees[fun.Sel] = true
				}
			case *ast.Ident:
				fn, ok := c.in.Info.Uses[n].(*types.Func)
				if !ok || !typed.IsHandler(fn.Signature()) {
					return true
				}
				name := fullName(fn.Origin())
				if callees[n] {
					c.facts.Called = append(c.facts.Called, name)
				} else {
					c.facts.Valued = append(c.facts.Valued, name)
				}
			}
			return true
		})
	}
}

// holds reports whether a function asks: a handler when a gate is anywhere in it,
// another one when it makes a middleware or a handler that asks. What registers routes
// asks before some of them at most.
func (c *collector) holds(fn ast.Node, body *ast.BlockStmt, sig *types.Signature) bool {
	if sig == nil || body == nil {
		return false
	}
	if typed.IsHandler(sig) || takesContext(sig) {
		return c.in.Holds(fn)
	}
	return (c.in.Decides(fn) || c.returnsGate(body)) && !c.registers(body)
}

// returnsGate reports whether all that a function returns is made by a gate.
func (c *collector) returnsGate(body *ast.BlockStmt) bool {
	some, all := false, true
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			if len(n.Results) > 0 {
				some, all = true, all && c.madeByGate(n.Results[0])
			}
		}
		return true
	})
	return some && all
}

func (c *collector) madeByGate(e ast.Expr) bool {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok { // a handler of the package, by its name
		fn := c.functionOf(e)
		return fn != nil && c.decls[fn] != nil && (typed.IsHandler(fn.Signature()) || takesContext(fn.Signature())) && c.in.Holds(c.decls[fn])
	}
	var obj types.Object
	if fn := c.callee(call); fn != nil {
		obj = fn
	}
	if inner, ok := ast.Unparen(call.Fun).(*ast.CallExpr); ok && c.madeByGate(inner) {
		return true
	}
	return c.in.IsGate(source(call.Fun), obj) || slices.ContainsFunc(call.Args, c.madeByGate)
}

// registers reports whether a function registers routes.
func (c *collector) registers(body *ast.BlockStmt) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && !found {
			if fn := c.callee(call); fn != nil && fn.Pkg() != nil {
				recv := fn.Signature().Recv()
				found = recv != nil && c.kindOf(recv.Type()) != none && c.kindOf(recv.Type()) != grpc && fn.Name() != "ServeHTTP" ||
					recv == nil && fn.Pkg().Path() == "net/http" && (fn.Name() == "Handle" || fn.Name() == "HandleFunc")
			}
		}
		return !found
	})
	return found
}

// collector walks the functions of a package in source order and keeps, at each
// point, what is known of the values that variables hold.
type collector struct {
	in       Input
	facts    *Facts
	world    *World
	decls    map[*types.Func]*ast.FuncDecl
	gated    map[*types.Func]bool
	nodes    map[string]*node // routers of slots
	carriers map[string]bool
	tables   map[string]bool // functions that stand in a composite literal

	routes []*pendingRoute
	binds  []*pendingBind
	uses   []pendingUse

	fn    string      // the declared function that is walked
	decl  *types.Func // the same, nil inside literals: what they return is not its result
	outer *types.Func // the same, also inside literals
	last  []*node     // the routers of the last registration, for chains
	depth int         // of branches around this point
	count int
	state flow
	lits  map[*ast.FuncLit]bool

	refused []string // functions of other packages that refuse
}

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

func (c *collector) declaration(d ast.Decl) {
	c.state = flow{map[types.Object]value{}, map[*node]guard{}}
	c.lits, c.depth = map[*ast.FuncLit]bool{}, 0
	switch d := d.(type) {
	case *ast.GenDecl:
		c.fn, c.decl, c.outer = "", nil, nil
		c.genDecl(d)
	case *ast.FuncDecl:
		obj, ok := c.in.Info.Defs[d.Name].(*types.Func)
		if !ok || d.Body == nil {
			return
		}
		c.fn, c.decl, c.outer = fullName(obj), obj, obj
		c.parameters(obj.Signature(), "param:"+c.fn, bindable(obj))
		c.block(d.Body)
	}
}

// bindable reports whether other packages can call a function. A method that its
// package does not export may still be reached from there; its callers here decide.
func bindable(fn *types.Func) bool { return fn.Exported() }

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

func (c *collector) guard(n *node) guard { return c.state.guards[n.key()] }

func (c *collector) guardBy(n *node, g guard) { c.state.guards[n.key()] = g }

// ---- statements

func (c *collector) block(b *ast.BlockStmt) {
	if b == nil {
		return
	}
	c.stmts(b.List)
}

func (c *collector) stmts(list []ast.Stmt) {
	for _, s := range list {
		c.stmt(s)
	}
}

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

func (c *collector) stmt(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.ExprStmt:
		c.eval(s.X)
	case *ast.AssignStmt:
		c.assign(s.Lhs, s.Rhs, s.Tok)
	case *ast.DeclStmt:
		if d, ok := s.Decl.(*ast.GenDecl); ok {
			c.genDecl(d)
		}
	case *ast.ReturnStmt:
		for _, e := range s.Results {
			c.returned(c.eval(e), e)
		}
		if len(s.Results) == 0 && c.decl != nil {
			results := c.decl.Signature().Results()
			for i := range results.Len() {
				if v, ok := c.state.env[results.At(i)]; ok {
					c.returned(v, nil)
				}
			}
		}
	case *ast.IfStmt:
		if s.Init != nil {
			c.stmt(s.Init)
		}
		c.eval(s.Cond)
		then := c.branch(func() { c.block(s.Body) })
		other := c.state
		elseEnds := false
		if s.Else != nil {
			other = c.branch(func() { c.stmt(s.Else) })
			elseEnds = ends(s.Else)
		}
		switch {
		case ends(s.Body) && !elseEnds:
			c.state = other
		case elseEnds && !ends(s.Body):
			c.state = then
		default:
			c.state = meet(then, other)
		}
	case *ast.ForStmt:
		if s.Init != nil {
			c.stmt(s.Init)
		}
		if s.Cond != nil {
			c.eval(s.Cond)
		}
		after := c.branch(func() {
			c.block(s.Body)
			if s.Post != nil {
				c.stmt(s.Post)
			}
		})
		c.state = meet(c.state, after)
	case *ast.RangeStmt:
		over := c.eval(s.X)
		after := c.branch(func() {
			if s.Value != nil {
				c.set(s.Value, over.any())
			}
			c.block(s.Body)
		})
		c.state = meet(c.state, after)
	case *ast.SwitchStmt:
		if s.Init != nil {
			c.stmt(s.Init)
		}
		if s.Tag != nil {
			c.eval(s.Tag)
		}
		c.clauses(s.Body)
	case *ast.TypeSwitchStmt:
		if s.Init != nil {
			c.stmt(s.Init)
		}
		c.stmt(s.Assign)
		c.clauses(s.Body)
	case *ast.SelectStmt:
		c.clauses(s.Body)
	case *ast.GoStmt:
		c.eval(s.Call)
	case *ast.DeferStmt:
		c.eval(s.Call)
	case *ast.BlockStmt:
		c.block(s)
	case *ast.LabeledStmt:
		c.stmt(s.Stmt)
	case *ast.SendStmt:
		c.eval(s.Chan)
		c.eval(s.Value)
	case *ast.IncDecStmt:
		c.eval(s.X)
	}
}

func (c *collector) clauses(body *ast.BlockStmt) {
	var all []flow
	complete := false
	for _, clause := range body.List {
		var list []ast.Stmt
		after := c.branch(func() {
			switch clause := clause.(type) {
			case *ast.CaseClause:
				complete = complete || clause.List == nil
				for _, e := range clause.List {
					c.eval(e)
				}
				list = clause.Body
			case *ast.CommClause:
				complete = true
				if clause.Comm != nil {
					c.stmt(clause.Comm)
				}
				list = clause.Body
			}
			c.stmts(list)
		})
		if len(list) == 0 || !ends(list[len(list)-1]) {
			all = append(all, after)
		}
	}
	if !complete || len(all) == 0 {
		all = append(all, c.state)
	}
	out := all[0]
	for _, f := range all[1:] {
		out = meet(out, f)
	}
	c.state = out
}

// ends reports whether nothing behind a statement follows it.
func ends(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		return true
	case *ast.BlockStmt:
		return len(s.List) > 0 && ends(s.List[len(s.List)-1])
	case *ast.IfStmt:
		return s.Else != nil && ends(s.Body) && ends(s.Else)
	case *ast.LabeledStmt:
		return ends(s.Stmt)
	case *ast.ExprStmt:
		if call, ok := s.X.(*ast.CallExpr); ok {
			switch fun := ast.Unparen(call.Fun).(type) {
			case *ast.Ident:
				return fun.Name == "panic"
			case *ast.SelectorExpr:
				x, ok := fun.X.(*ast.Ident)
				return ok && (x.Name == "os" && fun.Sel.Name == "Exit" || x.Name == "log" && strings.HasPrefix(fun.Sel.Name, "Fatal"))
			}
		}
	}
	return false
}

func (c *collector) genDecl(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		if spec, ok := spec.(*ast.ValueSpec); ok && len(spec.Values) > 0 {
			left := make([]ast.Expr, len(spec.Names))
			for i, name := range spec.Names {
				left[i] = name
			}
			c.assign(left, spec.Values, token.DEFINE)
		}
	}
}

func (c *collector) assign(left, right []ast.Expr, _ token.Token) {
	if len(left) != len(right) {
		var v value
		for _, e := range right {
			v = c.eval(e)
		}
		for i, e := range left { // the first of several results is what is followed
			if i == 0 {
				c.set(e, v)
			}
		}
		return
	}
	values := make([]value, len(right))
	for i, e := range right {
		values[i] = c.eval(e)
	}
	for i, e := range left {
		c.set(e, values[i])
	}
}

// set gives a variable or a field a value.
func (c *collector) set(left ast.Expr, v value) {
	switch e := ast.Unparen(left).(type) {
	case *ast.Ident:
		obj := c.in.Info.Defs[e]
		if obj == nil {
			obj = c.in.Info.Uses[e]
		}
		variable, ok := obj.(*types.Var)
		if !ok {
			return
		}
		if variable.Parent() == c.in.Pkg.Scope() {
			c.store(variable, c.in.Pkg.Path()+"."+variable.Name(), v, e)
			return
		}
		if v.none() {
			delete(c.state.env, obj)
		} else {
			c.state.env[obj] = v
		}
	case *ast.SelectorExpr:
		c.eval(e.X)
		if variable, ok := c.in.Info.Uses[e.Sel].(*types.Var); ok {
			if isNamedServer(c.in.Info, e) {
				c.served(v, e.Pos())
				return
			}
			c.store(variable, c.ownerOf(e, variable), v, e)
		}
	case *ast.IndexExpr:
		c.eval(e.X)
		c.eval(e.Index)
	case *ast.StarExpr:
		c.eval(e.X)
	}
}

func isNamedServer(info *types.Info, e *ast.SelectorExpr) bool {
	t := info.TypeOf(e.X)
	named := typed.NamedOf(orVoid(t))
	return e.Sel.Name == "Handler" && named != nil && typed.IsNamed(named, "net/http", "Server")
}

func orVoid(t types.Type) types.Type {
	if t == nil {
		return types.Typ[types.Invalid]
	}
	return t
}

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

func isParam(r *node) bool {
	return strings.HasPrefix(strings.TrimPrefix(r.top().slot, exported), "param:")
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
	for _, list := range []*[]string{&f.Carriers, &f.Gates, &f.Exempt, &f.Called, &f.Valued} {
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
