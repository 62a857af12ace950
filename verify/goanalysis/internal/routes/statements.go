package routes

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/authzhost/authz/verify/goanalysis/internal/typed"
)

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
		c.indexed(e, right[i])
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

// indexed notes gates that are put into a map of them.
func (c *collector) indexed(left, right ast.Expr) {
	at, ok := ast.Unparen(left).(*ast.IndexExpr)
	if !ok {
		return
	}
	if t := c.in.Info.TypeOf(at.X); t != nil && typed.IsNamed(t, AuthzGRPC, "Gates") {
		c.publicGate(at.Index, right)
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
