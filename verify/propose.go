package verify

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	ts "github.com/microsoft/typescript-go/authzshim"
)

// Proposal is what a project seems to need declared (spec: verifier §14.7). It is a
// guess, each with its reason, for somebody to read.
type Proposal struct {
	GateNames           []Guess
	GateWrappers        []Guess
	PassThroughWrappers []Guess
	PublicWrappers      []Guess
	GateMiddleware      []Guess
	Exempt              []Guess // patterns of paths
	ServerFilePatterns  []Guess
	Refusals            int    // functions that are gated by RefusalsGate alone
	Judged              Judged // with all of it declared
}

// Guess is a name that may be declared, how often it was seen, and why it is guessed.
type Guess struct {
	Name   string
	Count  int
	Reason string
}

// inspection is what Propose wants to know of a function.
type inspection struct {
	refuses string   // what it refuses with, "" where it does not
	plainly bool     // as RefusalsGate means it
	calls   []string // the paths that it calls
}

// maxRounds bounds how often proposals are made from what the ones before them showed.
const maxRounds = 8

// Propose reads the files and guesses what to declare for Exports. The errors are those
// of Scan.
func Propose(ctx context.Context, config Config) (*Proposal, error) {
	resolve := config.Exports.Resolve
	config.Exports = &Exports{Resolve: resolve}
	s, err := NewScanner(config)
	if err != nil {
		return nil, err
	}
	s.inspect = true
	routes := routePattern(config.Files, s)
	if routes.Count > 0 {
		config.ServerFilePatterns = append(slices.Clone(orDefault(config.ServerFilePatterns, DefaultServerFilePatterns())), routes.Name)
		if s, err = NewScanner(config); err != nil {
			return nil, err
		}
		s.inspect = true
	}
	reports, err := s.scanAll(ctx)
	if err != nil {
		return nil, err
	}
	g := &guesser{scanner: s, reports: reports, taken: map[string]bool{}}
	if routes.Count > 0 {
		g.found.ServerFilePatterns = []Guess{routes}
	}
	g.all()
	return &g.found, nil
}

var methodExport = regexp.MustCompile(`(?m)^export (?:async function|function|const) (?:GET|POST|PUT|PATCH|DELETE)\b`)

// routePattern is a pattern for routes that lie elsewhere than those of Next.js.
func routePattern(files []string, s *Scanner) Guess {
	read := s.config.Read
	if read == nil {
		read = ReadFile
	}
	g := Guess{Name: `(^|/)api/.*/?route\.[cm]?[jt]sx?$`, Reason: "files named route.* below api/ export HTTP methods"}
	for _, file := range files {
		name := slashed(file)
		stem, _, _ := strings.Cut(path.Base(name), ".")
		if stem == "route" && s.isServerPath(file) {
			return Guess{} // those are the framework's
		}
		if stem != "route" || !strings.Contains("/"+name, "/api/") {
			continue
		}
		if raw, err := read(file); err == nil && methodExport.Match(raw) {
			g.Count++
		}
	}
	return g
}

// guesser makes the guesses of one project.
type guesser struct {
	scanner *Scanner
	reports []FileReport
	project *project
	found   Proposal
	taken   map[string]bool
}

// ask is a wrapper that was met, or a function that has no gate.
type ask struct {
	value *value
	in    *module
}

func (g *guesser) all() {
	for range maxRounds {
		g.project = newProject(g.scanner, g.reports)
		before := len(g.taken)
		wrappers, open := g.judge()
		g.middleware()
		for _, name := range slices.Sorted(maps.Keys(wrappers)) {
			g.wrapper(name, wrappers[name])
		}
		if len(g.taken) == before {
			g.names(open)
		}
		if len(g.taken) == before {
			break
		}
		g.declare()
	}
	g.refusals()
	g.exemptions()
}

// refusals has functions gate that refuse themselves, and counts what that changes.
func (g *guesser) refusals() {
	g.project = newProject(g.scanner, g.reports)
	_, before := g.judge()
	for _, m := range g.project.modules {
		if m != nil {
			m.each(func(v *value) { v.refuse(map[*value]bool{}) })
		}
	}
	g.project = newProject(g.scanner, g.reports)
	_, after := g.judge()
	g.found.Refusals = len(before) - len(after)
}

func (v *value) refuse(seen map[*value]bool) {
	if v == nil || seen[v] {
		return
	}
	seen[v] = true
	v.Refuses = v.body != nil && v.body.plainly
	v.children(func(c *value) { c.refuse(seen) })
}

