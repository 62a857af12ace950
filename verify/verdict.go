package verify

import (
	"slices"
	"strings"
)

// state is what becomes of a server function.
type state int

const (
	unfollowed state = iota // nothing that can be judged
	ungated
	unknown // behind a wrapper that is not declared
	public
	gated
)

// verdict is a state, and the wrapper that is unknown.
type verdict struct {
	state   state
	wrapper string
}

// builders are methods of chains that change nothing about who may call.
var builders = wordSet("input output meta query mutation subscription action stateAction handler schema inputSchema outputSchema metadata " +
	"bindArgsSchemas bindArgs bind concat unstable_concat procedure errors route callable handle server")

// judge decides what a server function's value is (spec: verifier §14.2).
func (p *project) judge(v *value, m *module, depth int) verdict {
	if v == nil || depth > maxValueDepth {
		return verdict{}
	}
	switch v.Kind {
	case function:
		if v.Gated || v.Refuses {
			return verdict{state: gated}
		}
		return verdict{state: ungated}
	case reference:
		return p.judgeReference(v, m, depth)
	case call:
		return p.judgeCall(v, m, depth)
	case list:
		return p.worst(v.Items, m, depth)
	}
	if v.Gated {
		return verdict{state: gated}
	}
	return verdict{}
}

func (p *project) judgeReference(v *value, m *module, depth int) verdict {
	if s := p.said(v); s != unfollowed {
		return verdict{state: s}
	}
	d, in := p.follow(m, v.Path, 0)
	if d == nil {
		return verdict{}
	}
	if d.Kind == reference {
		return verdict{}
	}
	return p.judge(d, in, depth+1)
}

// worst is the verdict of what may be any of several.
func (p *project) worst(items []*value, m *module, depth int) verdict {
	least := verdict{}
	for i, item := range items {
		got := p.judge(item, m, depth+1)
		if i == 0 || least.state == unfollowed || got.state != unfollowed && got.state < least.state {
			least = got
		}
	}
	return least
}

// said is what the configuration says of the names of a value.
func (p *project) said(v *value) state {
	d := &p.scanner.declared
	switch {
	case has(d.gate, v):
		return gated
	case has(d.public, v):
		return public
	}
	return unfollowed
}

func (p *project) judgeCall(v *value, m *module, depth int) verdict {
	if v.Gated {
		return verdict{state: gated}
	}
	if s := p.said(v); s != unfollowed {
		return verdict{state: s}
	}
	if p.chainGates(v, m, depth) {
		return verdict{state: gated}
	}
	passes := has(p.scanner.declared.pass, v)
	name := wrapperName(v)
	if !passes {
		definition, in := p.definition(v, m, 0)
		alias := p.wrapper(definition, in, depth+1)
		switch alias.state {
		case gated, public:
			return alias
		case ungated:
			passes = true
		case unknown:
			name = alias.wrapper
		}
	}
	inner := p.inside(v, m, depth)
	switch {
	case inner.state == gated, inner.state == public:
		return inner
	case !passes:
		return verdict{unknown, name}
	case inner.state == unfollowed:
		return verdict{state: ungated} // whatever it hands on to, no gate was seen
	}
	return inner
}

// wrapper judges what a name means that wraps: gated for a gate, ungated where it lets
// through, unknown with the name to declare.
func (p *project) wrapper(d *value, m *module, depth int) verdict {
	if d == nil || depth > maxValueDepth {
		return verdict{}
	}
	if d.Gated && (d.Kind == function || d.Kind == call) {
		return verdict{state: gated}
	}
	if d.Kind != call && d.Kind != reference {
		return verdict{}
	}
	switch {
	case p.said(d) != unfollowed:
		return verdict{state: p.said(d)}
	case d.Kind == call && p.chainGates(d, m, depth):
		return verdict{state: gated}
	}
	// What only describes lets the root speak; what adds to it is a wrapper of its own.
	if slices.ContainsFunc(d.Links, func(l link) bool { return !builders[l.Name] }) {
		return verdict{}
	}
	if has(p.scanner.declared.pass, d) {
		return verdict{state: ungated}
	}
	next, in := p.definition(d, m, 0)
	if next == d {
		return verdict{}
	}
	if got := p.wrapper(next, in, depth+1); got.state != unfollowed || d.Kind == reference {
		return got
	}
	return verdict{unknown, wrapperName(d)}
}

