package routes

import (
	"go/ast"
	"go/constant"
	"go/types"
	"slices"

	"github.com/authzhost/authz/verify/goanalysis/internal/typed"
)

// saw counts what stands before a route, for whoever looks for gates.
func (c *collector) saw(e ast.Expr) {
	e = ast.Unparen(e)
	for {
		call, ok := e.(*ast.CallExpr)
		if !ok {
			break
		}
		e = ast.Unparen(call.Fun)
	}
	if fn := c.functionOf(e); fn != nil {
		c.facts.Seen[fullName(fn)]++
	} else if name := source(e); name != anonymous {
		c.facts.Seen[name]++
	}
}

func (c *collector) sawAll(list []ast.Expr) {
	for _, e := range list {
		if t := c.in.Info.TypeOf(e); t != nil && !typed.IsString(t) {
			c.saw(e)
		}
	}
}

// refusals finds the functions that refuse, themselves or by others of the package.
func (c *collector) refusals() {
	refuses := map[*types.Func]bool{}
	calls := map[*types.Func][]*types.Func{}
	for fn, decl := range c.decls {
		ast.Inspect(decl, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				if obj, ok := c.in.Info.Uses[n].(*types.Const); ok && obj.Pkg() != nil {
					switch obj.Pkg().Path() + "." + obj.Name() {
					case "net/http.StatusUnauthorized", "net/http.StatusForbidden",
						"google.golang.org/grpc/codes.Unauthenticated", "google.golang.org/grpc/codes.PermissionDenied":
						refuses[fn] = true
					}
				}
			case *ast.CallExpr:
				for _, a := range n.Args {
					if v := c.in.Info.Types[a].Value; v != nil && v.Kind() == constant.Int {
						if code, ok := constant.Int64Val(v); ok && (code == 401 || code == 403) {
							refuses[fn] = true
						}
					}
				}
				if called := c.callee(n); called != nil {
					if c.decls[called] != nil {
						calls[fn] = append(calls[fn], called)
					} else if slices.Contains(c.knownRefusals(), fullName(called)) {
						refuses[fn] = true
					}
				}
			}
			return true
		})
	}
	for range 3 { // as far as a reader would look
		for fn, list := range calls {
			refuses[fn] = refuses[fn] || slices.ContainsFunc(list, func(one *types.Func) bool { return refuses[one] })
		}
	}
	for fn, yes := range refuses {
		if yes {
			c.facts.Refuses = append(c.facts.Refuses, fullName(fn))
		}
	}
	slices.Sort(c.facts.Refuses)
}

func (c *collector) knownRefusals() []string {
	if c.refused == nil {
		c.refused = []string{}
		for _, f := range c.in.Known {
			c.refused = append(c.refused, f.Refuses...)
		}
	}
	return c.refused
}
