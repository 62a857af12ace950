package verify

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

// concludeExports judges what the files serve and resolves constants, then applies the
// pragmas. The reports are finished in place.
func (s *Scanner) concludeExports(reports []FileReport) {
	p := newProject(s, reports)
	behind := map[string]*wrapped{}
	var names []string
	for i := range reports {
		r := &reports[i]
		r.Judged = &Judged{}
		if r.Module == nil {
			continue
		}
		p.constants(r)
		c := &counter{project: p, report: r, judged: r.Judged, exempt: r.Skipped != nil || s.declared.exempts(slashed(r.File))}
		c.unknown = func(name string, f Finding) {
			if behind[name] == nil {
				behind[name] = &wrapped{report: i, first: f}
				names = append(names, name)
			}
			behind[name].count++
		}
		c.all()
	}
	for _, name := range names {
		w := behind[name]
		w.first.Rule, w.first.Severity = RuleUnknownWrapper, authz.SeverityError
		w.first.Message = unknownWrapper(name, w.count)
		reports[w.report].Findings = append(reports[w.report].Findings, w.first)
	}
	for i := range reports {
		r := &reports[i]
		if r.Module != nil {
			if r.Skipped == nil {
				r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool { return f.Rule == "" })
				r.Findings = Suppress(r.File, r.Findings, r.Module.Pragmas)
			}
			r.Module = nil
		}
	}
}

// wrapped counts what an unknown wrapper wraps.
type wrapped struct {
	report, count int
	first         Finding
}

func unknownWrapper(name string, count int) string {
	functions := " server functions"
	if count == 1 {
		functions = " server function"
	}
	return spell.Quote(name) + " stands around " + strconv.Itoa(count) + functions + " and is not declared — list it in gateWrappers if it refuses " +
		"who may not, in passThroughWrappers if it only hands on, in publicWrappers if what it wraps is public"
}

// counter judges the server functions of one file.
type counter struct {
	project *project
	report  *FileReport
	judged  *Judged
	exempt  bool
	unknown func(name string, at Finding)

	// looked and open, where set, are told what is judged next, and that it has no gate.
	looked func(*value, *module)
	open   func()
}

func (c *counter) look(v *value, in *module) {
	if c.looked != nil {
		c.looked(v, in)
	}
}

func (c *counter) all() {
	m := c.report.Module
	for i := range m.Served {
		f := &m.Served[i]
		c.project.beyond = f.How != byExport
		c.look(f.Value, m)
		switch {
		case f.Star != "":
			c.star(f)
		case f.Exempt:
			c.take(f.Name, f.How, f.Line, f.Column, verdict{state: public})
		case f.How == byProcedure && !c.project.isProcedure(f.Value, m, 0):
		case f.How == byDecorator:
			c.take(f.Name, f.How, f.Line, f.Column, c.project.decorated(f, m))
		default:
			v := c.project.judge(f.Value, m, 0)
			if v.state == unfollowed {
				v = c.unfollowed(f)
			}
			if f.Of == routeExports && f.How == byExport {
				v = c.project.behindMatcher(m, f.Name, v)
			}
			c.take(f.Name, f.How, f.Line, f.Column, v)
		}
	}
	for i := range m.Routers {
		c.routes(&m.Routers[i])
	}
}

// unfollowed is the verdict on an export that leads where nothing is followed: nothing
// where it can be no function.
func (c *counter) unfollowed(f *served) verdict {
	v, _ := c.project.into(f.Value, c.report.Module, nil, 0)
	if v != nil && v.Kind != other && v.Kind != reference && f.Of != routeExports {
		return verdict{state: -1}
	}
	if f.Value.Kind == other && f.Of == everyExport {
		return verdict{state: -1}
	}
	name := f.Name
	if f.Value.Kind == reference {
		name = strings.Join(f.Value.Path, ".")
		if exported, ok := exportReference(f.Value.Path); ok {
			name = exported
			if b := c.report.Module.Exports[exported]; b.From != "" {
				name = b.From
			} else if b := c.report.Module.Imports[b.Name]; b.From != "" {
				name = b.From
			}
		}
	}
	return verdict{unknown, name}
}

