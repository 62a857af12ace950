package routes

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/authzhost/authz/verify/goanalysis/internal/typed"
)

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

// eval walks an expression, once, and answers what it may be.
func (c *collector) eval(e ast.Expr) value {
	switch e := e.(type) {
	case nil:
		return value{}
	case *ast.ParenExpr:
		return c.eval(e.X)
	case *ast.FuncLit:
		return c.literal(e)
	case *ast.Ident:
		return c.named(e, c.in.Info.Uses[e])
	case *ast.SelectorExpr:
		return c.selector(e)
	case *ast.CallExpr:
		return c.call(e)
	case *ast.CompositeLit:
		return c.composite(e)
	case *ast.UnaryExpr:
		v := c.eval(e.X)
		if e.Op == token.ARROW {
			return value{table: true, count: 1}
		}
		return v
	case *ast.StarExpr:
		return c.eval(e.X)
	case *ast.IndexExpr:
		v := c.eval(e.X)
		c.eval(e.Index)
		if tv := c.in.Info.Types[e.X]; tv.Value == nil && tv.Type != nil {
			if _, generic := tv.Type.Underlying().(*types.Signature); generic {
				return v
			}
		}
		return v.any()
	case *ast.IndexListExpr:
		return c.eval(e.X)
	case *ast.SliceExpr:
		v := c.eval(e.X)
		return value{table: true, count: max(1, len(v.elements), v.count)}
	case *ast.TypeAssertExpr:
		return c.eval(e.X)
	case *ast.BinaryExpr:
		c.eval(e.X)
		c.eval(e.Y)
	case *ast.KeyValueExpr:
		c.eval(e.Value)
	}
	return value{}
}

func (c *collector) named(at *ast.Ident, obj types.Object) value {
	switch obj := obj.(type) {
	case *types.Func:
		return c.function(at, obj.Origin())
	case *types.Var:
		if v, ok := c.state.env[obj]; ok {
			v.gate = v.gate || c.in.IsGate(at.Name, obj)
			return v.at(at)
		}
		if obj.Parent() != nil && obj.Pkg() != nil && obj.Parent() == obj.Pkg().Scope() {
			return c.kept(at, obj, obj.Pkg().Path()+"."+obj.Name())
		}
		return c.unknown(at, obj)
	}
	return value{}
}

// unknown is a variable that nothing is known of.
func (c *collector) unknown(at *ast.Ident, obj *types.Var) value {
	v := value{gate: c.in.IsGate(at.Name, obj)}
	if ServesHTTP(obj.Type()) {
		v.targets = c.typed(obj.Type(), at)
	}
	return v
}

// kept is what a field or a variable of a package holds.
func (c *collector) kept(at *ast.Ident, obj *types.Var, name string) value {
	v := value{gate: c.in.IsGate(at.Name, obj)}
	k := c.kindOf(obj.Type())
	if k == none && !ServesHTTP(obj.Type()) {
		return v
	}
	n := c.slot("var:"+name, k, obj.Exported())
	v.routers = []*node{n}
	if k == none {
		v.targets = c.typed(obj.Type(), at)
		for i := range v.targets {
			v.targets[i].unless = n
		}
	}
	return v
}

// typed are the handlers that a value is by its type: the ServeHTTP of a type of the
// project, or one that cannot be followed.
func (c *collector) typed(t types.Type, at ast.Node) []target {
	if named := typed.NamedOf(t); named != nil && !types.IsInterface(named) {
		if obj, _, _ := types.LookupFieldOrMethod(t, true, nil, "ServeHTTP"); obj != nil {
			if fn, ok := obj.(*types.Func); ok && c.kindOf(t) == none {
				if _, isFunc := named.Underlying().(*types.Signature); !isFunc {
					return []target{c.targetOf(fn.Origin(), at)}
				}
			}
		}
	}
	return []target{{name: source(at), unfollowed: 1, pos: at.Pos(), end: at.End()}}
}

// at moves what a variable holds to where it is named.
func (v value) at(n ast.Node) value {
	v.targets = slices.Clone(v.targets)
	for i := range v.targets {
		v.targets[i].pos, v.targets[i].end = n.Pos(), n.End()
	}
	return v
}