// declare has the guesses so far hold for the next round. Names of gates are looked for
// in what functions are known to call.
func (g *guesser) declare() {
	d := &g.scanner.declared
	for set, guesses := range map[*map[string]bool][]Guess{&d.gate: g.found.GateWrappers, &d.pass: g.found.PassThroughWrappers,
		&d.public: g.found.PublicWrappers, &d.middleware: g.found.GateMiddleware} {
		*set = map[string]bool{}
		for _, guess := range guesses {
			(*set)[guess.Name] = true
		}
	}
	names := map[string]bool{}
	for _, guess := range g.found.GateNames {
		names[guess.Name] = true
	}
	seen := map[*value]bool{}
	for _, m := range g.project.modules {
		if m != nil {
			m.each(func(v *value) { v.callGates(names, seen) })
		}
	}
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

// judge judges everything, and answers the wrappers that are unknown and the functions
// that have no gate.
func (g *guesser) judge() (wrappers map[string][]ask, open []ask) {
	wrappers = map[string][]ask{}
	g.found.Judged = Judged{}
	for i := range g.reports {
		r := &g.reports[i]
		if r.Module == nil {
			continue
		}
		counts := Judged{}
		scratch := FileReport{File: r.File, Module: &module{}}
		*scratch.Module = *r.Module
		c := &counter{project: g.project, report: &scratch, judged: &counts}
		var current ask
		c.unknown = func(name string, _ Finding) { wrappers[name] = append(wrappers[name], current) }
		c.looked = func(v *value, in *module) { current = ask{v, in} }
		c.open = func() { open = append(open, current) }
		c.all()
		g.found.Judged = *(&g.found.Judged).plus(&counts)
	}
	return wrappers, open
}

var (
	publicName = regexp.MustCompile(`(?i)^(public|open|anonymous|unauth|noauth)|publicProcedure|SkipAuth|AllowAnonymous`)
	maybeName  = regexp.MustCompile(`^(maybe|optional|try)[A-Z]`)
	authName   = regexp.MustCompile(`(?i)auth|protect|private|secure|session|admin|guard|permission|signed|verif|login|member|role|token|apikey|workspace|cron`)
	// A function that tells who asks.
	askingName = regexp.MustCompile(`(?i)^(auth|get\w{0,8}(session|auth)(forrequest|fromrequest)?|getuser|(get)?currentuser|getclaims|parserequest|constructevent\w*|jwtverify|` +
		`verify\w*(signature|token|key|secret|request|webhook|auth)\w*|validate\w*(signature|token|apikey|session|auth)\w*|authenticate\w*|authorize\w*|` +
		`is(valid)?(apikey|token|signature|authori[sz]ed)\w*|require\w+|check\w*(auth|access|permission|session|signature|token)\w*|\w*authenticated\w*client|extract\w*token)$`)
	// A function that may refuse: its verb, and what it asks about.
	gateName = regexp.MustCompile(`(?i)^(resolve|get\w*(session|user|token|apikey)|require|ensure|assert|verify|validate|check|guard|protect|authori[sz]e|authenticate|throwif|enforce|restrict|handle\w*auth|extract|with|get\w*auth|is|has|can|auth)`)
	gateNoun = regexp.MustCompile(`(?i)auth|access|permission|session|signature|token|role|admin|owner|member|key|user|allowed|scope|secret|project|workspace|org|team|request|webhook|source|availab|entitle`)
	answers  = regexp.MustCompile(`(?i)^(un|not)auth|^forbidden|response$|error$|redirect`)
	canName  = regexp.MustCompile(`^(can|has|may)[A-Z]|^is[A-Z]\w*(Allowed|Authorized|Admin|Owner|Member|Authenticated)|Allowed$`)
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

// exemptPaths are parts of paths whose functions are public wherever they are met.
var exemptPaths = []struct{ pattern, reason string }{
	{`\[\.\.\.(nextauth|auth|better-auth|all)\]`, "sign-in: nobody is known before it"},
	{`(^|/)api/auth/`, "sign-in: nobody is known before it"},
	{`(^|/)(health|healthz|healthcheck|livez|readyz|ping|heartbeat|ready|live)(/|\.)`, "says whether the service is up"},
	{`(^|/)(\.well-known|robots|sitemap|llms\.txt|manifest)(/|\.)`, "metadata that anybody may read"},
	{`(^|/)(og|opengraph-image|twitter-image)(/|\.)`, "preview images that anybody may load"},
	{`(^|/)openapi(\.json)?(/|\.)`, "the description of the API"},
}

// exemptions proposes paths whose functions without a gate are public by design.
func (g *guesser) exemptions() {
	d := &g.scanner.declared
	for _, e := range exemptPaths {
		re := regexp.MustCompile(e.pattern)
		guess := Guess{Name: e.pattern, Reason: e.reason}
		for i := range g.reports {
			r := &g.reports[i]
			if r.Module == nil || !re.MatchString(slashed(r.File)) || d.exempts(slashed(r.File)) {
				continue
			}
			c := &counter{project: g.project, report: &FileReport{File: r.File, Module: r.Module}, judged: &Judged{},
				unknown: func(string, Finding) { guess.Count++ }, open: func() { guess.Count++ }}
			c.all()
		}
		if guess.Count > 0 {
			g.found.Exempt = append(g.found.Exempt, guess)
			d.exempt = append(d.exempt, re)
		}
	}
	for _, list := range []*[]Guess{&g.found.GateNames, &g.found.GateWrappers, &g.found.PassThroughWrappers, &g.found.PublicWrappers, &g.found.GateMiddleware} {
		slices.SortStableFunc(*list, func(a, b Guess) int { return cmp.Or(b.Count-a.Count, strings.Compare(a.Name, b.Name)) })
	}
}

// inspectFunction looks at what a function refuses with and calls.
func (r *reader) inspectFunction(n *ts.Node) *inspection {
	i := &inspection{}
	i.refuses, _ = r.refusalIn(n, false)
	_, i.plainly = r.refusalIn(n, true)
	seen := map[string]bool{}
	from, _ := slices.BinarySearchFunc(r.all, n.Pos(), func(c *ts.Node, at int) int { return c.Pos() - at })
	for _, c := range r.all[from:] {
		if c.Pos() >= n.End() {
			break
		}
		path, root := r.path(c.Expression())
		if root != nil || len(path) == 0 {
			if len(path) == 0 {
				continue
			}
			path = path[len(path)-1:]
		}
		if name := strings.Join(path, "."); !seen[name] && len(seen) < 400 {
			seen[name] = true
			i.calls = append(i.calls, name)
		}
	}
	return i
}