func (c *counter) star(f *served) {
	m := c.report.Module
	target := c.project.load(m, f.Star)
	if target == nil {
		c.take(f.Star, byExport, f.Line, f.Column, verdict{unknown, f.Star})
		return
	}
	for _, name := range c.project.names(target, 0) {
		is, exempt := f.Of.serves(name)
		if !is || name == "default" {
			continue
		}
		if exempt {
			c.take(name, byExport, f.Line, f.Column, verdict{state: public})
			continue
		}
		v, in := c.project.export(target, name, nil, 0)
		if v == nil || v.Kind != function && v.Kind != call {
			continue
		}
		c.look(v, in)
		judged := c.project.judge(v, in, 0)
		if f.Of == routeExports {
			judged = c.project.behindMatcher(m, name, judged)
		}
		c.take(name, byExport, f.Line, f.Column, judged)
	}
}

func (c *counter) routes(r *router) {
	p, m := c.project, c.report.Module
	id, ok := p.identity(m, r)
	if !ok {
		return
	}
	for i := range r.Events {
		e := &r.Events[i]
		if !e.Route {
			continue
		}
		v := verdict{state: public}
		if len(e.Handlers) > 0 {
			c.look(e.Handlers[len(e.Handlers)-1], m)
		}
		if !e.Exempt {
			v = p.route(id, r, i, m)
		}
		p.beyond = true
		c.take(e.Name, byDecorator, e.Line, e.Column, v)
	}
}

// route judges a route: by the gates before it, by what stands in it, by its handler.
func (p *project) route(id routerID, r *router, at int, m *module) verdict {
	e := &r.Events[at]
	for _, h := range e.Handlers {
		if p.isGate(h, m, 0) {
			return verdict{state: gated}
		}
	}
	before := at
	if strings.HasPrefix(r.ID, "import ") {
		// What another file put into its router was there before; what this file did
		// itself comes in its own order.
		for _, i := range p.gatesOf(r, m) {
			if g := &r.Events[i]; i < at && (g.Anywhere || !g.Unclear && covers(g.Path, e.Path, e.Unclear, r.Exact)) {
				return verdict{state: gated}
			}
		}
		before = -1
	}
	if p.gatedAt(id, before, e.Path, e.Unclear, map[routerID]bool{}) {
		return verdict{state: gated}
	}
	if len(e.Handlers) == 0 {
		return verdict{state: ungated}
	}
	if slices.ContainsFunc(e.Handlers, func(h *value) bool { return p.said(h) == public }) {
		return verdict{state: public}
	}
	v := p.judge(e.Handlers[len(e.Handlers)-1], m, 0)
	if v.state == unfollowed {
		v.state = ungated
	}
	return v
}

// isProcedure reports whether a chain is one of tRPC: its root is named so, declared,
// or an alias of such a chain.
func (p *project) isProcedure(v *value, m *module, steps int) bool {
	if v == nil || steps > 12 || v.Kind != call && v.Kind != reference {
		return false
	}
	d := &p.scanner.declared
	if has(d.gate, v) || has(d.pass, v) || has(d.public, v) ||
		slices.ContainsFunc(v.Path, func(name string) bool { return strings.HasSuffix(strings.ToLower(name), "procedure") }) {
		return true
	}
	next, in := p.definition(v, m, 0)
	return next != v && p.isProcedure(next, in, steps+1)
}

// decorated judges a method of a controller.
func (p *project) decorated(f *served, m *module) verdict {
	if f.Value.Gated || f.Value.Refuses {
		return verdict{state: gated}
	}
	for _, v := range f.Around {
		if p.said(v) == public {
			return verdict{state: public}
		}
	}
	for _, v := range f.Around {
		if v.Gated || p.said(v) == gated || has(p.scanner.declared.middleware, v) || p.decoratorGates(v, m, 0) {
			return verdict{state: gated}
		}
	}
	if p.guarded {
		return verdict{state: gated}
	}
	return verdict{state: ungated}
}

// decoratorGates reports whether a decorator is given a declared guard, or made of one
// that is.
func (p *project) decoratorGates(v *value, m *module, depth int) bool {
	if v == nil || depth > 8 || v.Kind != call {
		return false
	}
	if v.Path[len(v.Path)-1] == "UseGuards" {
		for _, l := range v.Links {
			if slices.ContainsFunc(l.Args, func(a *value) bool { return p.isGate(a, m, depth+1) }) {
				return true
			}
		}
		return false
	}
	d, in := p.follow(m, v.Path, 0)
	return d != nil && d.Kind == function && d.Gated && in != nil
}