// chainGates reports whether a link of a chain is given a gate.
func (p *project) chainGates(v *value, m *module, depth int) bool {
	for _, l := range v.Links {
		for _, a := range l.Args {
			if (a.Kind == reference || a.Kind == call || a.Kind == list) && l.Name == "use" && p.isGate(a, m, depth+1) {
				return true
			}
			if a.Kind != function && a.Kind != object && len(p.scanner.declared.middleware) > 0 && p.isMiddleware(a) {
				return true
			}
		}
	}
	return false
}

func (p *project) isMiddleware(v *value) bool {
	if v.Kind == list {
		return slices.ContainsFunc(v.Items, p.isMiddleware)
	}
	return (v.Kind == reference || v.Kind == call) && has(p.scanner.declared.middleware, v)
}

// inside judges the functions that a call is given.
func (p *project) inside(v *value, m *module, depth int) verdict {
	best := verdict{}
	take := func(got verdict) {
		switch {
		case got.state == gated || got.state == public:
			if best.state != gated {
				best = got
			}
		case best.state == gated || best.state == public:
		case got.state == unknown, best.state == unfollowed:
			best = got
		}
	}
	// The handler stands in the last call of a chain that has one.
	for _, l := range slices.Backward(v.Links) {
		if best.state != unfollowed {
			break
		}
		for _, a := range l.Args {
			switch a.Kind {
			case object:
				for _, f := range a.Fields {
					handles := f.Value.Kind == call && (httpMethods[f.Name] || f.Name == "handler")
					if f.Value.Kind == function || f.Value.Kind == reference || handles {
						if got := p.judge(f.Value, m, depth+1); handles || got.state != unknown {
							take(got)
						}
					}
				}
			case function, reference, list:
				take(p.judge(a, m, depth+1))
			case call:
				if got := p.judgeCall(a, m, depth+1); got.state != unknown || holdsFunction(a, 0) {
					take(got)
				}
			}
		}
	}
	return best
}

// holdsFunction reports whether a call is given a function somewhere.
func holdsFunction(v *value, depth int) bool {
	if depth > maxValueDepth {
		return false
	}
	for _, l := range v.Links {
		for _, a := range l.Args {
			if a.Kind == function || a.Kind == call && holdsFunction(a, depth+1) {
				return true
			}
		}
	}
	return false
}

// wrapperName is the name by which a wrapper is told and declared: the path that is
// called, without a method that only builds.
func wrapperName(v *value) string {
	path := v.Path
	if len(path) > 1 && (builders[path[len(path)-1]] || path[len(path)-1] == "use") {
		path = path[:len(path)-1]
	}
	if len(path) == 0 {
		return "(…)"
	}
	return strings.Join(path, ".")
}

// isGate reports whether a value is a gate for what runs behind it: declared, or with a
// recognised call in it or in what it is defined as (spec: verifier §14.3).
func (p *project) isGate(v *value, m *module, depth int) bool {
	if v == nil || depth > maxValueDepth {
		return false
	}
	switch v.Kind {
	case function:
		return v.Gated || v.Refuses
	case object:
		return slices.ContainsFunc(v.Fields, func(f field) bool {
			return (hooks[f.Name] || f.Name == "middleware" || f.Name == "preHandlers") && p.isGate(f.Value, m, depth+1)
		})
	case list:
		return slices.ContainsFunc(v.Items, func(item *value) bool { return p.isGate(item, m, depth+1) })
	case reference, call:
	default:
		return v.Gated
	}
	d := &p.scanner.declared
	if v.Gated || has(d.middleware, v) || has(d.gate, v) {
		return true
	}
	if v.Router != "" {
		return false
	}
	if v.Kind == call {
		for _, l := range v.Links {
			if slices.ContainsFunc(l.Args, func(a *value) bool { return a.Kind == object && p.isGate(a, m, depth+1) }) {
				return true
			}
		}
	}
	next, in := p.follow(m, v.Path, 0)
	return next != nil && next.Router == "" && next != v && next.Kind != object && p.isGate(next, in, depth+1)
}