func source(n ast.Node) string {
	switch n := n.(type) {
	case *ast.Ident:
		return n.Name
	case *ast.SelectorExpr:
		return n.Sel.Name
	case *ast.CallExpr:
		return source(n.Fun)
	case *ast.IndexExpr:
		return source(n.X)
	case *ast.ParenExpr:
		return source(n.X)
	}
	return anonymous
}

const anonymous = "<anonymous>"

func (c *collector) targetOf(fn *types.Func, at ast.Node) target {
	return target{name: fn.Name(), key: fullName(fn), gated: c.asks(fn), pos: at.Pos(), end: at.End()}
}

// asks reports whether a function has a gate in it, or is one.
func (c *collector) asks(fn *types.Func) bool {
	return c.gated[fn] || c.world.gates[fullName(fn)] || c.in.IsGate(fn.Name(), fn)
}

// function is a function as a value: a handler, a middleware or neither.
func (c *collector) function(at ast.Node, fn *types.Func) value {
	v := value{gate: c.asks(fn)}
	if sig := fn.Signature(); sig.Recv() != nil && types.IsInterface(sig.Recv().Type()) && !v.gate && ServesHTTP(sig) {
		v.targets = c.implementations(fn, at)
		return v
	}
	v.targets = []target{c.targetOf(fn, at)}
	return v
}

// implementations are the methods of this package behind one of an interface.
func (c *collector) implementations(fn *types.Func, at ast.Node) []target {
	var all []target
	iface, _ := fn.Signature().Recv().Type().Underlying().(*types.Interface)
	scope := c.in.Pkg.Scope()
	for _, name := range scope.Names() {
		tn, ok := scope.Lookup(name).(*types.TypeName)
		if !ok || iface == nil || types.IsInterface(tn.Type()) || len(all) >= maxAlternatives {
			continue
		}
		if named, ok := tn.Type().(*types.Named); ok && named.TypeParams().Len() > 0 {
			continue
		}
		if p := types.NewPointer(tn.Type()); types.Implements(p, iface) {
			if obj, _, _ := types.LookupFieldOrMethod(p, true, fn.Pkg(), fn.Name()); obj != nil {
				if m, ok := obj.(*types.Func); ok {
					t := c.targetOf(m.Origin(), at)
					t.name = tn.Name() + "." + t.name
					all = append(all, t)
				}
			}
		}
	}
	if len(all) == 0 {
		return []target{{name: fn.Name(), unfollowed: 1, pos: at.Pos(), end: at.End()}}
	}
	return all
}

func (c *collector) selector(e *ast.SelectorExpr) value {
	obj := c.in.Info.Uses[e.Sel]
	switch obj := obj.(type) {
	case *types.Func:
		x := value{}
		if c.in.Info.Selections[e] != nil {
			x = c.eval(e.X)
		}
		if obj.Name() == "ServeHTTP" && (len(x.routers) > 0 || len(x.targets) > 0) {
			return x.at(e) // a router as a function
		}
		return c.function(e, obj.Origin())
	case *types.Var:
		if c.in.Info.Selections[e] == nil { // of another package
			return c.kept(e.Sel, obj, orEmpty(obj.Pkg())+"."+obj.Name())
		}
		x := c.eval(e.X)
		if field, ok := x.fields[e.Sel.Name]; ok {
			return field.at(e)
		}
		if x.table {
			return value{table: true, count: x.count, gate: c.in.IsGate(e.Sel.Name, obj)}
		}
		return c.kept(e.Sel, obj, c.ownerOf(e, obj))
	}
	return value{}
}

func orEmpty(p *types.Package) string {
	if p == nil {
		return ""
	}
	return p.Path()
}

// literal walks a function literal where it is made. What it does may not happen, or
// later; a router that it takes has a slot of its own.
func (c *collector) literal(lit *ast.FuncLit) value {
	sig, _ := c.in.Info.TypeOf(lit).(*types.Signature)
	asks := c.holds(lit, lit.Body, sig)
	v := value{lit: lit, gate: asks, targets: []target{{name: anonymous, lit: lit, gated: asks, exempt: c.in.Pardoned(lit.Pos()), pos: lit.Pos(), end: lit.Type.End()}}}
	if c.lits[lit] {
		return v
	}
	c.lits[lit] = true
	c.inside(lit, nil)
	return v
}

