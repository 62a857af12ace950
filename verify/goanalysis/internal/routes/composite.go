package routes

import (
	"go/ast"
	"go/types"

	"github.com/authzhost/authz/verify/goanalysis/internal/typed"
)

func (c *collector) composite(e *ast.CompositeLit) value {
	t := orVoid(c.in.Info.TypeOf(e))
	c.publicGates(e)
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
