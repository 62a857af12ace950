package routes

import (
	"go/ast"
	"go/token"
	"go/types"
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
