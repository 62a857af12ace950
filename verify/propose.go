package verify

import (
	"context"
	"maps"
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
