package routes

import (
	"go/ast"
	"go/types"
	"strings"

	"github.com/authzhost/authz/verify/goanalysis/internal/typed"
)

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