func (c *collector) literalSlot(lit *ast.FuncLit) string {
	return "literal:" + c.in.Place(lit.Pos()).String() + ":" + strconv.Itoa(int(lit.Pos()))
}

// inside walks the body of a literal. Given is the router that it is called with, nil
// where that is not known.
func (c *collector) inside(lit *ast.FuncLit, given *node) {
	outer := c.decl
	c.decl = nil // its results are not the function's
	defer func() { c.decl = outer }()
	sig, _ := c.in.Info.TypeOf(lit).(*types.Signature)
	walk := func() {
		if sig != nil {
			c.parameters(sig, c.literalSlot(lit), false)
			if given != nil {
				for i := range sig.Params().Len() {
					if c.kindOf(sig.Params().At(i).Type()) != none {
						c.state.env[sig.Params().At(i)] = value{routers: []*node{given}}
					}
				}
			}
		}
		c.block(lit.Body)
	}
	after := c.branch(walk)
	c.state = meet(c.state, after)
}

func (c *collector) composite(e *ast.CompositeLit) value {
	t := orVoid(c.in.Info.TypeOf(e))
	switch u := t.Underlying().(type) {
	case *types.Slice, *types.Array, *types.Map:
		v := value{elements: []value{}}
		for _, element := range e.Elts {
			if kv, ok := element.(*ast.KeyValueExpr); ok {
				c.eval(kv.Key)
				element = kv.Value
			}
			one := c.eval(element)
			c.inTable(one)
			v.elements = append(v.elements, one)
		}
		return v
	case *types.Struct:
		v := value{fields: map[string]value{}, concrete: t}
		named := typed.NamedOf(t)
		for i, element := range e.Elts {
			var field *types.Var
			if kv, ok := element.(*ast.KeyValueExpr); ok {
				if key, ok := kv.Key.(*ast.Ident); ok {
					field, _ = c.in.Info.Uses[key].(*types.Var)
				}
				element = kv.Value
			} else if i < u.NumFields() {
				field = u.Field(i)
			}
			one := c.eval(element)
			if field == nil || one.none() {
				continue
			}
			if named != nil && typed.IsNamed(named, "net/http", "Server") && field.Name() == "Handler" {
				c.served(one, element.Pos())
				continue
			}
			c.inTable(one)
			v.fields[field.Name()] = one
			if named != nil && named.Obj().Pkg() != nil {
				c.store(field, named.Obj().Pkg().Path()+"."+named.Obj().Name()+"."+field.Name(), one, element)
			}
		}
		if ServesHTTP(t) || ServesHTTP(types.NewPointer(t)) {
			v = v.beside(c.serving(t, e))
		}
		return v
	default:
		for _, element := range e.Elts {
			c.eval(element)
		}
	}
	return value{}
}

// inTable notes functions that a list or a struct holds: their registration is
// elsewhere.
func (c *collector) inTable(v value) { c.inTables(v, 4) }

// inTables looks so deep into lists of lists: one that holds itself twice again and
// again is short to write.
func (c *collector) inTables(v value, depth int) {
	if depth == 0 {
		return
	}
	for _, t := range v.targets {
		if t.key != "" {
			c.tables[t.key] = true
		}
	}
	for _, e := range v.elements {
		c.inTables(e, depth-1)
	}
}

func (v value) beside(w value) value {
	v.routers, v.targets = append(v.routers, w.routers...), append(v.targets, w.targets...)
	return v
}

// serving is a value of a type of the project that serves: the router behind its
// ServeHTTP, or that method.
func (c *collector) serving(t types.Type, at ast.Node) value {
	named := typed.NamedOf(t)
	if named == nil || types.IsInterface(named) || named.Obj().Pkg() == nil || c.kindOf(t) != none {
		return value{}
	}
	if _, isFunc := named.Underlying().(*types.Signature); isFunc {
		return value{}
	}
	n := c.slot("type:"+named.Obj().Pkg().Path()+"."+named.Obj().Name(), none, named.Obj().Exported())
	v := value{routers: []*node{n}, targets: c.typed(types.NewPointer(named), at)}
	for i := range v.targets {
		v.targets[i].unless = n
	}
	return v
}

