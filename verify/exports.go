package verify

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Exports switches on judging what a project serves however it is written: exports of
// every form, inline server actions, and the routes of routers
// (spec: verifier §14). The zero value declares nothing.
//
// A name is that of a wrapper or middleware, or the dotted path that leads to it.
type Exports struct {
	GateWrappers        []string // what they wrap is gated
	PassThroughWrappers []string // what they wrap is judged by itself
	PublicWrappers      []string // what they wrap is public by design
	GateMiddleware      []string // what a router runs behind them is gated; guards of NestJS too

	// RefusalsGate counts a function as gated that refuses in its own text: that answers
	// or throws 401, 403, "unauthorized", "forbidden" or the like.
	RefusalsGate bool

	// Exempt are paths of files whose server functions need no gate.
	Exempt []Exemption

	// Resolve finds the file that a file means by an import, "" for none. Nil follows
	// no import.
	Resolve func(from, specifier string) string
}

// Exemption says why the server functions of files need no gate. Its pattern is RE2,
// searched anywhere in the path.
type Exemption struct {
	Pattern string
	Reason  string
}

// Judged counts server functions (spec: verifier §14.6).
type Judged struct {
	ServerFunctions int `json:"serverFunctions"` // the sum of the others
	Gated           int `json:"gated"`
	Exempt          int `json:"exempt"`
	Findings        int `json:"findings"`
	UnknownWrappers int `json:"unknownWrappers"` // behind them
}

// plus adds counts; nil on both sides is nil.
func (j *Judged) plus(more *Judged) *Judged {
	if j == nil || more == nil {
		return cmp.Or(j, more)
	}
	return &Judged{j.ServerFunctions + more.ServerFunctions, j.Gated + more.Gated, j.Exempt + more.Exempt,
		j.Findings + more.Findings, j.UnknownWrappers + more.UnknownWrappers}
}

// declared are the names of Exports as they are looked up.
type declared struct {
	gate, pass, public, middleware map[string]bool
	exempt                         []*regexp.Regexp
}

func newDeclared(e *Exports) (d declared, err error) {
	patterns := make([]string, len(e.Exempt))
	for i, x := range e.Exempt {
		patterns[i] = x.Pattern
	}
	d = declared{gate: setOf(e.GateWrappers), pass: setOf(e.PassThroughWrappers), public: setOf(e.PublicWrappers), middleware: setOf(e.GateMiddleware)}
	d.exempt, err = compile(patterns)
	return d, err
}

func (d *declared) exempts(file string) bool {
	return slices.ContainsFunc(d.exempt, func(re *regexp.Regexp) bool { return re.MatchString(file) })
}

// has reports whether a set holds one of the names on a path, the path, or one of the
// methods called on it.
func has(set map[string]bool, v *value) bool {
	if len(set) == 0 {
		return false
	}
	if slices.ContainsFunc(v.Path, func(name string) bool { return set[name] }) {
		return true
	}
	for i := 2; i <= len(v.Path); i++ {
		if set[strings.Join(v.Path[:i], ".")] {
			return true
		}
	}
	return slices.ContainsFunc(v.Links, func(l link) bool { return set[l.Name] })
}

// exportKind says which exports of a server file are server functions.
type exportKind int

const (
	everyExport   exportKind = iota // "use server", and patterns of the configuration
	routeExports                    // those named by an HTTP method
	defaultExport                   // that of pages/api
)

func exportsOf(file string, directive bool) exportKind {
	if directive {
		return everyExport
	}
	name := path.Base(strings.ReplaceAll(file, `\`, "/"))
	stem, _, _ := strings.Cut(name, ".")
	switch {
	case stem == "route":
		return routeExports
	case strings.Contains(file, "pages/api/"):
		return defaultExport
	}
	return everyExport
}

var (
	httpMethods = wordSet("GET HEAD POST PUT PATCH DELETE OPTIONS QUERY")

	// frameworkExports are read by a framework, and called by no client.
	frameworkExports = wordSet("dynamic dynamicParams revalidate fetchCache runtime preferredRegion maxDuration config metadata viewport " +
		"generateMetadata generateViewport generateStaticParams generateImageMetadata generateSitemaps alt size contentType experimental_ppr " +
		"unstable_instant unstable_settings getStaticPaths")
)

// serves reports whether an export is a server function, and whether one without need
// of a gate.
func (k exportKind) serves(name string) (served, exempt bool) {
	switch {
	case k == routeExports:
		return httpMethods[name], name == "OPTIONS"
	case k == defaultExport:
		return name == "default", false
	}
	return true, name == "OPTIONS" || frameworkExports[name]
}
