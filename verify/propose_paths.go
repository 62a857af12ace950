package verify

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"
)

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