// take counts a server function and reports it where it has no gate.
func (c *counter) take(name string, how how, line, column int, v verdict) {
	if v.state < unfollowed {
		return
	}
	c.judged.ServerFunctions++
	finding := Finding{Severity: authz.SeverityError, Rule: RuleUngatedAction, File: c.report.File, Line: line, Column: column, Beyond: c.project.beyond}
	excused := func(rule Rule) bool {
		return slices.ContainsFunc(c.report.Module.Pragmas[line], func(s Suppression) bool { return s.Rule == rule })
	}
	switch {
	case v.state == gated:
		c.judged.Gated++
	case v.state == public || c.exempt:
		c.judged.Exempt++
	case v.state == unknown && excused(RuleUnknownWrapper):
		c.judged.Exempt++
		finding.Rule, finding.Message = RuleUnknownWrapper, unknownWrapper(v.wrapper, 1)
		c.report.Findings = append(c.report.Findings, finding)
	case v.state == unknown:
		c.judged.UnknownWrappers++
		finding.Beyond = true // what it is called, and whether it is first, others decide
		c.unknown(v.wrapper, finding)
	default:
		if c.open != nil {
			c.open()
		}
		if excused(RuleUngatedAction) {
			c.judged.Exempt++
		} else {
			c.judged.Findings++
		}
		finding.Message = ungatedMessage(name, how)
		c.report.Findings = append(c.report.Findings, finding)
	}
}

func ungatedMessage(name string, how how) string {
	if name != anonymous {
		name = spell.Echo(name)
	}
	if how == byExport {
		return `exported server action "` + name + `" contains no gate — every action gates on a concrete permission before doing work`
	}
	return `server function "` + name + `" contains no gate, and none stands before it — every server function gates on a concrete permission before doing work`
}

// constants judges the arguments of gates that are constants of the project.
func (p *project) constants(r *FileReport) {
	m := r.Module
	keys, patterns := map[string]bool{}, map[string]bool{}
	for _, pending := range m.Pending {
		var conditional []string
		lastIsText := false
		for _, a := range pending.Arguments {
			if a.Place < 0 {
				conditional = append(conditional, a.Conditional)
				continue
			}
			p.beyond = false
			texts := p.texts(a.Value, m, 0)
			lastIsText = len(texts) > 0
			for i, v := range texts {
				said := p.scanner.judge.Literal(v, pending.Use)
				if said.Key != "" {
					keys[said.Key] = true
				}
				if said.Pattern != "" {
					patterns[said.Pattern] = true
				}
				if said.Conditional {
					conditional = append(conditional, spell.Quote(said.Key))
				}
				if said.Rule != "" && i == 0 {
					f := &r.Findings[a.Place]
					f.Severity, f.Rule, f.Message, f.Instead, f.Beyond = said.Severity, said.Rule, said.Message, said.Instead, p.beyond
				}
			}
		}
		if pending.Condition >= 0 && len(conditional) > 0 && (lastIsText || !pending.LastIsText) {
			f := &r.Findings[pending.Condition]
			f.Severity, f.Rule, f.Message, f.Beyond = authz.SeverityError, RuleMissingCondition, MissingCondition(conditional), true
		}
	}
	if len(keys)+len(patterns) > 0 {
		for _, k := range r.Keys {
			keys[k] = true
		}
		for _, k := range r.Patterns {
			patterns[k] = true
		}
		r.Keys, r.Patterns = sorted(keys), sorted(patterns)
	}
}

// texts are the strings that a value is: one, or those of an array.
func (p *project) texts(v *value, m *module, depth int) []string {
	if v == nil || depth > 4 {
		return nil
	}
	d, in := p.into(v, m, nil, 0)
	if d == nil {
		return nil
	}
	switch d.Kind {
	case text:
		return []string{d.Text}
	case list:
		var all []string
		for _, item := range d.Items {
			all = append(all, p.texts(item, in, depth+1)...)
		}
		return all
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
