package verify

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// wrapper guesses what an unknown wrapper is.
func (g *guesser) wrapper(name string, asked []ask) {
	if g.taken[name] || name == "(…)" || len(asked) == 0 {
		return
	}
	g.taken[name] = true
	guess := Guess{Name: name, Count: len(asked)}
	definition, in := g.definitionOf(name, asked)
	why := g.refusal(definition, in, 0, map[*value]bool{})
	where := ""
	if in != nil {
		where = " (" + in.file + ")"
	}
	switch {
	case publicName.MatchString(name):
		guess.Reason = "its name says that it is public" + where
		g.found.PublicWrappers = append(g.found.PublicWrappers, guess)
	case maybeName.MatchString(name):
		guess.Reason = "its name says that it lets everybody through" + where
		g.found.PassThroughWrappers = append(g.found.PassThroughWrappers, guess)
	case why != "":
		guess.Reason = "it refuses: " + why + where
		g.found.GateWrappers = append(g.found.GateWrappers, guess)
	case definition == nil && authName.MatchString(name):
		guess.Reason = "its name says that it refuses; what it does was not found"
		g.found.GateWrappers = append(g.found.GateWrappers, guess)
	case definition == nil:
		guess.Reason = "nothing says that it refuses; what it does was not found"
		g.found.PassThroughWrappers = append(g.found.PassThroughWrappers, guess)
	default:
		guess.Reason = "nothing in it refuses" + where
		g.found.PassThroughWrappers = append(g.found.PassThroughWrappers, guess)
	}
}

// refusal is how a value refuses, "" where it does not: itself, in what it is made of,
// or by what it calls.
func (g *guesser) refusal(v *value, m *module, depth int, seen map[*value]bool) string {
	if v == nil || depth > 5 || seen[v] {
		return ""
	}
	seen[v] = true
	if v.body != nil {
		if v.body.refuses != "" {
			return v.body.refuses
		}
		for _, called := range v.body.calls {
			if depth > 3 || depth > 0 && !mayRefuse(last(called)) {
				continue
			}
			if d, in := g.project.follow(m, strings.Split(called, "."), 0); d != nil && d.Kind == function {
				if why := g.refusal(d, in, depth+1, seen); why != "" {
					return why
				}
			}
		}
		return ""
	}
	why := ""
	v.children(func(c *value) {
		if why == "" {
			why = g.refusal(c, m, depth+1, seen)
		}
	})
	if why == "" && (v.Kind == call || v.Kind == reference) {
		if d, in := g.project.follow(m, v.Path, 0); d != nil && d != v {
			why = g.refusal(d, in, depth+1, seen)
		}
	}
	return why
}

// middleware guesses which middleware of routers and which guards of NestJS are gates.
func (g *guesser) middleware() {
	seen := map[string][]ask{}
	note := func(v *value, in *module) {
		g.flat(v, func(v *value) {
			if (v.Kind == reference || v.Kind == call) && len(v.Path) > 0 {
				if _, router := g.project.router(v, in, 0); !router {
					name := strings.Join(v.Path, ".")
					seen[name] = append(seen[name], ask{v, in})
				}
			}
		})
	}
	for i := range g.reports {
		m := g.reports[i].Module
		if m == nil {
			continue
		}
		for _, r := range m.Routers {
			for _, e := range r.Events {
				handlers := e.Handlers
				if e.Route && len(handlers) > 0 {
					handlers = handlers[:len(handlers)-1]
				}
				for _, h := range handlers {
					note(h, m)
				}
			}
		}
		for _, s := range m.Served {
			for _, v := range s.Around {
				if len(v.Links) > 0 && last(strings.Join(v.Path, ".")) == "UseGuards" {
					for _, a := range v.Links[0].Args {
						note(a, m)
					}
				} else if len(v.Path) > 0 && !handlerDecorators[v.Path[len(v.Path)-1]] && !controllers[v.Path[len(v.Path)-1]] {
					g.decorator(v, m, seen)
				}
			}
		}
		for _, v := range m.Guards {
			note(v, m)
		}
		if len(m.Served) > 0 {
			g.project.medusaOf(m.file)
		}
	}
	for _, base := range slices.Sorted(maps.Keys(g.project.medusas)) {
		if found := g.project.medusas[base]; found != nil {
			for _, r := range found.routes {
				for _, h := range r.handlers {
					note(h, r.in)
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		if g.taken[name] {
			continue
		}
		a := seen[name][0]
		guess := Guess{Name: name, Count: len(seen[name])}
		why := g.refusal(a.value, a.in, 0, map[*value]bool{})
		d, in := g.project.follow(a.in, a.value.Path, 0)
		class := d != nil && d.Kind == object && d.field("canActivate") != nil
		external := d == nil && (authName.MatchString(name) || strings.HasSuffix(name, "Guard")) && !strings.Contains(strings.ToLower(name), "thrott")
		switch {
		case why != "":
			guess.Reason = "it refuses: " + why
		case class && authName.MatchString(name), external:
			guess.Reason = "its name says that it refuses"
		default:
			continue
		}
		if in != nil {
			guess.Reason += " (" + in.file + ")"
		}
		g.taken[name] = true
		g.found.GateMiddleware = append(g.found.GateMiddleware, guess)
	}
}

// decorator notes a decorator that is made of guards, or says that its method is public.
func (g *guesser) decorator(v *value, m *module, seen map[string][]ask) {
	name := strings.Join(v.Path, ".")
	d, _ := g.project.follow(m, v.Path, 0)
	guards := d != nil && d.body != nil && slices.ContainsFunc(d.body.calls, func(c string) bool { return last(c) == "UseGuards" })
	switch {
	case publicName.MatchString(name) && !g.taken[name]:
		g.taken[name] = true
		g.found.PublicWrappers = append(g.found.PublicWrappers, Guess{Name: name, Count: 1, Reason: "its name says that it is public"})
	case guards && !g.taken[name]:
		g.taken[name] = true
		g.found.GateMiddleware = append(g.found.GateMiddleware, Guess{Name: name, Count: 1, Reason: "it is made of UseGuards"})
	case d == nil && regexp.MustCompile(`(?i)^(require|auth|roles?$|permissions?$|secured?$)`).MatchString(name):
		seen[name] = append(seen[name], ask{v, m})
	}
}