func (c *collector) call(e *ast.CallExpr) value {
	info := c.in.Info
	if tv := info.Types[e.Fun]; tv.IsType() { // a conversion
		if len(e.Args) == 1 {
			v := c.eval(e.Args[0])
			if !tv.IsValue() {
				return v
			}
		}
		return value{}
	} else if tv.IsBuiltin() {
		return c.builtin(e)
	}
	fn := c.callee(e)
	fun := ast.Unparen(e.Fun)
	if fn != nil {
		if sel, ok := fun.(*ast.SelectorExpr); ok && info.Selections[sel] != nil {
			if v, ok := c.method(e, sel, fn); ok {
				return v
			}
		}
		if v, ok := c.library(e, fn); ok {
			return v
		}
	}
	return c.applied(e, fn)
}

func (c *collector) builtin(e *ast.CallExpr) value {
	var args []value
	for _, a := range e.Args {
		if !c.in.Info.Types[a].IsType() {
			args = append(args, c.eval(a))
		}
	}
	if len(args) == 0 || source(e.Fun) != "append" {
		return value{}
	}
	out := args[0]
	out.elements = slices.Clip(out.elements)
	for i, a := range args[1:] {
		if e.Ellipsis.IsValid() && i == len(args)-2 {
			out.elements = append(out.elements, a.elements...)
		} else {
			out.elements = append(out.elements, a)
		}
	}
	if out.elements == nil {
		out.elements = []value{}
	}
	return out.bounded()
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

// applied is the result of a call that no router is asked by.
func (c *collector) applied(e *ast.CallExpr, fn *types.Func) value {
	info := c.in.Info
	var fun value
	recv := value{}
	switch f := ast.Unparen(e.Fun).(type) {
	case *ast.SelectorExpr:
		if info.Selections[f] != nil && fn != nil {
			recv = c.eval(f.X)
		} else if fn == nil {
			fun = c.eval(f)
		}
	default:
		if fn == nil {
			fun = c.eval(e.Fun)
		}
	}
	args := make([]value, len(e.Args))
	for i, a := range e.Args {
		args[i] = c.eval(a)
	}
	asks := fun.gate
	name := ""
	if fn != nil {
		asks, name = c.asks(fn), fullName(fn)
		if adapters[name] {
			for _, a := range args {
				asks = asks || a.gate
				for _, one := range a.elements {
					asks = asks || one.gate
				}
			}
		}
		asks = asks || recv.gate && adapted(fn) // alice's Then, chi's Chain(…).Handler
	}
	if fn == nil {
		asks = asks || c.in.IsGate(source(e.Fun), nil)
	}
	t := info.TypeOf(e)
	if tuple, ok := t.(*types.Tuple); ok && tuple.Len() > 0 {
		t = tuple.At(0).Type()
	}
	if t == nil {
		t = types.Typ[types.Invalid]
	}
	if inner, ok := ast.Unparen(e.Fun).(*ast.FuncLit); ok && inner != nil {
		return value{}
	}
	result := value{gate: asks}
	if fn != nil {
		c.given(e, fn, args, ServesHTTP(t))
	} else if fun.lit != nil {
		c.givenLiteral(e, fun.lit, args, ServesHTTP(t))
	} else if !ServesHTTP(t) && c.kindOf(t) == none {
		for i, a := range args {
			c.served(a, e.Args[i].Pos())
		}
	}
	if k := c.kindOf(t); k != none {
		if fn != nil && (fn.Pkg() == c.in.Pkg || c.knows(fn.Pkg())) {
			result.routers = []*node{c.slot("result:"+name, k, bindable(fn) && k != own)}
			return result
		}
		for _, a := range args { // as a wrapper of a router that is one
			if len(a.routers) > 0 {
				result.routers = append(result.routers, a.routers...)
			}
		}
		if len(result.routers) == 0 {
			result.routers = []*node{c.local(k)}
		}
		return result
	}
	if !ServesHTTP(t) {
		if named := typed.NamedOf(t); named != nil && !types.IsInterface(t) {
			result.concrete = t
		} else if fn != nil {
			result.concrete = c.concreteOf(fn)
		}
		return result
	}
	// A handler: made of what is given to it, or by the function itself.
	for _, a := range e.Args {
		if at := info.TypeOf(a); at != nil && (ServesHTTP(at) || c.kindOf(at) != none) && (fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != "net/http") {
			c.saw(e.Fun)
			break
		}
	}
	for i, a := range args {
		at := info.TypeOf(e.Args[i])
		if at == nil || !ServesHTTP(at) && c.kindOf(at) == none {
			continue
		}
		if a.table {
			result.targets = append(result.targets, target{name: source(e.Args[i]), unfollowed: max(a.count, 1), pos: e.Pos(), end: e.End()})
		}
		result.routers = append(result.routers, a.routers...)
		for _, one := range a.targets {
			one.gated = one.gated || asks || a.gated
			result.targets = append(result.targets, one)
		}
		result.gated = result.gated || a.gated
	}
	if asks {
		result.gated = true
	}
	if len(result.routers) > 0 || len(result.targets) > 0 {
		return result.bounded()
	}
	if fun.lit != nil || fn == nil {
		if len(recv.routers) > 0 {
			result.routers = recv.routers
		}
		result.targets = []target{{name: source(e.Fun), gated: asks || fun.gate, unfollowed: boolInt(fun.lit == nil), pos: e.Pos(), end: e.End()}}
		return result
	}
	one := c.targetOf(fn, e)
	if iface := fn.Signature().Recv(); iface != nil && types.IsInterface(iface.Type()) && !one.gated {
		one.unfollowed = 1
	}
	n := c.slot("result:"+name, none, bindable(fn))
	one.unless = n
	result.routers, result.targets = []*node{n}, []target{one}
	if s := c.serving(t, e); len(s.routers) > 0 {
		result.routers = append(result.routers, s.routers...)
		for i := range s.targets {
			s.targets[i].gated = s.targets[i].gated || asks
		}
		result.targets = s.targets
	}
	return result
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// adapted holds of methods that put a chain of middleware before a handler.
func adapted(fn *types.Func) bool {
	if fn.Pkg() == nil {
		return false
	}
	switch fn.Pkg().Path() {
	case "github.com/justinas/alice":
		return true
	}
	return families[fn.Pkg().Path()].kind == chi
}

func (c *collector) knows(p *types.Package) bool { return p != nil && c.in.KnownPackage(p.Path()) }

func (c *collector) concreteOf(fn *types.Func) types.Type {
	name := c.facts.Concrete[fullName(fn)]
	if name == "" {
		name = c.world.concrete[fullName(fn)]
	}
	if name == "" {
		if decl := c.decls[fn]; decl != nil { // walked later
			return c.returnedType(decl)
		}
		return nil
	}
	return c.lookup(name)
}

// returnedType is the one type that a function's return statements name.
func (c *collector) returnedType(decl *ast.FuncDecl) types.Type {
	var found types.Type
	several := false
	ast.Inspect(decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			if len(n.Results) == 0 {
				return true
			}
			t := c.in.Info.TypeOf(n.Results[0])
			if t == nil || types.IsInterface(t) || typed.NamedOf(t) == nil {
				return true
			}
			several = several || found != nil && !types.Identical(found, t)
			found = t
		}
		return true
	})
	if several {
		return nil
	}
	return found
}

// lookup finds a type of this package or of one below it.
func (c *collector) lookup(name string) types.Type {
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return nil
	}
	seen := map[*types.Package]bool{}
	var find func(p *types.Package) types.Type
	find = func(p *types.Package) types.Type {
		if seen[p] {
			return nil
		}
		seen[p] = true
		if p.Path() == name[:dot] {
			if obj, ok := p.Scope().Lookup(name[dot+1:]).(*types.TypeName); ok {
				return types.NewPointer(obj.Type())
			}
			return nil
		}
		for _, below := range p.Imports() {
			if t := find(below); t != nil {
				return t
			}
		}
		return nil
	}
	return find(c.in.Pkg)
}

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
