package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/authzhost/authz/verify"
)

// Text writes a configuration for what was found. JSON has no comments, so remarks
// are members whose names begin with "//", which readers pass over.
func (s *Survey) Text() []byte {
	w := &writer{}
	own := Artifact{Path: "catalog.json"}
	if len(s.Catalogs) == 0 {
		w.remark("catalog", "No catalog document was found. Emit the application's, then put its path here.")
	} else {
		own = s.Catalogs[0]
		w.remark("catalog", "The catalog document of "+own.Namespace+". Paths are relative to the directory in which authz-verify runs."+also(s.Catalogs[1:]))
	}
	w.member("catalog", own.Path)

	include := s.Include
	switch {
	case len(include) > 0:
	case s.Go != nil:
		include = []string{}
	default:
		include = []string{"src"}
	}
	w.remark("include", "Directories and files with TypeScript sources. Take out what is no part of the application, as tests and tools.")
	w.member("include", include)
	w.remark("exclude", "Parts of paths to skip, besides node_modules, dist, .next and .git.")
	w.member("exclude", append([]string{}, s.Exclude...))

	p := s.Proposal
	if p == nil {
		p = &verify.Proposal{}
	}
	judge := "Everything that is served is judged: exports of every form, inline server actions, and the routes of tRPC, Hono, Express, Fastify, NestJS and Medusa. JavaScript is read too."
	if len(s.Frameworks) > 0 {
		judge += " Seen here: " + strings.Join(s.Frameworks, ", ") + "."
	}
	if p.Judged.ServerFunctions > 0 {
		judge += fmt.Sprintf(" %d server functions were found. The lists below are guesses, each with how often it was seen and why it was guessed. Read them: "+
			"what is in a gate list by mistake hides functions without a gate.", p.Judged.ServerFunctions)
	}
	w.remark("judge", judge)
	w.member("judge", JudgeExports)

	w.guesses("gateNames", "Functions of your own that decide and refuse, besides can, fresh, require, requirePermission, gateAction and apiRequirePermission.", p.GateNames)
	w.guesses("gateWrappers", "Functions and chains that let what they wrap run only for who may.", p.GateWrappers)
	w.guesses("passThroughWrappers", "Those that only hand on: what they wrap is judged by itself.", p.PassThroughWrappers)
	w.guesses("publicWrappers", "Those whose content is public by design.", p.PublicWrappers)
	w.guesses("gateMiddleware", "Middleware of routers, and guards and decorators of NestJS, behind which everything is gated.", p.GateMiddleware)
	w.remark("refusalsGate", fmt.Sprintf("Functions that answer or throw 401, 403, \"unauthorized\" or \"forbidden\" themselves count as gated. "+
		"%d have no other gate: name their checks above and switch this off, and those that forget one are found.", p.Refusals))
	w.raw("refusalsGate", fmt.Sprint(p.Refusals > 0))
	w.exempt(p.Exempt)
	w.remark("visibilityNames", "Functions that only decide what is shown, besides canAny, requireAny and holds.")
	w.member("visibilityNames", []string{})

	server := "Regular expressions (RE2) of paths whose exported functions need a gate, besides app/.*route.(t|j)sx? and pages/api/."
	if s.Next {
		server += " That covers the routes of Next.js; server actions are known by \"use server\"."
	}
	w.remark("serverFilePatterns", server)
	w.member("serverFilePatterns", names(p.ServerFilePatterns))

	secrets := "Identifiers that must not occur in \"use client\" modules."
	if len(s.Secrets) > 0 {
		secrets += " These are the names in .env files that read like secrets."
	}
	w.remark("forbidClientIdentifiers", secrets)
	w.member("forbidClientIdentifiers", append([]string{}, s.Secrets...))

	if i := slices.IndexFunc(s.Manifests, func(m Artifact) bool { return m.Namespace == own.Namespace }); i >= 0 {
		manifest := s.Manifests[i]
		w.remark("importManifest", "What the catalog imports: "+strings.Join(manifest.Namespaces, ", ")+".")
		w.member("importManifest", manifest.Path)
		if owners := s.owners(manifest); len(owners) > 0 {
			w.remark("imports", "The owners' documents, for better suggestions only.")
			w.member("imports", owners)
		}
	}
	if s.Go != nil {
		w.remark("go", "Go packages are checked too. Its other members: tests, clientPackages, serverFunctions, clientFilePatterns.")
		w.member("go", map[string][]string{"packages": s.Go})
	}
	return w.text()
}

// owners are the documents of the namespaces that the manifest imports.
func (s *Survey) owners(manifest Artifact) map[string]string {
	owners := map[string]string{}
	for _, ns := range manifest.Namespaces {
		for _, c := range s.Catalogs {
			if owners[ns] == "" && slices.Contains(c.Namespaces, ns) {
				owners[ns] = c.Path
			}
		}
	}
	return owners
}

func also(others []Artifact) string {
	if len(others) == 0 {
		return ""
	}
	paths := make([]string, len(others))
	for i, c := range others {
		paths[i] = c.Path
	}
	return " Also found: " + strings.Join(paths, ", ") + "."
}

func names(guesses []verify.Guess) []string {
	all := []string{}
	for _, g := range guesses {
		all = append(all, g.Name)
	}
	return all
}

// guesses writes a list, and above it why each of its names is there.
func (w *writer) guesses(name, text string, guesses []verify.Guess) {
	if len(guesses) == 0 {
		w.remark(name, text)
	} else {
		why := []string{text}
		for _, g := range guesses {
			why = append(why, fmt.Sprintf("%s (%d): %s", g.Name, g.Count, g.Reason))
		}
		w.member(commentMark+" "+name, why)
	}
	w.member(name, names(guesses))
}

func (w *writer) exempt(guesses []verify.Guess) {
	w.remark("exempt", "Regular expressions (RE2) of paths whose server functions need no gate, each with the reason.")
	reasons := map[string]string{}
	for _, g := range guesses {
		reasons[g.Name] = g.Reason
	}
	w.member("exempt", reasons)
}

// writer writes the members of an object in the order of the calls.
type writer struct{ members []string }

func (w *writer) remark(name, text string) { w.member(commentMark+" "+name, text) }

func (w *writer) member(name string, value any) {
	w.members = append(w.members, fmt.Sprintf("  %s: %s", encode(name), encode(value)))
}

func (w *writer) raw(name, json string) {
	w.members = append(w.members, fmt.Sprintf("  %s: %s", encode(name), json))
}

func (w *writer) text() []byte {
	return []byte("{\n" + strings.Join(w.members, ",\n") + "\n}\n")
}

// encode writes a string, or lists and maps of them.
func encode(value any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if list, ok := value.([]string); ok && len(list) > 4 {
		e.SetIndent("  ", "  ")
	}
	_ = e.Encode(value) // these types always encode
	return strings.TrimSuffix(b.String(), "\n")
}
