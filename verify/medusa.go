package verify

import (
	"slices"
	"strings"
)

// medusa is what a project of Medusa puts before the routes below one folder: those of
// the files named route.* are gated by a path in the file named middlewares.* at the top.
type medusa struct {
	base   string // the folder, with "/" at its end
	routes []matcher
}

// matcher is middleware for the paths of a pattern.
type matcher struct {
	pattern    string
	methods    []string
	everywhere bool // no methods are named: it is used as Express uses middleware, for all below
	handlers   []*value
	in         *module
}

// medusaOf is the middleware that a file of routes may stand behind, nil where there is
// none.
func (p *project) medusaOf(file string) *medusa {
	name := "/" + slashed(file)
	for at := 0; ; {
		i := strings.Index(name[at:], "/api/")
		if i < 0 {
			return nil
		}
		at += i + len("/api/") - 1
		base := name[1 : at+1]
		m, known := p.medusas[base]
		if !known {
			m = p.readMedusa(base)
			p.medusas[base] = m
		}
		if m != nil {
			return m
		}
	}
}

func (p *project) readMedusa(base string) *medusa {
	for _, end := range []string{".ts", ".js"} {
		file := base + "middlewares" + end
		m, known := p.modules[file]
		if !known {
			m = p.scanner.module(file)
			p.modules[file] = m
		}
		if m == nil {
			continue
		}
		v, in := p.export(m, "default", nil, 0)
		if v == nil || v.Kind != call || len(v.Path) == 0 || v.Path[len(v.Path)-1] != "defineMiddlewares" || len(v.Links) != 1 || len(v.Links[0].Args) != 1 {
			return nil
		}
		found := &medusa{base: base}
		argument, in := p.into(v.Links[0].Args[0], in, nil, 0)
		if argument != nil && argument.Kind == object {
			argument = argument.field("routes")
		}
		p.matchers(found, argument, in, 0)
		return found
	}
	return nil
}

// matchers reads a list of them, and the lists that are spread in it.
func (p *project) matchers(to *medusa, v *value, m *module, depth int) {
	if v == nil || depth > maxValueDepth || len(to.routes) > maxItems {
		return
	}
	v, m = p.into(v, m, nil, 0)
	switch {
	case v == nil:
	case v.Kind == list:
		for _, item := range v.Items {
			p.matchers(to, item, m, depth+1)
		}
	case v.Kind == object:
		pattern := p.texts(v.field("matcher"), m, 0)
		if len(pattern) != 1 {
			return
		}
		r := matcher{pattern: pattern[0], in: m}
		methods := v.field("methods")
		if methods == nil {
			methods = v.field("method")
		}
		r.everywhere = methods == nil
		r.methods = p.texts(methods, m, 0)
		if handlers, in := p.into(orNone(v.field("middlewares")), m, nil, 0); handlers != nil && handlers.Kind == list {
			r.handlers, r.in = handlers.Items, in
		}
		to.routes = append(to.routes, r)
	}
}

func orNone(v *value) *value {
	if v == nil {
		return &value{}
	}
	return v
}

// behindMatcher is the verdict on an export of a route, by what Medusa runs before it.
func (p *project) behindMatcher(m *module, method string, v verdict) verdict {
	if v.state < unfollowed || v.state == gated || v.state == public {
		return v
	}
	found := p.medusaOf(m.file)
	if found == nil {
		return v
	}
	p.beyond = true
	route := routeSegments(strings.TrimPrefix(slashed(m.file), found.base))
	for i := range found.routes {
		r := &found.routes[i]
		if r.covers(method, route) && slices.ContainsFunc(r.handlers, func(h *value) bool { return p.medusaGate(h, r.in) }) {
			return verdict{state: gated}
		}
	}
	if p.adminByDefault(m, route) {
		return verdict{state: gated}
	}
	return v
}

// adminByDefault holds of routes that Medusa puts behind authenticate(…) by itself.
// Who opts out exports AUTHENTICATE; what it is set to is not looked at.
func (p *project) adminByDefault(m *module, route []string) bool {
	_, told := m.Exports["AUTHENTICATE"]
	return len(route) > 0 && route[0] == "admin" && !told && len(m.Stars) == 0 && p.scanner.declared.middleware[authenticate]
}

const authenticate = "authenticate"

// medusaGate reports whether middleware is a gate. Medusa's own lets everybody pass where
// its options say so, or cannot be read.
func (p *project) medusaGate(v *value, m *module) bool {
	d, in := p.into(v, m, nil, 0)
	if d == nil {
		return p.isGate(v, m, 0)
	}
	if d.Kind == list {
		return slices.ContainsFunc(d.Items, func(item *value) bool { return p.medusaGate(item, in) })
	}
	if d.Kind == call && len(d.Path) > 0 && d.Path[len(d.Path)-1] == authenticate {
		for _, l := range d.Links {
			for _, a := range l.Args[min(2, len(l.Args)):] {
				o, _ := p.into(a, in, nil, 0)
				if o == nil || o.Kind != object || o.field("allowUnauthenticated") != nil || o.field("...") != nil {
					return false
				}
			}
		}
	}
	return p.isGate(v, m, 0) || p.isGate(d, in, 0)
}

// routeSegments are those of the path that a file of routes serves.
func routeSegments(file string) []string {
	all := strings.Split(file, "/")
	all = all[:len(all)-1]
	for i, s := range all {
		if name, ok := strings.CutPrefix(s, "["); ok && strings.HasSuffix(name, "]") {
			all[i] = ":" + strings.TrimSuffix(name, "]")
		}
	}
	return all
}

// covers reports whether the middleware runs before a route. Patterns beyond segments, ":x" and
// "*" are not read: they cover nothing. Where methods are named Medusa puts what is written
// out before parameters, so that "/orders/:id" comes too late for "/orders/count".
func (r *matcher) covers(method string, route []string) bool {
	below := r.everywhere || slices.ContainsFunc(r.methods, func(m string) bool { return strings.EqualFold(m, "USE") })
	if !below && !slices.ContainsFunc(r.methods, func(m string) bool { return strings.EqualFold(m, method) || strings.EqualFold(m, "ALL") }) {
		return false
	}
	want := strings.FieldsFunc(r.pattern, func(c rune) bool { return c == '/' })
	for i, s := range want {
		last := i == len(want)-1
		start, open := strings.CutSuffix(s, "*")
		if strings.ContainsAny(start, `*()[]{}?+!\^$|`) || open && !last && start != "" || open && strings.HasPrefix(start, ":") || i >= len(route) {
			return false
		}
		parameter := strings.HasPrefix(route[i], ":")
		switch {
		case open && last:
			return strings.HasPrefix(route[i], start) && (start == "" || !parameter)
		case open:
		case strings.HasPrefix(s, ":"):
			if !r.everywhere && !parameter {
				return false
			}
		case s != route[i]:
			return false
		}
	}
	return below || len(want) == len(route)
}
