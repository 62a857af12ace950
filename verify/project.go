package verify

import (
	"strings"
)

// project is what the files of a run say together: it follows imports and judges server
// functions (spec: verifier §14). It is used by one goroutine.
type project struct {
	scanner *Scanner
	modules map[string]*module // by file; nil for one that cannot be read
	mounts  map[routerID][]mount
	routers map[*module]map[string]*router
	gates   map[*router][]int  // the events that put a gate before what follows
	medusas map[string]*medusa // by folder; nil where there is none
	guarded bool               // NestJS asks a declared guard before every request

	beyond bool // another file was read since it was last set to false
}

// routerID is a router of the project.
type routerID struct{ file, id string }

// mount is where a router is put into another one.
type mount struct {
	parent routerID
	event  int
	gated  bool // by what stands before it in the same call
}

// maxSteps bounds how far names are followed.
const maxSteps = 48

func newProject(s *Scanner, reports []FileReport) *project {
	p := &project{scanner: s, modules: map[string]*module{}, mounts: map[routerID][]mount{}, medusas: map[string]*medusa{},
		routers: map[*module]map[string]*router{}, gates: map[*router][]int{}}
	for i := range reports {
		if m := reports[i].Module; m != nil {
			m.file = reports[i].File
			p.modules[m.file] = m
		}
	}
	for i := range reports {
		if m := reports[i].Module; m != nil {
			p.mount(m)
			for _, g := range m.Guards {
				p.guarded = p.guarded || p.isGate(g, m, 0)
			}
		}
	}
	return p
}

// load is the module that a file means by an import, nil where it is not followed.
func (p *project) load(from *module, specifier string) *module {
	resolve := p.scanner.config.Exports.Resolve
	if resolve == nil || specifier == "" {
		return nil
	}
	file := resolve(from.file, specifier)
	if file == "" {
		return nil
	}
	p.beyond = true
	m, known := p.modules[file]
	if !known {
		m = p.scanner.module(file)
		p.modules[file] = m
	}
	return m
}

// follow finds what a path means in a module. It ends at what is no name, or at a name
// that it cannot follow, for which it answers nil.
func (p *project) follow(m *module, path []string, steps int) (*value, *module) {
	if len(path) == 0 || steps > maxSteps {
		return nil, nil
	}
	if name, ok := exportReference(path[:1]); ok {
		return p.export(m, name, path[1:], steps+1)
	}
	if v := m.Decls[path[0]]; v != nil {
		return p.into(v, m, path[1:], steps+1)
	}
	b, ok := m.Imports[path[0]]
	if !ok {
		return nil, nil
	}
	return p.imported(p.load(m, b.From), b.Name, path[1:], steps+1)
}

func (p *project) imported(m *module, name string, rest []string, steps int) (*value, *module) {
	switch {
	case m == nil:
		return nil, nil
	case name != "*":
		return p.export(m, name, rest, steps)
	case len(rest) == 0:
		return nil, nil
	}
	return p.export(m, rest[0], rest[1:], steps)
}

// export follows an export of a module.
func (p *project) export(m *module, name string, rest []string, steps int) (*value, *module) {
	if steps > maxSteps {
		return nil, nil
	}
	b, ok := m.Exports[name]
	switch {
	case ok && b.From != "":
		return p.imported(p.load(m, b.From), b.Name, rest, steps+1)
	case ok:
		return p.follow(m, append([]string{b.Name}, rest...), steps+1)
	}
	if name == "default" {
		return nil, nil
	}
	for _, from := range m.Stars {
		if to := p.load(m, from); to != nil {
			if v, in := p.export(to, name, rest, steps+1+len(m.Stars)/4); v != nil {
				return v, in
			}
		}
	}
	return nil, nil
}

// into goes on from a value along the rest of a path.
func (p *project) into(v *value, m *module, rest []string, steps int) (*value, *module) {
	if steps > maxSteps {
		return nil, nil
	}
	switch {
	case v.Kind == reference && v.Router == "":
		d, in := p.follow(m, append(append([]string{}, v.Path...), rest...), steps+1)
		if d == nil && len(rest) == 0 {
			return v, m // its names may be declared
		}
		return d, in
	case len(rest) == 0:
		return v, m
	case v.Kind == object:
		if f := v.field(rest[0]); f != nil {
			return p.into(f, m, rest[1:], steps+1)
		}
	case v.Kind == call && len(v.Links) == 1 && v.Links[0].Name == "new" && v.Router == "":
		if class, in := p.follow(m, v.Path, steps+1); class != nil && class.Kind == object {
			return p.into(class, in, rest, steps+1)
		}
	}
	return nil, nil
}

// definition is what the root of a chain or a name is in the project, nil where it is
// not followed, or where it is no alias of anything.
func (p *project) definition(v *value, m *module, steps int) (*value, *module) {
	if v.Kind != reference && v.Kind != call || len(v.Path) == 0 {
		return nil, nil
	}
	// The last name of a chain is a method of what comes before, where that is known.
	if d, in := p.follow(m, v.Path, steps); d != nil {
		return d, in
	}
	if v.Kind == call && len(v.Path) > 1 {
		return p.follow(m, v.Path[:len(v.Path)-1], steps)
	}
	return nil, nil
}

// names are all exports of a module, those of its stars included.
func (p *project) names(m *module, steps int) []string {
	if m == nil || steps > maxSteps/4 {
		return nil
	}
	all := sortedKeys(m.Exports)
	for _, from := range m.Stars {
		for _, name := range p.names(p.load(m, from), steps+1) {
			if name != "default" {
				all = append(all, name)
			}
		}
	}
	return all
}

