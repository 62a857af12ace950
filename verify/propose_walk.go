package verify

import (
	"slices"
	"strings"
)

func (v *value) refuse(seen map[*value]bool) {
	if v == nil || seen[v] {
		return
	}
	seen[v] = true
	v.Refuses = v.body != nil && v.body.plainly
	v.children(func(c *value) { c.refuse(seen) })
}

// callGates marks the functions that call one of the names.
func (v *value) callGates(names map[string]bool, seen map[*value]bool) {
	if v == nil || seen[v] {
		return
	}
	seen[v] = true
	if v.body != nil && slices.ContainsFunc(v.body.calls, func(called string) bool { return names[last(called)] }) {
		v.Gated = true
	}
	v.children(func(c *value) { c.callGates(names, seen) })
}

func (v *value) children(visit func(*value)) {
	for _, l := range v.Links {
		for _, a := range l.Args {
			visit(a)
		}
	}
	for _, f := range v.Fields {
		visit(f.Value)
	}
	for _, item := range v.Items {
		visit(item)
	}
}

// each visits the values of a module.
func (m *module) each(visit func(*value)) {
	for _, v := range m.Decls {
		visit(v)
	}
	for i := range m.Served {
		visit(m.Served[i].Value)
	}
	for i := range m.Routers {
		for _, e := range m.Routers[i].Events {
			for _, h := range e.Handlers {
				visit(h)
			}
		}
	}
}

func last(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// definitionOf finds what a wrapper is, from where it was met.
func (g *guesser) definitionOf(name string, asked []ask) (*value, *module) {
	parts := strings.Split(name, ".")
	for _, a := range asked[:min(len(asked), 3)] {
		if a.value == nil || a.in == nil {
			continue
		}
		if v, in := g.named(a.value, a.in, parts, 0); v != nil {
			return v, in
		}
	}
	return nil, nil
}

// named looks for a name along a value and what it is defined as.
func (g *guesser) named(v *value, m *module, name []string, depth int) (*value, *module) {
	if v == nil || depth > 8 {
		return nil, nil
	}
	if (v.Kind == call || v.Kind == reference) && len(v.Path) >= len(name) && slices.Equal(v.Path[:len(name)], name) {
		if d, in := g.project.follow(m, name, 0); d != nil {
			return d, in
		}
	}
	for _, l := range v.Links {
		for _, a := range l.Args {
			if d, in := g.named(a, m, name, depth+1); d != nil {
				return d, in
			}
		}
	}
	if v.Kind == call || v.Kind == reference {
		if d, in := g.project.definition(v, m, 0); d != nil && d != v {
			return g.named(d, in, name, depth+1)
		}
	}
	return nil, nil
}

// flat visits what a handler argument holds.
func (g *guesser) flat(v *value, visit func(*value)) {
	switch v.Kind {
	case list:
		for _, item := range v.Items {
			g.flat(item, visit)
		}
	case object:
		for _, f := range v.Fields {
			if hooks[f.Name] || f.Name == "middleware" {
				g.flat(f.Value, visit)
			}
		}
	case call:
		visit(v)
		for _, l := range v.Links {
			for _, a := range l.Args {
				if a.Kind == object {
					g.flat(a, visit)
				}
			}
		}
	default:
		visit(v)
	}
}

// functions visits the functions that a served value runs.
func (g *guesser) functions(v *value, m *module, depth int, visit func(*value, *module)) {
	if v == nil || depth > 6 {
		return
	}
	switch v.Kind {
	case function:
		visit(v, m)
	case reference:
		if d, in := g.project.follow(m, v.Path, 0); d != nil && d.Kind != reference {
			g.functions(d, in, depth+1, visit)
		}
	default:
		v.children(func(c *value) { g.functions(c, m, depth+1, visit) })
	}
}
