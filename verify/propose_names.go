package verify

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// knownGates refuse whoever cannot sign, in libraries that many use.
var knownGates = wordSet("constructEvent constructEventAsync timingSafeEqual jwtVerify unsealData verifyWebhookSignature")

// generic are names that mean something else elsewhere.
var generic = wordSet("handler handle default main run execute exec process create update delete remove get set list find parse next json send use " +
	"GET POST PUT PATCH DELETE verify validate check safeParse parseAsync safeParseAsync then catch map push has is isArray")

// mayRefuse holds of names of functions that sound as if they could refuse, and do not
// only word how.
func mayRefuse(name string) bool {
	return gateName.MatchString(name) && gateNoun.MatchString(name) && !answers.MatchString(name) && !generic[name]
}

// caller is a function without a gate.
type caller struct {
	body    *inspection
	in      *module
	covered bool
}

// names guesses which functions gate that the open ones call: first those that refuse
// themselves, then those that answer whether somebody may, then those that tell who
// asks. Of the latter kinds the one that most functions call is taken first, and what
// then has a gate is not counted again.
func (g *guesser) names(open []ask) {
	var callers []*caller
	seen := map[*inspection]bool{}
	count := func(f *value, in *module) {
		if f != nil && f.body != nil && !seen[f.body] {
			seen[f.body] = true
			callers = append(callers, &caller{body: f.body, in: in})
		}
	}
	for _, a := range open {
		g.functions(a.value, a.in, 0, count)
	}
	for i := range g.reports {
		if m := g.reports[i].Module; m != nil {
			for _, r := range m.Routers {
				for _, e := range r.Events {
					for _, h := range e.Handlers {
						if !e.Route {
							g.functions(h, m, 0, count)
						}
					}
				}
			}
		}
	}
	g.pick(callers, func(name, path string, by []*caller) string {
		if knownGates[name] {
			return "it refuses what is not signed, or compares secrets"
		}
		handsOn := !slices.ContainsFunc(by, func(c *caller) bool { return len(c.body.calls) > 2 })
		if !mayRefuse(name) && (!handsOn || answers.MatchString(name)) {
			return ""
		}
		if d, in := g.project.follow(by[0].in, strings.Split(path, "."), 0); d != nil && (d.Kind == function || d.Kind == call) {
			if why := g.refusal(d, in, 0, map[*value]bool{}); why != "" {
				return "it refuses: " + why + " (" + in.file + ")"
			}
		}
		return ""
	})
	for _, kind := range []struct {
		name *regexp.Regexp
		says string
	}{{canName, "it answers whether somebody may"}, {askingName, "it tells who asks"}} {
		g.pick(callers, func(name, _ string, by []*caller) string {
			refuse := 0
			for _, c := range by {
				if c.body.refuses != "" {
					refuse++
				}
			}
			if !kind.name.MatchString(name) || answers.MatchString(name) || refuse*3 < len(by)*2 {
				return ""
			}
			return fmt.Sprintf("%s, and %d of the %d functions without another gate that call it refuse", kind.says, refuse, len(by))
		})
	}
}

// pick takes names that a guess gives a reason for, the one that most callers without a
// gate call first.
func (g *guesser) pick(callers []*caller, reason func(name, path string, by []*caller) string) {
	dismissed := map[string]bool{}
	for {
		by, paths := map[string][]*caller{}, map[string]string{}
		for _, c := range callers {
			counted := map[string]bool{}
			for _, called := range c.body.calls {
				name := last(called)
				if c.covered || counted[name] || generic[name] || dismissed[name] || g.taken["()"+name] {
					continue
				}
				counted[name] = true
				if len(by[name]) == 0 {
					paths[name] = called
				}
				by[name] = append(by[name], c)
			}
		}
		names := slices.SortedFunc(maps.Keys(by), func(a, b string) int { return cmp.Or(len(by[b])-len(by[a]), strings.Compare(a, b)) })
		picked := false
		for _, name := range names {
			why := reason(name, paths[name], by[name])
			if why == "" {
				dismissed[name] = true
				continue
			}
			g.taken["()"+name] = true
			g.found.GateNames = append(g.found.GateNames, Guess{Name: name, Count: len(by[name]), Reason: why})
			for _, c := range by[name] {
				c.covered = true
			}
			picked = true
			break
		}
		if !picked {
			return
		}
	}
}