// router is the router that a value is, if any.
func (p *project) router(v *value, m *module, steps int) (routerID, bool) {
	if v == nil || steps > maxSteps {
		return routerID{}, false
	}
	if v.Router != "" {
		return routerID{m.file, v.Router}, true
	}
	switch v.Kind {
	case reference:
		if d, in := p.follow(m, v.Path, steps+1); d != nil && (d.Kind != reference || d.Router != "") {
			return p.router(d, in, steps+1)
		}
	case call:
		if d, in := p.follow(m, v.Path, steps+1); d != nil && d.Kind != reference {
			if id, ok := p.router(d, in, steps+1); ok {
				return id, true
			}
		}
		// A plugin inside a wrapper, as fp(plugin).
		if len(v.Links) == 1 && len(v.Links[0].Args) > 0 && v.Links[0].Args[0].Router != "" {
			return routerID{m.file, v.Links[0].Args[0].Router}, true
		}
	case list:
		for _, item := range v.Items {
			if id, ok := p.router(item, m, steps+1); ok {
				return id, true
			}
		}
	}
	return routerID{}, false
}

// identity is the router that a module's router is: an imported name is that of another
// file. False where it is none.
func (p *project) identity(m *module, r *router) (routerID, bool) {
	name, ok := strings.CutPrefix(r.ID, "import ")
	if !ok {
		return routerID{m.file, r.ID}, true
	}
	v, in := p.follow(m, strings.Split(name, "."), 0)
	return p.router(v, in, 0)
}

// mount notes what routers of a module are put into others.
func (p *project) mount(m *module) {
	for i := range m.Routers {
		parent, ok := p.identity(m, &m.Routers[i])
		if !ok {
			continue
		}
		for n, e := range m.Routers[i].Events {
			if e.Route {
				continue
			}
			gated := false
			for _, h := range e.Handlers {
				if child, ok := p.router(h, m, 0); ok && child != parent {
					p.mounts[child] = append(p.mounts[child], mount{parent: parent, event: n, gated: gated})
				} else {
					gated = gated || p.isGate(h, m, 0)
				}
			}
		}
	}
}

// events are those of a router in the file that makes it.
func (p *project) events(id routerID) (*router, *module) {
	m := p.modules[id.file]
	if m == nil {
		return nil, nil
	}
	byID := p.routers[m]
	if byID == nil {
		byID = map[string]*router{}
		for i := range m.Routers {
			byID[m.Routers[i].ID] = &m.Routers[i]
		}
		p.routers[m] = byID
	}
	return byID[id.id], m
}

// gatesOf are the events of a router that put a gate before what follows.
func (p *project) gatesOf(r *router, m *module) []int {
	found, known := p.gates[r]
	if !known {
		for i := range r.Events {
			if e := &r.Events[i]; !e.Route && p.putsGate(e, m) {
				found = append(found, i)
			}
		}
		p.gates[r] = found
	}
	return found
}

// gatedAt reports whether what is put into a router after so many events is behind a
// gate: one that was put there before for its path, or everywhere that the router is
// mounted. Events of all is -1.
func (p *project) gatedAt(id routerID, before int, path string, unclear bool, seen map[routerID]bool) bool {
	r, m := p.events(id)
	if r != nil {
		for _, i := range p.gatesOf(r, m) {
			if before >= 0 && i >= before {
				break
			}
			if e := &r.Events[i]; e.Anywhere || !e.Unclear && covers(e.Path, path, unclear, r.Exact) {
				return true
			}
		}
	}
	mounts := p.mounts[id]
	if len(mounts) == 0 || seen[id] {
		return false
	}
	seen[id] = true
	defer delete(seen, id)
	for _, at := range mounts {
		if at.gated {
			continue
		}
		parent, _ := p.events(at.parent)
		var e event
		if parent != nil && at.event < len(parent.Events) {
			e = parent.Events[at.event]
		}
		if !p.gatedAt(at.parent, at.event, join(e.Path, path), unclear || e.Unclear, seen) {
			return false
		}
	}
	return true
}

// putsGate reports whether an event puts a gate before what follows: middleware that
// gates, and mounts no router.
func (p *project) putsGate(e *event, m *module) bool {
	gate := false
	for _, h := range e.Handlers {
		if _, ok := p.router(h, m, 0); ok {
			return false
		}
		gate = gate || p.isGate(h, m, 0)
	}
	return gate
}

func join(a, b string) string {
	return strings.TrimSuffix(strings.TrimSuffix(a, "*"), "/") + "/" + strings.TrimPrefix(b, "/")
}

// covers reports whether middleware at a path runs before a route at another.
func covers(gate, route string, unclear, exact bool) bool {
	open := !exact || strings.HasSuffix(gate, "*")
	gate = strings.TrimSuffix(gate, "*")
	want := strings.Split(strings.Trim(gate, "/"), "/")
	if want[0] == "" {
		return open || strings.Trim(route, "/") == "" && !unclear
	}
	if unclear {
		return false
	}
	have := strings.Split(strings.Trim(route, "/"), "/")
	if len(have) < len(want) || !open && len(have) != len(want) {
		return false
	}
	for i, segment := range want {
		if segment != have[i] && segment != "*" && !strings.HasPrefix(segment, ":") {
			return false
		}
	}
	return true
}
